"""The one gate: both tracks' hits, the asks they open, the exemptions and refusals that the answers leave.

A call at the gate is judged by what stands at that moment: hits that are exempted are none, a hit that is
refused refuses, hits of an open ask wait on it, and what no ask covers opens one. A waiting call is bound to no
ask; whenever one closes, the agent's waiting calls are judged again in order of arrival. So a batch of parallel
calls needs one answer, a call that hits two asks needs both, and no order of answers can lose one. What a waiting
call has hit stands until it is exempted, wherever the window has moved meanwhile: only answers let it run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from engine.agents import Agent, Agents
from engine.calls import Measure
from engine.config import Config
from engine.events import AskClosed, AskOpened, Event, Exempted, Refused
from engine.messages import refusal_text, repeat_advice
from engine.pending import Pending
from engine.reports import asks_of, call_decided, call_seen
from engine.turn import Turn
from engine.verdicts import Advisory, Ask, Decided, Hit, Outcome, Refusal, Stage, Verdict, Waiting

_ALLOWED = Verdict("allow")
_NOBODY: Refusal = Refusal("", "unattended")


def stages_of(config: Config) -> dict[int, Stage]:
    """Which count of a measure, the present call included, is which stage. The stronger has a count that is both's."""
    stages: dict[Stage, int | None] = {"warn": config.warn_at, "summarize": config.summarize_at}
    return {at: stage for stage, at in stages.items() if at is not None}


