"""A breaker's past, from what it reported: a checkpoint and the events after it give the next checkpoint.

The counters are moved by ``turn.py`` itself, in the order in which the breaker moved them, so nothing here knows
a rule of counting. Events may be missing (a crash, a full disk): what can still be told is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from engine.agents import Agent, Agents
from engine.calls import Call, Identity, result_of
from engine.checkpoint import Checkpoint, checkpoint_of, put_back
from engine.config import DEFAULTS, Config
from engine.events import (
    AgentEnded,
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
    RefusalLifted,
    Refused,
    TurnStarted,
)
from engine.messages import preview
from engine.pending import Pending
from engine.turn import Turn
from engine.verdicts import Hit


def advance(checkpoint: Checkpoint, events: Iterable[Event], config: Config = DEFAULTS) -> Checkpoint:
    """Where a breaker stood after it had reported these events. ``config`` says how much of a result is quoted."""
    past = _Past(checkpoint, config.result_preview_chars)
    for event in events:
        past.apply(event)
    return past.checkpoint()


class _Past:
    def __init__(self, checkpoint: Checkpoint, result_chars: int) -> None:
        self._result_chars = result_chars
        self._at = checkpoint.at
        self._window = checkpoint.window
        self._tickets = checkpoint.tickets
        self._asks = checkpoint.asks
        self._agents = Agents()
        put_back(self._agents, checkpoint.agents, checkpoint.window)
        self._apply: dict[type, Callable[[Any], None]] = {
            AgentStarted: self._agent_started,
            AgentEnded: self._agent_ended,
            TurnStarted: self._turn_started,
            CallSeen: self._call_seen,
            CallDecided: self._call_decided,
            CallSettled: self._call_settled,
            AskOpened: self._ask_opened,
            AskClosed: self._ask_closed,
            Exempted: self._exempted,
            ExemptionRevoked: self._revoked,
            Refused: self._refused,
            RefusalLifted: self._lifted,
            ConfigChanged: self._config_changed,
        }
        """Events that are not listed move nothing."""

    def apply(self, event: Event) -> None:
        self._at = event.at
        if apply := self._apply.get(type(event)):
            apply(event)

    def checkpoint(self) -> Checkpoint:
        return checkpoint_of(self._agents, at=self._at, window=self._window, tickets=self._tickets, asks=self._asks)

    def _agent(self, agent_id: str) -> Agent:
        """The agent; made known when the event that made it known is missing."""
        agent = self._agents.get(agent_id)
        if agent is None:
            agent = Agent(agent_id, self._window, self._at)
            self._agents.add(agent)
        return agent

    def _heard(self, agent_id: str) -> Agent:
        """The agent, heard of just now."""
        return self._agents.heard(agent_id, self._at) or self._agent(agent_id)

    # -- agents and turns -------------------------------------------------------------------------------------

    def _agent_started(self, event: AgentStarted) -> None:
        agent = self._heard(event.agent)
        if event.parent:
            self._agents.adopt(agent, event.parent)
        agent.harness, agent.name = event.harness, event.name

    def _agent_ended(self, event: AgentEnded) -> None:
        if agent := self._agents.get(event.agent):
            self._agents.remove(agent)

    def _turn_started(self, event: TurnStarted) -> None:
        agent = self._agent(event.agent) if event.source == "operator" else self._heard(event.agent)
        self._begin_turn(agent, event.turn)

    def _begin_turn(self, agent: Agent, number: int) -> None:
        agent.turn = Turn(self._window, number)
        agent.waiting.clear()

    def _config_changed(self, event: ConfigChanged) -> None:
        window = event.config.get("window")
        if event.error or not isinstance(window, int) or window < 1:
            return
        self._window = window
        for agent in self._agents:
            agent.turn.resize(window)

    # -- calls ------------------------------------------------------------------------------------------------

    def _call_seen(self, event: CallSeen) -> None:
        self._tickets = max(self._tickets, event.ticket)
        agent = self._heard(event.agent)
        if event.turn != agent.turn.number:
            self._begin_turn(agent, event.turn)
        agent.turn.calls += 1
        pending = Pending(
            ticket=event.ticket,
            call=Call(event.id, event.agent, event.tool, {}),
            identity=_identity_of(event),
            turn=agent.turn,
            decided_at=event.at,
            advisories=event.advisories,
            asked=event.asked,
        )
        if event.verdict == "wait":
            agent.waiting[event.ticket] = pending
            for ask_id in event.asks:
                self._ask_numbered(ask_id)
        elif event.verdict == "allow":
            self._allow(agent, pending)
        else:
            self._refuse(agent, event.hits)

    def _call_decided(self, event: CallDecided) -> None:
        agent = self._agent(event.agent)
        pending = agent.waiting.pop(event.ticket, None)
        if event.verdict == "deny":
            self._refuse(agent, event.hits)
        elif pending:
            pending.advisories = event.advisories
            pending.decided_at = event.at
            self._allow(agent, pending)

    def _allow(self, agent: Agent, pending: Pending) -> None:
        agent.turn.commit(pending.identity.fingerprints)
        agent.await_result(pending)

    def _refuse(self, agent: Agent, hits: Iterable[Hit]) -> None:
        agent.turn.commit(tuple(dict.fromkeys(hit.fingerprint for hit in hits)))

    def _call_settled(self, event: CallSettled) -> None:
        agent = self._heard(event.agent)
        pending = agent.in_flight.pop(event.id, None)
        if pending is None or pending.turn is not agent.turn or event.aborted:
            return
        measures = pending.identity.measures
        if not measures:
            return
        if event.failure:
            agent.turn.failed(measures, event.failure)
        else:
            agent.turn.succeeded(measures)
        agent.turn.remember(measures, preview(result_of(event.result), self._result_chars))

    # -- the gate ---------------------------------------------------------------------------------------------

    def _ask_opened(self, event: AskOpened) -> None:
        self._ask_numbered(event.ask.id)

    def _ask_closed(self, event: AskClosed) -> None:
        self._ask_numbered(event.id)

    def _ask_numbered(self, ask_id: str) -> None:
        """Asks go on after the highest number given: an answer to an ask of before must find none of now."""
        number = ask_id.rpartition("-")[2]
        if number.isascii() and number.isdigit() and len(number) <= 18:
            self._asks = max(self._asks, int(number))

    def _exempted(self, event: Exempted) -> None:
        self._agent(event.agent).turn.exempt(event.fingerprints)

    def _revoked(self, event: ExemptionRevoked) -> None:
        for fingerprint in event.fingerprints:
            self._agent(event.agent).turn.revoke(fingerprint)

    def _refused(self, event: Refused) -> None:
        self._agent(event.agent).turn.refuse(event.refusals)

    def _lifted(self, event: RefusalLifted) -> None:
        for fingerprint in event.fingerprints:
            self._agent(event.agent).turn.lift(fingerprint)


def _identity_of(event: CallSeen) -> Identity:
    return Identity(
        event.fingerprints,
        event.measures,
        local=event.local,
        shell=event.shell,
        reads_only=event.reads_only,
        asks_http_code=event.asks_http_code,
    )
