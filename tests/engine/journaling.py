"""A breaker and its journal in a process of their own, to be killed: ``python -m tests.engine.journaling DIR SEED``.

Takes steps as fast as it can, and writes a dot for each that is done.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import Random

from engine.breaker import Breaker
from engine.events import Event
from engine.journal import Journal, Limits
from engine.journal_reader import recover
from tests.engine.steps import TIGHT, steps_at_random, take

PART_BYTES = 6000
"""So small that a new part begins every few events: between a checkpoint and its part there is much to go wrong."""


def main(directory: Path, seed: str) -> None:
    def heard(event: Event) -> None:
        journal(event)

    breaker = Breaker(TIGHT, attended=True, listener=heard)
    journal = Journal(
        directory,
        checkpoint=breaker.checkpoint,
        on_fault=sys.exit,
        limits=Limits(part_bytes=PART_BYTES, keep_bytes=20 * PART_BYTES),
    )
    breaker.restore(recover(directory, TIGHT).checkpoint)
    for step in steps_at_random(Random(seed)):
        take(breaker, step)
        os.write(1, b".")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
