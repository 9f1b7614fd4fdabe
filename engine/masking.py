"""Secrets in what an agent wrote, replaced by a short digest.

The same secret becomes the same token (``<secret:1f3a9c>``) wherever it stands, so two texts that were equal are
equal still: what is masked can be counted, compared and kept. What counts as a secret is in ``secret_signs``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from engine.canonical import is_number
from engine.secret_signs import SECRET_NAMES, SIGN_CHARS, TOKEN, may_hold_secret, secrets_in

STRING_CHARS = 400
TOTAL_CHARS = 4000
DEPTH_SHOWN = 8
ROUNDS = 4
"""Text written to mislead may show a secret only once another is masked; a second round always ends ordinary text."""
NAME_CHARS = 64
BEYOND_CUT = 512
WORD_CHARS = 4096
"""Characters that are read beyond where a text is cut: so many, and then to the end of the word.

So a secret at the cut is seen for what it is.
"""

_GAP = re.compile(r"\s")
_OPTION = re.compile(r"--?[A-Za-z][A-Za-z0-9_-]{0,62}")


def mask(text: str) -> str:
    """``text`` with each secret replaced by its token. Masking again changes nothing."""
    if not may_hold_secret(text):
        return text
    for _ in range(ROUNDS):
        before, text = text, _masked(text)
        if text == before:
            break
    return text


def mask_head(text: str, chars: int) -> str:
    """The first ``chars`` characters of ``text`` masked. It costs the same however long the text goes on."""
    seen = text[: chars + SIGN_CHARS]
    if not may_hold_secret(seen) and not ("@" in text and "://" in seen):  # a user's name may go on beyond
        return seen[:chars]
    end = chars + BEYOND_CUT
    if len(text) > end:
        gap = _GAP.search(text, end, end + WORD_CHARS)
        end = gap.start() if gap else end + WORD_CHARS
        text = text[:end]
    if next(secrets_in(text, chars), None) is None:
        return text[:chars]
    return mask(text)[:chars]


def token_of(secret: str) -> str:
    """What stands in a secret's place. 24 bits: enough to tell secrets apart, useless for finding one."""
    return f"<secret:{blake2b(secret.encode('utf-8', 'surrogatepass'), digest_size=3).hexdigest()}>"


def _masked(text: str) -> str:
    pieces: list[str] = []
    kept = 0
    for start, end in secrets_in(text):
        secret = text[start:end]
        pieces += (text[kept:start], secret if TOKEN.fullmatch(secret) else token_of(secret))
        kept = end
    return "".join(pieces) + text[kept:] if pieces else text


def mask_value(value: object, *, string_chars: int = STRING_CHARS, total_chars: int = TOTAL_CHARS) -> Any:
    """A JSON value as a bounded preview without secrets.

    A string keeps ``string_chars`` characters, the whole about ``total_chars``; what is cut ends in ``…`` or is
    counted under ``…``. A value under a secret's name is masked whatever it looks like. What JSON has no word for
    is shown as text.
    """
    return _Preview(string_chars, total_chars).of(value, DEPTH_SHOWN, secret=False)


class _Preview:
    """One preview in the making, and how many characters it may still take."""

    def __init__(self, string_chars: int, total_chars: int) -> None:
        self._string_chars = string_chars
        self._left = total_chars

    def of(self, value: object, depth: int, *, secret: bool) -> Any:
        if value is None or isinstance(value, bool):
            self._left -= 4
            return value
        if isinstance(value, str):
            return self._text(value, secret=secret)
        if is_number(value):
            return self._number(value, secret=secret)
        if isinstance(value, dict | Mapping):  # the plain one first: asking an abstract class takes its time
            return self._mapping(value, depth, secret=secret) if depth else "…"
        if isinstance(value, list | tuple):
            return self._list(value, depth, secret=secret) if depth else "…"
        return self._text(f"<{type(value).__name__}>", secret=False)

    def _text(self, text: str, *, secret: bool) -> str:
        kept = max(0, min(self._string_chars, self._left))
        if secret and text and not TOKEN.fullmatch(text):
            shown = token_of(text)
        else:
            shown = mask(text) if len(text) <= kept else f"{mask_head(text, kept)}…"
        self._left -= len(shown) + 2
        return shown

    def _number(self, number: Any, *, secret: bool) -> Any:
        self._left -= 8
        if secret:
            return token_of(repr(number))
        finite = -1e300 < number < 1e300  # NaN, the infinities and giants have no place in JSON that all can read
        return number if finite else self._text(f"<{type(number).__name__}>", secret=False)

    def _mapping(self, mapping: Mapping[Any, Any], depth: int, *, secret: bool) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for name, value in mapping.items():
            if self._left <= 0:
                shown["…"] = f"{len(mapping) - len(shown)} more"
                break
            key = name if isinstance(name, str) else f"<{type(name).__name__}>"
            shown_key, telling = self._name(key)
            telling = telling or (key == "value" and _names_secret(mapping))
            hidden = secret or (telling and not isinstance(value, bool))
            shown[shown_key] = self.of(value, depth - 1, secret=hidden)
        return shown

    def _name(self, name: str) -> tuple[str, bool]:
        """The name of a field, and whether a secret stands under it."""
        if len(name) > NAME_CHARS:
            return self._text(name, secret=False), name.lower().endswith(SECRET_NAMES)
        self._left -= len(name) + 2
        return _short_name(name)

    def _list(self, items: list[Any] | tuple[Any, ...], depth: int, *, secret: bool) -> list[Any]:
        shown: list[Any] = []
        for place, item in enumerate(items):
            if self._left <= 0:
                shown.append(f"… {len(items) - len(shown)} more")
                break
            flag = items[place - 1] if place else ""
            if isinstance(item, str) and isinstance(flag, str) and _OPTION.fullmatch(flag):
                item = _behind(flag, item, self._string_chars + 1)  # noqa: PLW2901 - the same, as in a line
            shown.append(self.of(item, depth - 1, secret=secret))
        return shown


def _names_secret(mapping: Mapping[Any, Any]) -> bool:
    """Whether this is a name and a value, as tools that take headers have them, and the name that of a secret."""
    names = (mapping.get("name"), mapping.get("key"))
    return any(isinstance(name, str) and name.lower().endswith(SECRET_NAMES) for name in names)


def _behind(flag: str, word: str, chars: int) -> str:
    """The head of a word, masked as behind its ``flag`` in a line: ``["--password", "x"]``, ``["-u", "a:b"]``."""
    start = len(flag) + 1
    return mask_head(f"{flag} {word}", start + chars)[start:]


@lru_cache(maxsize=1024)
def _short_name(name: str) -> tuple[str, bool]:
    """Kept: the same few names come with every call."""
    return mask(name), name.lower().endswith(SECRET_NAMES)
