"""Pieces of inputs repeated until they are long: the time a reader takes must grow as its input does.

``python -m fuzz.pumped TARGET [SECONDS] [SEED]``
"""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path
from random import Random

from msgspec import Struct

from fuzz.mutation import Mutator
from fuzz.targets import TARGETS

SHORT = 16 * 1024
SECONDS_PER_MB = 2.0
"""What a reader may take for a megabyte, on a machine that has nothing else to do."""
DOUBLED = 2.5
"""What it may take for twice the input, times what it took for once."""
SECONDS_PER_LINE = 10e-6
"""What a line costs that is named as damaged, however short it is."""
NOTICEABLE = 0.05
"""Seconds below which a ratio says nothing."""
PIECE_MOST = 80


class Pumped(Struct, frozen=True):
    """An input of any length: ``before``, then ``piece`` again and again, then ``after``."""

    before: bytes
    piece: bytes
    after: bytes

    def of(self, size: int) -> bytes:
        """The input with about so many bytes."""
        room = max(0, size - len(self.before) - len(self.after))
        return self.before + self.piece * (room // len(self.piece) + 1) + self.after


class Slow(Struct, frozen=True):
    """A finding: an input that takes too long for its length."""

    target: str
    pumped: Pumped
    size: int
    seconds: float
    why: str

    def __str__(self) -> str:
        one = self.pumped
        shown = f"{one.before[-80:]!r} + {one.piece!r} * n + {one.after[:80]!r}"
        return f"{self.target}: {self.seconds:.2f} s for {self.size // 1024} kB: {self.why}\n  {shown}"


def run(name: str, seed: str, *, seconds: float, corpus: Path | None = None) -> tuple[int, float, list[Slow]]:
    """Pump a target's inputs. How many it were, the most seconds that a megabyte took, and the findings.

    ``corpus``: inputs to begin from beside the seeds.
    """
    reader = TARGETS[name]
    random = Random(f"{seed} pumped {name}")
    inputs = reader.seeds() + [file.read_bytes() for file in _files(corpus)]
    mutator = Mutator(random, inputs, reader.pieces)
    end = time.monotonic() + seconds
    worst, pumped = 0.0, 0
    findings: list[Slow] = []
    while time.monotonic() < end and len(findings) < 5:
        one = _pumped(mutator, random, reader.pieces)
        slow, rate = _measure(name, one)
        worst = max(worst, rate)
        pumped += 1
        if slow:
            findings.append(slow)
    return pumped, worst, findings


def _files(corpus: Path | None) -> list[Path]:
    return sorted(corpus.iterdir()) if corpus and corpus.is_dir() else []


def _pumped(mutator: Mutator, random: Random, pieces: tuple[bytes, ...]) -> Pumped:
    """A piece of a damaged input, or one or two of what the language is made of."""
    data = mutator.next()[:600]
    if random.random() < 0.5 or not data:
        piece = b"".join(random.choice(pieces) for _ in range(random.randint(1, 3)))
    else:
        start = random.randrange(len(data))
        piece = data[start : start + random.choice((1, 2, 3, 8, PIECE_MOST))]
    cut = random.randint(0, len(data))
    return Pumped(data[:cut], piece, random.choice((b"", data[cut:])))


def _measure(name: str, one: Pumped) -> tuple[Slow | None, float]:
    """Whether it takes too long, and the seconds that a megabyte took."""
    longest = TARGETS[name].longest
    data = one.of(SHORT)
    took = taken(name, data)
    if took * longest / len(data) < NOTICEABLE and took < NOTICEABLE:
        return None, took / len(data) * 1e6
    size = SHORT
    while size < longest:
        before = took
        size *= 2
        data = one.of(size)
        took = taken(name, data)
        if _too_long(name, took, data) or (before > NOTICEABLE and took > DOUBLED * before):
            # Once more, and each the fastest of several: other programs run on this machine.
            took = min(took, *(taken(name, data) for _ in range(4)))
            quarter = min(taken(name, one.of(size // 4)) for _ in range(5))
            growth = took / max(quarter, NOTICEABLE / 4)
            if why := _too_long(name, took, data) or (
                f"{growth:.1f} times that of a quarter" if growth > DOUBLED**2 else ""
            ):
                return Slow(name, one, len(data), took, why), took / len(data) * 1e6
    return None, took / len(data) * 1e6


def _too_long(name: str, took: float, data: bytes) -> str:
    if took > max(SECONDS_PER_MB * len(data) / 1e6, SECONDS_PER_LINE * data.count(b"\n"), TARGETS[name].always):
        return f"{took / len(data) * 1e6:.1f} s for a megabyte"
    return ""


def taken(name: str, data: bytes) -> float:
    """Seconds of CPU that a target takes, without those of the garbage collector: they come when they like."""
    gc.collect()
    gc.disable()
    try:
        started = time.thread_time()
        TARGETS[name].read(data)
        return time.thread_time() - started
    finally:
        gc.enable()


def main(name: str, seconds: str = "60", seed: str = "1") -> int:
    pumped, worst, findings = run(name, seed, seconds=float(seconds))
    for finding in findings:
        print(finding)
    print(f"{name}: {pumped} inputs pumped, at most {worst:.2f} s for a megabyte, {len(findings)} findings")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
