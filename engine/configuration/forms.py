"""The forms a setting's value may take: each reads a value, says what is allowed, and describes itself as JSON Schema.

A form's ``read`` never raises: what is wrong goes into the ``Report``, with the path of the value, and reading
goes on, so that everything wrong in a file is told at once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from engine.configuration.report import Path, Report, did_you_mean, dotted, shown

LARGEST = 1_000_000_000
"""No number in a configuration is larger; one that is, is a slip."""
ANYTHING = r"[\s\S]*"

_INTEGER = re.compile(r"[-+]?[0-9]{1,10}")
_BARE_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}")
_SWITCHED_OFF = frozenset({"off", "no", "none", "never", "false", "nil", "disabled"})
_SWITCHED_ON = frozenset({"on", "yes", "y", "true"})


class Form(Protocol):
    """What a value may look like."""

    @property
    def allowed(self) -> str:
        """What is allowed, to follow "it must be"."""
        ...

    def read(self, value: object, path: Path, report: Report) -> Any:
        """The value as the configuration holds it; anything at all when a problem was reported."""
        ...

    def schema(self) -> dict[str, Any]:
        """The form as JSON Schema."""
        ...


class Choice(Struct, frozen=True):
    """One of a few words."""

    words: tuple[str, ...]
    elsewhere: Mapping[str, str] = {}
    """Words that are no longer a choice, each with what to write instead."""

    @property
    def allowed(self) -> str:
        return " or ".join(self.words)

    def read(self, value: object, path: Path, report: Report) -> Any:
        if isinstance(value, str) and value in self.words:
            return value
        hint = ""
        if isinstance(value, str):
            hint = self.elsewhere.get(value, "") or did_you_mean(value, self.words)
        report.wrong(path, value, self.allowed, hint)
        return value

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.words)}


class Flag(Struct, frozen=True):
    """True or false, and nothing that merely means it."""

    allowed: str = "true or false"

    def read(self, value: object, path: Path, report: Report) -> Any:
        if isinstance(value, bool):
            return value
        word, number = value.lower() if isinstance(value, str) else "", number_of(value)
        hint = ""
        if word in _SWITCHED_ON or number == 1:
            hint = "Write true, without quotes."
        elif word in _SWITCHED_OFF or number == 0:
            hint = "Write false, without quotes."
        report.wrong(path, value, self.allowed, hint)
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


class Whole(Struct, frozen=True):
    """A whole number within bounds."""

    least: int
    most: int

    @property
    def allowed(self) -> str:
        return f"a whole number from {self.least} to {self.most}"

    def read(self, value: object, path: Path, report: Report) -> Any:
        number = number_of(value)
        if number is None or number != int(number) or not self.least <= number <= self.most:
            report.wrong(path, value, self.allowed, _number_hint(value))
            return value
        return int(number)

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


class Stage(Struct, frozen=True):
    """The count at which a stage speaks. 0, a negative number or null switches it off: read as None."""

    allowed: str = "a whole number, or 0, a negative number or null to switch the stage off"

    def read(self, value: object, path: Path, report: Report) -> Any:
        if value is None:
            return None
        number = number_of(value)
        if number is not None and number <= 0:
            return None
        if number is None or number != int(number) or number > LARGEST:
            report.wrong(path, value, self.allowed, _number_hint(value, off="null"))
            return value
        return int(number)

    def schema(self) -> dict[str, Any]:
        off = {"type": "number", "maximum": 0}
        return {"anyOf": [{"type": "integer", "minimum": 1, "maximum": LARGEST}, off, {"type": "null"}]}


class Number(Struct, frozen=True):
    """A number with a least value, whole or not, or null for ``off``: read as None."""

    least: float
    off: str
    """What null does, to follow "or null to"."""
    above: bool = False
    """The number must be above ``least``, not at it."""

    @property
    def allowed(self) -> str:
        bound = f"above {self.least:g}" if self.above else f"of at least {self.least:g}"
        return f"a number {bound}, or null to {self.off}"

    def read(self, value: object, path: Path, report: Report) -> Any:
        if value is None:
            return None
        number = number_of(value)
        if number is None or number > LARGEST or number < self.least or (self.above and number == self.least):
            report.wrong(path, value, self.allowed, _number_hint(value, off="null"))
            return value
        return int(number) if number == int(number) else number

    def schema(self) -> dict[str, Any]:
        bound = "exclusiveMinimum" if self.above else "minimum"
        return {"type": ["number", "null"], bound: self.least, "maximum": LARGEST}


class Text(Struct, frozen=True):
    """Text of a given pattern, matched as a whole. The pattern is linear in time, and the same in JSON Schema."""

    allowed: str
    pattern: str

    def read(self, value: object, path: Path, report: Report) -> Any:
        if not isinstance(value, str) or not re.fullmatch(self.pattern, value):
            report.wrong(path, value, self.allowed, _text_hint(value))
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "string", **({} if self.pattern == ANYTHING else {"pattern": f"^(?:{self.pattern})$"})}


ANY_TEXT = Text("text", ANYTHING)


class Listed(Struct, frozen=True):
    """A list of texts."""

    of: str
    """What the texts are, in the plural."""
    item: Text = ANY_TEXT

    @property
    def allowed(self) -> str:
        return f"a list of {self.of}"

    def read(self, value: object, path: Path, report: Report) -> Any:
        if not isinstance(value, list | tuple):
            hint = f"Write [{value}]." if isinstance(value, str) and _BARE_WORD.fullmatch(value) else ""
            report.wrong(path, value, self.allowed, "Write [] for none." if value is None else hint)
            return value
        for index, item in enumerate(value):
            if report.full:
                break
            self.item.read(item, (*path, index), report)
        return tuple(value)

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.item.schema()}


class Table(Struct, frozen=True):
    """A mapping whose values are of one form.

    ``key`` looks at a key before its value is read and returns False when the value is to be left out.
    """

    of: str
    value: Form
    key: Callable[[str, Path, Report], bool]
    key_schema: Mapping[str, Any] = {}
    """JSON Schema keywords beside ``type`` that say which keys there may be."""

    @property
    def allowed(self) -> str:
        return f"a mapping of {self.of}"

    def read(self, value: object, path: Path, report: Report) -> Any:
        if not isinstance(value, Mapping):
            hint = "Nothing follows its colon: delete it to keep the defaults." if value is None else ""
            report.wrong(path, value, self.allowed, hint)
            return value
        read: dict[str, Any] = {}
        for key, item in value.items():
            if report.full:
                break
            if not isinstance(key, str):
                report.problem(
                    (*path, str(key)), f"{dotted(path)} has the key {shown(key)}; a key must be text.", "key"
                )
            elif self.key(key, (*path, key), report):
                read[key] = self.value.read(item, (*path, key), report)
        return read

    def schema(self) -> dict[str, Any]:
        return {"type": "object", **(self.key_schema or {"additionalProperties": self.value.schema()})}


def number_of(value: object) -> float | None:
    """The number, whole or not; None for what is none. True and False are no numbers, nor is infinity."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return max(-LARGEST - 1, min(value, LARGEST + 1))
    return value if math.isfinite(value) else None


def _number_hint(value: object, off: str = "") -> str:
    if off and (value is False or (isinstance(value, str) and value.lower() in _SWITCHED_OFF)):
        return f"Write {off} to switch it off."
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        number = int(value)
        return f"Write {number}, without quotes or leading zeros."
    return ""


def _text_hint(value: object) -> str:
    return "Put it in quotes." if isinstance(value, bool | int | float) else ""
