"""What a process does for the agents whose engine it hosts beside what it shows.

What lives long is left alone by the garbage collector: going through all of it takes tens of milliseconds, with many
agents hundreds, in which nobody gets an answer. It is gone through when nothing has happened for a while.
"""

from __future__ import annotations

import gc
import sys

THRESHOLDS = (10_000, 20, 1_000)
SWITCH_INTERVAL = 0.0005
"""Seconds that the engine's thread waits at most for the one that shows; Python's default is ten times that."""
QUIET_SECONDS = 30.0
"""After so long without an event nobody minds a moment's standstill."""


def put_agents_first() -> None:
    """Let the engine's thread wait for nothing long, in all of this process. ``Collecting`` sees to the garbage."""
    gc.set_threshold(*THRESHOLDS)
    sys.setswitchinterval(SWITCH_INTERVAL)


class Collecting:
    """Collects once in every quiet while."""

    def __init__(self) -> None:
        self._busy_at: float | None = None

    def look(self, now: float, *, busy: bool) -> None:
        """Collect if it is quiet. ``busy``: something has happened since the last look; ``now`` in seconds."""
        if busy:
            self._busy_at = now
        elif self._busy_at is not None and now - self._busy_at >= QUIET_SECONDS:
            self._busy_at = None
            gc.collect()
