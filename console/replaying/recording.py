"""A recorded session as a breaker would have reported it: its events, and the console's state after any of them.

One thread appends, another reads what has been read so far. To be at a place is to take the nearest keyframe before
it and to apply the events from there on.
"""

from __future__ import annotations

from bisect import bisect_right

from console.replaying.course import Course
from console.replaying.heat import Heat
from console.replaying.keyframes import Keyframe, restored, taken_of
from console.replaying.rows import CallHistory, RecordedCalls, RowHistory, bounded
from console.replaying.store import EventStore
from console.state import State, reduce
from console.state.stream import first_kept
from engine.events import (
    AgentEnded,
    AgentStarted,
    CallDecided,
    CallSeen,
    CallSettled,
    Event,
    Snapshot,
    TurnStarted,
)

KEYFRAME_EVERY = 2_000
"""Events from keyframe to keyframe; more where one holds more measures than that."""
PRUNED_EVERY = 64
"""Agents that have ended go at events of certain numbers, however the replay came there."""


class Recording:
    """``course.count`` events can be read. ``append`` and ``finish`` are for the thread that fills it."""

    def __init__(self, snapshot: Snapshot, *, keyframe_every: int = KEYFRAME_EVERY) -> None:
        self.course = Course()
        self.heat = Heat()
        self._store = EventStore()
        self._rows = RowHistory()
        self._calls = CallHistory(self._store)
        self._every = keyframe_every
        self._end = State()
        """As far as it has been read."""
        reduce(self._end, (snapshot,))
        self._end.records = RecordedCalls(self._calls, 0)
        self._keyframes: list[Keyframe] = [taken_of(self._end, 0)]
        self._next_keyframe = keyframe_every

    # -- filling it -------------------------------------------------------------------------------------------

    def append(self, event: Event) -> None:
        """Take in the next event."""
        event = bounded(event)
        number, state = self.course.count, self._end
        self._store.append(event)
        _apply(state, event, number)
        self._note_rows(event, number)
        self.heat.happened(number, event, state)
        if number + 1 >= self._next_keyframe:
            keyframe = taken_of(state, number + 1)
            self._keyframes.append(keyframe)
            self._next_keyframe += max(self._every, keyframe.size)
        self.course.append(event)  # last: from now on it can be read

    def finish(self) -> None:
        """There is no more."""
        self.course.complete = True

    def _note_rows(self, event: Event, number: int) -> None:
        """Take over the rows that came or changed with this event."""
        stream = self._end.stream
        touched, stream.touched = stream.touched, []
        new = range(len(self._rows), stream.end)
        for row_number in new:
            self._calls.add_row()
            self._note_row(row_number, number)
        for row_number in touched:
            self._note_row(row_number, number)
        if isinstance(event, CallSeen | CallDecided | CallSettled):
            for row_number in (*new, *touched):
                self._calls.note(row_number, number, event)

    def _note_row(self, row_number: int, number: int) -> None:
        row = self._end.stream.get(row_number)
        if row is None:
            return
        if row_number < len(self._rows):
            self._rows.change(row, number)
        else:
            self._rows.add(row, number)

    # -- reading it -------------------------------------------------------------------------------------------

    def after(self, events: int) -> State:
        """A new state as it stands after so many events, or after all there are."""
        events = min(max(events, 0), self.course.count)
        index = bisect_right(self._keyframes, events, key=lambda one: one.events) - 1
        keyframe = self._keyframes[index]
        first = first_kept(self._rows.end(keyframe.events))
        rows = self._rows.after(keyframe.events, first)
        state = restored(keyframe, rows, first, self._calls)
        self.advance(state, keyframe.events, events)
        return state

    def advance(self, state: State, start: int, stop: int) -> None:
        """Apply the events from ``start`` up to ``stop`` to a state that stands at ``start``."""
        for number, event in enumerate(self._store.between(start, stop), start):
            _apply(state, event, number)


def _apply(state: State, event: Event, number: int) -> None:
    reduce(state, (event,))
    if isinstance(state.records, RecordedCalls):
        state.records.events = number + 1
    if number % PRUNED_EVERY == 0 or isinstance(event, AgentStarted | AgentEnded | TurnStarted):
        state.agents.prune(event.at)
