"""Ranges of thresholds, as a person writes them, and the configurations that they combine to."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from engine.config import Config
from engine.configuration.file import from_mapping
from engine.configuration.layer import ConfigError

SWEPT = ("window", "warnAt", "summarizeAt", "failWarnAt", "failLimit")
"""The settings with a threshold; a limit is written ``limits.KIND``."""
LIMITS = "limits."
OFF = frozenset({"off", "null", "none"})
COMBINATIONS_MOST = 10_000
VALUES_MOST = 1000

Value = float | None
_RANGE = re.compile(r"(\d{1,9})\.\.(\d{1,9})(?::(\d{1,9}))?")
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?")


class RangeError(ValueError):
    """A range that cannot be used; ``str()`` says why, for a person."""


class Combination(Struct, frozen=True):
    """One choice of a value for each threshold that is swept, in the order in which they were given."""

    values: Mapping[str, Value]
    config: Config

    @property
    def name(self) -> str:
        """``warnAt 5, limits.exact 9``."""
        return ", ".join(f"{key} {spelled(value)}" for key, value in self.values.items()) or "as configured"


def spelled(value: Value) -> str:
    """A threshold as people write it."""
    return "off" if value is None else f"{value:g}"


def values_in(text: str) -> tuple[Value, ...]:
    """``3..9`` is 3 to 9, ``3..9:2`` every second of them, ``6,9,off`` just these. Raises RangeError."""
    values: dict[Value, None] = {}
    for part in text.split(","):
        values |= dict.fromkeys(_part(part.strip(), text))
    if len(values) > VALUES_MOST:
        raise RangeError(f"{text!r} has {len(values)} values, and {VALUES_MOST} are the most")
    return tuple(values)


def _part(part: str, text: str) -> Iterable[Value]:
    if part.lower() in OFF:
        return (None,)
    if _NUMBER.fullmatch(part):
        return (float(part) if "." in part else int(part),)
    found = _RANGE.fullmatch(part)
    if not found:
        raise RangeError(f"{text[:80]!r} is no range: write 3..9, 3..9:2, or 6,9,off")
    first, last, step = int(found[1]), int(found[2]), int(found[3] or 1)
    if last < first or not step:
        raise RangeError(f"{text[:80]!r} is an empty range")
    return range(first, min(last, first + step * VALUES_MOST) + 1, step)


def combined(base: Config, ranges: Mapping[str, Sequence[Value]]) -> list[Combination]:
    """Every combination of these values over a configuration. Raises RangeError."""
    read = {key: {value: _read(key, value) for value in values} for key, values in ranges.items()}
    total = 1
    for values in ranges.values():
        total *= len(values)
    if total > COMBINATIONS_MOST:
        raise RangeError(f"these ranges make {total} combinations, and {COMBINATIONS_MOST} are the most")
    chosen = (dict(zip(ranges, values, strict=True)) for values in itertools.product(*ranges.values()))
    return [
        Combination(values, _over(base, {key: read[key][value] for key, value in values.items()})) for values in chosen
    ]


def _read(key: str, value: Value) -> Value:
    """The value as a configuration holds it: a stage at 0 is off. Raises RangeError."""
    limit = key.removeprefix(LIMITS) if key.startswith(LIMITS) else ""
    if key not in SWEPT and not limit:
        raise RangeError(f"{key!r} is no threshold: there are {', '.join(SWEPT)} and {LIMITS}KIND")
    try:
        config = from_mapping({"limits": {limit: value}} if limit else {key: value})
    except ConfigError as error:
        raise RangeError("; ".join(problem.text for problem in error.problems)) from None
    found: Value = config.limits[limit] if limit else getattr(config, _FIELDS[key])
    return found


_FIELDS = dict(zip(Config.__struct_encode_fields__, Config.__struct_fields__, strict=True))


def _over(base: Config, values: Mapping[str, Value]) -> Config:
    limits = {key.removeprefix(LIMITS): value for key, value in values.items() if key.startswith(LIMITS)}
    plain: dict[str, Any] = {_FIELDS[key]: value for key, value in values.items() if not key.startswith(LIMITS)}
    return structs.replace(base, limits={**base.limits, **limits}, **plain)
