"""A session run through the breaker gives what the live breaker gives."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import replay as replay_module
from engine.breaker import Breaker
from engine.calls import Call, Result, result_of
from engine.config import DEFAULTS, Config
from engine.events import CallDecided, CallSeen, CallSettled, Event
from engine.journal_lines import line_of
from engine.replay import Answers, replay
from engine.replayed import ReplayedCall, Totals, as_json, telling_argument
from engine.session_items import CallLine
from engine.sessions import read_session
from engine.verdicts import Ask, Outcome, Waiting

DENY = msgspec.structs.replace(DEFAULTS, on_limit="deny")
OK = {"value": {"exitCode": 0}}
FAILED = {"value": {"exitCode": 1}}


def replayed(lines: Iterable[dict[str, Any]], config: Config = DEFAULTS, answers: Answers = "as recorded"):
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    return list(replay(read_session(io.BytesIO(content)), config, answers))


def repeated(times: int, **more: Any) -> list[dict[str, Any]]:
    """The same call so many times, each with its result."""
    return [
        {"type": "call", "id": f"c{number}", "tool": "lookup", "args": {"id": 7}, "result": OK, **more}
        for number in range(1, times + 1)
    ]


def verdicts(calls: Iterable[ReplayedCall]) -> list[tuple[str, str | None]]:
    return [(call.verdict, call.outcome) for call in calls]


def test_a_loop_is_advised_and_then_refused():
    calls = replayed(repeated(14), DENY)
    assert [call.number for call in calls if call.verdict == "deny"] == [12, 13, 14]
    stages = [(call.number, advisory.stage, advisory.count) for call in calls for advisory in call.advisories]
    assert stages == [(7, "warn", 7), (11, "summarize", 11)]
    assert as_json(calls[11]) == {
        "id": "c12",
        "agent": "agent",
        "verdict": "deny",
        "asked": False,
        "outcome": None,
        "hits": [{"track": "repeat", "fp": 'exact:lookup:{"id":7}', "count": 12, "cap": 12}],
        "advisories": [],
    }
    assert calls[11].reason.startswith("REPEAT_TOOL_BLOCKED")


def test_failures_are_advised_on_the_call_that_failed():
    calls = replayed(repeated(6, result=FAILED), DENY)
    assert [[one.stage for one in call.advisories] for call in calls] == [[], [], ["fail-warn"], [], [], []]
    assert [call.verdict for call in calls] == ["allow"] * 5 + ["deny"]
    assert [call.failure.detail if call.failure else None for call in calls] == ["1"] * 5 + [None]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("approve", [("allow", "approved"), ("allow", None)]),
        ("reject", [("deny", "rejected"), ("deny", None)]),
        ("unavailable", [("deny", "unattended"), ("deny", None)]),
        (None, [("deny", "unattended"), ("deny", None)]),
    ],
)
def test_an_ask_is_answered_as_the_session_says_and_once(answer: str | None, expected: list[tuple[str, str | None]]):
    calls = replayed(repeated(13, answer=answer))
    assert verdicts(calls[11:]) == expected
    assert [call.asked for call in calls] == [False] * 11 + [True, False]


@pytest.mark.parametrize("option", ["approve", "reject", "unavailable"])
def test_the_option_answers_in_place_of_the_session(option: Literal["approve", "reject", "unavailable"]):
    expected = {"approve": "approved", "reject": "rejected", "unavailable": "unattended"}[option]
    assert replayed(repeated(12, answer="reject"), answers=option)[11].outcome == expected


def test_who_answers_may_be_anybody():
    asked: list[tuple[str, tuple[str, ...]]] = []

    def answer(line: CallLine, ask: Ask) -> Outcome:
        asked.append((line.id, ask.fingerprints))
        return "timed_out"

    assert replayed(repeated(14), answers=answer)[11].outcome == "timed_out"
    assert asked == [("c12", ('exact:lookup:{"id":7}',))]


def test_only_a_human_message_clears_the_turn():
    for source, refused in (("user", 0), ("plugin", 3)):
        lines = [*repeated(11), {"type": "turn", "agent": "agent", "source": source}, *repeated(3)]
        assert sum(call.verdict == "deny" for call in replayed(lines, DENY)) == refused


def test_agents_do_not_share_counts():
    lines = [line | {"agent": f"a{number % 2}"} for number, line in enumerate(repeated(22))]
    calls = replayed(lines, DENY)
    assert {call.verdict for call in calls} == {"allow"}
    assert {call.agent for call in calls} == {"a0", "a1"}


def test_calls_come_in_order_each_when_it_is_settled():
    lines = [
        {"type": "call", "id": "slow", "tool": "a"},
        {"type": "call", "id": "quick", "tool": "b", "result": OK},
        {"type": "result", "id": "slow", "result": FAILED},
        {"type": "call", "id": "never", "tool": "c"},
    ]
    calls = replayed(lines)
    assert [call.id for call in calls] == ["slow", "quick", "never"]
    assert calls[0].failure is not None


def test_a_result_that_never_comes_holds_the_others_up_for_a_while_only(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replay_module, "LOOK_AHEAD", 10)
    content = b'{"type":"call","id":"never","tool":"a"}\n' + b'{"type":"call","tool":"b","result":{}}\n' * 100
    file = io.BytesIO(content)
    calls = replay(read_session(file))
    assert next(calls).id == "never"
    assert file.tell() < len(content) / 2
    assert len(list(calls)) == 100


def test_a_reused_id_takes_the_place_of_the_first():
    lines = [
        {"type": "call", "id": "c", "tool": "a"},
        {"type": "call", "id": "c", "tool": "b"},
        {"type": "result", "id": "c", "result": FAILED},
        {"type": "result", "id": "c", "result": OK},
        {"type": "result", "id": "unheard of", "result": OK},
    ]
    first, second = replayed(lines)
    assert (first.failure, second.failure is not None) == (None, True)


def test_the_result_of_a_refused_call_says_nothing():
    calls = replayed(repeated(12, result=FAILED), DENY)
    assert [call.failure is None for call in calls] == [False] * 5 + [True] * 7
    assert {call.hits[0].count for call in calls[5:] if call.hits[0].track == "failure"} == {5}


def test_the_sums():
    totals = Totals()
    for call in replayed([*repeated(12, answer="reject"), *repeated(6, tool="other", agent="b", result=FAILED)]):
        totals.add(call)
    assert (totals.calls, totals.refused, totals.asked, totals.failed, len(totals.agents)) == (18, 2, 2, 5, 2)
    assert dict(totals.outcomes) == {"rejected": 1, "unattended": 1}
    assert dict(totals.advisories) == {"warn": 1, "summarize": 1, "fail-warn": 1}
    assert totals.first_refused is not None
    assert totals.first_refused.number == 12


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"description": "list", "command": "ls"}, "ls"),
        ({"command": ["bash", "-lc", "ls"]}, "bash -lc ls"),
        ({"id": 7, "note": "x"}, "x"),
        ({"id": 7, "command": ""}, ""),
        ({"command": "x" * 1000}, "x" * 200),
        ({}, ""),
    ],
)
def test_the_argument_that_tells_most(args: dict[str, Any], expected: str):
    assert telling_argument(args) == expected


# -- a journal gives the verdicts that were given --------------------------------------------------------------

TIGHT = msgspec.structs.replace(
    DEFAULTS,
    window=6,
    warn_at=2,
    summarize_at=3,
    fail_warn_at=2,
    fail_limit=3,
    limits={**DEFAULTS.limits, "host": 4, "net": 3, "cmd": 3, "exact": 3},
)
COMMANDS = ["ls", "curl https://example.org/a", "curl https://example.org/b", "curl -s https://example.com/ -o f"]
OUTCOMES: list[Outcome] = ["approved", "rejected", "unattended", "timed_out"]
LONG_AGO = "x\n" * 5000 + "Traceback (most recent call last)"
"""A failure that a journal's preview of the text no longer shows."""


