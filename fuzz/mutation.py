"""Valid inputs, damaged: the same ones for the same seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

BYTES_MOST = 4096
"""Longer inputs are the business of ``pumped``."""
CHANGES_MOST = 5

CHARACTERS = (
    *(
        "\u202e",
        "\u200b",
        "\ufeff",
        "\u2028",
        "\x85",
        "\x1b[2J",
        "\x07",
        "\x7f",
        "\U000e0041",
        "\ue000",
        "\u0130",
        "\ufb03",
    ),
    *("é", "e\u0301", "😀", "＜", "ſ", "\r", "\r\n", "\t", "\x0b", "\0"),
)
NUMBERS = ("0", "-0", "-1", "1e999", "1E-7", "9007199254740993", "9" * 19, "9" * 400, "NaN", "Infinity", "1.0", "0x1f")
ESCAPES = (r"\ud800", r"\udc00", r"\u0000", r"\u001b", r"\ud83d\ude00", r"\/", r"\x", r"\u12")
BYTES = (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80")
ANYWHERE = (
    *(one.encode() for one in (*CHARACTERS, *NUMBERS, *ESCAPES)),
    *BYTES,
    *(
        b"null",
        b"true",
        b"false",
        b'""',
        b"{}",
        b"[]",
        b"[" * 40,
        b'{"a":' * 40,
        b'","',
        b"'",
        b'"',
        b"`",
        b"\\",
        b"\n",
    ),
)
"""Pieces that upset readers of every kind."""


class Mutator:
    """Gives damaged inputs. ``pieces`` are what the target's language is made of."""

    def __init__(self, random: Random, seeds: Sequence[bytes], pieces: Sequence[bytes] = ()) -> None:
        self._random = random
        self._seeds = seeds
        self._pieces = (*pieces, *pieces, *ANYWHERE)
        self._changes: tuple[Callable[[bytes], bytes], ...] = (
            *(self._flip, self._insert, self._insert, self._insert, self._delete, self._double),
            *(self._repeat, self._splice, self._swap, self._cut),
        )

    def next(self) -> bytes:
        """The next input."""
        random = self._random
        data = random.choice(self._seeds)
        for _ in range(random.randint(1, CHANGES_MOST)):
            data = random.choice(self._changes)(data)
        return data[:BYTES_MOST]

    def _place(self, data: bytes) -> int:
        return self._random.randint(0, len(data))

    def _span(self, data: bytes, most: int = 40) -> tuple[int, int]:
        start = self._place(data)
        return start, min(len(data), start + self._random.randint(1, most))

    def _flip(self, data: bytes) -> bytes:
        if not data:
            return data
        at = self._random.randrange(len(data))
        return data[:at] + bytes((data[at] ^ (1 << self._random.randrange(8)),)) + data[at + 1 :]

    def _insert(self, data: bytes) -> bytes:
        at = self._place(data)
        return data[:at] + self._random.choice(self._pieces) + data[at:]

    def _delete(self, data: bytes) -> bytes:
        start, end = self._span(data)
        return data[:start] + data[end:]

    def _double(self, data: bytes) -> bytes:
        start, end = self._span(data)
        return data[:end] + data[start:]

    def _repeat(self, data: bytes) -> bytes:
        start, end = self._span(data, 12)
        return data[:end] + data[start:end] * self._random.choice((2, 3, 9, 70)) + data[end:]

    def _splice(self, data: bytes) -> bytes:
        other = self._random.choice(self._seeds)
        return data[: self._place(data)] + other[self._place(other) :]

    def _swap(self, data: bytes) -> bytes:
        start, end = self._span(data)
        at = self._random.randint(end, len(data))
        return data[:start] + data[end:at] + data[start:end] + data[at:]

    def _cut(self, data: bytes) -> bytes:
        return data[: self._place(data)]
