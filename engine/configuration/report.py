"""What is found while a configuration is read, in sentences for a person.

Every text here is printable and short whatever the file contained: an agent may have written it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Literal

from msgspec import Struct

Path = tuple[str | int, ...]
"""Where a value stands: ``("limits", "exact")``, ``("exclude", 0)``."""

PROBLEMS_KEPT = 50
SHOWN_CHARS = 60


class Found(Struct, frozen=True):
    """Something wrong, or worth a word: ``at`` says whether its place is the key of ``path`` or its value."""

    path: Path
    text: str
    at: Literal["key", "value"] = "value"


class Report:
    """What reading found. Beyond ``PROBLEMS_KEPT`` problems nothing more is noted: the file is no configuration."""

    def __init__(self) -> None:
        self.problems: list[Found] = []
        self.warnings: list[Found] = []

    @property
    def full(self) -> bool:
        return len(self.problems) >= PROBLEMS_KEPT

    def problem(self, path: Path, text: str, at: Literal["key", "value"] = "value") -> None:
        if not self.full:
            self.problems.append(Found(path, text, at))

    def warn(self, path: Path, text: str, at: Literal["key", "value"] = "key") -> None:
        if len(self.warnings) < PROBLEMS_KEPT:
            self.warnings.append(Found(path, text, at))

    def wrong(self, path: Path, value: object, allowed: str, hint: str = "") -> None:
        """Note a value that is not allowed where it stands."""
        self.problem(path, f"{dotted(path)} is {shown(value)}; it must be {allowed}." + (f" {hint}" if hint else ""))


def dotted(path: Path) -> str:
    """``limits.exact``, ``exclude[0]``."""
    parts = "".join(f"[{step}]" if isinstance(step, int) else f".{printable(step)}" for step in path)
    return parts.removeprefix(".")


def printable(text: str, most: int = 80) -> str:
    """The text with everything a terminal might act on, or a reader might not see, written as an escape."""
    short = text if len(text) <= most else text[: most - 1] + "…"
    if short.isprintable():
        return short
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in short)


def shown(value: object) -> str:
    """A value, as far as a person wants to see it in a sentence. Printable and short, whatever it is."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return _shown_number(value)
    if isinstance(value, str):
        return f"the text '{printable(value, SHOWN_CHARS)}'" if value else "an empty text"
    if isinstance(value, list | tuple | Mapping):
        noun = "mapping" if isinstance(value, Mapping) else "list"
        return f"a {noun}" if value else f"an empty {noun}"
    return f"of type {printable(type(value).__name__)}"


def _shown_number(value: float) -> str:
    if isinstance(value, int):
        return str(value) if abs(value) < 10**20 else "a very large number"
    return "not a number (NaN)" if math.isnan(value) else f"{value:.15g}".replace("inf", "infinity")


def nearest(word: str, known: tuple[str, ...]) -> str | None:
    """The known word that is most like this one, if one is."""
    lowered = {one.lower(): one for one in known}
    found = get_close_matches(word[:SHOWN_CHARS].lower(), lowered, n=1, cutoff=0.6)
    return lowered[found[0]] if found else None


def did_you_mean(word: str, known: tuple[str, ...]) -> str:
    found = nearest(word, known)
    return f"Did you mean {found}?" if found else ""
