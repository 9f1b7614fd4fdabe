"""Which of the known formats a file has, by its content, and its items."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from engine.session_items import Damaged, Line, Unknown
from engine.session_lines import HEAD_BYTES, UnreadableLineError, lines_of, looks_like, object_of
from engine.sessions import FOREIGN_LINES_READ, NotASessionError
from engine.transcripts import claude_code, codex, dsh, recorded
from engine.transcripts.format import Format, Reader
from engine.transcripts.frames import MAGIC, Frames

FORMATS: tuple[Format, ...] = (dsh.FORMAT, codex.FORMAT, claude_code.FORMAT, recorded.JOURNAL, recorded.SESSION)
"""In the order in which they are asked: those whose marks nobody else's lines have come first."""
FOREIGN_BYTES_READ = 64 * 1024 * 1024
"""So many bytes without a line of a known format, and the file is something else."""

_decoder = msgspec.json.Decoder()


class AnyReader:
    """Reads lines of whatever format they turn out to be. ``format`` is None until that is known."""

    def __init__(self) -> None:
        self.format: Format | None = None
        self._reader: Reader | None = None
        self._head = b""
        self._foreign: list[tuple[int, bytes]] = []
        self._bytes = 0

    def read(self, number: int, raw: bytes) -> Iterable[Line]:
        """What a line says; what came before the first that is known is told with it.

        Raises NotASessionError as soon as it is clear that no format fits.
        """
        if self._reader:
            return self._items(self._reader, number, raw)
        self._head += raw[: HEAD_BYTES - len(self._head)]
        self._bytes += len(raw)
        self.format = format_of_line(raw)
        if self.format is None:
            self._foreign.append((number, raw))
            if len(self._foreign) >= FOREIGN_LINES_READ or self._bytes > FOREIGN_BYTES_READ:
                self.end()
            return ()
        reader = self._reader = self.format.reader()
        lines = [*self._foreign, (number, raw)]
        self._foreign.clear()
        return [item for one, content in lines for item in self._items(reader, one, content)]

    def end(self, *, packed: bool = False) -> None:
        """There will be no more lines. Raises NotASessionError when none was of a known format."""
        if self._reader is None:
            what = "zstd data with nothing readable in it" if packed and not self._head else ""
            raise NotASessionError(_not_a_session(what or _what_it_is(self._head, [raw for _, raw in self._foreign])))

    def _items(self, reader: Reader, number: int, raw: bytes) -> Iterable[Line]:
        try:
            return reader.read(number, raw)
        except UnreadableLineError as error:
            return (Damaged(number, str(error)),)
        except LookupError as error:
            return (Unknown(number, str(error.args[0])),)


def format_of_line(raw: bytes) -> Format | None:
    """The format that this line can only be of."""
    try:
        entry = _decoder.decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        try:
            entry = object_of(raw)
        except UnreadableLineError:
            return None
    if not isinstance(entry, dict):
        return None
    return next((one for one in FORMATS if one.claims(entry)), None)


def read(file: BinaryIO, reader: AnyReader | None = None, taken: Callable[[int], None] | None = None) -> Iterator[Line]:
    """The items of a session in any known format. Raises NotASessionError as soon as it is clear that it is none.

    ``taken`` is called with the bytes of each line that was read.
    """
    reader = reader or AnyReader()
    stream, frames = unpacked(file)
    number = 0
    for number, raw in lines_of(stream):
        if taken:
            taken(len(raw))
        yield from reader.read(number, raw)
        yield from _faults(frames, number)
    yield from _faults(frames, number)
    if frames and frames.within_frame:
        yield Damaged(number, "the file ends in the middle of a zstd frame")
    reader.end(packed=frames is not None)


def unpacked(file: BinaryIO) -> tuple[BinaryIO, Frames | None]:
    """What is in the file as lines, and its frames when it is packed."""
    buffered: Any = file if isinstance(file, io.BufferedReader) else io.BufferedReader(file)
    if not buffered.peek(len(MAGIC)).startswith(MAGIC):
        return buffered, None
    frames = Frames(buffered)
    return io.BufferedReader(frames, 64 * 1024), frames


def format_of(path: Path) -> Format | None:
    """The format of a file, by its first lines; None when the file is empty.

    Raises NotASessionError when no format fits, OSError when it cannot be read.
    """
    reader = AnyReader()
    with path.open("rb") as file:
        stream, frames = unpacked(file)
        for number, raw in lines_of(stream):
            reader.read(number, raw)
            if reader.format:
                return reader.format
        if os.fstat(file.fileno()).st_size:
            reader.end(packed=frames is not None)
    return None


def _faults(frames: Frames | None, number: int) -> Iterator[Line]:
    if frames:
        yield from (Damaged(number, fault) for fault in frames.faults)
        frames.faults.clear()


def _what_it_is(head: bytes, foreign: list[bytes]) -> str:
    what = looks_like(head)
    types: dict[str, None] = {}
    problem = ""
    for raw in foreign:
        try:
            kind = object_of(raw).get("type")
        except UnreadableLineError as error:
            problem = problem or str(error)
        else:
            types |= {kind[:40]: None} if isinstance(kind, str) else {}
    if types:
        what = f"JSON lines of another kind (types {', '.join(repr(one) for one in list(types)[:4])})"
    elif what.startswith("JSON lines") and problem:
        what += f" (line 1: {problem})"
    return what


def _not_a_session(what: str) -> str:
    known = "sessions, journals, and the transcripts of Claude Code, Codex and DSH"
    return f"not a session: it looks like {what}. Readable are {known}"
