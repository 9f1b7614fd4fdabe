"""What must outlive a breaker, as data: every agent's turn and its calls under way.

``Breaker.checkpoint`` gives one, ``Breaker.restore`` takes one, the journal keeps one beside each of its files.
Arguments are not in it: a call's identity says all that is counted. Text is as it stood, so whoever writes a
checkpoint down masks it first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from engine.agents import IDLE_SECONDS, Agent, Agents
from engine.calls import Call, Identity, Measure, Streak
from engine.pending import Pending
from engine.turn import Turn
from engine.verdicts import Advisory, Refusal


class Flight(Struct, frozen=True, omit_defaults=True):
    """A call under way: it waits for its result, or for the operator. ``turn`` is the number of its turn."""

    id: str
    tool: str
    ticket: int
    turn: int
    at: float
    identity: Identity
    advisories: tuple[Advisory, ...] = ()
    asked: bool = False


class AgentState(Struct, frozen=True, omit_defaults=True):
    """One agent. ``window`` is oldest first; whatever is bounded by age keeps its order, the next to go first."""

    agent: str
    turn: int
    last_seen: float
    parent: str = ""
    harness: str = ""
    name: str = ""
    calls: int = 0
    window: tuple[tuple[str, ...], ...] = ()
    streaks: Mapping[str, Streak] = {}
    exemptions: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    results: Mapping[str, str] = {}
    in_flight: tuple[Flight, ...] = ()
    waiting: tuple[Flight, ...] = ()


class Checkpoint(Struct, frozen=True, tag_field="type", tag="checkpoint"):
    """A breaker at one moment. ``window`` is the size in force; ``tickets`` and ``asks`` the last numbers given."""

    at: float
    window: int
    tickets: int = 0
    asks: int = 0
    agents: tuple[AgentState, ...] = ()
    """Least recently heard of first."""
    socket: str = ""
    """Where its engine served, for engines that share a journal's directory; empty when nobody said."""


def checkpoint_of(agents: Iterable[Agent], *, at: float, window: int, tickets: int, asks: int) -> Checkpoint:
    """Write down what stands."""
    return Checkpoint(at, window, tickets, asks, tuple(_state_of(agent) for agent in agents))


def survivors(checkpoint: Checkpoint, now: float) -> tuple[AgentState, ...]:
    """The agents that outlive their engine: those heard of within ``IDLE_SECONDS``, without their waiting calls.

    A waiting call's connection died with the engine, so nobody is there to be told what was decided.
    """
    return tuple(
        replace(state, waiting=(), last_seen=min(state.last_seen, now))
        for state in checkpoint.agents
        if now - state.last_seen <= IDLE_SECONDS
    )


def put_back(agents: Agents, states: Iterable[AgentState], window: int) -> None:
    """Make these agents known again. A window smaller than theirs keeps their latest calls."""
    for state in states:
        agent = _agent_of(state, window)
        agents.add(agent)
        if state.parent:
            agents.adopt(agent, state.parent)


def _state_of(agent: Agent) -> AgentState:
    turn = agent.turn
    return AgentState(
        agent=agent.id,
        turn=turn.number,
        last_seen=agent.last_seen,
        parent=agent.parent,
        harness=agent.harness,
        name=agent.name,
        calls=turn.calls,
        window=tuple(tuple(fingerprints) for fingerprints in turn.window()),
        streaks=dict(turn.streaks),
        exemptions=tuple(turn.exemptions),
        refusals=tuple(turn.refusals.values()),
        results=dict(turn.results),
        in_flight=tuple(_flight_of(pending) for pending in agent.in_flight.values()),
        waiting=tuple(_flight_of(pending) for pending in agent.waiting.values()),
    )


def _flight_of(pending: Pending) -> Flight:
    return Flight(
        id=pending.call.id,
        tool=pending.call.tool,
        ticket=pending.ticket,
        turn=pending.turn.number,
        at=pending.decided_at,
        identity=pending.identity,
        advisories=pending.advisories,
        asked=pending.asked,
    )


def _agent_of(state: AgentState, window: int) -> Agent:
    agent = Agent(state.agent, window, state.last_seen)
    agent.harness, agent.name = state.harness, state.name
    agent.turn = _turn_of(state, window)
    earlier: dict[int, Turn] = {}
    for flight in state.in_flight:
        agent.await_result(_pending_of(flight, agent, earlier))
    for flight in state.waiting:
        agent.waiting[flight.ticket] = _pending_of(flight, agent, earlier)
    return agent


def _turn_of(state: AgentState, window: int) -> Turn:
    turn = Turn(window, state.turn)
    turn.calls = state.calls
    for fingerprints in state.window:
        turn.commit(fingerprints)
    turn.streaks.update(state.streaks)
    for fingerprint, text in state.results.items():
        turn.remember((Measure(fingerprint, 0),), text)
    turn.exempt(state.exemptions)
    turn.refuse(state.refusals)
    return turn


def _pending_of(flight: Flight, agent: Agent, earlier: dict[int, Turn]) -> Pending:
    """``earlier`` holds the agent's past turns, which are over and only told apart from the present one."""
    turn = agent.turn
    if flight.turn != turn.number:
        turn = earlier.setdefault(flight.turn, Turn(turn.size, flight.turn))
    call = Call(flight.id, agent.id, flight.tool, {})
    return Pending(flight.ticket, call, flight.identity, turn, flight.at, flight.advisories, flight.asked)