class Step(msgspec.Struct, frozen=True):
    kind: Literal["call", "result", "answer", "cancel", "turn", "end", "revoke", "lift", "attend", "leave"]
    agent: str
    command: str
    text: str
    failed: bool
    outcome: Outcome
    pick: int


STEPS = st.builds(
    Step,
    st.sampled_from(
        [*["call"] * 8, *["result"] * 6, *["answer"] * 3, "cancel", "turn", "end", "revoke", "lift", "attend", "leave"]
    ),
    st.sampled_from(["one", "two"]),
    st.sampled_from(COMMANDS),
    st.sampled_from(["fine", "curl: (6) no such host", LONG_AGO]),
    st.booleans(),
    st.sampled_from(OUTCOMES),
    st.integers(0, 1000),
)


class Live:
    """A breaker at work, and the journal it leaves."""

    def __init__(self) -> None:
        self.journal = b""
        self.calls: dict[int, dict[str, Any]] = {}
        self._under_way: list[tuple[str, str]] = []
        self._breaker = Breaker(TIGHT, attended=True, clock=lambda: 0.0, listener=self._listen)

    def _listen(self, event: Event) -> None:
        self.journal += line_of(event)
        if isinstance(event, CallSeen | CallDecided):
            call = self.calls.setdefault(event.ticket, {"id": event.id, "agent": event.agent})
            call |= {
                "verdict": event.verdict,
                "asked": call.get("asked", False) or (isinstance(event, CallSeen) and event.asked),
                "outcome": event.outcome,
                "hits": [(hit.track, hit.fingerprint, hit.count, hit.cap) for hit in event.hits],
                "advisories": event.advisories,
            }
        elif isinstance(event, CallSettled):
            self.calls[event.ticket]["advisories"] = event.advisories

    def take(self, step: Step) -> None:
        getattr(self, f"_{step.kind}")(step)

    def _call(self, step: Step) -> None:
        call_id = f"c{len(self.calls)}"
        self._breaker.decide(Call(call_id, step.agent, "bash", {"command": step.command}))
        self._under_way.append((step.agent, call_id))

    def _result(self, step: Step) -> None:
        if self._under_way:
            agent, call_id = self._under_way.pop(step.pick % len(self._under_way))
            self._breaker.settle(agent, call_id, Result(value={"exitCode": int(step.failed)}, text=step.text))

    def _answer(self, step: Step) -> None:
        if asks := self._breaker.asks():
            self._breaker.answer(asks[step.pick % len(asks)].id, step.outcome)

    def _cancel(self, step: Step) -> None:
        self._breaker.cancel(step.agent, f"c{step.pick % (len(self.calls) + 1)}")

    def _turn(self, step: Step) -> None:
        self._breaker.start_turn(step.agent)

    def _end(self, step: Step) -> None:
        self._breaker.end_agent(step.agent)

    def _revoke(self, step: Step) -> None:
        for state in self._breaker.snapshot().agents:
            for fingerprint in state.exemptions[:1]:
                self._breaker.revoke(state.agent, fingerprint)

    def _lift(self, step: Step) -> None:
        for state in self._breaker.snapshot().agents:
            for refusal in state.refusals[:1]:
                self._breaker.lift(state.agent, refusal.fingerprint)

    def _attend(self, step: Step) -> None:
        self._breaker.attend()

    def _leave(self, step: Step) -> None:
        self._breaker.leave()

    def finish(self) -> None:
        while asks := self._breaker.asks():
            self._breaker.answer(asks[0].id, "unattended")


