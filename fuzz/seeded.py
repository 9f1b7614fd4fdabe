"""A target fed with damaged inputs, the same ones for the same seed.

``python -m fuzz.seeded TARGET [SECONDS] [SEED]``
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from random import Random

from msgspec import Struct

from fuzz.mutation import Mutator
from fuzz.targets import TARGETS

MOST = 5
"""Findings after which a run ends."""


class Finding(Struct, frozen=True):
    """An input of which something does not hold."""

    target: str
    data: bytes
    fault: BaseException

    def __str__(self) -> str:
        return f"{self.target}: {type(self.fault).__name__}: {self.fault!s:.300}\n  {self.data!r:.1000}"


def run(
    name: str,
    seed: str,
    *,
    inputs: int | None = None,
    seconds: float | None = None,
    check: Callable[[bytes], None] | None = None,
) -> tuple[int, list[Finding]]:
    """Feed a target so many inputs, or for so long. How many it were, and the findings; the first few only."""
    target = TARGETS[name]
    holds = check or target.check
    mutator = Mutator(Random(f"{seed} {name}"), target.seeds(), target.pieces)
    end = None if seconds is None else time.monotonic() + seconds
    findings: list[Finding] = []
    fed = 0

    def feed(data: bytes) -> None:
        try:
            holds(data)
        except Exception as fault:  # noqa: BLE001 - any is a finding
            findings.append(Finding(name, data, fault))

    for data in target.seeds():
        feed(data)
    while len(findings) < MOST and fed != inputs and (end is None or time.monotonic() < end):
        feed(mutator.next())
        fed += 1
    return fed, findings


def main(name: str, seconds: str = "60", seed: str = "1") -> int:
    fed, findings = run(name, seed, seconds=float(seconds))
    for finding in findings:
        print(finding)
    print(f"{name}: {fed} inputs, {len(findings)} findings")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
