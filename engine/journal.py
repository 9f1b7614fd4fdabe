"""The record of what the engine decided: one JSON line for each event, written before anybody hears of it.

A line is handed to the operating system whole, so whatever kills the process, at most the event being written
is lost. No disk stops the engine: when a line cannot be written it is counted as lost, the operator is told
once, and writing is tried again with the events that follow, in a fresh part.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from engine.checkpoint import Checkpoint
from engine.events import Event
from engine.journal_lines import encode_checkpoint, line_of
from engine.journal_parts import Part, first_part, lock, prune

RETRY_SECONDS = 1.0
"""How long after a fault writing is tried again; doubled with each further fault up to ``RETRY_SECONDS_MOST``."""
RETRY_SECONDS_MOST = 60.0
LOOK_SECONDS = 1.0
"""How often to make sure that the file is still in its directory."""

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


class Limits(Struct, frozen=True):
    """How large one part grows, and how long and how much of a journal is kept, checkpoints included.

    A part grows to twice its checkpoint in any case: with a thousand agents that is not written every second.
    """

    part_bytes: int = 8 * 1024 * 1024
    keep_bytes: int = 256 * 1024 * 1024
    keep_seconds: float = 30 * 86400.0


LIMITS = Limits()


class Journal:
    """Writes events down; the listener of a ``Breaker``, called in the breaker's thread.

    ``checkpoint`` is the breaker's: with it, no part is needed to read the next one. ``on_fault`` is told in one line
    when nothing can be written, and when it can be again; it may report that as an event to this very journal.
    ``clock`` gives unix seconds. Nothing is made before the first event. Never raises.
    """

    def __init__(
        self,
        directory: Path,
        *,
        checkpoint: Callable[[], Checkpoint],
        on_fault: Callable[[str], None],
        clock: Callable[[], float] = time.time,
        limits: Limits = LIMITS,
    ) -> None:
        self._directory = directory
        self._checkpoint = checkpoint
        self._on_fault = on_fault
        self._clock = clock
        self._limits = limits
        self._part: Part | None = None
        self._handle: int | None = None
        self._size = 0
        self._room = limits.part_bytes
        self._looked_at = 0.0
        self._lost = 0
        self._failed_at = 0.0
        self._retry = 0.0
        self._telling = False

    @property
    def path(self) -> Path | None:
        """The file being written, None before the first event and while nothing can be written."""
        return self._part.events if self._part and self._handle is not None else None

    def __call__(self, event: Event) -> None:
        now = self._clock()
        if self._retry and 0 <= now - self._failed_at < self._retry:
            self._lose()
            return
        line = line_of(event)
        try:
            self._write(line, now)
        except OSError as error:
            self._fail(error, now)
            return
        if self._retry:
            self._mend()

    def close(self) -> None:
        """Stop writing. An event after this begins a new part."""
        if self._handle is not None:
            with suppress(OSError):
                os.close(self._handle)
            self._handle = None

    # -- writing ----------------------------------------------------------------------------------------------

    def _write(self, line: bytes, now: float) -> None:
        handle = self._handle
        if handle is None or self._is_full(len(line)) or self._is_gone(handle, now):
            handle = self._begin_part(now)
        self._append(handle, line)

    def _append(self, handle: int, line: bytes) -> None:
        """Write a whole line or raise OSError; the rest of half a line is cut off again."""
        written = os.write(handle, line)
        try:
            while written < len(line):
                written += os.write(handle, line[written:])
        except OSError:
            with suppress(OSError):
                os.ftruncate(handle, self._size)
            raise
        self._size += written

    def _is_full(self, more: int) -> bool:
        return self._size > 0 and self._size + more > self._room

    def _is_gone(self, handle: int, now: float) -> bool:
        """Whether somebody has deleted the file: then whatever is written to it is lost without an error."""
        if 0 <= now - self._looked_at < LOOK_SECONDS:
            return False
        self._looked_at = now
        return os.fstat(handle).st_nlink == 0

    def _begin_part(self, now: float) -> int:
        """Open the next part, its checkpoint first; let go of the former only then, for by it others know we live."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = self._part = self._next_part(now)
        checkpoint = encode_checkpoint(self._checkpoint())
        self._size, self._room = 0, max(self._limits.part_bytes, 2 * len(checkpoint))
        _write_file(part.checkpoint, checkpoint)
        handle = os.open(part.events, _FLAGS | os.O_APPEND, 0o600)
        lock(handle)
        self.close()
        self._handle = handle
        self._looked_at = now
        limits = self._limits
        prune(part, keep_seconds=limits.keep_seconds, keep_bytes=limits.keep_bytes - limits.part_bytes)
        return handle

    def _next_part(self, now: float) -> Part:
        if self._part is None:
            return first_part(self._directory, now)
        # A part that never got a line is begun again, so that a full disk is not littered with empty ones.
        return self._part.following if self._size else self._part

    # -- faults -----------------------------------------------------------------------------------------------

    def _fail(self, error: OSError, now: float) -> None:
        first = not self._retry
        self._retry = min(self._retry * 2 or RETRY_SECONDS, RETRY_SECONDS_MOST)
        self._failed_at = now
        self._lose()
        self.close()
        if first:
            self._tell(
                f"The journal in {self._directory} cannot be written ({error.strerror or error}). "
                "Calls are decided as before, but nothing is recorded until it can be written again."
            )

    def _mend(self) -> None:
        lost, self._lost, self._retry = self._lost, 0, 0.0
        events = "1 event was" if lost == 1 else f"{lost} events were"
        self._tell(f"The journal is written again: {self.path}. {events} not recorded; the counts are.")

    def _lose(self) -> None:
        """Count an event as lost, unless it is the one that tells of the loss."""
        if not self._telling:
            self._lost += 1

    def _tell(self, text: str) -> None:
        self._telling = True
        try:
            self._on_fault(text)
        finally:
            self._telling = False


def _write_file(path: Path, content: bytes) -> None:
    handle = os.open(path, _FLAGS, 0o600)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(handle, rest) :]
    finally:
        os.close(handle)
