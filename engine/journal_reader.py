"""Reading a journal: a file from its beginning, a directory as it grows, and a breaker's past from what was left.

A journal may be read while it is written and after whatever killed its writer, so no line is trusted: one that
is no event is yielded as ``Damaged`` and the reading goes on.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from engine.checkpoint import Checkpoint
from engine.config import DEFAULTS, Config
from engine.events import Event
from engine.journal_lines import decode_checkpoint, event_of
from engine.journal_parts import Part, finished_runs, parts_in
from engine.recovery import advance
from engine.session_lines import LINE_BYTES, lines_of

LOOK_SECONDS = 0.5
"""How often a followed journal is looked at when the platform does not say that it changed."""
SETTLE_MS = 20
_NO_END = "the line has no end: whoever wrote it was stopped"


class Damaged(Struct, frozen=True):
    """A line that is no event. ``torn`` is a last line without an end: whoever wrote it was stopped in the middle."""

    path: Path
    line: int
    problem: str
    torn: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: skipped: {self.problem}"


class Past(Struct, frozen=True):
    """What was found of a breaker that is no more; ``warnings`` say, for a person, what could not be read."""

    checkpoint: Checkpoint
    warnings: tuple[str, ...] = ()


# -- a whole file ---------------------------------------------------------------------------------------------


def read(path: Path) -> Iterator[Event | Damaged]:
    """The events of one file, in order. Raises OSError when it cannot be opened or read."""
    with path.open("rb") as file:
        for number, line in lines_of(file):
            yield _event(line, path, number)


def _event(line: bytes, path: Path, number: int) -> Event | Damaged:
    if len(line) > LINE_BYTES:
        return Damaged(path, number, f"the line is longer than {LINE_BYTES} bytes")
    if not line.endswith(b"\n"):
        return Damaged(path, number, _NO_END, torn=True)
    try:
        return event_of(line)
    except ValueError as error:
        return Damaged(path, number, str(error))


# -- a journal that grows -------------------------------------------------------------------------------------


def follow(path: Path, *, stop: threading.Event | None = None, backlog: bool = True) -> Iterator[Event | Damaged]:
    """Events as they are written: of one file, or of a directory's newest part and of those that follow it.

    ``backlog`` False leaves out what is there at the time of this call. What is not there yet is waited for; a
    file that is cut or replaced is read from its new beginning. Ends when ``stop`` is set, within ``LOOK_SECONDS``.
    """
    return _follow(_Tail(path, from_end=not backlog), changes(path, stop or threading.Event()))


def _follow(tail: _Tail, changes: Iterator[None]) -> Iterator[Event | Damaged]:
    with closing(tail):
        for _ in changes:
            yield from tail.news()


def changes(path: Path, stop: threading.Event) -> Iterator[None]:
    """Comes round at once, then whenever the path may have changed, and every ``LOOK_SECONDS`` anyhow."""
    yield
    from watchfiles import watch  # noqa: PLC0415 - an engine that starts and recovers has no use for it

    while not stop.is_set():
        with suppress(OSError, RuntimeError):  # not there yet, or the platform watches no more files
            for _ in watch(
                path if path.is_dir() else path.parent,
                watch_filter=None,
                debounce=2 * SETTLE_MS,
                step=SETTLE_MS,
                stop_event=stop,
                rust_timeout=int(LOOK_SECONDS * 1000),
                yield_on_timeout=True,
                recursive=False,
            ):
                yield
        yield
        stop.wait(LOOK_SECONDS)


class _Tail:
    """The place up to which a journal has been read."""

    def __init__(self, path: Path, *, from_end: bool) -> None:
        self._path = path
        self._part: Part | None = None
        self._file: _GrowingFile | None = None
        if parts := self._parts():
            self._begin(parts[-1])
        elif path.is_file():
            self._file = _GrowingFile(path)
        if self._file and from_end:
            self._file.skip()

    def news(self) -> Iterator[Event | Damaged]:
        """What came since the last time."""
        parts = self._parts()  # listed before it is read on: a part is complete once there is a later one
        if self._file:
            yield from self._file.news()
        elif self._path.is_file():
            self._file = _GrowingFile(self._path)
            yield from self._file.news()
        for part in parts:
            if self._part is None or part > self._part:
                if self._file:
                    yield from self._file.leave()
                yield from self._begin(part).news()

    def close(self) -> None:
        """Let go of the file that is open."""
        if self._file:
            self._file.close()

    def _begin(self, part: Part) -> _GrowingFile:
        self._part = part
        self._file = _GrowingFile(part.events)
        return self._file

    def _parts(self) -> list[Part]:
        try:
            return parts_in(self._path)
        except OSError:
            return []


class _GrowingFile:
    """A file that is being appended to. Only whole lines are taken.

    It is held open between two looks: the number of a file that is removed could at once be that of its successor,
    and then the successor would be read on from where the other was left.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: BinaryIO | None = None
        self._offset = 0
        self._line = 0

    def _begin(self, file: BinaryIO) -> None:
        if self._held:
            self._held.close()
        self._held = file
        self._offset = 0
        self._line = 0

    def skip(self) -> None:
        """Leave out what is there."""
        for _ in self.news():
            pass

    def news(self) -> Iterator[Event | Damaged]:
        """What whole lines came. A file that is gone, or cannot be read just now, has none."""
        with suppress(OSError):
            file = self._current()
            file.seek(self._offset)
            before = self._line
            for number, line in lines_of(file):
                if len(line) <= LINE_BYTES and not line.endswith(b"\n"):
                    break
                self._offset, self._line = file.tell(), before + number
                yield _event(line, self._path, self._line)

    def _current(self) -> BinaryIO:
        """The file that stands at the path now. Raises OSError."""
        file = self._path.open("rb")
        found = os.fstat(file.fileno())
        if self._held and os.path.samestat(found, os.fstat(self._held.fileno())) and found.st_size >= self._offset:
            file.close()
        else:
            self._begin(file)
        assert self._held  # noqa: S101 - for the type checker: it was held, or begun just now
        return self._held

    def leave(self) -> Iterator[Damaged]:
        """What remains of a line that nobody will finish."""
        with suppress(OSError):
            if self._path.stat().st_size > self._offset:
                yield Damaged(self._path, self._line + 1, _NO_END, torn=True)
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        if self._held:
            self._held.close()
        self._held = None


