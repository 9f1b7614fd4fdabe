"""The event stream as rows: a bounded ring, filters over it, and how a row reads. Everything in a row is safe text.

A call is one row, from the moment it is seen to its result; what else happens is a row of its own. A row's number
is never used twice, so a row can be named after the ring has moved on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Literal, overload

from msgspec import Struct

ROWS_KEPT = 100_000
ROWS_DROPPED_AT_ONCE = 2_000
"""Rows leave the ring in batches: the list behind it is shifted once for many."""
ROWS_FILTERED_AT_ONCE = 10_000
"""A new filter is applied to the past in steps of so many rows, so that no step is a stall."""

Kind = Literal["call", "ask", "answer", "turn", "agent", "rule", "config", "notice"]
Phase = Literal["", "waiting", "running", "ran", "failed", "refused", "aborted", "unknown"]


class Row(Struct, gc=False):
    """One line of the stream. Cyclic garbage collection skips it: it holds nothing but strings and numbers."""

    number: int
    at: float
    kind: Kind
    agent: str
    """The agent's id as it came: a name to compare with, never to print."""
    who: str
    tool: str
    text: str
    phase: Phase = ""
    mark: str = ""
    """The glyph of the stage that the call reached."""
    detail: str = ""
    seconds: float = 0.0
    words: str = ""
    """What is said instead of the phase."""

    @property
    def status(self) -> str:
        """How it went, in words."""
        if not self.phase:
            return ""
        parts = [self.words or ("waiting for you" if self.phase == "waiting" else str(self.phase))]
        if self.detail:
            parts.append(self.detail)
        if self.phase in ("ran", "failed") and self.seconds >= 0.05:
            parts.append(duration(self.seconds))
        return " · ".join(parts)

    @property
    def brief(self) -> str:
        """The same where there is little room: a failure's reason says that it failed, and no time is told."""
        return self.detail if self.phase == "failed" and self.detail else self.status.partition(" · ")[0]


def duration(seconds: float) -> str:
    """``0.8 s``, ``42 s``, ``3:05``, ``2 h``, ``4 d``."""
    if seconds < 9.95:
        return f"{max(seconds, 0):.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
    return f"{seconds // 3600:.0f} h" if seconds < 86400 else f"{seconds // 86400:.0f} d"


def first_kept(end: int) -> int:
    """The number of the oldest row that a stream keeps after so many."""
    return max(end - ROWS_KEPT, 0) // ROWS_DROPPED_AT_ONCE * ROWS_DROPPED_AT_ONCE


class Stream:
    """The rows kept. ``first`` and ``end`` are the numbers of the oldest row and of the one to come.

    ``version`` grows with every change; ``touched`` collects the rows that changed after they were appended, for
    the one view of it.
    """

    __slots__ = ("_rows", "first", "most", "touched", "version")

    def __init__(self, most: int = ROWS_KEPT) -> None:
        self.most = most
        self.first = 0
        self.version = 0
        self.touched: list[int] = []
        self._rows: list[Row] = []

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def end(self) -> int:
        return self.first + len(self._rows)

    def append(self, row: Row) -> None:
        """Add a row, numbered ``end``."""
        self._rows.append(row)
        self.version += 1
        if len(self._rows) >= self.most + ROWS_DROPPED_AT_ONCE:
            del self._rows[:ROWS_DROPPED_AT_ONCE]
            self.first += ROWS_DROPPED_AT_ONCE

    def start_from(self, rows: list[Row], first: int) -> None:
        """Hold these rows, the oldest of which has the number ``first``, instead of those that were there."""
        self._rows, self.first = rows, first
        self.touched = []
        self.version += 1

    def get(self, number: int) -> Row | None:
        """The row of this number, while it is kept."""
        index = number - self.first
        return self._rows[index] if 0 <= index < len(self._rows) else None

    def touch(self, row: Row) -> None:
        """Say that a row has changed."""
        self.version += 1
        self.touched.append(row.number)

    def since(self, number: int, most: int) -> Iterable[Row]:
        """Up to ``most`` rows from this number on."""
        start = max(number - self.first, 0)
        return self._rows[start : start + most]


