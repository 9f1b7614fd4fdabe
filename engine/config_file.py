"""Configurations from outside: read, checked as a whole, merged over the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from engine.config import DEFAULTS, Config
from engine.config_forms import Report, shown
from engine.config_rules import read_settings

TABLES = ("ignoreArgs", "hostAliases", "limits")
"""The settings that merge one level deep; every other replaces."""

_FIELDS = dict(zip(Config.__struct_encode_fields__, Config.__struct_fields__, strict=True))


class Problem(Struct, frozen=True):
    """One thing that is wrong (or, as a warning, odd) and where: ``str()`` is a line for a person, and printable."""

    text: str
    source: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = "" if self.line is None else f":{self.line}:{self.column}"
        return f"{self.source}{place}: {self.text}"


class ConfigError(Exception):
    """A configuration that cannot be used. ``problems`` are all that were found; ``str()`` is one line for each."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


def from_mapping(mapping: object, source: str = "configuration") -> Config:
    """A configuration from plain values, merged over the defaults. Raises ConfigError with everything wrong in it."""
    report = Report()
    read: dict[str, Any] = {}
    if isinstance(mapping, Mapping):
        read = read_settings(mapping, report)
    else:
        report.problem((), f"A configuration must be a mapping; this is {shown(mapping)}.")
    if report.problems:
        raise ConfigError(tuple(Problem(found.text, source) for found in report.problems))
    return merged(read)


def merged(*layers: Mapping[str, Any]) -> Config:
    """Settings as ``read_settings`` gives them, each layer over the ones before it, all over the defaults."""
    values: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            below = values.get(key, getattr(DEFAULTS, _FIELDS[key]))
            values[key] = {**below, **value} if key in TABLES else value
    return Config(**{_FIELDS[key]: value for key, value in values.items()})
