"""A session as it is written: the lines that are there, then those that come, of sub-agents too."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from msgspec import structs

from engine.journal_reader import changes
from engine.session_items import Damaged, Line, Unknown
from engine.session_lines import LINE_BYTES
from engine.sessions import NotASessionError
from engine.transcripts.claude_code import FORMAT as CLAUDE_CODE
from engine.transcripts.files import sub_agents_of
from engine.transcripts.frames import Frames
from engine.transcripts.recognise import AnyReader, unpacked


def follow_session(path: Path, stop: threading.Event) -> Iterator[Line]:
    """The items of a session as they are written. What is not there yet is waited for.

    Ends when ``stop`` is set; also when the file was replaced or cut: what it holds now is another session. Raises
    NotASessionError when it is of no known format, OSError when it cannot be read.
    """
    growing = _Growing(path)
    beside: dict[Path, _Growing] = {}
    try:
        for _ in changes(path, stop):
            yield from growing.news()
            if growing.format_is_claude_code:
                for one in sub_agents_of(path):
                    if one not in beside:
                        beside[one] = _Growing(one)
            for one, of_sub_agent in beside.items():
                yield from _news_beside(one, of_sub_agent)
            if growing.replaced:
                return
    finally:
        for file in (growing, *beside.values()):
            file.close()


def _news_beside(path: Path, growing: _Growing) -> Iterator[Line]:
    """What came to a sub-agent's file; one that cannot be read is told once."""
    try:
        for item in growing.news():
            yield structs.replace(item, file=str(path)) if isinstance(item, Damaged | Unknown) else item
    except (NotASessionError, OSError) as error:
        growing.give_up()
        yield Damaged(1, str(error), str(path))


class _Growing:
    """One file that is being appended to. Only whole lines are taken."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader = AnyReader()
        self._file: BinaryIO | None = None
        self._stream: BinaryIO | None = None
        self._frames: Frames | None = None
        self._partial = b""
        self._overlong = False
        self._number = 0
        self._given_up = False

    @property
    def format_is_claude_code(self) -> bool:
        return self._reader.format is CLAUDE_CODE

    def news(self) -> Iterator[Line]:
        """What whole lines came. Raises NotASessionError, OSError."""
        if self._given_up or not self._open():
            return
        assert self._stream  # noqa: S101 - it was opened
        while raw := self._stream.readline(LINE_BYTES + 1 - len(self._partial)):
            line = self._partial + raw
            if not line.endswith(b"\n") and len(line) <= LINE_BYTES:
                self._partial = line
                continue
            self._partial = b""
            yield from self._line(line)
            yield from self._faults()

    def _line(self, line: bytes) -> Iterator[Line]:
        """A line; of an overlong one the head is told, and the rest passed over piece by piece."""
        whole = line.endswith(b"\n")
        if self._overlong:
            self._overlong = not whole
            return
        self._overlong = not whole
        self._number += 1
        if self._number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line.isspace():
            yield from self._reader.read(self._number, line)

    def _faults(self) -> Iterator[Line]:
        if self._frames:
            yield from (Damaged(self._number, fault) for fault in self._frames.faults)
            self._frames.faults.clear()

    def _open(self) -> bool:
        """Whether there is something to read. An empty file is opened later: its first bytes say how it is packed."""
        if self._stream is None:
            try:
                file = self._path.open("rb")
            except FileNotFoundError:
                return False
            if not os.fstat(file.fileno()).st_size:
                file.close()
                return False
            self._file = file
            self._stream, self._frames = unpacked(file)
        return True

    @property
    def replaced(self) -> bool:
        """Whether another file stands in this one's place, or the same one was cut."""
        if self._file is None:
            return False
        here = os.fstat(self._file.fileno())
        with suppress(OSError):
            there = self._path.stat()
            return (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino) or there.st_size < self._file.tell()
        return False

    def give_up(self) -> None:
        """Read it no more."""
        self._given_up = True
        self.close()

    def close(self) -> None:
        if self._file:
            self._file.close()
