"""What holds of the breaker whatever agents and operators do, in any order."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.agents import IN_FLIGHT_KEPT
from engine.breaker import Breaker
from engine.calls import Call, Identity, Measure, Result
from engine.config import DEFAULTS, Config
from engine.events import AskClosed, AskOpened, CallDecided, CallSeen, Event
from engine.turn import REFUSALS_KEPT, RESULTS_KEPT, STREAKS_KEPT
from engine.verdicts import Decided, Outcome, Verdict, Waiting

TIGHT = msgspec.structs.replace(
    DEFAULTS,
    window=6,
    warn_at=1,
    summarize_at=2,
    fail_warn_at=1,
    fail_limit=2,
    limits={**DEFAULTS.limits, "host": 3, "net": 2, "cmd": 2, "exact": 2},
)
"""Thresholds so low that a few random calls reach every one of them, and two asks are often open at once."""
CAPS = {"host:a": 3.0, "net:a/x": 2.0, "cmd:curl": 2.0, "exact:1": 2.0, "exact:2": 2.0}
UNCAPPED = ("verb:curl", "site:a")

AGENTS = st.sampled_from(["one", "two"])
RESULTS = st.sampled_from([Result(value={"exitCode": 0}), Result(value={"exitCode": 1}), Result(error_code="ABORTED")])
OUTCOMES: list[Outcome] = ["approved", "rejected", "unattended", "timed_out"]


def identities() -> st.SearchStrategy[Identity]:
    return st.lists(st.sampled_from([*CAPS, *UNCAPPED]), min_size=1, max_size=4, unique=True).map(identity)


def identity(fingerprints: list[str]) -> Identity:
    return Identity(tuple(fingerprints), tuple(Measure(one, CAPS[one]) for one in fingerprints if one in CAPS))


def call(agent: str, number: int) -> Call:
    return Call(f"c{number}", agent, "bash", {"command": f"echo {number}"})


class Step(msgspec.Struct, frozen=True):
    """One thing that happens to an agent; ``answer`` is given at once to whatever the call asks."""

    agent: str
    kind: Literal["call", "turn"]
    identity: Identity
    result: Result
    answer: Outcome


STEPS = st.builds(
    Step, AGENTS, st.sampled_from(["call"] * 9 + ["turn"]), identities(), RESULTS, st.sampled_from(OUTCOMES)
)


def run(steps: list[Step], config: Config = TIGHT) -> dict[str, list[Any]]:
    """What each agent is told, in order."""
    breaker = Breaker(config, attended=True, clock=lambda: 0.0)
    told: dict[str, list[Any]] = {"one": [], "two": []}
    numbers: Counter[str] = Counter()
    for step in steps:
        if step.kind == "turn":
            assert breaker.start_turn(step.agent) == ()
            continue
        numbers[step.agent] += 1
        answer = breaker.decide(call(step.agent, numbers[step.agent]), step.identity)
        if isinstance(answer, Waiting):
            (decided,) = [one for ask in answer.asks for one in breaker.answer(ask, step.answer)]
            answer = decided.verdict
        told[step.agent] += (answer, breaker.settle(step.agent, f"c{numbers[step.agent]}", step.result))
    return told


@given(st.lists(STEPS, max_size=40))
def test_the_same_steps_give_the_same_verdicts(steps: list[Step]):
    assert run(steps) == run(steps)


@given(st.lists(STEPS, max_size=60))
def test_an_agents_verdicts_never_depend_on_another_agent(steps: list[Step]):
    together = run(steps)
    for agent in ("one", "two"):
        assert run([step for step in steps if step.agent == agent])[agent] == together[agent]


@given(st.lists(STEPS, max_size=40), st.sampled_from(["ls", "curl https://a/x", "echo 1"]))
def test_asking_what_would_hit_changes_nothing(steps: list[Step], command: str):
    def told_with(*, peeking: bool) -> list[Any]:
        breaker = Breaker(TIGHT, attended=False, clock=lambda: 0.0)
        told: list[Any] = []
        for number, step in enumerate(steps):
            if peeking:
                before = breaker.snapshot()
                breaker.hits_of(Call("peek", step.agent, "bash", {"command": command}))
                breaker.hits_of(Call("peek", "never seen", "bash", {"command": command}))
                assert breaker.snapshot() == before
            told += (
                breaker.decide(Call(f"c{number}", step.agent, "bash", {"command": command})),
                breaker.settle(step.agent, f"c{number}", step.result),
            )
        return told

    assert told_with(peeking=True) == told_with(peeking=False)


@given(st.lists(STEPS, max_size=60), st.sampled_from(["ask", "deny"]))
def test_a_refused_call_changes_no_streak(steps: list[Step], on_limit: Literal["ask", "deny"]):
    breaker = Breaker(msgspec.structs.replace(TIGHT, on_limit=on_limit), clock=lambda: 0.0)
    for number, step in enumerate(steps):
        before = streaks_of(breaker, step.agent)
        verdict = breaker.decide(call(step.agent, number), step.identity)
        assert isinstance(verdict, Verdict)
        settled = breaker.settle(step.agent, f"c{number}", step.result)
        if verdict.decision == "deny":
            assert not settled.known
            assert streaks_of(breaker, step.agent) == before


def streaks_of(breaker: Breaker, agent: str) -> dict[str, int]:
    return next((dict(one.streaks) for one in breaker.snapshot().agents if one.agent == agent), {})


@pytest.mark.parametrize("settles", [True, False])
def test_nothing_grows_for_ever_within_a_turn(settles: bool):
    breaker = Breaker(DEFAULTS, clock=lambda: 0.0)
    for number in range(3 * STREAKS_KEPT):
        fingerprint = f"exact:{number}"
        breaker.decide(call("one", number), Identity((fingerprint,), (Measure(fingerprint, 12),)))
        if settles:
            breaker.settle("one", f"c{number}", Result(is_error=True, text="no"))
    (state,) = breaker.checkpoint().agents
    assert len(state.window) == DEFAULTS.window
    assert len(state.streaks) <= STREAKS_KEPT
    assert len(state.results) <= RESULTS_KEPT
    assert len(state.in_flight) <= IN_FLIGHT_KEPT
    assert len(breaker.snapshot().agents[0].counts) == DEFAULTS.window


def test_refusals_do_not_grow_for_ever_either():
    config = msgspec.structs.replace(DEFAULTS, window=4)
    breaker = Breaker(config, clock=lambda: 0.0)
    for number in range(REFUSALS_KEPT + 500):
        fingerprint = f"exact:{number}"
        for _ in range(2):
            breaker.decide(call("one", number), Identity((fingerprint,), (Measure(fingerprint, 2),)))
    (state,) = breaker.checkpoint().agents
    assert len(state.refusals) == REFUSALS_KEPT


def breaker_at_the_gate(*batch: list[str]) -> tuple[Breaker, list[Verdict | Waiting]]:
    """A breaker whose agent has made one call of each capped measure, and what it says of these calls then."""
    breaker = Breaker(TIGHT, attended=True, clock=lambda: 0.0)
    breaker.decide(call("one", 0), identity(["host:a", "net:a/x", "cmd:curl", "exact:1", "exact:2"]))
    return breaker, [breaker.decide(call("one", number), identity(what)) for number, what in enumerate(batch, 1)]


def test_an_ask_whose_last_call_another_ask_refused_is_closed():
    breaker, answers = breaker_at_the_gate(["exact:1"], ["exact:1", "exact:2"])
    assert [answer.asks for answer in answers if isinstance(answer, Waiting)] == [("ask-1",), ("ask-1", "ask-2")]
    assert [one.verdict.decision for one in breaker.answer("ask-1", "rejected")] == ["deny", "deny"]
    assert breaker.asks() == ()
    assert isinstance(breaker.decide(call("one", 9), identity(["exact:2"])), Waiting)


@pytest.mark.parametrize("how", ["leave", "deny"])
def test_a_call_judged_again_asks_nobody_who_is_not_there(how: str):
    """It waits about one measure; another that it carries reaches its cap meanwhile, and then the operator goes."""
    breaker, _ = breaker_at_the_gate(["exact:1", "host:a"])
    assert isinstance(breaker.decide(call("one", 2), identity(["host:a"])), Verdict)
    if how == "leave":
        decided = breaker.leave()
    else:
        breaker.reconfigure(msgspec.structs.replace(TIGHT, on_limit="deny"), "test")
        decided = breaker.answer("ask-1", "approved")
    (one,) = decided
    assert (one.call, one.verdict.decision) == ("c1", "deny")
    assert breaker.asks() == ()


Disturbance = Literal["message", "end", "leave", "attend", "revoke", "lift", "deny", "ask", "resize"]
DISTURBANCES: list[Disturbance] = [
    *["attend"] * 4,
    "message",
    "end",
    "leave",
    "revoke",
    "lift",
    "deny",
    *["ask"] * 3,
    "resize",
]


class AnyInterleaving(RuleBasedStateMachine):
    """Agents call, operators answer, calls are cancelled, humans write, agents end: nothing waits for nothing."""

    @initialize()
    def begin(self):
        self.events: list[Event] = []
        self.breaker = Breaker(TIGHT, attended=True, clock=lambda: 0.0, listener=self.events.append)
        self.waiting: dict[int, Call] = {}
        self.allowed: list[tuple[str, str]] = []
        self.number = 0

    def take(self, decided: tuple[Decided, ...], *outcomes: Outcome) -> None:
        """Every decided call was waiting until now, and is refused unless its asks were approved."""
        for one in decided:
            waited = self.waiting.pop(one.ticket)
            assert (one.agent, one.call) == (waited.agent, waited.id)
            assert one.verdict.asked
            assert one.verdict.hits
            assert (one.verdict.decision == "allow") == (one.verdict.outcome == "approved")
            if outcomes:
                assert one.verdict.outcome in outcomes
            if one.verdict.decision == "allow":
                self.allowed.append((one.agent, one.call))

    @rule(agent=AGENTS, batch=st.lists(identities(), min_size=1, max_size=5), again=st.booleans())
    def decide(self, agent: str, batch: list[Identity], again: bool):
        for what in batch:
            self.number += not again
            answer = self.breaker.decide(call(agent, self.number), what)
            if isinstance(answer, Waiting):
                assert answer.asks
                assert answer.ticket not in self.waiting
                self.waiting[answer.ticket] = call(agent, self.number)
            elif answer.decision == "allow":
                self.allowed.append((agent, f"c{self.number}"))
            else:
                assert answer.hits

    @precondition(lambda self: self.breaker.asks())
    @rule(pick=st.integers(0, 9), outcome=st.sampled_from(["approved", *OUTCOMES]))
    def answer(self, pick: int, outcome: Outcome):
        asks = self.breaker.asks()
        ask = asks[pick % len(asks)]
        self.take(self.breaker.answer(ask.id, outcome))
        with pytest.raises(KeyError):
            self.breaker.answer(ask.id, outcome)

    @precondition(lambda self: self.waiting)
    @rule(pick=st.integers(0, 9), by_id=st.booleans())
    def cancel(self, pick: int, by_id: bool):
        ticket, waited = list(self.waiting.items())[pick % len(self.waiting)]
        if by_id:
            same = [one for one, other in self.waiting.items() if (other.agent, other.id) == (waited.agent, waited.id)]
            decided = self.breaker.cancel(waited.agent, waited.id)
        else:
            same = [ticket]
            decided = self.breaker.cancel_ticket(waited.agent, ticket)
        assert [one.ticket for one in decided] == same
        self.take(decided, "cancelled")
        assert self.breaker.cancel_ticket(waited.agent, ticket) == ()

    @precondition(lambda self: self.allowed)
    @rule(pick=st.integers(0, 99), result=RESULTS)
    def settle(self, pick: int, result: Result):
        agent, call_id = self.allowed.pop(pick % len(self.allowed))
        self.breaker.settle(agent, call_id, result)

    @rule(
        agent=AGENTS,
        kind=st.sampled_from(DISTURBANCES),
        fingerprint=st.sampled_from(list(CAPS)),
        size=st.integers(4, 9),
    )
    def disturb(self, agent: str, kind: Disturbance, fingerprint: str, size: int):
        match kind:
            case "message":
                self.take(self.breaker.start_turn(agent), "cancelled")
                assert agent not in {waiting.agent for waiting in self.waiting.values()}
            case "end":
                self.take(self.breaker.end_agent(agent), "cancelled")
                assert agent not in {one.agent for one in self.breaker.snapshot().agents}
            case "leave":
                self.take(self.breaker.leave())
                assert not self.breaker.asks()
            case "attend":
                self.breaker.attend()
            case "revoke":
                self.breaker.revoke(agent, fingerprint)
            case "lift":
                self.breaker.lift(agent, fingerprint)
            case "deny" | "ask":
                self.breaker.reconfigure(msgspec.structs.replace(self.breaker.config, on_limit=kind), "test")
            case "resize":
                self.breaker.reconfigure(msgspec.structs.replace(self.breaker.config, window=size), "test")

    @invariant()
    def what_waits_is_what_was_told_to_wait(self):
        waiting = self.breaker.snapshot().waiting
        assert {one.ticket for one in waiting} == set(self.waiting)

    @invariant()
    def every_waiting_call_has_an_ask_and_every_ask_a_waiting_call(self):
        snapshot = self.breaker.snapshot()
        open_asks = {ask.id for ask in snapshot.asks}
        assert {ask.id for ask in self.breaker.asks()} == open_asks
        assert all(one.asks for one in snapshot.waiting)
        assert {ask for one in snapshot.waiting for ask in one.asks} == open_asks

    @invariant()
    def no_two_asks_of_an_agent_are_about_the_same(self):
        about = [(ask.agent, one) for ask in self.breaker.asks() for one in ask.fingerprints]
        assert len(about) == len(set(about))

    @invariant()
    def counts_are_those_of_the_window(self):
        counts = {one.agent: dict(one.counts) for one in self.breaker.snapshot().agents}
        for state in self.breaker.checkpoint().agents:
            assert len(state.window) <= self.breaker.config.window
            again = Counter(one for committed in state.window for one in committed if one in CAPS)
            assert counts[state.agent] == dict(again)

    @invariant()
    def events_tell_the_same(self):
        opened = {one.ask.id for one in self.events if isinstance(one, AskOpened)}
        closed = [one.id for one in self.events if isinstance(one, AskClosed)]
        assert len(closed) == len(set(closed))
        assert opened - set(closed) == {ask.id for ask in self.breaker.asks()}
        waited = {one.ticket for one in self.events if isinstance(one, CallSeen) and one.verdict == "wait"}
        decided = [one.ticket for one in self.events if isinstance(one, CallDecided)]
        assert len(decided) == len(set(decided))
        assert waited - set(decided) == set(self.waiting)

    def teardown(self):
        if not hasattr(self, "breaker"):
            return
        while asks := self.breaker.asks():
            self.take(self.breaker.answer(asks[0].id, "rejected"))
            assert self.breaker.ask(asks[0].id) is None
        assert not self.waiting


AnyInterleaving.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestAnyInterleaving = AnyInterleaving.TestCase
