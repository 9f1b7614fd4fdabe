"""Lines of JSON from a file that may be damaged, huge, hostile or something else altogether.

``lines_of`` cuts a file into lines and bounds their length; ``object_of`` reads one with more patience than a fast
decoder has: half a surrogate pair, NaN, numbers of any length and nesting of any depth are all data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import msgspec

LINE_BYTES = 16 * 1024 * 1024
"""A longer line is passed over: no tool's output that an agent could read is so long."""
DEPTH_READ = 200
"""Nesting beyond this stays as the text it was written in."""
_PASSED_OVER_BYTES = 1024 * 1024


class UnreadableLineError(ValueError):
    """A line that holds no JSON object; ``str()`` says why."""


def lines_of(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Each line that is not blank, with its number and its newline. Of an overlong one only the head comes."""
    number = 0
    while raw := file.readline(LINE_BYTES + 1):
        number += 1
        if len(raw) > LINE_BYTES:
            _pass_over(file, raw)
        elif number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if raw and not raw.isspace():
            yield number, raw


def _pass_over(file: BinaryIO, raw: bytes) -> None:
    while raw and not raw.endswith(b"\n"):
        raw = file.readline(_PASSED_OVER_BYTES)


def object_of(raw: bytes) -> dict[str, Any]:
    """The JSON object in a line. Raises UnreadableLineError."""
    if len(raw) > LINE_BYTES:
        raise UnreadableLineError(f"longer than {LINE_BYTES // 2**20} MiB")
    try:
        text = raw.decode().rstrip()
    except UnicodeDecodeError as error:
        raise UnreadableLineError(f"not UTF-8: byte 0x{raw[error.start]:02x} at column {error.start + 1}") from None
    try:
        found = _loads(text)
    except json.JSONDecodeError as error:
        if not raw.endswith(b"\n"):
            raise UnreadableLineError("the file ends in the middle of this line") from None
        raise UnreadableLineError(f"not JSON: {_phrase(error.msg)} at column {error.colno}") from None
    if not isinstance(found, dict):
        raise UnreadableLineError("JSON, but not an object")
    return found


def converted(found: Mapping[str, Any], form: Any) -> Any:
    """An object as this msgspec form. Raises UnreadableLineError."""
    try:
        return msgspec.convert({name: value for name, value in found.items() if _is_encodable(name)}, form)
    except UnicodeEncodeError:
        raise UnreadableLineError("the name of a field in it holds half a character") from None
    except (msgspec.ValidationError, RecursionError) as error:
        raise UnreadableLineError(_worded(str(error))) from None


def _is_encodable(name: str) -> bool:
    """Whether a name is whole: half a surrogate pair makes it none that is known here."""
    return name.isascii() or name.encode("utf-8", "ignore").decode() == name


def _worded(problem: str) -> str:
    """``Expected `str`, got `int` - at `$.tool` `` as ``tool: expected `str`, got `int` ``."""
    words, at, place = problem.partition(" - at ")
    words = words[:1].lower() + words[1:]
    return f"{place.strip('`').removeprefix('$.')}: {words}" if at else words


def _loads(text: str) -> Any:
    try:
        return json.loads(text, parse_int=_integer)
    except RecursionError:
        return json.loads(_shallow(text), parse_int=_integer)


def _integer(digits: str) -> int | float:
    """An integer; one too long for Python to read at a bearable cost becomes a float, infinite if need be."""
    return int(digits) if len(digits) <= 4000 else float(digits)


_STRING_OR_BRACKET = re.compile(r'"(?>[^"\\]++|\\(?:.|\Z))*+(?:"|\Z)|[\[\]{}]', re.DOTALL)


def _shallow(text: str) -> str:
    """The same JSON with everything nested deeper than ``DEPTH_READ`` as a string of its own text."""
    parts: list[str] = []
    depth = kept_to = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        sign = token[0]
        if sign in "[{":
            depth += 1
            if depth == DEPTH_READ + 1:
                parts.append(text[kept_to : token.start()])
                kept_to = token.start()
        elif sign in "]}":
            if depth == DEPTH_READ + 1:
                parts.append(json.dumps(text[kept_to : token.end()]))
                kept_to = token.end()
            depth -= 1
    if depth <= DEPTH_READ:
        parts.append(text[kept_to:])
    return "".join(parts)


def _phrase(message: str) -> str:
    return (message[:1].lower() + message[1:]).removesuffix(" at")


# -- what a file is, if it is no session ------------------------------------------------------------------------

_MAGIC = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"\x1f\x8b", "gzip data; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "zstd data; unpack it first"),
    (b"BZh", "bzip2 data; unpack it first"),
    (b"\xfd7zXZ", "xz data; unpack it first"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\xff\xfe", "UTF-16 text; a session is UTF-8"),
    (b"\xfe\xff", "UTF-16 text; a session is UTF-8"),
)
_SHAPES = (
    (re.compile(rb"\s*\{\s*\n"), "one JSON document over many lines; a session has one object a line"),
    (re.compile(rb"\s*\[[\w.-]{1,80}\][ \t]*\r?\n"), "a TOML or INI document"),
    (re.compile(rb"\s*\["), "a JSON list; a session has one object a line"),
    (re.compile(rb"\s*\{"), "JSON lines of another kind"),
    (re.compile(rb"\s*(?:<!doctype|<html|<\?xml|<svg)", re.IGNORECASE), "an HTML or XML document"),
    (re.compile(rb"#!"), "a script"),
    (re.compile(rb"(?:#{1,6}|[-*]) [^\n]*\n|[^\n]+\n(?:===|---)"), "a Markdown document"),
    (re.compile(rb"[^,\n]*,[^,\n]*(?:,[^,\n]*){0,200}\n[^,\n]*,"), "a table of comma-separated values"),
    (re.compile(rb"[^\t\n]*\t[^\n]*\n[^\t\n]*\t"), "a table of tab-separated values"),
    (re.compile(rb"---\s*\n|[A-Za-z_][\w.-]{0,80}:(?:[ \t][^\n]*)?\n"), "a YAML document"),
)
HEAD_BYTES = 4096


def looks_like(head: bytes) -> str:
    """What a file that is no session seems to be, from its first bytes, in words that follow "it looks like"."""
    if not head:
        return "an empty file"
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    if b"\0" in head:
        return "binary data"
    return next((name for shape, name in _SHAPES if shape.match(head)), "plain text")
