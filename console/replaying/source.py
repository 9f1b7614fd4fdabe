"""A recorded session as the source of a console: a thread reads and judges it, the screen plays what has been read."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

from msgspec import Struct

from console.replaying.recording import Recording
from engine.config import DEFAULTS, Config
from engine.events import Event, Notice, Snapshot
from engine.replay import Answers, replay_events
from engine.session_items import Damaged, Line, Unknown

DAMAGES_TOLD = 100
"""Damaged lines that have a row each; the others are only counted."""
TYPES_TOLD = 20
"""Types of lines that are not known: so many are told of, each once."""
TYPE_CHARS = 40


class Reading(Struct, frozen=True):
    """How far the reading has come."""

    part: float | None = 0.0
    """Of the file; None when that cannot be known."""
    complete: bool = False
    damaged: int = 0
    unknown: int = 0
    trouble: str = ""
    """What ended the reading before its time, raw."""


class Progress:
    """Counts the bytes that were read. ``size`` is the file's; 0 where it says nothing of its lines (packed ones)."""

    def __init__(self, size: int = 0) -> None:
        self._size = size
        self._taken = 0

    def take(self, count: int) -> None:
        """Count so many bytes more."""
        self._taken += count

    @property
    def part(self) -> float | None:
        """The part of the file that was read; None when it cannot be known."""
        return min(self._taken / self._size, 1.0) if self._size else None


class ReplaySource:
    """The lines of a session, read and judged in a thread of its own. ``name`` is raw text."""

    observes = True
    operator = None
    failed: Exception | None = None
    leaving: tuple[str, ...] = ()

    def __init__(  # noqa: PLR0913 - what a replay takes, and where it comes from
        self,
        name: str,
        lines: Iterable[Line],
        config: Config = DEFAULTS,
        answers: Answers = "as recorded",
        *,
        attended: bool = True,
        progress: Progress | None = None,
    ) -> None:
        """``answers`` and ``attended`` are those of ``engine.replay.replay_events``; ``progress`` of ``lines``."""
        self.name = name
        self._lines = lines
        self._progress = progress or Progress()
        self._damaged = 0
        self._unknown = 0
        self._types: set[str] = set()
        self._trouble = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="breaker-replay", daemon=True)
        self._events = replay_events(self._until_stopped(), config, answers, attended=attended)
        snapshot = next(self._events)
        assert isinstance(snapshot, Snapshot)  # noqa: S101 - the first thing that a replay gives
        self.recording = Recording(snapshot)

    def reading(self) -> Reading:
        """How far it has come."""
        complete = self.recording.course.complete
        return Reading(self._progress.part, complete, self._damaged, self._unknown, self._trouble)

    # -- a source ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()

    def drain(self) -> list[Event | Snapshot]:
        """Nothing: a replay is at a place, and the screen asks for its state."""
        return []

    def only_watch(self) -> bool:
        return True

    def close(self) -> None:
        self._stop.set()
        if self._thread.ident:
            self._thread.join()

    # -- reading ----------------------------------------------------------------------------------------------

    def _until_stopped(self) -> Iterator[Line]:
        for line in self._lines:
            if self._stop.is_set():
                return
            yield line

    def _run(self) -> None:
        course = self.recording.course
        try:
            for found in self._events:
                event = self._told(found, course.time(course.count))
                if event is not None:
                    self.recording.append(event)
        except OSError as error:
            self._trouble = f"reading stopped: {error.strerror or error}"
        except Exception as error:  # noqa: BLE001 - what has been read can be looked at, whatever is wrong with the rest
            self._trouble = f"reading stopped: {error!r}"
        finally:
            self.recording.finish()

    def _told(self, found: Event | Snapshot | Damaged | Unknown, at: float) -> Event | None:
        """An event, or words for a line that is none."""
        if isinstance(found, Damaged):
            self._damaged += 1
            if self._damaged > DAMAGES_TOLD:
                return None
            more = "; those to come are only counted" if self._damaged == DAMAGES_TOLD else ""
            where = f"{found.file}, line {found.line}" if found.file else f"line {found.line}"
            return Notice(at, "warning", f"{where}: passed over, {found.problem}{more}")
        if isinstance(found, Unknown):
            self._unknown += 1
            kind = found.type[:TYPE_CHARS]
            if kind in self._types or len(self._types) >= TYPES_TOLD:
                return None
            self._types.add(kind)
            return Notice(at, "info", f"lines of the type {kind!r} are not known, and passed over")
        return None if isinstance(found, Snapshot) else found
