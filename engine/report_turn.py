"""One turn of one agent as a report tells it: which measures climbed and how far, what was said, what was done next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from engine.events import AskClosed, CallDecided, CallSeen, CallSettled
from engine.replayed import telling_argument
from engine.report_forms import REACHED, Advised, Asked, Loop, Reached, Thresholds, TurnReport
from engine.turn import telling
from engine.verdicts import Advisory, Ask, Hit

CLIMBS_KEPT = 20_000
"""Measures of one turn that are followed; of more, those seen once and longest ago go first."""
CALLS_AWAITED = 4096
WHAT_CHARS = 120
TEXT_CHARS = 400
ADVICE_KEPT = 500
ASKS_KEPT = 500
LOOPS_KEPT = 500
ALSO_KEPT = 20
FAILURES_OF_NOTE = 5
"""A streak of so many weighs as much as a count at its cap, where loops are put in order."""


class _Climb(Struct):
    cap: float
    first: int
    last: int
    calls: int = 0
    peak: int = 0
    failures: int = 0
    refused: int = 0
    reached: int = -1
    seconds: float = 0.0

    def reach(self, stage: Reached) -> None:
        self.reached = max(self.reached, REACHED.index(stage))


class TurnAccount:
    """Keeps the account of a turn, event by event."""

    def __init__(self, turn: int, at: float, thresholds: Thresholds) -> None:
        self.report = TurnReport(turn, at, at)
        self.thresholds = thresholds
        self._climbs: dict[str, _Climb] = {}
        self._awaited: dict[int, tuple[int, tuple[str, ...]]] = {}
        """By ticket: a call's number, and those of its measures that it was not the first to carry."""
        self._spent: dict[tuple[str, ...], tuple[int, float]] = {}
        """Calls and seconds by the measures that were repeated."""
        self._refused: dict[str, tuple[int, tuple[str, ...], float]] = {}
        """By id: refused calls, with when they came."""
        self._open: dict[str, Asked] = {}
        self._unanswered: list[Advised] = []
        """Advice after which no call has come yet."""

    # -- calls ------------------------------------------------------------------------------------------------

    def seen(self, event: CallSeen) -> None:
        """A call came."""
        report = self.report
        report.calls += 1
        report.asked += event.asked
        number = report.calls
        self._next_call(event)
        repeated = tuple(one.fingerprint for one in event.measures if one.fingerprint in self._climbs)
        for measure in event.measures:
            climb = self._climbs.pop(measure.fingerprint, None) or _Climb(measure.cap, number, number)
            climb.last, climb.cap = number, measure.cap
            climb.calls += 1
            self._climbs[measure.fingerprint] = climb
        self._spend(repeated, 1, 0.0)
        self._awaited[event.ticket] = (number, repeated)
        self._bound()
        self._verdict(event)
        if event.asked and event.verdict != "wait":
            self._asked_nobody(event)

    def decided(self, event: CallDecided) -> None:
        """A call that waited is decided."""
        self._verdict(event)

    def settled(self, event: CallSettled) -> None:
        """A call gave something back."""
        report = self.report
        number, repeated = self._awaited.pop(event.ticket, (report.calls, ()))
        self._took(repeated, event.seconds)
        if event.failure:
            report.failed += 1
            report.failures[event.failure.reason] = report.failures.get(event.failure.reason, 0) + 1
        at = self.thresholds.fail_warn_at
        for name, streak in event.streaks.items():
            if climb := self._climbs.get(name):
                climb.failures = max(climb.failures, streak)
                if at is not None and streak >= at:
                    climb.reach("fail-warn")
        self._advise((one for one in event.advisories if one.stage == "fail-warn"), number)

    def ran_anyway(self, call: str, at: float) -> None:
        """A call that would have been refused gave something back: no breaker was there."""
        _, repeated, began = self._refused.pop(call, (0, (), 0.0))
        if began and at > began:
            self._took(repeated, at - began)

    def _took(self, repeated: tuple[str, ...], seconds: float) -> None:
        self.report.seconds += seconds
        self._spend(repeated, 0, seconds)
        for name in repeated:
            if climb := self._climbs.get(name):
                climb.seconds += seconds

    def _verdict(self, event: CallSeen | CallDecided) -> None:
        number = self._awaited[event.ticket][0] if event.ticket in self._awaited else self.report.calls
        for name, count in event.counts.items():
            if climb := self._climbs.get(name):
                self._climbed(climb, count)
        for hit in event.hits:
            self._hit(hit, refused=event.verdict == "deny")
        self._advise(event.advisories, number)
        if event.verdict == "deny":
            self.report.refused += 1
            _, repeated = self._awaited.pop(event.ticket, (number, ()))
            self._refused[event.id] = (number, repeated, event.at)
            if len(self._refused) > CALLS_AWAITED:
                del self._refused[next(iter(self._refused))]

    def _climbed(self, climb: _Climb, count: int) -> None:
        climb.peak = max(climb.peak, count)
        thresholds = self.thresholds
        if thresholds.warn_at is not None and count >= thresholds.warn_at:
            climb.reach("warn")
        if thresholds.summarize_at is not None and count >= thresholds.summarize_at:
            climb.reach("summarize")

    def _hit(self, hit: Hit, *, refused: bool) -> None:
        climb = self._climbs.get(hit.fingerprint)
        if climb is None:
            return
        climb.reach("gate")
        climb.refused += refused
        if hit.track == "repeat":
            climb.peak = max(climb.peak, hit.count)
        else:
            climb.failures = max(climb.failures, hit.count)

    # -- advice and asks --------------------------------------------------------------------------------------

    def _advise(self, advisories: Iterable[Advisory], number: int) -> None:
        for advisory in advisories:
            if climb := self._climbs.get(advisory.fingerprint):
                climb.reach(advisory.stage)
            if len(self.report.advice) < ADVICE_KEPT:
                advised = Advised(advisory.stage, advisory.fingerprint, advisory.count, number)
                self.report.advice.append(advised)
                self._unanswered.append(advised)

    def _next_call(self, event: CallSeen) -> None:
        carried = frozenset(event.fingerprints)
        for advised in self._unanswered:
            advised.next = "again" if advised.fingerprint in carried else "other"
            advised.next_what = what_of(event.tool, event.args)
        self._unanswered.clear()
        for advised in self.report.advice:
            advised.later += advised.fingerprint in carried

    def ask_opened(self, ask: Ask, seen: CallSeen | None) -> None:
        """A question went to the operator; ``seen`` is the call that raised it."""
        what = what_of(seen.tool, seen.args) if seen else ask.tool[:WHAT_CHARS]
        about = tuple(sorted(ask.fingerprints, key=_most_telling))
        asked = Asked(ask.id, self.report.calls, what, about, ask.opened)
        self._open[ask.id] = asked
        self._keep(asked)

    def ask_closed(self, event: AskClosed) -> None:
        """A question was answered, or is no more."""
        asked = self._open.pop(event.id, None)
        if asked is None:
            return
        asked.outcome, asked.note, asked.calls = event.outcome, event.note[:TEXT_CHARS], event.calls
        asked.waited = event.at - asked.opened if event.at > asked.opened > 0 else None

    def _asked_nobody(self, event: CallSeen) -> None:
        """Nobody was there to answer, so the call did not wait."""
        about = tuple(sorted({hit.fingerprint for hit in event.hits}, key=_most_telling))
        what = what_of(event.tool, event.args)
        self._keep(Asked("", self.report.calls, what, about, event.at, None, event.outcome))

    def _keep(self, asked: Asked) -> None:
        if len(self.report.asks) < ASKS_KEPT:
            self.report.asks.append(asked)

    # -- the end ----------------------------------------------------------------------------------------------

    def close(self, at: float) -> TurnReport:
        """The turn is over, or as far as it is known."""
        report = self.report
        report.ended = max(at, report.started)
        loops = {name: climb for name, climb in self._climbs.items() if climb.reached >= 0}
        for repeated, (calls, seconds) in self._spent.items():
            if not loops.keys().isdisjoint(repeated):
                report.repeats += calls
                report.repeat_seconds += seconds
        report.loops = _told(loops)[:LOOPS_KEPT]
        return report

    # -- bounds -----------------------------------------------------------------------------------------------

    def _spend(self, repeated: tuple[str, ...], calls: int, seconds: float) -> None:
        if repeated and (repeated in self._spent or len(self._spent) < CLIMBS_KEPT):
            before = self._spent.get(repeated, (0, 0.0))
            self._spent[repeated] = (before[0] + calls, before[1] + seconds)

    def _bound(self) -> None:
        if len(self._climbs) > 2 * CLIMBS_KEPT:
            latest = list(self._climbs.items())[-CLIMBS_KEPT:]
            kept = [(name, climb) for name, climb in self._climbs.items() if climb.calls > 1 or climb.reached >= 0]
            self._climbs = dict(kept[-CLIMBS_KEPT:]) | dict(latest)
        if len(self._awaited) > CALLS_AWAITED:
            del self._awaited[next(iter(self._awaited))]


