"""The course of a recording: when each event comes in a replay, and where the calls, stages, gates and failures are.

A place is a number of events: at place ``n`` the first ``n`` of them have happened.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal

from engine.events import AskClosed, AskOpened, CallDecided, CallSeen, CallSettled, Event, Exempted, Refused

LONGEST_WAIT = 2.0
"""Seconds that a replay waits between two events, at its own speed, however long the session did."""
UNTIMED_CALL_SECONDS = 0.5
"""From call to call in a session that does not say when they were."""
SAME_TIME_SECONDS = 0.05
"""From call to call of those that came at the same time, so that each is seen to come."""

Kind = Literal["call", "stage", "gate", "failure"]
SEQUELS = (AskOpened, AskClosed, Exempted, Refused, CallDecided)
"""What becomes of a call that waits."""
KINDS: tuple[Kind, ...] = ("call", "stage", "gate", "failure")


class Course:
    """Append in one thread, read in another; ``count`` is how many events are known."""

    def __init__(self) -> None:
        self.count = 0
        self.complete = False
        """Whether there will be no more."""
        self._comes: array[float] = array("d")
        """By event: after how many seconds of playing it comes."""
        self._at: array[float] = array("d")
        self._places: dict[Kind, array[int]] = {kind: array("q") for kind in KINDS}
        self._latest = 0.0
        self._unsettled_at: float | None = None
        """The time of the call that waits, while nothing else has come since."""

    def append(self, event: Event) -> None:
        place = self.count + 1
        self._comes.append((self._comes[-1] if self._comes else 0.0) + self._wait_for(event))
        self._latest = max(self._latest, event.at)
        self._at.append(self._latest)
        self._mark(event, place)
        self.count = place

    def _wait_for(self, event: Event) -> float:
        wait = min(event.at - self._latest, LONGEST_WAIT) if self._latest else 0.0
        if wait > 0:
            return wait
        if not isinstance(event, CallSeen) or not self._places["call"]:
            return 0.0
        return SAME_TIME_SECONDS if event.at > 0 else UNTIMED_CALL_SECONDS

    def _mark(self, event: Event, place: int) -> None:
        if isinstance(event, SEQUELS) and event.at == self._unsettled_at:
            for places in self._places.values():  # who goes to a call sees what became of it in the same moment
                if places and places[-1] == place - 1:
                    places[-1] = place
            return
        waits = isinstance(event, CallSeen) and event.verdict == "wait"
        self._unsettled_at = event.at if waits else None
        for kind in _kinds_of(event):
            self._places[kind].append(place)

    # -- where things are -------------------------------------------------------------------------------------

    def places(self, kind: Kind) -> Sequence[int]:
        """Where the things of a kind are, in order."""
        return self._places[kind]

    def number(self, kind: Kind, place: int) -> int:
        """How many things of a kind have happened at a place."""
        return bisect_right(self._places[kind], place)

    def next(self, kind: Kind, place: int) -> int | None:
        """The next place of a thing of a kind, None when there is none, or none yet of which all has been read."""
        places = self._places[kind]
        index = bisect_right(places, place)
        if index == len(places) or (places[index] == self.count and self._growing):
            return None
        return places[index]

    @property
    def _growing(self) -> bool:
        """Whether what was read last may be about the same moment as what comes next."""
        return self._unsettled_at is not None and not self.complete

    def previous(self, kind: Kind, place: int) -> int | None:
        """The place before of a thing of a kind, None when there is none."""
        places = self._places[kind]
        index = bisect_left(places, place)
        return places[index - 1] if index else None

    # -- when they are ----------------------------------------------------------------------------------------

    def comes(self, place: int) -> float:
        """After how many seconds of playing a place is reached."""
        return self._comes[place - 1] if place > 0 else 0.0

    def place_after(self, seconds: float) -> int:
        """The place that so many seconds of playing reach."""
        return min(bisect_right(self._comes, seconds), self.count)

    def time(self, place: int) -> float:
        """The session's own time at a place, in unix seconds; 0.0 when it does not say."""
        return self._at[place - 1] if 0 < place <= len(self._at) else 0.0


def _kinds_of(event: Event) -> Iterator[Kind]:
    """What an event is, for one who looks for it."""
    if isinstance(event, CallSeen):
        yield "call"
        if event.verdict != "allow":
            yield "gate"
    if isinstance(event, CallSettled) and event.failure:
        yield "failure"
    if isinstance(event, CallSeen | CallDecided | CallSettled) and (event.advisories or getattr(event, "asked", False)):
        yield "stage"
