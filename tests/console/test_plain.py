"""Line mode: what it prints, what typed words do, and what cannot answer."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.plain import PlainMode, Printer
from console.plain_lines import ALIKE_SECONDS, Lines
from console.prompt import ARMING
from console.typed_words import (
    Approve,
    Help,
    Lift,
    ListAll,
    NotUnderstood,
    Quit,
    Reject,
    Revoke,
    ShowAsk,
    Verbose,
    Words,
    understand,
)
from engine.calls import Failure, Measure
from engine.events import (
    AgentEnded,
    AgentStarted,
    AskClosed,
    AskOpened,
    CallSeen,
    CallSettled,
    ConfigChanged,
    Event,
    Exempted,
    ExemptionRevoked,
    Notice,
    Refused,
    Snapshot,
    TurnStarted,
)
from engine.operator import Answer, AskNotOpenError, Operator
from engine.service.feed import BoundedFeed
from engine.verdicts import Advisory, Ask, Hit, Refusal

HOST = "host:api.example.org"


def call(number: int, **fields: Any) -> CallSeen:
    args = fields.pop("args", {"command": f"curl https://api.example.org/{number}"})
    tool = fields.pop("tool", "bash")
    measures = (Measure(HOST, 16),)
    fields = {"verdict": "allow", "fingerprints": (HOST,), "measures": measures} | fields
    return CallSeen(0.0, f"c{number}", "agent-7f3a", tool, args, number, 1, **fields)


def waiting(number: int, *asks: str, **fields: Any) -> CallSeen:
    return call(number, verdict="wait", asks=asks, hits=(Hit("repeat", HOST, 16, 16),), **fields)


def opened(number: int, call_number: int | None = None, *, fp: str = HOST, opened: float = 0.0) -> AskOpened:
    hit = Hit("repeat", fp, 16, 16, previous="200 ok")
    name = f"c{call_number or number}"
    return AskOpened(0.0, Ask(f"ask-{number}", "agent-7f3a", name, "bash", (fp,), (hit,), opened, 300.0))


class Desk:
    """A ``PlainMode`` on a source that records what is answered, with a clock."""

    name = "test"
    observes = False
    leaving = ("They are refused.",)
    operator: Operator | None

    def __init__(self) -> None:
        self.now = 0.0
        self.operator = self
        self.out = io.StringIO()
        self.answered: list[tuple[str, str, str]] = []
        self.taken_back: list[tuple[str, str, str]] = []
        self.closed: set[str] = set()
        self.mode = PlainMode(self, Printer(self.out), bell=True, clock_now=lambda: self.now)
        self.mode.happened([AgentStarted(0.0, "agent-7f3a", "", "claude-code", "")])

    def happened(self, *events: Event | Snapshot) -> str:
        return self._said(lambda: self.mode.happened(events))

    def typed(self, line: str) -> str:
        return self._said(lambda: self.mode.typed(line))

    def _said(self, act: Any) -> str:
        before = self.out.tell()
        act()
        return self.out.getvalue()[before:]

    # -- a Source and its Operator ----------------------------------------------------------------------------

    def start(self) -> None:
        raise AssertionError("the source is started by whoever runs the mode")

    def only_watch(self) -> bool:
        raise AssertionError("no operator is asked whether it only watches")

    def drain(self) -> list[Event | Snapshot]:
        raise AssertionError("events are handed to the mode")

    def subscribe(self) -> BoundedFeed:
        raise AssertionError("events are handed to the mode")

    def answer(self, ask_id: str, answer: Answer, note: str = "") -> None:
        if ask_id in self.closed:
            raise AskNotOpenError("it timed out")
        self.answered.append((ask_id, answer, note))

    def revoke(self, agent: str, fingerprint: str) -> bool:
        self.taken_back.append(("revoke", agent, fingerprint))
        return True

    def lift(self, agent: str, fingerprint: str) -> bool:
        self.taken_back.append(("lift", agent, fingerprint))
        return False

    def reset_turn(self, agent: str) -> None:
        raise AssertionError("no line that can be typed clears a turn")

    def close(self) -> None:
        raise AssertionError("who made the operator closes it, not the mode")


# -- what is printed ------------------------------------------------------------------------------------------------


def test_an_ask_is_printed_whole_with_what_to_type() -> None:
    desk = Desk()
    args = {"command": "curl https://api.example.org/1\nrm\u200b -rf x", "timeout": 3}
    said = desk.happened(waiting(1, "ask-1", args=args), opened(1))
    assert "ASK 1 (1 open, 5:00 left): claude-code 7f3a wants to run bash\n" in said
    assert "  | curl https://api.example.org/1\n  | rm‹U+200B› -rf x\n  | timeout: 3\n" in said
    assert "careful: 1 character" in said
    assert f"  because {HOST}: 16 of 16 calls in its window" in said
    assert "  approving stops counting" in said
    assert "  rejecting refuses" in said
    assert "approve 1 this turn" in said
    assert "reject 1" in said
    assert said.endswith("\a")


def test_what_matters_is_a_line_and_what_does_not_is_none() -> None:
    desk = Desk()
    assert desk.happened(call(1)) == ""
    assert desk.happened(CallSettled(0.0, "c1", "agent-7f3a", 1, {"isError": False})) == ""
    warned = desk.happened(call(2, advisories=(Advisory("warn", HOST, 7, "CONVERGENCE_CHECK"),)))
    assert warned.count("\n") == 1
    assert "WARN" in warned
    assert HOST in warned
    failed = CallSettled(0.0, "c2", "agent-7f3a", 2, {"isError": True}, Failure("exit", "3"))
    assert "failed · exit 3" in desk.happened(failed)
    assert "turn 2 begins" in desk.happened(TurnStarted(0.0, "agent-7f3a", 2))
    assert "disk is full" in desk.happened(Notice(0.0, "warning", "disk is full"))
    assert "was not taken over" in desk.happened(ConfigChanged(0.0, "breaker.yaml", error="line 3"))


def test_every_call_is_printed_on_request() -> None:
    desk = Desk()
    assert desk.typed("verbose") == "printing every call\n"
    assert "bash curl https://api.example.org/1" in desk.happened(call(1))
    assert "ran" in desk.happened(CallSettled(0.0, "c1", "agent-7f3a", 1, {"isError": False}))
    assert desk.typed("quiet") == "printing what matters\n"
    assert desk.happened(call(2)) == ""


def test_refusals_in_a_row_are_one_line_and_a_number() -> None:
    lines = Lines()
    said = [
        line for number in range(500) for line in lines.told([call(number, verdict="deny", outcome="rejected")], 1.0)
    ]
    assert len(said) == 1
    later = lines.told([], 1.0 + ALIKE_SECONDS)
    assert later == ["  and 499 more like it"]
    assert lines.told([], 2.0 + ALIKE_SECONDS) == []
    lines.told([call(501, verdict="deny")], 12.0)
    assert "  and 1 more like it" in lines.told([TurnStarted(0.0, "agent-7f3a", 2)], 12.5)


def test_a_call_that_joins_an_ask_says_so() -> None:
    desk = Desk()
    desk.happened(waiting(1, "ask-1"), opened(1))
    assert "it waits on ask 1" in desk.happened(waiting(2, "ask-1"))
    assert "1 more of its calls wait" in desk.typed("show 1")


def test_where_nothing_can_be_answered_nothing_is_said_of_typing() -> None:
    lines = Lines(answers=False)
    said = lines.told([opened(1), Exempted(0.0, "agent-7f3a", (HOST,))], 0.0)
    assert any("ASK 1" in line for line in said)
    assert not any("type" in line or "revoke" in line for line in said + lines.list_lines(0.0))


def test_asks_that_came_and_went_while_events_were_lost() -> None:
    desk = Desk()
    desk.happened(waiting(1, "ask-1"), opened(1))
    ask = opened(2, fp="net:a.org").ask
    snapshot = Snapshot(1.0, (), (ask,), (), attended=True, config={}, config_source="x", missed=7)
    said = desk.happened(snapshot)
    assert "missed 7 events" in said
    assert "ask 1 is closed" in said
    assert "ASK 2" in said
    assert desk.happened(snapshot).count("ASK") == 0


def test_an_open_ask_is_called_out_again_as_it_ages() -> None:
    desk = Desk()
    desk.happened(opened(1))
    desk.now = 30
    assert desk.happened() == ""
    desk.now = 61
    said = desk.happened()
    assert said.startswith("\a")
    assert "still waiting for you: ask 1" in said


hostile = st.text(st.characters(exclude_categories=()))


@given(hostile, hostile, hostile, hostile, hostile, hostile)
def test_no_line_holds_anything_but_printable_text(
    agent: str, tool: str, value: str, note: str, result: str, fp: str
) -> None:
    lines = Lines()
    lines.verbose = True
    hits = (Hit("repeat", fp, 16, 16, previous=result), Hit("failure", fp, 5, 5, Failure("exit", result)))
    ask = Ask("ask-1", agent, "c1", tool, (fp,), hits, 0.0, None)
    seen = CallSeen(0.0, "c1", agent, tool, {value: value, "command": value}, 1, 1, "wait", (fp,), asks=("ask-1",))
    settled = {"isError": True, "content": [{"type": "text", "text": result}]}
    events: Sequence[Event] = (
        AgentStarted(0.0, agent, tool, value, note),
        seen,
        AskOpened(0.0, ask),
        CallSeen(0.0, "c2", agent, tool, {value: value}, 2, 1, "allow", advisories=(Advisory("warn", fp, 7, note),)),
        CallSettled(0.0, "c2", agent, 2, settled, Failure("exit", result)),
        Exempted(0.0, agent, (fp,)),
        Refused(0.0, agent, (Refusal(fp, "rejected", note),)),
        ExemptionRevoked(0.0, agent, (fp,)),
        ConfigChanged(0.0, note, error=value),
        Notice(0.0, "error", note),
    )
    said = lines.told(events, 1.0) + lines.list_lines(1.0) + lines.ask_lines(1, 1.0)
    said += lines.told([AskClosed(1.0, "ask-1", agent, "rejected", 1, note)], 1.0)
    assert len(said) > 10
    assert all(line.isprintable() for line in said)


# -- what is typed --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("approve 3 this turn", Approve(3)),
        ("  Approve  3 THIS turn\r", Approve(3)),
        ("reject 3", Reject(3)),
        ("reject 3 Use the Cache", Reject(3, "Use the Cache")),
        ("show 12", ShowAsk(12)),
        ("revoke 5", Revoke(5)),
        ("lift 6", Lift(6)),
        ("list", ListAll()),
        ("help", Help()),
        ("?", Help()),
        ("verbose", Verbose(on=True)),
        ("quit", Quit()),
        ("quit anyway", Quit(anyway=True)),
        ("", None),
        ("   ", None),
    ],
)
def test_words_that_are_understood(line: str, words: Words | None) -> None:
    assert understand(line) == words


@pytest.mark.parametrize(
    "line",
    [
        "a", "y", "yes", "approve", "approve 3", "approve 3 this", "approve 3 this turn!", "approve this turn",
        "approve three this turn", "approve 3 this turn please", "approve ² this turn", "approve -1 this turn",
        "approve 99999999999999999999 this turn", "approved 3 this turn", "reject", "reject all", "r 3", "at", "q",
        "revoke", "revoke 3 4", "\x1b[A",
    ],
)  # fmt: skip
def test_words_that_are_not(line: str) -> None:
    assert isinstance(understand(line), NotUnderstood)


@given(hostile)
def test_only_the_whole_sentence_approves(line: str) -> None:
    words = understand(line)
    assert not isinstance(words, Approve) or line.lower().split() == ["approve", str(words.number), "this", "turn"]


def test_an_ask_is_answered_by_its_number() -> None:
    desk = Desk()
    desk.happened(opened(1), opened(2))
    desk.now = 10
    assert desk.typed("approve 2 this turn") == "approved: ask 2\n"
    assert desk.typed("reject 1 use the cache") == "rejected: ask 1\n"
    assert desk.answered == [("ask-2", "approved", ""), ("ask-1", "rejected", "use the cache")]


def test_what_is_typed_before_an_ask_was_printed_does_not_answer_it() -> None:
    desk = Desk()
    assert "no ask is open" in desk.typed("approve 1 this turn")
    desk.happened(opened(1))
    assert "too soon" in desk.typed("approve 1 this turn")
    desk.now += ARMING - 0.01
    assert "too soon" in desk.typed("reject 1")
    assert not desk.answered


def test_a_number_is_never_used_twice() -> None:
    desk = Desk()
    desk.happened(opened(1))
    said = desk.happened(AskClosed(1.0, "ask-1", "agent-7f3a", "timed_out", 1), opened(2))
    assert "ask 1 is closed: not answered in time" in said
    assert "ASK 2" in said
    desk.now = 10
    assert "there is no open ask 1; open: ask 2" in desk.typed("approve 1 this turn")
    assert not desk.answered


def test_an_answer_that_comes_late_says_why() -> None:
    desk = Desk()
    desk.happened(opened(1))
    desk.now = 10
    desk.closed.add("ask-1")
    assert desk.typed("approve 1 this turn") == "ask 1: it timed out\n"


def test_exemptions_and_refusals_are_taken_back_by_their_numbers() -> None:
    desk = Desk()
    said = desk.happened(Exempted(0.0, "agent-7f3a", (HOST,)))
    assert f"exemption 1: {HOST}" in said
    assert "revoke 1" in said
    assert "refusal 2: net:a.org" in desk.happened(Refused(0.0, "agent-7f3a", (Refusal("net:a.org", "rejected"),)))
    assert "there is no exemption 2" in desk.typed("revoke 2")
    assert desk.typed("revoke 1") == ""
    assert "refusal 2 is not in force any more" in desk.typed("lift 2")
    assert desk.taken_back == [("revoke", "agent-7f3a", HOST), ("lift", "agent-7f3a", "net:a.org")]
    desk.happened(ExemptionRevoked(0.0, "agent-7f3a", (HOST,)))
    assert "exemption 3" in desk.happened(Exempted(0.0, "agent-7f3a", (HOST,)))
    assert "there is no exemption 1" in desk.typed("revoke 1")


def test_the_list_says_what_stands() -> None:
    desk = Desk()
    desk.happened(opened(1), Exempted(0.0, "agent-7f3a", ("net:a.org",)))
    said = desk.typed("list")
    assert f"ask 1: claude-code 7f3a about {HOST}, 5:00 left" in said
    assert "claude-code 7f3a: waiting for you" in said
    assert "exemption 1: net:a.org for claude-code 7f3a" in said
    assert "0 refusals" in said


def test_without_an_engine_nothing_is_answered() -> None:
    desk = Desk()
    desk.happened(opened(1), Exempted(0.0, "agent-7f3a", (HOST,)))
    desk.now = 10
    desk.operator = None
    assert desk.typed("approve 1 this turn") == desk.typed("revoke 1") == "there is no engine to tell\n"


def test_quitting_with_open_asks_says_what_becomes_of_them() -> None:
    desk = Desk()
    desk.happened(opened(1))
    assert desk.typed("quit") == "1 ask is open.\nThey are refused.\nto leave, type: quit anyway\n"
    assert not desk.mode.left
    desk.typed("quit anyway")
    assert desk.mode.left


def test_agents_that_have_ended_are_forgotten() -> None:
    desk = Desk()
    for number in range(50):
        agent = f"agent-{number}"
        desk.happened(AgentStarted(desk.now, agent), Exempted(desk.now, agent, (HOST,)), AgentEnded(desk.now, agent))
    desk.now += 3600
    desk.happened()
    assert "1 agent\n" in desk.typed("list")
    assert "0 exemptions" in desk.typed("list")


def test_an_ask_that_was_answered_keeps_nobody_from_quitting() -> None:
    desk = Desk()
    desk.happened(opened(1), opened(2))
    desk.now = 10
    desk.typed("approve 1 this turn")
    assert desk.typed("quit").startswith("1 ask is open.\n")
    desk.typed("reject 2")
    assert desk.typed("quit") == "leaving\n"


def test_what_an_encoding_lacks_is_written_as_an_escape() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    Printer(out)(["12 · é ␛"])
    assert raw.getvalue() == b"12 \\xb7 \\xe9 \\u241b\n"
