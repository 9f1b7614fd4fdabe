"""What holds of the breaker whatever agents and operators do, in any order."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

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
    warn_at=2,
    summarize_at=3,
    fail_warn_at=2,
    fail_limit=3,
    limits={**DEFAULTS.limits, "host": 4, "net": 3, "cmd": 3, "exact": 3},
)
"""Thresholds so low that a few random calls reach every one of them."""
CAPS = {"host:a": 4.0, "host:b": 4.0, "net:a/x": 3.0, "cmd:curl": 3.0, "exact:1": 3.0}
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


class AnyInterleaving(RuleBasedStateMachine):
    """Agents call, operators answer, calls are cancelled, humans write, agents end: nothing waits for nothing."""

    waits: Bundle[tuple[str, int]] = Bundle("waits")

    @initialize(attended=st.booleans())
    def begin(self, attended: bool):
        self.events: list[Event] = []
        self.breaker = Breaker(TIGHT, attended=attended, clock=lambda: 0.0, listener=self.events.append)
        self.waiting: dict[int, Call] = {}
        self.allowed: list[tuple[str, str]] = []
        self.number = 0

    def take(self, decided: tuple[Decided, ...], *outcomes: Outcome) -> None:
        """Every decided call was waiting until now, and is refused unless its asks were approved."""
        for one in decided:
            waited = self.waiting.pop(one.ticket)
            assert (one.agent, one.call) == (waited.agent, waited.id)
            assert one.verdict.asked
            assert (one.verdict.decision == "allow") == (one.verdict.outcome == "approved")
            if outcomes:
                assert one.verdict.outcome in outcomes
            if one.verdict.decision == "allow":
                self.allowed.append((one.agent, one.call))

    @rule(target=waits, agent=AGENTS, what=identities(), again=st.booleans())
    def decide(self, agent: str, what: Identity, again: bool):
        self.number += not again
        answer = self.breaker.decide(call(agent, self.number), what)
        if isinstance(answer, Waiting):
            assert answer.asks
            assert answer.ticket not in self.waiting
            self.waiting[answer.ticket] = call(agent, self.number)
            return agent, answer.ticket
        if answer.decision == "allow":
            self.allowed.append((agent, f"c{self.number}"))
        else:
            assert answer.hits
        return multiple()

    @rule(data=st.data(), outcome=st.sampled_from(OUTCOMES))
    def answer(self, data: st.DataObject, outcome: Outcome):
        asks = self.breaker.asks()
        if not asks:
            return
        ask = data.draw(st.sampled_from(asks))
        self.take(self.breaker.answer(ask.id, outcome), *OUTCOMES)
        with pytest.raises(KeyError):
            self.breaker.answer(ask.id, outcome)

    @rule(wait=waits)
    def cancel_one(self, wait: tuple[str, int]):
        agent, ticket = wait
        decided = self.breaker.cancel_ticket(agent, ticket)
        assert [one.ticket for one in decided] == [ticket] * (ticket in self.waiting)
        self.take(decided, "cancelled")

    @rule(agent=AGENTS, number=st.integers(1, 30))
    def cancel_by_id(self, agent: str, number: int):
        self.take(self.breaker.cancel(agent, f"c{number}"), "cancelled")

    @rule(agent=AGENTS)
    def human_message(self, agent: str):
        self.take(self.breaker.start_turn(agent), "cancelled")
        assert agent not in {waiting.agent for waiting in self.waiting.values()}

    @rule(agent=AGENTS)
    def end(self, agent: str):
        self.take(self.breaker.end_agent(agent), "cancelled")
        assert agent not in {one.agent for one in self.breaker.snapshot().agents}

    @rule(data=st.data(), result=RESULTS)
    def settle(self, data: st.DataObject, result: Result):
        if self.allowed:
            agent, call_id = data.draw(st.sampled_from(self.allowed))
            self.breaker.settle(agent, call_id, result)

    @rule(present=st.booleans())
    def operator_comes_or_goes(self, present: bool):
        if present:
            self.breaker.attend()
        else:
            self.take(self.breaker.leave(), *OUTCOMES)
            assert not self.breaker.asks()
            assert not self.waiting

    @rule(agent=AGENTS, fingerprint=st.sampled_from(list(CAPS)))
    def take_back(self, agent: str, fingerprint: str):
        self.breaker.revoke(agent, fingerprint)
        self.breaker.lift(agent, fingerprint)

    @rule(window=st.integers(4, 10), on_limit=st.sampled_from(["ask", "deny"]))
    def reconfigure(self, window: int, on_limit: Literal["ask", "deny"]):
        self.breaker.reconfigure(msgspec.structs.replace(TIGHT, window=window, on_limit=on_limit), "test")

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
        for ask in self.breaker.asks():
            if self.breaker.ask(ask.id):
                self.take(self.breaker.answer(ask.id, "rejected"), *OUTCOMES)
        assert not self.waiting
        assert not self.breaker.asks()


AnyInterleaving.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestAnyInterleaving = AnyInterleaving.TestCase
