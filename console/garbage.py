"""When the garbage collector runs in a process that hosts an engine.

What lives long is left alone: going through all of it takes tens of milliseconds, with many agents hundreds, in which
nobody gets an answer. It is gone through when nothing has happened for a while.
"""

from __future__ import annotations

import gc

THRESHOLDS = (10_000, 20, 1_000)
QUIET_SECONDS = 30.0
"""After so long without an event nobody minds a moment's standstill."""


def collect_seldom() -> None:
    """From now on leave what lives long alone, in all of this process: ``Collecting`` sees to it."""
    gc.set_threshold(*THRESHOLDS)


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
