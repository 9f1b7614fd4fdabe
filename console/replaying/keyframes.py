"""The console's state kept at a point of a recording, and made again from it.

Rows and calls are in the recording already: what is kept is who there was, and how their measures stood.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, structs

from console.replaying.rows import CallHistory, RecordedCalls
from console.state import State
from console.state.agents import Agent
from console.state.measures import Measure, Thresholds
from console.state.stream import Row
from console.state.whole import Note, Standing, Waiting
from engine.verdicts import Ask


class Keyframe(Struct, frozen=True):
    """Everything in a state but its rows and its calls. ``events`` is how many had been applied."""

    events: int
    agents: tuple[Agent, ...]
    asks: dict[str, Ask]
    config: Standing
    thresholds: Thresholds
    notes: tuple[Note, ...]
    attended: bool
    supposed: bool
    missed: int
    size: int
    """Measures in it: what it costs."""


def taken_of(state: State, events: int) -> Keyframe:
    """A keyframe of a state as it stands now, after so many events of the recording."""
    agents = tuple(_copied(agent) for agent in state.agents)
    return Keyframe(
        events,
        agents,
        dict(state.asks),
        structs.replace(state.config),
        state.thresholds,
        tuple(state.notes),
        state.attended,
        state.supposed,
        state.missed,
        sum(1 + len(agent.measures) for agent in agents),
    )


def restored(keyframe: Keyframe, rows: list[Row], first: int, calls: CallHistory) -> State:
    """A state of its own as it stood at the keyframe. ``rows``, from the number ``first`` on, become its own."""
    state = State()
    state.events = keyframe.events + 1  # the snapshot at the beginning is one
    for agent in keyframe.agents:
        state.agents.adopt(_copied(agent))
    state.asks = dict(keyframe.asks)
    state.config = structs.replace(keyframe.config)
    state.thresholds = keyframe.thresholds
    state.notes = list(keyframe.notes)
    state.attended, state.supposed, state.missed = keyframe.attended, keyframe.supposed, keyframe.missed
    state.records = RecordedCalls(calls, keyframe.events)
    state.stream.start_from(rows, first)
    first_running = {agent.id: min(agent.running) for agent in state.agents if agent.running}
    for row in rows:
        _resume(state, row, calls, first_running)
    return state


def _resume(state: State, row: Row, calls: CallHistory, first_running: Mapping[str, int]) -> None:
    """Take up again a call that is under way. An agent that came back knows nothing of those before it ended."""
    if row.phase == "running":
        ticket = calls.ticket(row.number)
        state.run(ticket, row.number)
        agent = state.agents.get(row.agent)
        if agent and ticket >= first_running.get(agent.id, ticket + 1):
            agent.running.add(ticket)
    elif row.phase == "waiting":
        record = state.records.get(row.number)
        if record:
            state.waiting[record.seen.ticket] = Waiting(row, record)


def _copied(agent: Agent) -> Agent:
    """An agent that can be changed without changing this one.

    Of its running calls only the first is kept, there may be very many: which the others are, the rows say.
    """
    return structs.replace(
        agent,
        measures={name: _measure_copied(one) for name, one in agent.measures.items()},
        exemptions=dict(agent.exemptions),
        refusals=dict(agent.refusals),
        running={min(agent.running)} if agent.running else set(),
        asks=set(agent.asks),
    )


def _measure_copied(measure: Measure) -> Measure:
    return structs.replace(measure, calls=measure.calls[:], history=measure.history[:])
