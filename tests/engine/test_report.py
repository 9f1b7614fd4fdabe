"""Reports: loops and how far they climbed, advice and what came of it, asks and how long they waited, time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given

from engine.breaker import Breaker
from engine.calls import Call, result_of
from engine.configuration.file import from_mapping
from engine.events import Event
from engine.report import Reporter, report_of, supposed_report
from engine.report_forms import Report, TurnReport
from tests.engine.sessions_at_random import sessions
from tests.engine.sessions_data import lines
from tests.engine.steps import TIGHT, named, take
from tests.engine.transcripts.recordings import ALL, NAMES, items


class Live:
    """A breaker with a clock, and what it reported."""

    def __init__(self, attended: bool = True, **settings: Any) -> None:
        self.now = 1_767_225_600.0
        self.events: list[Event] = []
        self.breaker = Breaker(
            from_mapping(settings), attended=attended, clock=lambda: self.now, listener=self.events.append
        )
        self._calls = 0

    def call(self, command: str, *, seconds: float = 1.0, code: int = 0, agent: str = "a1") -> None:
        """A call that comes now and, if it may, runs for so long."""
        self._calls += 1
        call = Call(f"c{self._calls}", agent, "bash", {"command": command})
        self.breaker.decide(call)
        self.now += seconds
        self.breaker.settle(agent, call.id, result_of({"value": {"exitCode": code}}))

    def report(self) -> Report:
        return report_of(self.events, "live")


def only_turn(report: Report) -> TurnReport:
    (agent,) = report.agents
    (turn,) = agent.turns
    return turn


def test_a_quiet_session():
    live = Live()
    for number in range(5):
        live.call(f"make {number}")
    report = live.report()
    turn = only_turn(report)
    assert turn.quiet
    assert (turn.calls, turn.seconds, turn.repeats) == (5, 5.0, 0)
    assert (report.sums.calls, report.sums.loops, report.sums.turns) == (5, 0, 1)
    assert (report.started, report.ended) == (1_767_225_600.0, 1_767_225_605.0)


def test_a_loop_is_told_once_however_many_measures_saw_it():
    live = Live(attended=False)
    live.call("ls")
    for _ in range(8):
        live.call("curl -s https://example.org/a", seconds=2.0)
    turn = only_turn(live.report())
    (loop,) = turn.loops
    assert loop.fingerprint == "net:example.org/a", "nearest its cap, and of those the most telling"
    assert {one.partition(":")[0] for one in loop.also} == {"host", "cmd", "exact"}
    assert (loop.reached, loop.peak, loop.calls, loop.first, loop.last) == ("warn", 8, 8, 2, 9)
    assert (loop.repeats, loop.seconds) == (7, 14.0)
    assert (turn.repeats, turn.repeat_seconds, turn.seconds) == (7, 14.0, 17.0)


def test_repeats_of_two_loops_at_once_are_counted_once():
    live = Live(attended=False, limits={"verb:make": 20})
    for number in range(8):
        live.call(f"make a{number} > out.txt")
    turn = only_turn(live.report())
    assert sum(loop.repeats for loop in turn.loops) >= turn.repeats == 7
    assert turn.repeat_seconds == 7.0


def test_a_loop_climbs_to_the_gate_and_its_refusals_are_counted():
    live = Live(attended=False, limits={"exact": 4, "cmd": 4}, warnAt=2, summarizeAt=3)
    for _ in range(6):
        live.call("make")
    turn = only_turn(live.report())
    (loop,) = turn.loops
    assert (loop.reached, loop.refused, loop.calls) == ("gate", 3, 6)
    assert turn.refused == 3
    (ask,) = turn.asks
    assert (ask.call, ask.outcome, ask.waited) == (4, "unattended", None)
    assert ask.what == "bash make"


def test_failures_climb_on_their_own():
    live = Live(attended=False)
    for _ in range(4):
        live.call("make", code=2)
    turn = only_turn(live.report())
    assert turn.failures == {"exit": 4}
    (loop,) = turn.loops
    assert (loop.reached, loop.failures) == ("fail-warn", 4)
    (advised,) = turn.advice
    assert (advised.stage, advised.count, advised.call, advised.next, advised.later) == ("fail-warn", 3, 3, "again", 1)


@pytest.mark.parametrize(
    ("after", "did", "later"),
    [(["make", "make"], "again", 2), (["ls", "make"], "other", 1), (["ls"], "other", 0), ([], "nothing", 0)],
)
def test_what_the_agent_did_after_advice(after: list[str], did: str, later: int):
    live = Live(attended=False, warnAt=2, summarizeAt=0)
    live.call("make")
    live.call("make")
    for command in after:
        live.call(command)
    (advised,) = only_turn(live.report()).advice
    assert (advised.stage, advised.call, advised.next, advised.later) == ("warn", 2, did, later)
    assert advised.next_what == (f"bash {after[0]}" if after else "")


def test_asks_with_their_waits_and_outcomes():
    live = Live(limits={"exact": 2, "cmd": 2})
    live.call("make")
    live.breaker.decide(Call("c2", "a1", "bash", {"command": "make"}))
    live.breaker.decide(Call("c3", "a1", "bash", {"command": "make"}))
    live.now += 12.0
    live.breaker.answer("ask-1", "rejected", "use the cache")
    live.breaker.decide(Call("c4", "a1", "bash", {"command": "make"}))
    report = live.report()
    turn = only_turn(report)
    (ask,) = turn.asks
    assert (ask.call, ask.waited, ask.outcome, ask.note, ask.calls) == (2, 12.0, "rejected", "use the cache", 2)
    assert (turn.asked, turn.refused) == (2, 3)
    assert report.sums.waited == 12.0


def test_an_ask_that_is_open_still():
    live = Live(limits={"exact": 2, "cmd": 2})
    live.call("make")
    live.breaker.decide(Call("c2", "a1", "bash", {"command": "make"}))
    (ask,) = only_turn(live.report()).asks
    assert (ask.outcome, ask.waited) == (None, None)


def test_turns_and_agents_are_told_apart():
    live = Live(attended=False)
    live.breaker.start_agent("a1", harness="codex")
    live.breaker.start_agent("a2", parent="a1", name="explorer")
    live.call("ls", agent="a1")
    live.call("ls", agent="a2")
    live.breaker.start_turn("a1")
    live.call("ls", agent="a1")
    first, second = live.report().agents
    assert (first.agent, first.harness, [turn.turn for turn in first.turns]) == ("a1", "codex", [1, 2])
    assert (second.parent, second.name, len(second.turns)) == ("a1", "explorer", 1)


def test_what_a_breaker_would_have_done_counts_the_time_it_would_have_saved():
    made: list[dict[str, Any]] = []
    for number in range(14):
        call = {
            "type": "call",
            "id": f"c{number}",
            "tool": "lookup",
            "args": {"q": "x"},
            "at": 1_767_225_600 + 10 * number,
        }
        made += [call, {"type": "result", "id": f"c{number}", "result": {}, "at": 1_767_225_603 + 10 * number}]
    report = supposed_report(lines(made), "session")
    assert report.supposed
    turn = only_turn(report)
    assert (turn.refused, turn.seconds, turn.repeats, turn.repeat_seconds) == (3, 42.0, 13, 39.0)


def test_a_session_without_times_is_told_without_times():
    report = supposed_report(lines([{"type": "call", "tool": "t", "args": {}, "result": {}}] * 8), "session")
    assert (report.started, report.ended, report.sums.seconds) == (0.0, 0.0, 0.0)
    assert only_turn(report).loops


@pytest.mark.parametrize("path", ALL, ids=NAMES)
def test_recordings(path: Path):
    report = supposed_report(items(path), str(path))
    told = [turn for agent in report.agents for turn in agent.turns]
    assert report.sums.calls == sum(turn.calls for turn in told)
    loops = path.name.startswith("loop.")
    assert bool(report.sums.loops) is loops
    if loops:
        (loop,) = only_turn(report).loops
        assert (loop.reached, loop.failures, loop.refused, loop.calls) == ("gate", 5, 4, 9)
        assert 0 < only_turn(report).repeat_seconds < only_turn(report).seconds


@given(sessions())
def test_any_events_add_up(steps: list[Any]):
    clock, events = 0.0, []
    breaker = Breaker(TIGHT, attended=True, clock=lambda: clock, listener=events.append)
    for step in steps:
        clock += 1.0
        if (act := named(breaker, step)) is not None:
            take(breaker, act)
    report = report_of(events, "any")
    turns = [turn for agent in report.agents for turn in agent.turns]
    assert report.sums.calls == sum(turn.calls for turn in turns)
    for turn in turns:
        assert turn.repeats <= turn.calls
        assert turn.refused <= turn.calls
        assert turn.repeat_seconds <= turn.seconds + 1e-6
        for loop in turn.loops:
            assert 1 <= loop.first <= loop.last <= turn.calls
            assert loop.repeats == loop.calls - 1
    msgspec.json.encode(report)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch):
    from engine import report, report_turn  # noqa: PLC0415 - what is patched

    monkeypatch.setattr(report_turn, "CLIMBS_KEPT", 20)
    monkeypatch.setattr(report_turn, "CALLS_AWAITED", 5)
    monkeypatch.setattr(report, "AGENTS_KEPT", 3)
    live = Live(attended=False)
    for number in range(200):
        live.breaker.decide(Call(f"x{number}", "a1", "bash", {"command": f"make {number}"}))
    for _ in range(8):
        live.call("make again")
    for number in range(10):
        live.call("ls", agent=f"b{number}")
    reporter = Reporter("live", supposed=False)
    for event in live.events:
        reporter.take(event)
    made = reporter.report()
    assert len(made.agents) == 3
    assert made.sums.calls == 218
    assert any("make again" in one for loop in made.agents[0].turns[0].loops for one in (loop.fingerprint, *loop.also))
