"""A recorded session run through a real breaker: what it would have allowed, advised, asked and refused.

Every line of a session moves the breaker as the live event would, in the order of the file. In a session, an ask
is answered the moment it is raised. A journal says when each of its asks ended and how, so they stay open for
as long as they did, and replaying it with its own configuration gives its own verdicts.

``replay`` gives the calls and what became of them; ``replay_events`` gives the events that a live engine would have
reported, at the times that the session tells, for whoever draws or counts those.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct, structs

from engine.breaker import Breaker
from engine.calls import Call, Failure, Identity, Measure
from engine.config import DEFAULTS, Config
from engine.events import (
    AgentEnded,
    AskClosed,
    AskOpened,
    CallDecided,
    Event,
    ExemptionRevoked,
    OperatorChanged,
    RefusalLifted,
    Snapshot,
)
from engine.fingerprints import cap_of
from engine.replayed import ReplayedCall, telling_argument
from engine.session_items import ANSWERS, AgentLine, CallLine, Damaged, Line, ResultLine, TurnLine, Unknown
from engine.verdicts import Advisory, Ask, Decided, Outcome, Verdict, Waiting

LOOK_AHEAD = 1024
"""A call is given out with its result, and the calls after it wait; after so many it is given out without."""

Answers = Literal["as recorded", "approve", "reject", "unavailable"] | Callable[[CallLine, Ask], Outcome]
"""Who answers the asks: the session itself (nobody, where it is silent), always the same, or whoever is given."""


def replay(
    lines: Iterable[Line], config: Config = DEFAULTS, answers: Answers = "as recorded"
) -> Iterator[ReplayedCall]:
    """The calls of a session in order, each as soon as it is settled. Lines that say nothing are passed over."""
    run = Replay(config, answers)
    for line in lines:
        run.take(line)
        yield from run.finished()
    yield from run.rest()


def replay_events(
    lines: Iterable[Line], config: Config = DEFAULTS, answers: Answers = "as recorded", *, attended: bool = True
) -> Iterator[Event | Snapshot | Damaged | Unknown]:
    """What an engine would report of a session: a snapshot with the configuration, then the events, each at the time
    that the session tells.

    Lines that could not be read come as they are. ``attended`` False: nobody is there to answer, so no call waits:
    what would have been asked about is refused at once, as ``unattended``.
    """
    events: list[Event] = []
    run = Replay(config, answers, attended=attended, listener=events.append)
    yield structs.replace(run.snapshot(), supposed=True, attended=True)
    for line in lines:
        if isinstance(line, Damaged | Unknown):
            yield line
            continue
        run.take(line)
        run.pass_finished()
        yield from events
        events.clear()
    for _ in run.rest():
        yield from events
        events.clear()


def measured(identity: Identity, limits: Mapping[str, float | None]) -> Identity:
    """The same with the measures that these limits make of its fingerprints."""
    measures = tuple(Measure(one, cap) for one in identity.fingerprints if (cap := cap_of(one, limits)) is not None)
    return structs.replace(identity, measures=measures)


class _Course(Struct, eq=False):
    """A call on its way: undecided, decided, settled. ``ticket`` is what it waits under."""

    number: int
    line: CallLine
    ticket: int = 0
    verdict: Verdict | None = None
    advisories: tuple[Advisory, ...] = ()
    failure: Failure | None = None
    settled: bool = False


class Replay:
    """One session on its way through a breaker of its own, line by line. ``listener`` is called with every event."""

    def __init__(
        self,
        config: Config,
        answers: Answers = "as recorded",
        *,
        attended: bool = True,
        listener: Callable[[Event], None] | None = None,
    ) -> None:
        self._now = 0.0
        self._breaker = Breaker(config, attended=attended, clock=lambda: self._now, listener=listener)
        self._limits = config.limits
        self._answers = answers
        self._numbers = 0
        self._under_way: deque[_Course] = deque()
        self._waiting: dict[int, _Course] = {}
        """By the ticket of this breaker."""
        self._recorded: dict[int, int] = {}
        """The ticket of this breaker by that of the journal, for calls that wait here and waited there."""
        self._recorded_asks: dict[str, frozenset[str]] = {}
        """What the journal's open asks are about."""
        self._held: set[str] = set()
        """This breaker's asks that stay open until the journal says how they end."""
        self._awaiting: dict[tuple[str, str], _Course] = {}
        self._take: Mapping[type, Callable[[Any], None]] = {
            CallLine: self._call,
            ResultLine: self._result,
            TurnLine: self._turn,
            AgentLine: self._agent,
            CallDecided: self._decided_then,
            AskOpened: self._ask_opened_then,
            AskClosed: self._ask_closed_then,
            OperatorChanged: self._operator_changed,
            ExemptionRevoked: self._revoked,
            RefusalLifted: self._lifted,
            AgentEnded: self._agent_ended,
        }

    def snapshot(self) -> Snapshot:
        """Everything that stands now."""
        return self._breaker.snapshot()

    def take(self, line: Line) -> None:
        """Let the breaker hear of a line. Its clock never goes back, whatever the lines say."""
        at = getattr(line, "at", 0.0)
        self._now = max(self._now, at)
        if take := self._take.get(type(line)):
            take(line)

    def finished(self) -> Iterator[ReplayedCall]:
        """The calls at the head of the line that are settled, or have been waited for long enough."""
        under_way = self._under_way
        while under_way and (under_way[0].settled or len(under_way) > LOOK_AHEAD):
            yield self._given_out(under_way.popleft())

    def pass_finished(self) -> None:
        """Forget the calls that ``finished`` would give."""
        for _ in self.finished():
            pass

    def rest(self) -> Iterator[ReplayedCall]:
        """The calls whose result never came."""
        while self._under_way:
            yield self._given_out(self._under_way.popleft())

    def _given_out(self, course: _Course) -> ReplayedCall:
        line = course.line
        if course.verdict is None:
            self._end_wait_of(course.ticket, "unattended")
        if self._awaiting.get((line.agent, line.id)) is course:
            del self._awaiting[line.agent, line.id]
        verdict = course.verdict
        assert verdict is not None  # noqa: S101 - ending its asks decided it
        return ReplayedCall(
            number=course.number,
            line=line.line,
            id=line.id,
            agent=line.agent,
            tool=line.tool,
            what=telling_argument(line.args),
            verdict=verdict.decision,
            asked=verdict.asked,
            outcome=verdict.outcome,
            hits=verdict.hits,
            advisories=course.advisories,
            failure=course.failure,
            reason=verdict.reason,
        )

    # -- what the lines say -----------------------------------------------------------------------------------

    def _call(self, line: CallLine) -> None:
        self._numbers += 1
        course = _Course(self._numbers, line)
        self._under_way.append(course)
        call = Call(line.id, line.agent, line.tool, line.args)
        answer = self._breaker.decide(call, line.identity or self._recorded_identity(line))
        if isinstance(answer, Verdict):
            self._decide(course, answer)
        else:
            self._wait(course, answer)

    def _recorded_identity(self, line: CallLine) -> Identity | None:
        """What the journal says the call is, with the caps of this configuration."""
        return measured(line.recorded.identity, self._limits) if line.recorded else None

    def _wait(self, course: _Course, waiting: Waiting) -> None:
        """Let the asks that this call raised stay open if the journal will say how they end; answer them if not."""
        self._waiting[waiting.ticket] = course
        recorded = course.line.recorded
        course.ticket = waiting.ticket
        if self._answers == "as recorded" and recorded and recorded.verdict == "wait":
            self._recorded[recorded.ticket] = waiting.ticket
            self._held.update(waiting.asks)
            return
        for ask_id in waiting.asks:
            ask = self._breaker.ask(ask_id)
            if ask and ask_id not in self._held:
                self._answer(ask_id, self._outcome_of(course.line, ask))

    def _outcome_of(self, line: CallLine, ask: Ask) -> Outcome:
        if callable(self._answers):
            return self._answers(line, ask)
        return ANSWERS.get(self._answers) or line.answer or "unattended"

    def _result(self, line: ResultLine) -> None:
        settlement = self._breaker.settle(line.agent, line.id, line.result, line.failure)
        course = self._awaiting.pop((line.agent, line.id), None)
        if settlement.known and course:
            course.failure, course.advisories, course.settled = settlement.failure, settlement.advisories, True

    def _agent(self, line: AgentLine) -> None:
        self._breaker.start_agent(line.agent, parent=line.parent, harness=line.harness, name=line.name)

    def _turn(self, line: TurnLine) -> None:
        if line.human:
            self._decide_all(self._breaker.start_turn(line.agent))

    def _agent_ended(self, event: AgentEnded) -> None:
        self._decide_all(self._breaker.end_agent(event.agent))

    def _operator_changed(self, event: OperatorChanged) -> None:
        if self._answers != "as recorded":
            return
        if event.attended:
            self._breaker.attend()
        else:
            self._decide_all(self._breaker.leave())

    def _revoked(self, event: ExemptionRevoked) -> None:
        for fingerprint in event.fingerprints:
            self._breaker.revoke(event.agent, fingerprint)

    def _lifted(self, event: RefusalLifted) -> None:
        for fingerprint in event.fingerprints:
            self._breaker.lift(event.agent, fingerprint)

    # -- how the journal's asks ended -------------------------------------------------------------------------

    def _ask_opened_then(self, event: AskOpened) -> None:
        self._recorded_asks[event.ask.id] = frozenset(event.ask.fingerprints)

    def _ask_closed_then(self, event: AskClosed) -> None:
        about = self._recorded_asks.pop(event.id, frozenset())
        if event.outcome == "cancelled":
            return
        for ask in self._breaker.asks():
            if ask.agent == event.agent and not about.isdisjoint(ask.fingerprints):
                self._answer(ask.id, event.outcome)

    def _decided_then(self, event: CallDecided) -> None:
        ticket = self._recorded.pop(event.ticket, 0)
        if ticket in self._waiting:
            self._end_wait_of(ticket, event.outcome or "unattended")

    def _end_wait_of(self, ticket: int, outcome: Outcome) -> None:
        """Decide a call that still waits, though the journal has nothing more to say about its asks."""
        agent = self._waiting[ticket].line.agent
        while outcome != "cancelled" and ticket in self._waiting:
            self._answer(self._asks_of(ticket)[0], outcome)
        self._decide_all(self._breaker.cancel_ticket(agent, ticket))

    def _asks_of(self, ticket: int) -> tuple[str, ...]:
        """The asks a call waits on now: those it was told of may be closed, and others opened."""
        return next(call.asks for call in self._breaker.snapshot().waiting if call.ticket == ticket)

    def _answer(self, ask_id: str, outcome: Outcome) -> None:
        self._held.discard(ask_id)
        self._decide_all(self._breaker.answer(ask_id, outcome))

    # -- verdicts ---------------------------------------------------------------------------------------------

    def _decide_all(self, decided: Iterable[Decided]) -> None:
        for one in decided:
            if course := self._waiting.pop(one.ticket, None):
                self._decide(course, one.verdict)

    def _decide(self, course: _Course, verdict: Verdict) -> None:
        course.verdict = verdict
        course.advisories = verdict.advisories
        if verdict.decision == "allow":
            self._awaiting[course.line.agent, course.line.id] = course
        else:
            course.settled = True
