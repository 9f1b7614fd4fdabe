"""What a call is about, in one line: the argument that says it best, made safe."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from console.text import as_json, visible

TELLING_ARGUMENTS = (
    "command",
    "cmd",
    "pattern",
    "query",
    "url",
    "uri",
    "file_path",
    "filePath",
    "notebook_path",
    "absolute_path",
    "path",
    "prompt",
)
"""The arguments that say what a call does, over the harnesses' tools, the most telling first."""

SUBJECT_CHARS = 240
ARGUMENTS_SHOWN = 6
_VALUE_CHARS = 80


def subject(args: Mapping[str, Any]) -> str:
    """One safe line of bounded length, in time that does not depend on the size of the arguments."""
    for name in TELLING_ARGUMENTS:
        value = args.get(name)
        if value:
            return _short(_flat(value), SUBJECT_CHARS)
    pairs = (f"{_short(name, 40)}={_short(_flat(value), _VALUE_CHARS)}" for name, value in _few(args))
    return _short(" ".join(pairs), SUBJECT_CHARS)


def _few(args: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return list(islice(args.items(), ARGUMENTS_SHOWN))


def _flat(value: Any) -> str:
    """A value as one string, read only as far as it can be shown."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        head = value[:32]
        if all(isinstance(word, str) for word in head):
            return " ".join(word[:SUBJECT_CHARS] for word in head)
        return f"[{len(value)} items]"
    return f"{{{len(value)} keys}}" if isinstance(value, dict) else as_json(value)


def _short(text: str, most: int) -> str:
    """Safe, and cut without a count: the whole is one key away."""
    return visible(text) if len(text) <= most else visible(text[:most]) + "…"
