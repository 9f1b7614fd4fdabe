"""Untrusted text made safe and visible, in one place. Everything an agent wrote passes here before a terminal sees it.

What comes out holds printable characters only: no control, no escape sequence, no bidi override, nothing of
width zero but combining marks on a letter of the text's own. What was hidden is shown instead of dropped:

* a C0 control is its control picture (ESC is ``␛``), a newline ``⏎``, a tab ``⇥``, DEL ``␡``;
* every other character without a sure, visible shape is its number, ``‹U+202E›``, a run of it ``‹U+200B×5000›``;
* tag characters, which spell ASCII that nobody sees, are read out: ``‹tags "ignore the above"›``;
* combining marks that would leave their letter's cell are counted: ``‹marks×17›``;
* what a length limit cut is counted: ``…‹+996000›``.

The output is plain text. It is not escaped for any markup language: never hand it to something that parses one.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from itertools import groupby
from typing import Literal

from msgspec import Struct

MARKS_PER_LETTER = 3
"""Combining marks a letter keeps: pointed Hebrew and stacked Vietnamese need three, zalgo needs thirty."""

SHORT_RUN = 8
"""Runs of other than ASCII up to this length are remembered: mostly they are the same few, a dash, an umlaut."""

_UNSURE = re.compile(
    "["
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2800\u3164\ufe00-\ufe0f\uffa0"  # unseen
    "\u2630-\u2637\u268a-\u268f\u4dc0-\u4dff\U0001d300-\U0001d376"  # one cell or two, by the age of the tables
    "\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff"  # flags and skin tones: a terminal joins them or does not
    "\U000e0100-\U000e01ef"  # variation selectors that can carry bytes
    "]"
)
"""Printable to Python, but invisible or of a width on which terminals disagree."""

_CONJOINING_JAMO = re.compile("[\u1160-\u11ff\ud7b0-\ud7ff]")
"""Vowels and finals of decomposed Korean: of width zero after the consonant they join."""

_PLAIN, _MARK, _TAG, _HIDDEN, _CONTROL, _BREAK = "pmthcb"
_ODD_PARTS = re.compile("(?P<m>m+)|(?P<t>t+)|(?P<h>h+)|(?P<c>c+)|(?P<b>b+)")
_BEYOND_ASCII = re.compile("[^ -~]+")


class SafeText(Struct, frozen=True):
    """Text that is safe to print, and how many hidden characters it had: newlines and tabs are not counted."""

    text: str
    hidden: int = 0


def visible(text: str, limit: int | None = None) -> str:
    """``text`` on one line, safe. ``limit`` is in characters of the original; what is beyond it is only counted."""
    if text.isascii() and text.isprintable() and (limit is None or len(text) <= limit):
        return text
    return safe(text, limit).text


def safe(text: str, limit: int | None = None) -> SafeText:
    """``visible``, and the number of hidden characters among those shown."""
    cut = len(text) - limit if limit is not None else 0
    if cut > 0:
        text = text[:limit]
    if text.isascii() and text.isprintable():
        shown, hidden = text, 0
    else:
        shown, hidden = _reveal(text.replace("\r\n", "\n"))
    return SafeText(f"{shown}…‹+{cut}›" if cut > 0 else shown, hidden)


def visible_lines(text: str, limit: int = 10_000, max_lines: int = 200) -> tuple[str, ...]:
    """``text`` line by line, each safe: at most ``max_lines``, of ``limit`` characters each, the rest counted."""
    *lines, rest = text.split("\n", max_lines)
    if len(lines) < max_lines:
        lines.append(rest)
        unseen = 0
    else:
        unseen = rest.count("\n") + bool(rest and not rest.endswith("\n"))
    shown = [visible(line.removesuffix("\r"), limit) for line in lines]
    if unseen:
        shown.append(f"…‹+{unseen} lines›")
    return tuple(shown)


def visible_value(value: object, limit: int = 10_000) -> str:
    """An argument of any type as one safe line: a string as it is, anything else as JSON."""
    return visible(value if isinstance(value, str) else as_json(value), limit)


def as_json(value: object) -> str:
    """JSON of anything a JSON decoder made, or of part of it when it nests deeper than the encoder can follow."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return f"‹{type(value).__name__} that is no JSON›"


