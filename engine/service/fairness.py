"""Many connections on one loop: none is served for long, and in between the loop sees what else has come.

However much agents have written, an operator's answer waits for no more than one short round of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter
from typing import Protocol

ROUND_SECONDS = 0.01
"""After so long the loop looks around."""
PAUSE_SECONDS = 0.0002
"""The loop has looked around when nothing was served for so long."""


class Served(Protocol):
    """What waits to be served."""

    def serve_some(self) -> None:
        """Serve a little of what there is; if more is left, wait again."""
        ...


class Rounds:
    """Serves at once while there is little to do, and in rounds when there is more. For one loop, in its thread."""

    def __init__(self) -> None:
        self._waiting: deque[Served] = deque()
        self._scheduled = False
        self._began = 0.0
        self._ended = 0.0

    def serve(self, one: Served) -> bool:
        """Serve this one now. False when others have to come first: then it waits."""
        now = perf_counter()
        if now - self._ended > PAUSE_SECONDS:
            self._began = now
        if self._waiting or now - self._began > ROUND_SECONDS:
            self.wait(one)
            return False
        try:
            one.serve_some()
        finally:
            self._ended = perf_counter()
        return True

    def wait(self, one: Served) -> None:
        """Serve this one after those that wait already."""
        self._waiting.append(one)
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._round)

    def _round(self) -> None:
        waiting, ends = self._waiting, perf_counter() + ROUND_SECONDS
        try:
            while waiting and perf_counter() < ends:
                waiting.popleft().serve_some()
        finally:
            self._scheduled = bool(waiting)
            if waiting:
                asyncio.get_running_loop().call_soon(self._round)