def comparable(call: ReplayedCall) -> dict[str, Any]:
    return {
        "id": call.id,
        "agent": call.agent,
        "verdict": call.verdict,
        "asked": call.asked,
        "outcome": call.outcome,
        "hits": [(hit.track, hit.fingerprint, hit.count, hit.cap) for hit in call.hits],
        "advisories": call.advisories,
    }


@settings(max_examples=150)
@given(st.lists(STEPS, min_size=5, max_size=60))
def test_replaying_a_journal_gives_the_verdicts_that_were_given(steps: list[Step]):
    live = Live()
    for step in steps:
        live.take(step)
    live.finish()
    if not live.calls:
        return
    again = [comparable(call) for call in replay(read_session(io.BytesIO(live.journal)), TIGHT)]
    assert again == [call for _, call in sorted(live.calls.items())]


@given(st.lists(STEPS, min_size=1, max_size=40), st.integers(0, 10_000))
def test_a_journal_with_a_piece_missing_is_still_replayed(steps: list[Step], at: int):
    live = Live()
    for step in steps:
        live.take(step)
    lines = live.journal.splitlines(keepends=True)
    if len(lines) < 2:
        return
    del lines[at % len(lines)]
    seen = sum(line.startswith(b'{"type":"call"') for line in lines)
    calls = list(replay(read_session(io.BytesIO(b"".join(lines))), DENY if at % 2 else TIGHT))
    assert len(calls) == seen


@given(st.lists(STEPS, min_size=1, max_size=60), st.sampled_from(["as recorded", "approve", "reject", "unavailable"]))
def test_a_session_replayed_twice_gives_the_same(steps: list[Step], answers: Answers):
    lines: list[dict[str, Any]] = []
    for number, step in enumerate(steps):
        if step.kind == "turn":
            lines.append({"type": "turn", "agent": step.agent})
        else:
            args = {"command": step.command}
            result = {"value": {"exitCode": int(step.failed)}, "content": step.text}
            lines.append({"type": "call", "id": f"c{number}", "agent": step.agent, "tool": "bash", "args": args})
            lines.append({"type": "result", "id": f"c{number}", "agent": step.agent, "result": result})
    assert replayed(lines, TIGHT, answers) == replayed(lines, TIGHT, answers)


def test_a_journal_can_be_judged_by_another_configuration():
    live = Live()
    for _ in range(14):
        live.take(Step("call", "one", "ls", "", False, "approved", 0))
        live.take(Step("result", "one", "ls", "fine", False, "approved", 0))
    live.finish()
    calls = list(replay(read_session(io.BytesIO(live.journal)), DENY))
    assert [call.number for call in calls if call.verdict == "deny"] == [12, 13, 14]


def test_results_are_read_as_the_live_breaker_reads_them():
    raw = {"isError": False, "content": [{"type": "text", "text": "oops\n[exit code: 3]"}]}
    (call,) = replayed([{"type": "call", "tool": "bash", "args": {"command": "x"}, "result": raw}])
    breaker = Breaker()
    assert not isinstance(breaker.decide(Call("c", "a", "bash", {"command": "x"})), Waiting)
    assert breaker.settle("a", "c", result_of(raw)).failure == call.failure