class Gate:
    """Judges the calls of all agents. ``asks`` names the agent of every open ask."""

    __slots__ = ("_clock", "_listener", "_stages", "agents", "asks", "attended", "config", "opened")

    def __init__(
        self,
        agents: Agents,
        config: Config,
        *,
        attended: bool,
        clock: Callable[[], float],
        listener: Callable[[Event], None] | None,
    ) -> None:
        self.agents = agents
        self.reconfigure(config)
        self.attended = attended
        self.asks: dict[str, str] = {}
        self.opened = 0
        self._clock = clock
        self._listener = listener

    def reconfigure(self, config: Config) -> None:
        """Take a configuration into force."""
        self.config = config
        self._stages = stages_of(config)

    def judge(self, agent: Agent, pending: Pending) -> Verdict | Waiting:
        """Decide a call that has just arrived, or let it wait."""
        turn = agent.turn
        notable = turn.notable(pending.identity.measures, self._stages)
        hits = turn.hits(notable, self.config.fail_limit) if notable else ()
        moved: Sequence[str]
        answer: Verdict | Waiting
        opened: Ask | None = None
        if not hits:
            answer, moved = self._allow(agent, pending, notable)
        elif self.config.on_limit == "deny":
            answer, moved = self._refuse(agent, pending, hits, None)
        elif refusal := turn.refusal(hits):
            answer, moved = self._refuse(agent, pending, hits, refusal)
        elif self.attended:
            opened = self._open(agent, pending, hits)
            answer, moved = Waiting(pending.ticket, asks_of(agent, pending)), ()
        else:
            pending.asked = True
            answer, moved = self._refuse(agent, pending, hits, _NOBODY)
        if self._listener:
            self._listener(call_seen(pending.decided_at, pending, answer, moved, self.config.limits))
            if opened:
                self._listener(AskOpened(pending.decided_at, opened))
        if not hits:
            pending.forget_arguments()
        elif isinstance(answer, Verdict) and answer.outcome == "unattended":
            self._refuse_measures(agent, [hit.fingerprint for hit in hits], "unattended")
        return answer

    def answer(self, agent: Agent, ask: Ask, outcome: Outcome, note: str) -> tuple[Decided, ...]:
        """Close an ask, and judge again what waited on it."""
        waiting = Counter(ask_id for pending in agent.waiting.values() for ask_id in asks_of(agent, pending))
        self._close(agent, ask.id, outcome, waiting[ask.id], note)
        if outcome == "approved":
            agent.turn.exempt(ask.fingerprints)
            if self._listener:
                self._listener(Exempted(self._clock(), agent.id, ask.fingerprints))
        else:
            self._refuse_measures(agent, ask.fingerprints, outcome, note)
        decided = [self._rejudge(agent, pending) for pending in tuple(agent.waiting.values())]
        self._close_deserted(agent, waiting)
        return tuple(one for one in decided if one)

    def withdraw(self, agent: Agent, pending: Pending) -> Decided:
        """Refuse one waiting call as cancelled; an ask that nobody waits on any more is closed with it."""
        waiting = Counter(asks_of(agent, pending))
        decided = self._refuse_waiting(agent, pending, Refusal("", "cancelled"))
        self._close_deserted(agent, waiting)
        return decided

    def withdraw_all(self, agent: Agent) -> tuple[Decided, ...]:
        """Refuse all waiting calls of an agent as cancelled, and close its asks."""
        return tuple(self.withdraw(agent, pending) for pending in tuple(agent.waiting.values()))

    # -- one call ---------------------------------------------------------------------------------------------

    def _rejudge(self, agent: Agent, pending: Pending) -> Decided | None:
        hits = self._standing_hits(agent, pending)
        if not hits:
            del agent.waiting[pending.ticket]
            pending.decided_at = self._clock()
            verdict, moved = self._allow(agent, pending, pending.identity.measures)
            pending.forget_arguments()
            return self._report_decided(pending, verdict, moved)
        if refusal := agent.turn.refusal(hits):
            return self._refuse_waiting(agent, pending, refusal, hits)
        if _uncovered(agent, hits) and self.config.on_limit == "deny":
            return self._refuse_waiting(agent, pending, None, hits)
        if _uncovered(agent, hits) and not self.attended:
            decided = self._refuse_waiting(agent, pending, _NOBODY, hits)
            self._refuse_measures(agent, [hit.fingerprint for hit in hits], "unattended")
            return decided
        if (ask := self._open(agent, pending, hits)) and self._listener:
            self._listener(AskOpened(ask.opened, ask))
        return None

    def _standing_hits(self, agent: Agent, pending: Pending) -> tuple[Hit, ...]:
        """What a waiting call hits now, and what it has hit before, as far as no exemption covers it."""
        turn = agent.turn
        hits = turn.hits(pending.identity.measures, self.config.fail_limit)
        now = {(hit.track, hit.fingerprint) for hit in hits}
        before = (hit for hit in pending.hits if hit.fingerprint not in turn.exemptions)
        return (*hits, *(hit for hit in before if (hit.track, hit.fingerprint) not in now))

    def _allow(self, agent: Agent, pending: Pending, notable: Sequence[Measure]) -> tuple[Verdict, Sequence[str]]:
        """Let a call run: its advisory is due, all its fingerprints are counted, its result is awaited.

        ``notable`` are all of its measures, or those that can reach a stage.
        """
        turn = agent.turn
        if notable:
            pending.advisories = self._advise(turn, notable)
        moved = turn.commit(pending.identity.fingerprints)
        agent.await_result(pending)
        if not pending.asked and not pending.advisories:
            return _ALLOWED, moved
        outcome: Outcome | None = "approved" if pending.asked else None
        return Verdict("allow", pending.asked, outcome, pending.hits, pending.advisories), moved

    def _advise(self, turn: Turn, measures: Sequence[Measure]) -> tuple[Advisory, ...]:
        """The one advisory of the occurrence track that a call is owed: the strongest stage reached."""
        reached = turn.reached(measures, self._stages)
        if reached is None:
            return ()
        stage, measure = reached
        count = turn.counts.get(measure.fingerprint, 0) + 1
        text = repeat_advice(stage, measure.fingerprint, count, measure.cap, self.config)
        return (Advisory(stage, measure.fingerprint, count, text),)

    def _refuse(
        self, agent: Agent, pending: Pending, hits: tuple[Hit, ...], refusal: Refusal | None
    ) -> tuple[Verdict, Sequence[str]]:
        """Refuse a call: only what hit is counted, for it never ran and spends nothing on what it never touched."""
        moved = agent.turn.commit(tuple(dict.fromkeys(hit.fingerprint for hit in hits)))
        outcome = refusal.outcome if refusal and pending.asked else None
        reason = refusal_text(pending.call.tool, hits, refusal, self.config)
        return Verdict("deny", pending.asked, outcome, hits, reason=reason), moved

    def _refuse_waiting(
        self, agent: Agent, pending: Pending, refusal: Refusal | None, hits: tuple[Hit, ...] | None = None
    ) -> Decided:
        del agent.waiting[pending.ticket]
        if hits is None:
            hits = self._standing_hits(agent, pending) or pending.hits
        verdict, moved = self._refuse(agent, pending, hits, refusal)
        return self._report_decided(pending, verdict, moved)

    def _report_decided(self, pending: Pending, verdict: Verdict, moved: Sequence[str]) -> Decided:
        if self._listener:
            self._listener(call_decided(self._clock(), pending, verdict, moved, self.config.limits))
        return Decided(pending.ticket, pending.call.agent, pending.call.id, verdict)

    # -- one ask ----------------------------------------------------------------------------------------------

    def _open(self, agent: Agent, pending: Pending, hits: tuple[Hit, ...]) -> Ask | None:
        """Let a call wait; open an ask for those of its hits that no open ask covers, if there are any."""
        pending.asked = True
        known = {(hit.track, hit.fingerprint) for hit in pending.hits}
        pending.hits += tuple(hit for hit in hits if (hit.track, hit.fingerprint) not in known)
        agent.waiting[pending.ticket] = pending
        uncovered = _uncovered(agent, hits)
        if not uncovered:
            return None
        now = self._clock()
        self.opened += 1
        ask = Ask(
            id=f"ask-{self.opened}",
            agent=agent.id,
            call=pending.call.id,
            tool=pending.call.tool,
            fingerprints=tuple(dict.fromkeys(hit.fingerprint for hit in uncovered)),
            hits=uncovered,
            opened=now,
            deadline=None if self.config.ask_timeout is None else now + self.config.ask_timeout,
        )
        agent.asks[ask.id] = ask
        self.asks[ask.id] = agent.id
        return ask

    def _close(self, agent: Agent, ask_id: str, outcome: Outcome, waiting: int, note: str = "") -> None:
        del agent.asks[ask_id]
        del self.asks[ask_id]
        if self._listener:
            self._listener(AskClosed(self._clock(), ask_id, agent.id, outcome, waiting, note))

    def _close_deserted(self, agent: Agent, waited: Mapping[str, int]) -> None:
        """Close the asks that nobody waits on any more; so many calls had waited on each."""
        wanted = {ask_id for pending in agent.waiting.values() for ask_id in asks_of(agent, pending)}
        for ask_id in [ask_id for ask_id in agent.asks if ask_id not in wanted]:
            self._close(agent, ask_id, "cancelled", waited.get(ask_id, 0))

    def _refuse_measures(self, agent: Agent, fingerprints: Sequence[str], outcome: Outcome, note: str = "") -> None:
        refusals = tuple(Refusal(fingerprint, outcome, note) for fingerprint in dict.fromkeys(fingerprints))
        agent.turn.refuse(refusals)
        if self._listener:
            self._listener(Refused(self._clock(), agent.id, refusals))


def _uncovered(agent: Agent, hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """The hits that no open ask is about."""
    covered = {fingerprint for ask in agent.asks.values() for fingerprint in ask.fingerprints}
    return tuple(hit for hit in hits if hit.fingerprint not in covered)
