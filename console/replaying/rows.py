"""The rows of a recording as they stood after any number of its events, and the calls behind them."""

from __future__ import annotations

from array import array
from bisect import bisect_left

from msgspec import structs

from console.replaying.store import EventStore
from console.state.records import ARGUMENTS_KEPT, Record, Records, cut, size_of
from console.state.stream import Row
from engine.events import CallDecided, CallSeen, CallSettled, Event

NEVER = -1
OPEN = frozenset({"waiting", "running"})
"""Phases of a row that may change yet."""


class RowHistory:
    """Every row with each form it had. A form in here is never changed: who wants to change a row gets a copy."""

    def __init__(self) -> None:
        self._made: array[int] = array("q")
        """By row: the event it came with."""
        self._changed: array[int] = array("q")
        """By row: the event that gave it its latest form."""
        self._latest: list[Row] = []
        self._earlier: list[tuple[tuple[int, Row], ...]] = []
        """By row: the forms before the latest one, each with its event."""

    def __len__(self) -> int:
        return len(self._made)

    def add(self, row: Row, event: int) -> None:
        """Take in a new row, which came with the event of this number."""
        self._latest.append(structs.replace(row))
        self._earlier.append(())
        self._changed.append(event)
        self._made.append(event)  # last: it says how many rows there are

    def change(self, row: Row, event: int) -> None:
        """Take in that an event changed a row."""
        number, before = row.number, self._changed[row.number]
        if before != event:
            self._earlier[number] += ((before, self._latest[number]),)
            self._changed[number] = event  # before its form: who reads meanwhile looks for an earlier one, and finds it
        self._latest[number] = structs.replace(row)

    def end(self, events: int) -> int:
        """How many rows there are after so many events."""
        return bisect_left(self._made, events)

    def after(self, events: int, first: int = 0) -> list[Row]:
        """The rows from ``first`` on as they stand after so many events; those that may change yet are copies."""
        end = self.end(events)
        latest = self._latest[first:end]  # before ``_changed``: a form that is replaced meanwhile is then known to be
        changed = self._changed[first:end]
        rows = [
            row if at < events else self._earlier_form(number, events)
            for number, row, at in zip(range(first, end), latest, changed, strict=True)
        ]
        return [structs.replace(row) if row.phase in OPEN else row for row in rows]

    def _earlier_form(self, number: int, events: int) -> Row:
        return next(row for event, row in reversed(self._earlier[number]) if event < events)


class CallHistory:
    """Which events are about the call of a row."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._events: dict[type, array[int]] = {kind: array("q") for kind in (CallSeen, CallDecided, CallSettled)}
        """By kind of event, by row: the number of the event, or ``NEVER``."""
        self._tickets: array[int] = array("q")
        """By row; ``NEVER`` for one that is no call's."""

    def add_row(self) -> None:
        """Take in that there is one more row, of whatever kind."""
        for numbers in self._events.values():
            numbers.append(NEVER)
        self._tickets.append(NEVER)

    def note(self, row: int, number: int, event: CallSeen | CallDecided | CallSettled) -> None:
        """Take in that the event of this number is about the call of this row."""
        self._events[type(event)][row] = number
        self._tickets[row] = event.ticket

    def ticket(self, row: int) -> int:
        return self._tickets[row]

    def record(self, row: int, events: int) -> Record | None:
        """A call as it stood after so many events; None when the row is no call's."""
        seen = self._event(row, events, CallSeen)
        if not isinstance(seen, CallSeen):
            return None
        decided = self._event(row, events, CallDecided)
        settled = self._event(row, events, CallSettled)
        return Record(
            seen,
            size_of(seen.args),
            decided if isinstance(decided, CallDecided) else None,
            settled if isinstance(settled, CallSettled) else None,
        )

    def _event(self, row: int, events: int, kind: type) -> Event | None:
        numbers = self._events[kind]
        number = numbers[row] if 0 <= row < len(numbers) else NEVER
        return self._store[number] if NEVER < number < events else None


class RecordedCalls(Records):
    """The records of a replay: nothing is kept but where the replay stands, and no call is too far back."""

    def __init__(self, history: CallHistory, events: int) -> None:
        super().__init__()
        self._history = history
        self.events = events
        """How many events have been applied."""

    def add(self, row: int, seen: CallSeen) -> Record:  # noqa: ARG002 - the recording knows its row
        return Record(seen, size_of(seen.args))

    def get(self, row: int) -> Record | None:
        return self._history.record(row, self.events)

    def settle(self, row: int, settled: CallSettled) -> None:
        """The recording has it already."""


def bounded(event: Event) -> Event:
    """The event with no more arguments than are ever shown."""
    if isinstance(event, CallSeen) and size_of(event.args) > ARGUMENTS_KEPT:
        return structs.replace(event, args=cut(event.args))
    return event