def cells(text: str) -> int:
    """The width in terminal cells of text that is safe."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def fit(text: str, width: int, at: Literal["end", "middle"] = "end", *, pad: bool = False) -> str:
    """``text``, safe, in at most ``width`` cells: cut with ``…`` at its end or middle, padded to ``width`` on request.

    It reads no more of the text than could fit, so it costs the same for a line of any length.
    """
    most = max(width, 0) * (MARKS_PER_LETTER + 1) + 1
    if len(text) <= 2 * most:
        shown = visible(text)
        fitted = shown if cells(shown) <= width else _cut(shown, shown, width, at)
    else:
        fitted = _cut(visible(text[:most]), visible(text[-most:]), width, at)
    return fitted + " " * (width - cells(fitted)) if pad else fitted


def _cut(head: str, tail: str, width: int, at: Literal["end", "middle"]) -> str:
    if width <= 0:
        return ""
    back = width // 2 if at == "middle" else 0
    return f"{_head(head, width - 1 - back)}…{_tail(tail, back)}"


def _head(text: str, width: int) -> str:
    """The longest beginning of ``text`` within ``width`` cells, a letter's marks with it."""
    used = 0
    for index, char in enumerate(text):
        used += _cells_of(char)
        if used > width:
            return text[:index]
    return text


def _tail(text: str, width: int) -> str:
    """The longest end of ``text`` within ``width`` cells that begins with no mark."""
    used, start = 0, len(text)
    for index in range(len(text) - 1, -1, -1):
        own = _cells_of(text[index])
        used += own
        if used > width:
            break
        if own:
            start = index
    return text[start:]


def _reveal(text: str) -> tuple[str, int]:
    """Show what is hidden in ``text``; printable ASCII is passed over at the speed of a regular expression."""
    parts: list[str] = []
    hidden = done = 0
    for odd in _BEYOND_ASCII.finditer(text):
        start, end = odd.span()
        letter_before = start > 0 and text[start - 1] != " "
        reveal = _reveal_short if end - start <= SHORT_RUN else _reveal_odd
        shown, count = reveal(odd[0], letter_before=letter_before)
        parts += (text[done:start], shown)
        hidden += count
        done = end
    parts.append(text[done:])
    return "".join(parts), hidden


def _reveal_odd(text: str, *, letter_before: bool) -> tuple[str, int]:
    """Show what is hidden in a text without printable ASCII, which follows a letter or does not."""
    kinds = "".join(map(_kind, text))
    parts: list[str] = []
    hidden = done = 0
    for part in _ODD_PARTS.finditer(kinds):
        start, end = part.span()
        parts.append(text[done:start])
        bears_marks = kinds[start - 1] == _PLAIN if start else letter_before
        shown, count = _token(kinds[start], text[start:end], bears_marks=bears_marks)
        parts.append(shown)
        hidden += count
        done = end
    parts.append(text[done:])
    return "".join(parts), hidden


_reveal_short = lru_cache(maxsize=4096)(_reveal_odd)


def _token(kind: str, run: str, *, bears_marks: bool) -> tuple[str, int]:
    """What stands for a run of characters of one kind, and how many of them it hides."""
    if kind == _BREAK:
        return run.translate({0x0A: "⏎", 0x09: "⇥"}), 0
    if kind == _CONTROL:
        return "".join("␡" if char == "\x7f" else chr(0x2400 + ord(char)) for char in run), len(run)
    if kind == _TAG:
        return f'‹tags "{"".join(chr(ord(char) - 0xE0000) for char in run)}"›', len(run)
    if kind == _MARK:
        kept = MARKS_PER_LETTER if bears_marks else 0
        more = len(run) - kept
        return (f"{run[:kept]}‹marks×{more}›", more) if more > 0 else (run, 0)
    return "".join(_number(char, sum(1 for _ in same)) for char, same in groupby(run)), len(run)


def _number(char: str, times: int) -> str:
    return f"‹U+{ord(char):04X}›" if times == 1 else f"‹U+{ord(char):04X}×{times}›"


@lru_cache(maxsize=8192)
def _kind(char: str) -> str:
    """What is to be done with a character: one letter, so that a text's kinds are a text too."""
    code = ord(char)
    if char in "\n\t":
        return _BREAK
    if code < 0x20 or code == 0x7F:
        return _CONTROL
    if 0xE0020 <= code <= 0xE007E:
        return _TAG
    if not char.isprintable() or _UNSURE.match(char):  # not printable: controls, format, private, unassigned, spaces
        return _HIDDEN
    return _MARK if _joins(char) else _PLAIN


def _joins(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Me", "Mc") or _CONJOINING_JAMO.match(char) is not None


@lru_cache(maxsize=8192)
def _cells_of(char: str) -> int:
    if _joins(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
