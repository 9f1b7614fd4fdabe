"""The last calls in full, for the screens that show one: everything older is known by its row alone."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from msgspec import Struct, structs

from console.text import as_json
from engine.events import CallDecided, CallSeen, CallSettled

RECORDS_KEPT = 2_000
CHARACTERS_KEPT = 8_000_000
"""Of all records together, roughly: what they hold is mostly their arguments and results."""
ARGUMENTS_KEPT = 100_000
"""Characters of one call's arguments; the rest is cut, and said to be."""
DEPTH_KEPT = 32
OWN_SIZE = 2_000
"""What a record costs besides its arguments and its result."""


class Record(Struct):
    """One call from end to end. ``seen`` holds its arguments, cut where they were too long to keep."""

    seen: CallSeen
    size: int
    decided: CallDecided | None = None
    settled: CallSettled | None = None


class Records:
    """Records by row number, oldest first, bounded in number and in size."""

    __slots__ = ("_by_row", "_size")

    def __init__(self) -> None:
        self._by_row: OrderedDict[int, Record] = OrderedDict()
        self._size = 0

    def add(self, row: int, seen: CallSeen) -> Record:
        """Keep a call; the oldest go when there is no more room."""
        size = size_of(seen.args)
        if size > ARGUMENTS_KEPT:
            seen = structs.replace(seen, args=cut(seen.args))
            size = size_of(seen.args)
        record = self._by_row[row] = Record(seen, size + OWN_SIZE)
        self._size += size + OWN_SIZE
        while len(self._by_row) > RECORDS_KEPT or (self._size > CHARACTERS_KEPT and len(self._by_row) > 1):
            self._size -= self._by_row.popitem(last=False)[1].size
        return record

    def get(self, row: int) -> Record | None:
        return self._by_row.get(row)

    def settle(self, row: int, settled: CallSettled) -> None:
        """Add a call's result; its event is a preview already, bounded by the engine."""
        if record := self._by_row.get(row):
            record.settled = settled


def size_of(value: Any, most: int = ARGUMENTS_KEPT, depth: int = DEPTH_KEPT) -> int:
    """Characters in a value, roughly. Stops counting above ``most``; what nests too deep is too much."""
    if isinstance(value, str):
        return len(value)
    if not isinstance(value, Mapping | list | tuple):
        return 8
    if not depth:
        return most + 1
    total = 2
    for one in _parts(value):
        total += size_of(one, most, depth - 1)
        if total > most:
            break
    return total


def _parts(value: Any) -> Iterator[Any]:
    """The keys and values of a mapping, or the items of a list."""
    return chain.from_iterable(value.items()) if isinstance(value, Mapping) else iter(value)


def cut(value: Any) -> Any:
    """A value of which no more than ``ARGUMENTS_KEPT`` characters are left; what is missing says so."""
    return _cut(value, [ARGUMENTS_KEPT], DEPTH_KEPT - 2)


def _cut(value: Any, left: list[int], depth: int) -> Any:
    """``left`` holds one number, what may still be kept."""
    if isinstance(value, str):
        kept = value[: max(left[0], 0)]
        left[0] -= len(kept)
        return value if len(kept) == len(value) else f"{kept}…‹+{len(value) - len(kept)}›"
    left[0] -= 8
    if isinstance(value, Mapping):
        return _cut_mapping(value, left, depth)
    if not isinstance(value, list | tuple):
        return value
    items: list[Any] = []
    for item in value:
        if left[0] <= 0 or not depth:
            return [*items, f"…‹+{len(value) - len(items)} items›"]
        items.append(_cut(item, left, depth - 1))
    return items


def _cut_mapping(value: Mapping[str, Any], left: list[int], depth: int) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, one in value.items():
        if left[0] <= 0 or not depth:
            return kept | {"…": f"‹+{len(value) - len(kept)} keys›"}
        name = _cut(key, left, 0)  # before its value, which may leave it nothing
        kept[name] = _cut(one, left, depth - 1)
    return kept


def as_session_line(record: Record) -> str:
    """The call and its result as one line of the session format, as ``breaker replay`` reads it. ASCII only.

    Whatever its arguments hold, the line holds no control character: it is made to be pasted.
    """
    seen, decided = record.seen, record.decided
    line: dict[str, Any] = {
        "type": "call",
        "id": seen.id,
        "agent": seen.agent,
        "tool": seen.tool,
        "args": seen.args,
        "at": seen.at,
        "verdict": decided.verdict if decided else seen.verdict,
        "fingerprints": list(seen.fingerprints),
    }
    if decided and decided.outcome:
        line["answer"] = {"approved": "approve", "rejected": "reject"}.get(decided.outcome, "unavailable")
    if record.settled:
        line["result"] = record.settled.result
    try:
        return json.dumps(line)
    except (TypeError, ValueError, RecursionError):
        return as_json(line | {"args": cut(seen.args)})
