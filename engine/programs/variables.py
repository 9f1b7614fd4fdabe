"""Variables that a command line sets and uses: ``BASE=https://api.example.com; curl "$BASE/items?page=2"``.

The URL is in neither word alone. What stays unknown (a loop's variable, a substitution) is left as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.nesting import MARK, PLACEHOLDER
from engine.shell import is_live
from engine.urls import find_urls

MAX_VALUE = 512
MAX_COMPLETIONS = 256
"""Per line. Without bounds ``A=xx; B=$A$A; C=$B$B; …`` would double with every word."""

_NAME = re.compile(r"\$(?:\{(\w++)\}|(\w++))")


class Variables:
    """The variables of one command line, while it is read from its start."""

    __slots__ = ("_completions", "_overwritten", "_urls", "_values")

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._urls: dict[str, list[str]] = {}
        """The URLs in a variable's value that nothing has used yet."""
        self._overwritten: list[str] = []
        self._completions = 0

    def assign(self, name: str, value: str) -> None:
        """Note ``name=value``. A value that is not known is forgotten, but not its URLs."""
        value = self.complete(value)
        self.forget(name)
        if "//" in value and not name.lower().endswith("_proxy"):
            self._urls[name] = find_urls(value)
        if len(value) <= MAX_VALUE and not is_live(value):
            self._values[name] = value

    def forget(self, name: str) -> None:
        """Note that the variable has a value that the line does not show."""
        self._values.pop(name, None)
        self._overwritten += self._urls.pop(name, [])

    def complete(self, word: str) -> str:
        """The word with what is known put in."""
        if not is_live(word):
            return word
        if MARK in word:
            word = PLACEHOLDER.sub("$(...)", word)
        return _NAME.sub(self._value, word) if self._values else str(word)

    def _value(self, name: re.Match[str]) -> str:
        key = name[1] or name[2]
        value = self._values.get(key)
        if value is None or self._completions >= MAX_COMPLETIONS:
            return name[0]
        self._completions += 1
        self._urls.pop(key, None)
        return value

    def unused_urls(self) -> Iterator[str]:
        """The URLs that were put in variables and not used through them on this line."""
        yield from self._overwritten
        for urls in self._urls.values():
            yield from urls