def _told(climbs: Mapping[str, _Climb]) -> list[Loop]:
    """The loops, those first that got nearest the gate; measures of the same calls together."""

    def rank(name: str) -> tuple[float, ...]:
        climb = climbs[name]
        return (
            -climb.reached,
            -max(climb.peak / climb.cap, climb.failures / FAILURES_OF_NOTE),
            telling(name),
            climb.first,
        )

    alike: dict[tuple[int, ...], list[str]] = {}
    for name in sorted(climbs, key=rank):
        climb = climbs[name]
        alike.setdefault((climb.first, climb.last, climb.calls), []).append(name)
    return [_loop(names, climbs[names[0]]) for names in alike.values()]


def _loop(names: list[str], climb: _Climb) -> Loop:
    return Loop(
        fingerprint=names[0],
        also=tuple(names[1:ALSO_KEPT]),
        cap=climb.cap,
        reached=REACHED[climb.reached],
        peak=climb.peak,
        failures=climb.failures,
        calls=climb.calls,
        refused=climb.refused,
        first=climb.first,
        last=climb.last,
        repeats=climb.calls - 1,
        seconds=climb.seconds,
    )


def _most_telling(name: str) -> tuple[int, str]:
    return telling(name), name


def what_of(tool: str, args: Mapping[str, Any]) -> str:
    """A call in one line, cut, as the agent wrote it."""
    return f"{tool[:WHAT_CHARS]} {telling_argument(args)}"[: 2 * WHAT_CHARS].rstrip()
