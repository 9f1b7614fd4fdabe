"""The reducer: one function for each type of event. Those about the engine itself, and the snapshot, are here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from console.state import calls, rules
from console.state.measures import GLYPHS, Thresholds, new_measure
from console.state.whole import TEXT_CHARS, Standing, State
from console.text import visible
from engine.events import (
    AgentEnded,
    AgentSnapshot,
    AgentStarted,
    AskClosed,
    AskOpened,
    CallDecided,
    CallSeen,
    CallSettled,
    ConfigChanged,
    Event,
    Exempted,
    ExemptionRevoked,
    Notice,
    OperatorChanged,
    RefusalLifted,
    Refused,
    Snapshot,
    TurnStarted,
)


def reduce(state: State, events: Iterable[Event | Snapshot]) -> State:
    """Apply events in order, and return the state. An event of a type not known here changes nothing."""
    for event in events:
        state.events += 1
        apply = REDUCERS.get(type(event))
        if apply:
            apply(state, event)
    return state


def _operator_changed(state: State, event: OperatorChanged) -> None:
    state.attended = event.attended
    text = "an operator is here: asks wait for an answer" if event.attended else "no operator: asks are refused"
    state.add_row(event.at, "notice", None, text)


def _config_changed(state: State, event: ConfigChanged) -> None:
    state.config_version += 1
    source = visible(event.source, TEXT_CHARS)
    if event.error:
        error = visible(event.error, TEXT_CHARS)
        state.config.error, state.config.at = error, event.at
        state.tell(event.at, "error", f"{source} was not taken over: {error}", "config")
        return
    warnings = tuple(visible(warning, TEXT_CHARS) for warning in event.warnings)
    state.config = Standing(source, event.config, "", warnings, event.at)
    state.thresholds = Thresholds.of(event.config)
    state.tell(event.at, "info", f"configuration in force: {source}", "config")
    for warning in warnings:
        state.tell(event.at, "warning", warning, "config")


def _notice(state: State, event: Notice) -> None:
    state.tell(event.at, event.level, visible(event.text, TEXT_CHARS), "notice")


def _snapshot(state: State, event: Snapshot) -> None:
    """Start from what stands now: the first thing a subscriber gets, and the first after it fell behind."""
    before = state.config
    state.agents.clear()
    state.asks.clear()
    state.asks_version += 1
    state.attended, state.supposed = event.attended, event.supposed
    source = visible(event.config_source, TEXT_CHARS)
    state.config = Standing(source, event.config, before.error, before.warnings, before.at or event.at)
    state.config_version += 1
    state.thresholds = Thresholds.of(event.config)
    for snapshot in event.agents:
        _restore(state, snapshot)
    if event.missed:
        state.missed += event.missed
        text = f"the console fell behind and missed {event.missed} events; counts and asks are right, rows are missing"
        state.tell(event.at, "warning", text, "notice")
        state.lose_open_calls(call.ticket for call in event.waiting)
    for call in event.waiting:
        if call.ticket not in state.waiting:
            agent = state.agents.known(call.agent, call.at)
            state.add_call(call, agent, "waiting").mark = GLYPHS["GATE"]
    for ask in event.asks:
        rules.hold(state, ask)


def _restore(state: State, snapshot: AgentSnapshot) -> None:
    agent = state.agents.known(snapshot.agent, snapshot.last_seen)
    agent.parent = snapshot.parent
    agent.named(snapshot.harness, snapshot.name)
    agent.turn, agent.calls = snapshot.turn, snapshot.calls
    for fingerprint, cap in snapshot.caps.items():
        measure = agent.measures[fingerprint] = new_measure(fingerprint)
        measure.cap, measure.last_seen = cap, snapshot.last_seen
        measure.count, measure.streak = snapshot.counts.get(fingerprint, 0), snapshot.streaks.get(fingerprint, 0)
    for fingerprint in snapshot.exemptions:
        agent.exemptions[fingerprint] = snapshot.last_seen
        agent.measure(fingerprint).exempt = True
    for refusal in snapshot.refusals:
        agent.refusals[refusal.fingerprint] = refusal
        agent.measure(refusal.fingerprint).refused = True


REDUCERS: dict[type, Callable[[State, Any], None]] = {
    Snapshot: _snapshot,
    AgentStarted: rules.agent_started,
    AgentEnded: rules.agent_ended,
    TurnStarted: rules.turn_started,
    CallSeen: calls.call_seen,
    CallDecided: calls.call_decided,
    CallSettled: calls.call_settled,
    AskOpened: rules.ask_opened,
    AskClosed: rules.ask_closed,
    Exempted: rules.exempted,
    ExemptionRevoked: rules.exemption_revoked,
    Refused: rules.refused,
    RefusalLifted: rules.refusal_lifted,
    OperatorChanged: _operator_changed,
    ConfigChanged: _config_changed,
    Notice: _notice,
}
