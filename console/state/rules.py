"""What asks, answers, exemptions and refusals change, and what agents and their turns do."""

from __future__ import annotations

from console.state.calls import OUTCOMES, hits_text
from console.state.measures import GLYPHS
from console.state.whole import State
from console.text import visible
from engine.events import (
    AgentEnded,
    AgentStarted,
    AskClosed,
    AskOpened,
    Exempted,
    ExemptionRevoked,
    RefusalLifted,
    Refused,
    TurnStarted,
)
from engine.verdicts import Ask

FINGERPRINT_CHARS = 80
NOTE_CHARS = 120


def agent_started(state: State, event: AgentStarted) -> None:
    known = state.agents.get(event.agent)
    agent = state.agents.known(event.agent, event.at)
    agent.parent = event.parent or agent.parent
    agent.named(event.harness, event.name)
    state.agents.changed()
    if known is None:
        state.add_row(event.at, "agent", agent, "agent started")


def agent_ended(state: State, event: AgentEnded) -> None:
    agent = state.agents.get(event.agent)
    if agent is None:
        return
    agent.ended_at = event.at
    agent.running.clear()
    state.agents.changed()
    text = "agent ended" if event.reason == "ended" else "agent forgotten: it was not heard of for hours"
    state.add_row(event.at, "agent", agent, text)


def turn_started(state: State, event: TurnStarted) -> None:
    agent = state.agents.known(event.agent, event.at)
    agent.start_turn(event.turn)
    why = "you spoke to it" if event.source == "user" else "you reset it"
    text = f"turn {event.turn} begins, {why}: counts, exemptions and refusals are cleared"
    state.add_row(event.at, "turn", agent, text)


def ask_opened(state: State, event: AskOpened) -> None:
    ask = event.ask
    hold(state, ask)
    text = f"{'would have asked' if state.supposed else 'asks'} you about {hits_text(ask.hits)}"
    state.add_row(event.at, "ask", state.agents.known(ask.agent, event.at), text, GLYPHS["GATE"])


def hold(state: State, ask: Ask) -> None:
    """Hold an ask as open, and its measures at the gate."""
    agent = state.agents.known(ask.agent, ask.opened)
    state.asks[ask.id] = ask
    state.asks_version += 1
    agent.asks.add(ask.id)
    agent.version += 1
    for hit in ask.hits:
        measure = agent.measure(hit.fingerprint)
        if hit.track == "repeat":
            measure.cap = hit.cap
            measure.asking = hit.count
        else:
            measure.streak = hit.count
            measure.asking = max(measure.asking, measure.count, 1)
        measure.moved(ask.opened, "at the gate: you were asked")


def ask_closed(state: State, event: AskClosed) -> None:
    agent = state.agents.known(event.agent, event.at)
    ask = state.asks.pop(event.id, None)
    state.asks_version += 1
    agent.asks.discard(event.id)
    agent.version += 1
    for fingerprint in ask.fingerprints if ask else ():
        agent.measure(fingerprint).asking = 0
        agent.drop_empty(fingerprint)
    what = hits_text(ask.hits) if ask else visible(event.id, FINGERPRINT_CHARS)
    calls = f"{event.calls} call{'' if event.calls == 1 else 's'}"
    note = f" · told: {visible(event.note, NOTE_CHARS)}" if event.note else ""
    mark = GLYPHS["EXEMPT" if event.outcome == "approved" else "REFUSED"]
    state.add_row(event.at, "answer", agent, f"{OUTCOMES[event.outcome]}: {what} · {calls}{note}", mark)


def exempted(state: State, event: Exempted) -> None:
    agent = state.agents.known(event.agent, event.at)
    agent.version += 1
    for fingerprint in event.fingerprints:
        agent.exemptions[fingerprint] = event.at
        agent.refusals.pop(fingerprint, None)
        measure = agent.measure(fingerprint)
        measure.exempt, measure.refused = True, False
        measure.moved(event.at, "approved: not counted any more this turn")


def exemption_revoked(state: State, event: ExemptionRevoked) -> None:
    agent = state.agents.known(event.agent, event.at)
    agent.version += 1
    for fingerprint in event.fingerprints:
        agent.exemptions.pop(fingerprint, None)
        measure = agent.measure(fingerprint)
        measure.exempt = False
        measure.moved(event.at, "exemption revoked: counted again")
        agent.drop_empty(fingerprint)
        text = f"exemption revoked: {visible(fingerprint, FINGERPRINT_CHARS)} is counted again"
        state.add_row(event.at, "rule", agent, text)


def refused(state: State, event: Refused) -> None:
    agent = state.agents.known(event.agent, event.at)
    agent.version += 1
    for refusal in event.refusals:
        agent.refusals[refusal.fingerprint] = refusal
        measure = agent.measure(refusal.fingerprint)
        measure.refused = True
        measure.moved(event.at, f"refused from now on: {OUTCOMES[refusal.outcome]}")


def refusal_lifted(state: State, event: RefusalLifted) -> None:
    agent = state.agents.known(event.agent, event.at)
    agent.blocked = False
    agent.version += 1
    for fingerprint in event.fingerprints:
        agent.refusals.pop(fingerprint, None)
        measure = agent.measure(fingerprint)
        measure.refused = False
        measure.moved(event.at, "refusal lifted: asked about again")
        agent.drop_empty(fingerprint)
        text = f"refusal lifted: {visible(fingerprint, FINGERPRINT_CHARS)} will be asked about again"
        state.add_row(event.at, "rule", agent, text)
