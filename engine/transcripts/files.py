"""Sessions on disk: a file, the files of its sub-agents, and the newest one of a harness."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import structs

from engine.session_items import Damaged, Line, Unknown
from engine.sessions import NotASessionError
from engine.transcripts.claude_code import FORMAT as CLAUDE_CODE
from engine.transcripts.format import Format
from engine.transcripts.recognise import FORMATS, AnyReader, read

SIDE_BY_SIDE = 200
"""Files of sub-agents that are read side by side with their parent's, in the order of time; more, one after another."""
HARNESSES = tuple(one.harness for one in FORMATS if one.place)
"""Harnesses whose transcripts can be found without being told where they are."""


class NoneFoundError(Exception):
    """There is no transcript where it should be; ``str()`` says where that is."""


def read_session_file(path: Path, taken: Callable[[int], None] | None = None) -> Iterator[Line]:
    """The items of a session and of its sub-agents, in the order of time as far as they tell it.

    ``taken`` is called with the bytes of each line that was read, unpacked.

    Raises OSError when the file cannot be opened or read, NotASessionError when it is of no known format. A file of a
    sub-agent that cannot be read is an item like a damaged line.
    """
    reader = AnyReader()
    with path.open("rb") as file:
        lines = read(file, reader, taken)
        first = next(lines, None)  # the format is known with the first item
        if first is None:
            return
        own = _after(first, lines)
        beside = sub_agents_of(path) if reader.format is CLAUDE_CODE else []
        if not beside:
            yield from own
        elif len(beside) > SIDE_BY_SIDE:
            yield from own
            for one in beside:
                yield from _read_beside(one, taken)
        else:
            timed = [_timed(own), *(_timed(_read_beside(one, taken)) for one in beside)]
            for _, item in heapq.merge(*timed, key=_time_of):
                yield item


def sub_agents_of(path: Path) -> list[Path]:
    """The files that Claude Code keeps beside a session's for its sub-agents."""
    try:
        return sorted((path.with_suffix("") / "subagents").glob("**/agent-*.jsonl"))
    except OSError:
        return []


def size_of(path: Path) -> int:
    """The bytes of a session's file and of those read along with it; 0 for what is not there."""
    size = 0
    for one in (path, *(sub_agents_of(path) if path.suffix == ".jsonl" else ())):
        with suppress(OSError):
            size += one.stat().st_size
    return size


def sessions_of(paths: Iterable[Path]) -> list[Path]:
    """The files among these that are sessions of their own: not those that are read along with another one of them."""
    files = list(dict.fromkeys(paths))
    beside = {one for path in files if path.suffix == ".jsonl" for one in sub_agents_of(path)}
    return [path for path in files if path not in beside]


def newest(harness: str = "") -> Path:
    """The transcript that was written last: of this harness, or of any. Raises NoneFoundError."""
    formats = [one for one in FORMATS if one.place and harness in ("", one.harness)]
    found = [path for one in formats for path in _transcripts(one)]
    if found:
        return max(found, key=_written)
    places = ", ".join(str(one.place().directory) for one in formats if one.place)
    raise NoneFoundError(f"no transcript of {harness or 'any known harness'} in {places}")


def _transcripts(form: Format) -> list[Path]:
    assert form.place  # noqa: S101 - its callers look
    place = form.place()
    with suppress(OSError):
        return list(place.directory.glob(place.pattern))
    return []


def _written(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _after(first: Line, rest: Iterator[Line]) -> Iterator[Line]:
    yield first
    yield from rest


def _read_beside(path: Path, taken: Callable[[int], None] | None) -> Iterator[Line]:
    """The items of a sub-agent's file; where a line says nothing, its file is named."""
    name = str(path)
    try:
        with path.open("rb") as file:
            for item in read(file, taken=taken):
                yield structs.replace(item, file=name) if isinstance(item, Damaged | Unknown) else item
    except NotASessionError as error:
        yield Damaged(1, str(error), name)
    except OSError as error:
        yield Damaged(1, f"cannot be read ({error.strerror})", name)


def _timed(lines: Iterator[Line]) -> Iterator[tuple[float, Line]]:
    """Each item with its time; one that has none comes with the one before it."""
    latest = 0.0
    for line in lines:
        latest = max(latest, getattr(line, "at", 0.0))
        yield latest, line


def _time_of(timed: tuple[float, Line]) -> float:
    return timed[0]
