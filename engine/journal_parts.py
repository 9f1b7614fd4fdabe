"""The files of a journal: their names, their order, and which of them go.

A run of an engine writes ``<UTC start>-<pid>.jsonl``, then ``<UTC start>-<pid>.1.jsonl`` and so on. Beside each
part stands a ``.checkpoint``: what the breaker knew when the part began, the part's first event included.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct

EVENTS = ".jsonl"
CHECKPOINT = ".checkpoint"
LOCK_TRIES = 20
LOCK_PAUSE = 0.001
"""Seconds."""

_NAME = re.compile(
    r"(?P<start>\d{8}T\d{6}Z)-(?P<pid>\d{1,10})(?:\.(?P<index>\d{1,9}))?\.(?:jsonl|checkpoint)", re.ASCII
)
_START = "%Y%m%dT%H%M%SZ"


class Part(Struct, frozen=True, order=True):
    """One file of a run. Parts sort in the order in which they were written."""

    start: str
    pid: int
    index: int
    directory: Path

    @property
    def run(self) -> tuple[str, int]:
        return self.start, self.pid

    @property
    def events(self) -> Path:
        return self.directory / (self._stem + EVENTS)

    @property
    def checkpoint(self) -> Path:
        return self.directory / (self._stem + CHECKPOINT)

    @property
    def following(self) -> Part:
        return Part(self.start, self.pid, self.index + 1, self.directory)

    def delete(self) -> None:
        for path in (self.events, self.checkpoint):
            with suppress(OSError):
                path.unlink()

    @property
    def _stem(self) -> str:
        return f"{self.start}-{self.pid}" + (f".{self.index}" if self.index else "")


def parts_in(directory: Path) -> list[Part]:
    """The parts in a directory, oldest first; none if it is not there. Raises OSError when it cannot be read."""
    try:
        names = os.listdir(directory)  # noqa: PTH208 - one call, no objects: a journal is listed while it is written
    except FileNotFoundError:
        return []
    return sorted({part for name in names if (part := _part_of(name, directory))})


def first_part(directory: Path, now: float) -> Part:
    """The part with which a new run begins. It sorts after every other, whatever the clock did meanwhile."""
    start = datetime.fromtimestamp(now, UTC)
    if earlier := parts_in(directory):
        with suppress(ValueError, OverflowError):
            latest = datetime.strptime(earlier[-1].start, _START).replace(tzinfo=UTC)
            start = max(start, latest + timedelta(seconds=1))
    return Part(start.strftime(_START), os.getpid(), 0, directory)


def lock(handle: int) -> None:
    """Say that the run which writes this open file lives. Ends with the process, however it ends.

    Another engine may hold the file for the moment in which it looks whether anybody does, so it is tried again.
    """
    for _ in range(LOCK_TRIES):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOCK_PAUSE)
        except OSError:  # a file system without locks
            return
        else:
            return


def finished_runs(parts: Sequence[Part]) -> list[Part]:
    """Those of ``parts``, which are sorted, whose run is over."""
    runs: dict[tuple[str, int], list[Part]] = {}
    for part in parts:
        runs.setdefault(part.run, []).append(part)
    living = {run for run, own in runs.items() if _lives(own)}
    return [part for part in parts if part.run not in living]


def _lives(parts: Sequence[Part]) -> bool:
    """Whether somebody writes to a run of which these parts were found.

    A run lets go of a part only when it holds the next, so the older is looked at first, and of one that has gone on
    since the parts were listed, there is a further one.
    """
    return any(_is_locked(part.events) for part in parts[-2:]) or parts[-1].following.checkpoint.exists()


def prune(current: Part, *, keep_seconds: float, keep_bytes: int) -> None:
    """Delete parts before ``current``: those that are too old and, beyond ``keep_bytes``, the oldest.

    Age is by the file system's clock alone: an engine's clock that is set right must not make all its past old.
    Other engines' runs are spared while they live. What cannot be deleted stays.
    """
    with suppress(OSError):
        oldest = current.checkpoint.stat().st_mtime - keep_seconds
        earlier = [part for part in parts_in(current.directory) if part < current]
        others = finished_runs([part for part in earlier if part.run != current.run])
        own = [part for part in earlier if part.run == current.run]
        total = 0
        for part in reversed(others + own):
            size, written = _measured(part)
            total += size
            if total > keep_bytes or written < oldest:
                part.delete()


def _part_of(name: str, directory: Path) -> Part | None:
    match = _NAME.fullmatch(name)
    return Part(match["start"], int(match["pid"]), int(match["index"] or 0), directory) if match else None


def _measured(part: Part) -> tuple[int, float]:
    """Bytes of both files, and when they were last written to."""
    size, written = 0, 0.0
    for path in (part.events, part.checkpoint):
        with suppress(OSError):
            found = path.stat()
            size += found.st_size
            written = max(written, found.st_mtime)
    return size, written


def _is_locked(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False