# -- the past -------------------------------------------------------------------------------------------------


def recover(directory: Path, config: Config = DEFAULTS, socket: str = "") -> Past:
    """What a breaker stood at whose engine is gone, by the newest run in ``directory`` that is over. Never raises.

    It makes no difference whether that engine crashed or was stopped: its agents outlive it. A run whose engine
    still lives is left alone, and so is that of an engine that served another ``socket``, if one is named.
    """
    empty = Checkpoint(at=0.0, window=config.window)
    try:
        parts = finished_runs(parts_in(directory))
    except OSError as error:
        return Past(empty, (f"{directory} cannot be read ({error.strerror}); agents begin with empty counts.",))
    warnings: list[str] = []
    found, since = _latest_checkpoint(parts, socket, warnings)
    events = _events_of(since, skip_first=found is not None, warnings=warnings)
    past = advance(found or empty, events, config)
    return Past(past, tuple(warnings))


def _latest_checkpoint(parts: list[Part], socket: str, warnings: list[str]) -> tuple[Checkpoint | None, list[Part]]:
    """The newest checkpoint of an engine at this socket that can be read, and the parts from there on, or all."""
    others: set[tuple[str, int]] = set()
    for number in range(len(parts) - 1, -1, -1):
        if parts[number].run in others:
            continue
        path = parts[number].checkpoint
        try:
            checkpoint = decode_checkpoint(path.read_bytes())
        except (OSError, ValueError) as error:
            warnings.append(f"{path}: skipped: {error}")
            continue
        if not socket or checkpoint.socket in {"", socket}:
            return checkpoint, [part for part in parts[number:] if part.run not in others]
        others.add(parts[number].run)
    return None, [part for part in parts if part.run not in others]


def _events_of(parts: Iterable[Part], *, skip_first: bool, warnings: list[str]) -> Iterator[Event]:
    """The events of some parts. ``skip_first``: without the first line, whose effect the checkpoint holds already."""
    for part in parts:
        damaged: list[Damaged] = []
        try:
            for number, event in enumerate(read(part.events)):
                if isinstance(event, Damaged):
                    damaged.append(event)
                elif number or not skip_first:
                    yield event
        except FileNotFoundError:
            pass  # its engine was stopped after the checkpoint and before the first event
        except OSError as error:
            warnings.append(f"{part.events}: skipped: {error.strerror}")
        if damaged:
            more = f" (and {len(damaged) - 1} more lines)" if len(damaged) > 1 else ""
            warnings.append(f"{damaged[0]}{more}")
        skip_first = False
