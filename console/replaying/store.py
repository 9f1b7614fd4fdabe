"""The events of a recording, by their number, packed: a hundred thousand of them take a few dozen megabytes."""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Iterator

import msgspec

from engine.events import Event

CHUNK = 256
"""Events packed together: so many are unpacked to look at one."""
CHUNKS_UNPACKED = 12
"""Chunks kept unpacked, those looked at last: playing goes through them in order, a page looks at a few."""
LEVEL = 1

Chunk = tuple[Event, ...]


class EventStore:
    """Append in one thread, read in another. The number of events that can be read is ``len``."""

    def __init__(self) -> None:
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder: msgspec.msgpack.Decoder[Chunk] = msgspec.msgpack.Decoder(Chunk)
        self._packed: list[bytes | Chunk] = []
        self._last: list[Event] = []
        """Not packed yet. Packing puts a new list in its place, after the chunk can be found."""
        self._unpacked: OrderedDict[int, Chunk] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, event: Event) -> None:
        self._last.append(event)
        if len(self._last) == CHUNK:
            self._packed.append(self._pack(tuple(self._last)))
            self._last = []
        self._count += 1

    def __getitem__(self, number: int) -> Event:
        if not 0 <= number < self._count:
            raise IndexError(number)
        return self._chunk(number // CHUNK)[number % CHUNK]

    def between(self, start: int, stop: int) -> Iterator[Event]:
        """The events from ``start`` up to, and without, ``stop``."""
        number = max(start, 0)
        stop = min(stop, self._count)
        while number < stop:
            first = number // CHUNK * CHUNK
            part = self._chunk(number // CHUNK)[number - first : stop - first]
            yield from part
            number += len(part)

    def _pack(self, events: Chunk) -> bytes | Chunk:
        """Packed, or as they are when they hold what cannot be (lone surrogates, numbers beyond 64 bits)."""
        try:
            return zlib.compress(self._encoder.encode(events), LEVEL)
        except (ValueError, OverflowError, RecursionError, TypeError):
            return events

    def _chunk(self, number: int) -> Chunk:
        last = self._last  # looked at first: should it be packed meanwhile, this list still holds what it held
        if number >= len(self._packed):
            return tuple(last)
        packed = self._packed[number]
        if isinstance(packed, tuple):
            return packed
        chunk = self._unpacked.get(number)
        if chunk is None:
            chunk = self._unpacked[number] = self._decoder.decode(zlib.decompress(packed))
            if len(self._unpacked) > CHUNKS_UNPACKED:
                self._unpacked.popitem(last=False)
        else:
            self._unpacked.move_to_end(number)
        return chunk
