"""Servers in processes of their own, and what the kernel knows of those."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from msgspec import Struct

from engine.config import DEFAULTS, Config
from engine.harnesses.endpoint import Endpoint
from engine.host import Host

START_SECONDS = 30
TICKS = os.sysconf("SC_CLK_TCK")


class Served(Struct, frozen=True):
    """A server that is up."""

    path: str
    pid: int

    def processor_seconds(self) -> float:
        """What it has used up to now, all threads."""
        return (int(self._fields()[11]) + int(self._fields()[12])) / TICKS

    def has_had_children(self) -> bool:
        """Whether it has ever started a process: one that runs, or one whose end it has taken note of."""
        threads = Path(f"/proc/{self.pid}/task").iterdir()
        return int(self._fields()[8]) > 0 or any((thread / "children").read_text().strip() for thread in threads)

    def _fields(self) -> list[str]:
        """As ``proc(5)`` lists them, from the state on."""
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()


@contextmanager
def served(serve: Callable[..., None], path: Path, *arguments: Any) -> Iterator[Served]:
    """``serve(path, ready, stop, *arguments)`` in a process of its own, from its readiness to the end of the block."""
    context = multiprocessing.get_context("spawn")
    ready, stop = context.Event(), context.Event()
    process = context.Process(target=serve, args=(str(path), ready, stop, *arguments), daemon=True)
    process.start()
    try:
        if not ready.wait(START_SECONDS) or process.pid is None:
            raise RuntimeError(f"no server at {path.name}")
        yield Served(str(path), process.pid)
    finally:
        stop.set()
        process.join()


def serve_engine(
    path: str, ready: Event, stop: Event, config: Config = DEFAULTS, endpoint: Endpoint | None = None
) -> None:
    """The engine, as ``breaker serve --no-journal`` has it."""
    with Host(config, socket=Path(path), http=endpoint):
        ready.set()
        stop.wait()
