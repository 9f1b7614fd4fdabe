"""The door: what decides a call, what an answer does, what ends an ask."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable

import msgspec
import pytest

from engine import agents
from engine.agents import IDLE_SECONDS
from engine.breaker import Breaker
from engine.calls import Call, Result
from engine.config import DEFAULTS
from engine.events import (
    AgentEnded,
    AskClosed,
    AskOpened,
    CallDecided,
    CallSeen,
    CallSettled,
    Event,
    Refused,
    TurnStarted,
)
from engine.verdicts import Decided, Outcome, Verdict, Waiting

THREE = msgspec.structs.replace(DEFAULTS, limits={**DEFAULTS.limits, "exact": 3, "cmd": None})
OK = Result(value={"exitCode": 0}, text="fine")
BAD = Result(value={"exitCode": 2}, text="broken")

ids = (f"c{number}" for number in itertools.count())


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def call(command: str = "ls", agent: str = "a", tool: str = "bash", call_id: str | None = None) -> Call:
    return Call(call_id or next(ids), agent, tool, {"command": command})


def run(breaker: Breaker, times: int, command: str = "ls", agent: str = "a", result: Result = OK) -> None:
    """Calls that must all be allowed, each settled."""
    for _ in range(times):
        made = call(command, agent)
        verdict = breaker.decide(made)
        assert isinstance(verdict, Verdict)
        assert verdict.decision == "allow"
        breaker.settle(agent, made.id, result)


def at_the_gate(breaker: Breaker, command: str = "ls", agent: str = "a") -> Waiting:
    """The next call of a loop, waiting for the operator."""
    run(breaker, 2, command, agent)
    waiting = breaker.decide(call(command, agent))
    assert isinstance(waiting, Waiting)
    return waiting


def only(decided: tuple[Decided, ...]) -> Verdict:
    (one,) = decided
    return one.verdict


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
def attended(events: list[Event]) -> Breaker:
    return Breaker(THREE, attended=True, listener=events.append)


def test_approval_exempts_exactly_what_hit_for_the_rest_of_the_turn(attended: Breaker):
    waiting = at_the_gate(attended)
    verdict = only(attended.answer(waiting.asks[0], "approved"))
    assert (verdict.decision, verdict.asked, verdict.outcome) == ("allow", True, "approved")
    run(attended, 30)
    assert isinstance(at_the_gate(attended, "pwd"), Waiting)


def test_an_approved_call_is_settled_like_any_other(attended: Breaker):
    run(attended, 2)
    waiting = attended.decide(call(call_id="asked"))
    assert isinstance(waiting, Waiting)
    assert not attended.settle("a", "asked", OK).known
    attended.answer(waiting.asks[0], "approved")
    assert attended.settle("a", "asked", OK).known
    assert not attended.settle("a", "asked", OK).known


def test_rejection_refuses_without_asking_again_and_gives_the_note_to_the_model(attended: Breaker):
    waiting = at_the_gate(attended)
    verdict = only(attended.answer(waiting.asks[0], "rejected", "read the log first"))
    assert (verdict.decision, verdict.asked, verdict.outcome) == ("deny", True, "rejected")
    assert verdict.reason.startswith("REPEAT_TOOL_BLOCKED")
    assert "read the log first" in verdict.reason
    later = attended.decide(call())
    assert isinstance(later, Verdict)
    assert (later.decision, later.asked, later.outcome) == ("deny", False, None)
    assert "read the log first" in later.reason


def test_a_batch_waits_on_one_ask_and_is_decided_in_order(attended: Breaker, events: list[Event]):
    run(attended, 2)
    batch = [attended.decide(call()) for _ in range(4)]
    assert all(isinstance(one, Waiting) for one in batch)
    assert len([event for event in events if isinstance(event, AskOpened)]) == 1
    decided = attended.answer("ask-1", "approved")
    assert [one.ticket for one in decided] == [one.ticket for one in batch if isinstance(one, Waiting)]
    assert {one.verdict.outcome for one in decided} == {"approved"}


def test_a_call_that_hits_a_second_measure_needs_its_answer_too():
    config = msgspec.structs.replace(DEFAULTS, limits={**DEFAULTS.limits, "exact": 3, "sink": 3, "cmd": None})
    breaker = Breaker(config, attended=True)
    first = at_the_gate(breaker, "ls > out")
    run_into = breaker.decide(call("pwd > out"))
    assert isinstance(first, Waiting)
    assert isinstance(run_into, Waiting)
    assert run_into.asks == first.asks
    for _ in range(3):
        breaker.decide(call("make all"))
    both = breaker.decide(call("make all"))
    assert isinstance(both, Waiting)
    assert set(both.asks).isdisjoint(first.asks)


def test_rejecting_one_of_two_asks_refuses_a_call_that_waits_on_both():
    config = msgspec.structs.replace(DEFAULTS, limits={**DEFAULTS.limits, "exact": 3, "sink": 4, "cmd": None})
    breaker = Breaker(config, attended=True)
    run(breaker, 2, "ls > out")
    exact = breaker.decide(call("ls > out"))
    assert isinstance(exact, Waiting)
    run(breaker, 1, "pwd > out")
    both = breaker.decide(call("ls > out"))
    assert isinstance(both, Waiting)
    assert len(both.asks) == 2
    decided = breaker.answer(both.asks[1], "rejected")
    assert {one.ticket for one in decided} >= {both.ticket}
    assert all(one.verdict.decision == "deny" for one in decided)


@pytest.mark.parametrize("answer", ["approved", "rejected", "timed_out"])
def test_only_an_answer_lets_a_waiting_call_run_wherever_the_window_has_moved(answer: Outcome):
    breaker = Breaker(msgspec.structs.replace(THREE, window=4), attended=True)
    waiting = at_the_gate(breaker, "ls")
    run(breaker, 1, "a")
    run(breaker, 1, "b")
    other = at_the_gate(breaker, "make")
    assert only(breaker.answer(other.asks[0], "approved")).outcome == "approved"
    assert [ask.id for ask in breaker.asks()] == list(waiting.asks), "the window has moved on, the question stands"
    verdict = only(breaker.answer(waiting.asks[0], answer))
    assert (verdict.decision, verdict.outcome) == ("allow" if answer == "approved" else "deny", answer)


def test_nobody_there_refuses_at_once_and_an_arriving_operator_is_asked(events: list[Event]):
    breaker = Breaker(THREE, listener=events.append)
    run(breaker, 2)
    verdict = breaker.decide(call())
    assert isinstance(verdict, Verdict)
    assert (verdict.decision, verdict.asked, verdict.outcome) == ("deny", True, "unattended")
    again = breaker.decide(call())
    assert isinstance(again, Verdict)
    assert (again.asked, again.outcome) == (False, None)
    breaker.attend()
    assert isinstance(breaker.decide(call()), Waiting)


def test_the_last_operator_leaving_refuses_what_waits(attended: Breaker):
    at_the_gate(attended)
    verdict = only(attended.leave())
    assert (verdict.decision, verdict.outcome) == ("deny", "unattended")
    assert attended.asks() == ()


def test_the_first_answer_wins(attended: Breaker):
    waiting = at_the_gate(attended)
    attended.answer(waiting.asks[0], "rejected")
    with pytest.raises(KeyError):
        attended.answer(waiting.asks[0], "approved")
    assert isinstance(attended.decide(call()), Verdict)


def test_cancelling_the_only_waiting_call_withdraws_its_ask_and_leaves_no_refusal(
    attended: Breaker, events: list[Event]
):
    waiting = at_the_gate(attended)
    verdict = only(attended.cancel_ticket("a", waiting.ticket))
    assert (verdict.decision, verdict.outcome) == ("deny", "cancelled")
    assert [event.outcome for event in events if isinstance(event, AskClosed)] == ["cancelled"]
    assert not [event for event in events if isinstance(event, Refused)]
    assert isinstance(attended.decide(call()), Waiting)


def test_cancelling_one_of_two_waiting_calls_leaves_the_ask_to_the_other(attended: Breaker):
    run(attended, 2)
    first, second = attended.decide(call(call_id="x")), attended.decide(call(call_id="y"))
    assert isinstance(first, Waiting)
    assert isinstance(second, Waiting)
    attended.cancel("a", "x")
    assert [ask.id for ask in attended.asks()] == list(second.asks)
    assert only(attended.answer(second.asks[0], "approved")).decision == "allow"


@pytest.mark.parametrize(
    "clear",
    [lambda breaker: breaker.start_turn("a"), lambda breaker: breaker.reset_turn("a")],
    ids=["human message", "by hand"],
)
def test_a_new_turn_cancels_what_waits_and_clears_everything(
    attended: Breaker, events: list[Event], clear: Callable[[Breaker], tuple[Decided, ...]]
):
    rejected = at_the_gate(attended, "pwd")
    attended.answer(rejected.asks[0], "rejected")
    at_the_gate(attended)
    assert only(clear(attended)).outcome == "cancelled"
    assert attended.asks() == ()
    (agent,) = attended.snapshot().agents
    assert (agent.turn, agent.calls, agent.counts, agent.streaks, agent.refusals) == (2, 0, {}, {}, ())
    run(attended, 2, "pwd")
    assert [event.turn for event in events if isinstance(event, TurnStarted)] == [2]


def test_a_result_from_before_the_human_spoke_touches_no_streak_of_the_new_turn(attended: Breaker):
    attended.decide(call(call_id="slow"))
    attended.start_turn("a")
    settlement = attended.settle("a", "slow", BAD)
    assert settlement.known
    (agent,) = attended.snapshot().agents
    assert agent.streaks == {}


def test_the_sixth_try_of_what_failed_five_times_meets_the_gate():
    breaker = Breaker()
    advised = []
    for number in range(5):
        breaker.decide(call("make", call_id=f"m{number}"))
        advised.append([one.stage for one in breaker.settle("a", f"m{number}", BAD).advisories])
    assert advised == [[], [], ["fail-warn"], [], []]
    verdict = breaker.decide(call("make"))
    assert isinstance(verdict, Verdict)
    assert {hit.track for hit in verdict.hits} == {"failure"}


def test_an_aborted_call_neither_lengthens_a_streak_nor_clears_one():
    breaker = Breaker()
    run(breaker, 4, "make", result=BAD)
    for aborted in (Result(value={"aborted": True}), Result(is_error=True, error_code="ABORTED_BEFORE_DISPATCH")):
        run(breaker, 1, "make", result=aborted)
    (agent,) = breaker.snapshot().agents
    assert set(agent.streaks.values()) == {4}


def test_our_own_refusals_touch_no_streak():
    breaker = Breaker(msgspec.structs.replace(THREE, on_limit="deny"))
    run(breaker, 2, result=BAD)
    for number in range(5):
        refused = breaker.decide(call(call_id=f"r{number}"))
        assert isinstance(refused, Verdict)
        assert refused.decision == "deny"
        assert not breaker.settle("a", f"r{number}", Result(is_error=True)).known
    (agent,) = breaker.snapshot().agents
    assert set(agent.streaks.values()) == {2}


def test_an_excluded_tool_passes_uncounted_and_unsettled_streaks():
    breaker = Breaker(attended=True)
    for number in range(40):
        assert breaker.decide(Call(f"t{number}", "a", "todo_write", {})) == Verdict("allow")
        assert breaker.settle("a", f"t{number}", Result(is_error=True)).advisories == ()
    (agent,) = breaker.snapshot().agents
    assert (agent.counts, agent.streaks, agent.calls) == ({}, {}, 40)


def test_agents_do_not_see_each_other(attended: Breaker):
    at_the_gate(attended, agent="one")
    run(attended, 2, agent="two")


def test_ending_an_agent_ends_those_under_it_and_withdraws_their_asks(attended: Breaker):
    attended.start_agent("main")
    attended.start_agent("sub", parent="main")
    attended.start_agent("deep", parent="sub")
    at_the_gate(attended, agent="deep")
    assert only(attended.end_agent("main")).outcome == "cancelled"
    assert attended.snapshot().agents == ()
    assert attended.asks() == ()


def test_a_child_may_be_known_before_its_parent(attended: Breaker):
    attended.start_agent("sub", parent="main")
    attended.start_agent("main")
    attended.end_agent("main")
    assert attended.snapshot().agents == ()


def test_parents_in_a_ring_end_together(attended: Breaker):
    attended.start_agent("a", parent="b")
    attended.start_agent("b", parent="a")
    attended.end_agent("a")
    assert attended.snapshot().agents == ()


def test_the_long_idle_are_forgotten_but_not_while_they_wait(events: list[Event]):
    clock = Clock()
    breaker = Breaker(THREE, attended=True, clock=clock)
    run(breaker, 1, agent="idle")
    at_the_gate(breaker, agent="waits")
    clock.now += IDLE_SECONDS + 1
    run(breaker, 1, agent="new")
    assert {agent.agent for agent in breaker.snapshot().agents} == {"waits", "new"}


def test_agents_without_end_take_no_memory_without_end(monkeypatch: pytest.MonkeyPatch, events: list[Event]):
    monkeypatch.setattr(agents, "AGENTS_KEPT", 8)
    breaker = Breaker(THREE, attended=True, listener=events.append)
    at_the_gate(breaker, agent="waits")
    for number in range(100):
        run(breaker, 1, agent=f"{number}")
        run(breaker, 1, f"{number}", agent="busy")
    known = [agent.agent for agent in breaker.snapshot().agents]
    assert set(known) == {"waits", "busy", *(f"{number}" for number in range(94, 100))}
    assert sum(isinstance(event, AgentEnded) and event.reason == "idle" for event in events) == 94


def test_revoking_an_exemption_and_lifting_a_refusal_make_the_gate_ask_again(attended: Breaker):
    waiting = at_the_gate(attended)
    fingerprint = attended.asks()[0].fingerprints[0]
    attended.answer(waiting.asks[0], "approved")
    assert attended.revoke("a", fingerprint)
    again = attended.decide(call())
    assert isinstance(again, Waiting)
    attended.answer(again.asks[0], "rejected")
    assert isinstance(attended.decide(call()), Verdict)
    assert attended.lift("a", fingerprint)
    assert isinstance(attended.decide(call()), Waiting)
    assert not attended.revoke("nobody", fingerprint)
    assert not attended.lift("a", "exact:unknown")


def test_events_tell_the_whole_story_in_order(attended: Breaker, events: list[Event]):
    waiting = at_the_gate(attended)
    attended.answer(waiting.asks[0], "rejected")
    kinds = [type(event).__name__ for event in events]
    assert kinds == [
        "AgentStarted",
        *["CallSeen", "CallSettled"] * 2,
        "CallSeen",
        "AskOpened",
        "AskClosed",
        "Refused",
        "CallDecided",
    ]
    seen = [event for event in events if isinstance(event, CallSeen)]
    assert [event.verdict for event in seen] == ["allow", "allow", "wait"]
    exact = next(one for one in seen[0].fingerprints if one.startswith("exact:"))
    assert [event.counts.get(exact) for event in seen] == [1, 2, None]
    decided = next(event for event in events if isinstance(event, CallDecided))
    assert decided.counts == {exact: 3}
    settled = [event for event in events if isinstance(event, CallSettled)]
    assert [event.ticket for event in settled] == [event.ticket for event in seen[:2]]


def test_a_new_configuration_resizes_windows_and_keeps_counts(attended: Breaker):
    run(attended, 2)
    attended.reconfigure(msgspec.structs.replace(THREE, limits={**THREE.limits, "exact": 2}), "breaker.yaml")
    assert isinstance(attended.decide(call()), Waiting)
    assert attended.snapshot().config_source == "breaker.yaml"


def test_asking_what_would_happen_changes_nothing(attended: Breaker):
    run(attended, 2)
    before = attended.snapshot().agents
    assert [hit.count for hit in attended.hits_of(call())] == [3]
    assert attended.hits_of(call(agent="unheard-of")) == ()
    after = attended.snapshot().agents
    assert before == after


def test_an_idle_parent_and_its_idle_child_are_both_forgotten_and_a_busy_child_stays(events: list[Event]):
    clock = Clock()
    breaker = Breaker(clock=clock, listener=events.append)
    breaker.start_agent("parent")
    breaker.start_agent("idle", parent="parent")
    breaker.start_agent("busy", parent="parent")
    clock.now += IDLE_SECONDS + 1
    run(breaker, 1, agent="busy")
    run(breaker, 1, agent="new")
    assert {agent.agent for agent in breaker.snapshot().agents} == {"busy", "new"}
    assert [event.agent for event in events if isinstance(event, AgentEnded)] == ["parent", "idle"]


def test_a_call_that_is_never_settled_does_not_keep_its_arguments():
    breaker = Breaker(THREE)
    contents = "x" * 100_000
    args = {"path": "a.py", "content": contents}
    before = sys.getrefcount(contents)
    breaker.decide(Call("w1", "a", "write", args))
    breaker.decide(Call("w2", "a", "todo_write", args))
    del args
    assert sys.getrefcount(contents) < before
