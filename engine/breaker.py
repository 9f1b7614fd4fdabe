"""The only door to the engine's decisions: two tracks, one gate, many agents. Synchronous, no I/O.

A program that embeds it does four things::

    breaker = Breaker()
    answer = breaker.decide(Call("c1", "agent", "bash", {"command": "ls"}))   # before the call runs
    breaker.settle("agent", "c1", result_of({...}))                           # after it ran
    breaker.start_turn("agent")                                               # when a human speaks to it
    breaker.end_agent("agent")                                                # when it is gone

``decide`` gives a ``Verdict``, or ``Waiting`` when the operator must answer first; the calls that an answer (or
a cancellation, or a new turn) decides come back from the method that caused it, as ``Decided``. Nothing here is
thread-safe: one thread, or a lock around it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from msgspec import UNSET, UnsetType

from engine.agents import Agent, Agents
from engine.calls import Call, Failure, Identity, Result
from engine.checkpoint import Checkpoint, checkpoint_of, put_back, survivors
from engine.config import DEFAULTS, Config
from engine.events import (
    AgentEnded,
    AgentStarted,
    ConfigChanged,
    Event,
    ExemptionRevoked,
    OperatorChanged,
    RefusalLifted,
    Snapshot,
    TurnStarted,
)
from engine.failures import failure_of
from engine.fingerprints import Fingerprinter
from engine.gate import Gate
from engine.messages import failure_advice, preview
from engine.pending import Pending
from engine.reports import call_seen, call_settled, snapshot_of
from engine.turn import Turn, telling
from engine.verdicts import Advisory, Ask, Decided, Hit, Outcome, Settlement, Verdict, Waiting

_UNTRACKED = Identity((), ())
_ALLOWED = Verdict("allow")
_UNKNOWN = Settlement(known=False)
_UNREMARKABLE = Settlement()


class Breaker:
    """Many agents behind one gate.

    ``listener`` is called with every event, in order, before the method that caused it returns. ``attended``
    says whether an operator is there to answer; while it is False an ask is refused at once, as ``unattended``.
    ``clock`` gives unix seconds.
    """

    def __init__(
        self,
        config: Config = DEFAULTS,
        *,
        attended: bool = False,
        clock: Callable[[], float] = time.time,
        listener: Callable[[Event], None] | None = None,
        config_source: str = "defaults",
    ) -> None:
        self._config_source = config_source
        self._fingerprinter = Fingerprinter(config)
        self._clock = clock
        self._listener = listener
        self._agents = Agents()
        self._gate = Gate(self._agents, config, attended=attended, clock=clock, listener=listener)
        self._tickets = 0

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self._gate.config

    # -- an agent's side --------------------------------------------------------------------------------------

    def decide(self, call: Call, identity: Identity | None = None) -> Verdict | Waiting:
        """Judge a call before it runs, and count it. A tool that the configuration excludes passes uncounted.

        ``identity`` is what the call is, for one who knows (a journal's line); by default it is worked out.
        """
        now = self._clock()
        agent = self._agent(call.agent, now)
        self._tickets += 1
        agent.turn.calls += 1
        tool = self._fingerprinter.tool(call.tool)
        if tool.tracked:
            if identity is None:
                identity = self._fingerprinter.identify_as(tool, call.args)
            return self._gate.judge(agent, Pending(self._tickets, call, identity, agent.turn, now))
        pending = Pending(self._tickets, call, _UNTRACKED, agent.turn, now)
        agent.await_result(pending)
        if self._listener:
            self._listener(call_seen(now, pending, _ALLOWED, (), {}))
        pending.forget_arguments()
        return _ALLOWED

    def identify(self, call: Call) -> Identity:
        """What a call is, for one who decides it by less than all of its arguments. Changes nothing."""
        return self._fingerprinter.identify(call.tool, call.args)

    def hits_of(self, call: Call) -> tuple[Hit, ...]:
        """What would bring this call to the gate now. Changes nothing, and makes no agent known."""
        agent = self._agents.get(call.agent)
        if agent is None or not self._fingerprinter.tracks(call.tool):
            return ()
        identity = self._fingerprinter.identify(call.tool, call.args)
        return agent.turn.hits(identity.measures, self.config.fail_limit)

    def turn_of(self, agent_id: str) -> Turn | None:
        """An agent's turn as it stands, for one who only reads it; None while the agent is not known."""
        agent = self._agents.get(agent_id)
        return agent.turn if agent else None

    def settle(
        self, agent_id: str, call_id: str, result: Result, failure: Failure | UnsetType | None = UNSET
    ) -> Settlement:
        """Take the result of an allowed call. A call refused, cancelled or never seen changes nothing.

        The result of a call from before the last human message is reported, but touches no streak of the new
        turn; an aborted call neither lengthens a streak nor clears one. ``failure`` is why it failed, for one who
        knows (a journal's line); by default it is read from the result.
        """
        now = self._clock()
        agent = self._agents.heard(agent_id, now)
        pending = agent.in_flight.pop(call_id, None) if agent else None
        if agent is None or pending is None:
            return _UNKNOWN
        measures = pending.identity.measures
        aborted = result.aborted
        if aborted:
            failure = None
        elif isinstance(failure, UnsetType):
            failure = failure_of(result, pending.identity)
        streaks: Mapping[str, int] = {}
        advisories = pending.advisories
        if pending.turn is agent.turn and measures and not aborted:
            if failure is None:
                if agent.turn.streaks:
                    streaks = agent.turn.succeeded(measures)
            else:
                streaks = agent.turn.failed(measures, failure)
                advisories = self._failure_advisory(streaks, failure) + advisories
            agent.turn.remember(measures, preview(result, self.config.result_preview_chars))
        settlement = Settlement(failure, advisories) if failure or advisories else _UNREMARKABLE
        if self._listener:
            self._listener(call_settled(now, pending, result, settlement, streaks))
        return settlement

    def cancel(self, agent_id: str, call_id: str) -> tuple[Decided, ...]:
        """Withdraw the waiting calls of this id: they are refused as ``cancelled``, an ask left alone is closed."""
        agent = self._agents.get(agent_id)
        withdrawn = [one for one in agent.waiting.values() if one.call.id == call_id] if agent else []
        return tuple(self._gate.withdraw(agent, pending) for pending in withdrawn if agent)

    def cancel_ticket(self, agent_id: str, ticket: int) -> tuple[Decided, ...]:
        """Withdraw the one waiting call of this ticket."""
        agent = self._agents.get(agent_id)
        if agent is None or ticket not in agent.waiting:
            return ()
        return (self._gate.withdraw(agent, agent.waiting[ticket]),)

    def start_agent(self, agent_id: str, *, parent: str = "", harness: str = "", name: str = "") -> None:
        """Tell the breaker who an agent is. Optional: an agent is also known from its first call."""
        agent = self._agent(agent_id, self._clock(), announce=False)
        if parent and parent != agent_id:
            self._agents.adopt(agent, parent)
        agent.harness = harness or agent.harness
        agent.name = name or agent.name
        self._report(AgentStarted(self._clock(), agent_id, agent.parent, agent.harness, agent.name))

    def start_turn(self, agent_id: str) -> tuple[Decided, ...]:
        """A human message: window, streaks, exemptions and refusals are cleared, waiting calls cancelled."""
        return self._new_turn(self._agent(agent_id, self._clock()), "user")

    def end_agent(self, agent_id: str) -> tuple[Decided, ...]:
        """Forget an agent and those under it; their waiting calls are cancelled."""
        agent = self._agents.get(agent_id)
        return self._forget((*self._agents.descendants(agent), agent), "ended") if agent else ()

    # -- the operator's side ----------------------------------------------------------------------------------

    @property
    def attended(self) -> bool:
        """Whether an operator is there to answer."""
        return self._gate.attended

    def attend(self) -> None:
        """An operator is there. What was refused only because nobody was is lifted: now there is one to ask."""
        if self._gate.attended:
            return
        self._gate.attended = True
        self._report(OperatorChanged(self._clock(), attended=True))
        for agent in self._agents:
            unattended = [one.fingerprint for one in agent.turn.refusals.values() if one.outcome == "unattended"]
            for fingerprint in unattended:
                self.lift(agent.id, fingerprint)

    def leave(self) -> tuple[Decided, ...]:
        """The last operator has gone: open asks end as ``unattended``."""
        if not self._gate.attended:
            return ()
        self._gate.attended = False
        self._report(OperatorChanged(self._clock(), attended=False))
        decided: list[Decided] = []
        for ask in self.asks():
            if self.ask(ask.id):
                decided.extend(self.answer(ask.id, "unattended"))
        return tuple(decided)

    def asks(self) -> tuple[Ask, ...]:
        """The open asks, oldest first."""
        return tuple(ask for ask_id in self._gate.asks if (ask := self.ask(ask_id)))

    def ask(self, ask_id: str) -> Ask | None:
        """The ask, while it is open."""
        agent = self._agents.get(self._gate.asks.get(ask_id, ""))
        return agent.asks.get(ask_id) if agent else None

    def answer(self, ask_id: str, outcome: Outcome, note: str = "") -> tuple[Decided, ...]:
        """Close an ask. Approved: its measures are exempted; otherwise they are refused, ``note`` goes to the model.

        Returns the calls that this decides, in order of arrival. Raises KeyError when the ask is not open: it
        was answered before, or nobody waits for it any more.
        """
        ask = self.ask(ask_id)
        agent = self._agents.get(ask.agent) if ask else None
        if ask is None or agent is None:
            raise KeyError(ask_id)
        return self._gate.answer(agent, ask, outcome, note)

    def revoke(self, agent_id: str, fingerprint: str) -> bool:
        """Count an exempted measure again. False when it was not exempted."""
        agent = self._agents.get(agent_id)
        if agent is None or not agent.turn.revoke(fingerprint):
            return False
        self._report(ExemptionRevoked(self._clock(), agent_id, (fingerprint,)))
        return True

    def lift(self, agent_id: str, fingerprint: str) -> bool:
        """Take a refusal back. False when there was none."""
        agent = self._agents.get(agent_id)
        if agent is None or not agent.turn.lift(fingerprint):
            return False
        self._report(RefusalLifted(self._clock(), agent_id, (fingerprint,)))
        return True

    def reset_turn(self, agent_id: str) -> tuple[Decided, ...]:
        """Clear an agent's turn by hand, as a human message would."""
        agent = self._agents.get(agent_id)
        return self._new_turn(agent, "operator") if agent else ()

    def reconfigure(self, config: Config, source: str, warnings: tuple[str, ...] = ()) -> None:
        """Take a configuration into force. Turns go on: their windows are resized, their counts stay."""
        self._gate.reconfigure(config)
        self._config_source = source
        self._fingerprinter = Fingerprinter(config)
        for agent in self._agents:
            agent.turn.resize(config.window)
        if self._listener:
            self._report(ConfigChanged(self._clock(), source, self.snapshot().config, warnings=warnings))

    def snapshot(self) -> Snapshot:
        """Everything that stands now."""
        return snapshot_of(
            self._agents, self.config, self._config_source, at=self._clock(), attended=self._gate.attended
        )

    def checkpoint(self) -> Checkpoint:
        """Everything that must outlive this breaker. While an event is being reported, it is in it already."""
        return checkpoint_of(
            self._agents, at=self._clock(), window=self.config.window, tickets=self._tickets, asks=self._gate.opened
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on where another breaker stopped; to be called first. Reports nothing.

        Agents long idle are left behind, and so is what waited for the operator: its connections are gone.
        """
        self._tickets, self._gate.opened = checkpoint.tickets, checkpoint.asks
        put_back(self._agents, survivors(checkpoint, self._clock()), self.config.window)

    # -- inside -----------------------------------------------------------------------------------------------

    def _agent(self, agent_id: str, now: float, *, announce: bool = True) -> Agent:
        """The agent, marked as heard of; made known, and the long idle forgotten, when it is new."""
        agent = self._agents.heard(agent_id, now)
        if agent is not None:
            return agent
        self._forget(self._agents.idle(now), "idle")
        agent = Agent(agent_id, self.config.window, now)
        self._agents.add(agent)
        if announce:
            self._report(AgentStarted(now, agent_id))
        return agent

    def _new_turn(self, agent: Agent, source: Literal["user", "operator"]) -> tuple[Decided, ...]:
        decided = self._gate.withdraw_all(agent)
        agent.turn = Turn(self.config.window, agent.turn.number + 1)
        self._report(TurnStarted(self._clock(), agent.id, agent.turn.number, source))
        return decided

    def _forget(self, agents: Iterable[Agent], reason: Literal["ended", "idle"]) -> tuple[Decided, ...]:
        decided: list[Decided] = []
        for gone in agents:
            decided.extend(self._gate.withdraw_all(gone))
            self._agents.remove(gone)
            self._report(AgentEnded(self._clock(), gone.id, reason))
        return tuple(decided)

    def _failure_advisory(self, streaks: Mapping[str, int], failure: Failure) -> tuple[Advisory, ...]:
        reached = [fingerprint for fingerprint, count in streaks.items() if count == self.config.fail_warn_at]
        if not reached:
            return ()
        fingerprint = min(reached, key=telling)
        count = streaks[fingerprint]
        return (Advisory("fail-warn", fingerprint, count, failure_advice(fingerprint, count, failure, self.config)),)

    def _report(self, event: Event) -> None:
        if self._listener:
            self._listener(event)