class Filter(Struct, frozen=True):
    """What rows to show: all that match every part that is set. Its words are lower case, and match any case."""

    agent: str = ""
    """Matches the end of an agent's id, or any part of the name shown."""
    tool: str = ""
    kinds: frozenset[str] = frozenset()
    text: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.agent or self.tool or self.kinds or self.text)

    def matches(self, row: Row) -> bool:
        if self.kinds and row.kind not in self.kinds and row.phase not in self.kinds:
            return False
        if self.agent and not (row.agent.lower().endswith(self.agent) or _has(row.who, self.agent)):
            return False
        if self.tool and not _has(row.tool, self.tool):
            return False
        return all(_has(row.text, word) or _has(row.tool, word) or _has(row.status, word) for word in self.text)


def _has(text: str, part: str) -> bool:
    return part in text.lower()


KIND_WORDS: dict[str, str] = {
    "call": "call",
    "calls": "call",
    "ask": "ask",
    "asks": "ask",
    "answer": "answer",
    "answers": "answer",
    "turn": "turn",
    "turns": "turn",
    "agent": "agent",
    "agents": "agent",
    "rule": "rule",
    "rules": "rule",
    "config": "config",
    "notice": "notice",
    "notices": "notice",
    "waiting": "waiting",
    "running": "running",
    "ran": "ran",
    "failed": "failed",
    "refused": "refused",
    "aborted": "aborted",
}
"""What may stand after ``kind:`` in a filter: a row's kind, or how a call went."""


def parse_filter(text: str) -> Filter:
    """``agent:7f3a tool:bash kind:failed,refused some words``: the words must all be found. Raises ValueError.

    The error names a word after ``kind:`` that is none, and those that are.
    """
    agent, tool = "", ""
    kinds: set[str] = set()
    words: list[str] = []
    for part in text.lower().split():
        key, colon, value = part.partition(":")
        if not colon or key not in ("agent", "tool", "kind"):
            words.append(part)
        elif key == "agent":
            agent = value
        elif key == "tool":
            tool = value
        else:
            kinds |= {_kind_of(word) for word in value.split(",") if word}
    return Filter(agent, tool, frozenset(kinds), tuple(words))


def _kind_of(word: str) -> str:
    if word not in KIND_WORDS:
        raise ValueError(f"no kind {word!r}: one of {', '.join(sorted(set(KIND_WORDS.values())))}")
    return KIND_WORDS[word]


class View(Sequence[int]):
    """The numbers of the rows to show, oldest first: all of them, or those a filter lets through.

    ``limit`` freezes it: no row from that number on is shown. Call ``update`` before reading.
    """

    def __init__(self, stream: Stream, only: Filter | None = None) -> None:
        self._stream = stream
        self.filter = only or Filter()
        self.limit: int | None = None
        self._numbers: list[int] = []
        self._next = stream.first

    @property
    def complete(self) -> bool:
        """Whether every row has been held against the filter."""
        return not self.filter or self._next >= self._stream.end

    def update(self) -> None:
        """Take in what is new, and the rows that have changed; those are then no longer marked as ``touched``."""
        touched, self._stream.touched = self._stream.touched, []
        if not self.filter:
            return
        self._forget()
        for number in touched:
            self._review(number)
        rows = list(self._stream.since(self._next, ROWS_FILTERED_AT_ONCE))
        matches = self.filter.matches
        self._numbers.extend(row.number for row in rows if matches(row))
        if rows:
            self._next = rows[-1].number + 1

    def _forget(self) -> None:
        """Drop the rows that have left the ring."""
        first = self._stream.first
        if self._numbers and self._numbers[0] < first:
            del self._numbers[: bisect_left(self._numbers, first)]

    def _review(self, number: int) -> None:
        """Hold a row that changed against the filter again."""
        row = self._stream.get(number)
        if row is None or number >= self._next:
            return
        index = bisect_left(self._numbers, number)
        shown = index < len(self._numbers) and self._numbers[index] == number
        if self.filter.matches(row) and not shown:
            self._numbers.insert(index, number)
        elif shown and not self.filter.matches(row):
            del self._numbers[index]

    def index_of(self, number: int) -> int:
        """Where the row of this number stands, or would stand."""
        if not self.filter:
            return min(max(number - self._stream.first, 0), len(self))
        return bisect_left(self._numbers, number)

    def __len__(self) -> int:
        end = self._stream.end if self.limit is None else min(self.limit, self._stream.end)
        if not self.filter:
            return max(end - self._stream.first, 0)
        return len(self._numbers) if self.limit is None else bisect_left(self._numbers, end)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...
    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        if isinstance(index, slice):
            return [self[one] for one in range(len(self))[index]]
        length = len(self)
        index = index + length if index < 0 else index
        if not 0 <= index < length:
            raise IndexError(index)
        return self._numbers[index] if self.filter else self._stream.first + index
