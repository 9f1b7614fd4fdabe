"""One configuration file, read and checked: its settings, where each stands, and what is odd about it."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from engine.configuration.places import Mark
from engine.configuration.report import PROBLEMS_KEPT, Found, Report, dotted, printable, shown
from engine.configuration.report import Path as KeyPath
from engine.configuration.rules import TRUSTED_PROJECTS, read_settings
from engine.configuration.yaml import FILE_BYTES, Document, Repeated, YamlError, compose

TABLES = ("ignoreArgs", "hostAliases", "limits")
"""The settings that merge one level deep; every other replaces."""

Role = Literal["named", "user", "project"]
"""Whose file it is: one the operator named, the user's own, or one that came with a project."""


class Problem(Struct, frozen=True):
    """One thing that is wrong (or, as a warning, odd) and where: ``str()`` is a line for a person, and printable."""

    text: str
    source: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = "" if self.line is None else f":{self.line}:{self.column}"
        return f"{printable(self.source, 4096)}{place}: {self.text}"


class ConfigError(Exception):
    """A configuration that cannot be used. ``problems`` are all that were found; ``str()`` is one line for each."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


class Layer(Struct, frozen=True):
    """One file's settings, as the configuration holds them. ``origins``: key -> ``file:line``, tables by entry."""

    source: str
    settings: Mapping[str, Any]
    trusted_projects: tuple[str, ...] = ()
    origins: Mapping[str, str] = {}
    warnings: tuple[str, ...] = ()


def read_file(path: Path, role: Role) -> Layer:
    """Read and check one file. Raises ConfigError."""
    source = str(path)
    try:
        data = _read_bytes(path, any_kind=role == "named")
    except OSError as error:
        raise ConfigError((Problem(f"It cannot be read: {error.strerror or error}.", source),)) from error
    return read_data(data, source, role)


def read_data(data: bytes, source: str, role: Role) -> Layer:
    """Read and check what a file holds. Raises ConfigError."""
    if len(data) > FILE_BYTES:
        raise ConfigError((Problem(f"It has more than {FILE_BYTES // 1024} kB; that is no configuration.", source),))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        text = f"It is not UTF-8: the byte 0x{data[error.start]:02x} cannot stand here."
        raise ConfigError((Problem(text, source, line, column),)) from error
    return read_text(text, source, role)


def _read_bytes(path: Path, *, any_kind: bool) -> bytes:
    """A file's bytes, one more than allowed at most. Only a file that was named may be a pipe: it may never end."""
    flags = 0 if any_kind else os.O_NONBLOCK
    with open(path, "rb", opener=lambda name, mode: os.open(name, mode | flags)) as file:
        if not any_kind and not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it is no regular file")
        return file.read(FILE_BYTES + 1)


def read_text(text: str, source: str, role: Role) -> Layer:
    """Read and check a file's text. Raises ConfigError."""
    try:
        document = compose(text)
    except YamlError as error:
        line, column = (error.mark.line, error.mark.column) if error.mark else (None, None)
        raise ConfigError((Problem(str(error), source, line, column),)) from error
    if document.value is None:  # an empty file, or one of comments
        return Layer(source, {})
    return checked(document, source, role)


def checked(document: Document, source: str, role: Role) -> Layer:
    """A document's settings. Raises ConfigError with everything wrong in it, in the order of the file."""
    report = Report()
    settings: dict[str, Any] = {}
    if isinstance(document.value, Mapping):
        settings = read_settings(document.value, report, TRUSTED_PROJECTS)
    else:
        report.problem((), f"A configuration is a mapping of settings; this is {shown(document.value)}.")
    trusted = settings.pop("trustedProjects", ())
    if trusted and role != "user":
        report.warn(("trustedProjects",), "trustedProjects is heard only in the user's own file.")
    problems = [_repeated(again, source) for again in document.repeated[:PROBLEMS_KEPT]]
    problems += [_placed(found, document, source) for found in report.problems]
    if problems:
        raise ConfigError(tuple(sorted(problems, key=lambda one: (one.line or 0, one.column or 0))))
    return Layer(
        source,
        settings,
        trusted if role == "user" else (),
        dict(_origins(settings, document, source)),
        tuple(str(_placed(found, document, source)) for found in report.warnings),
    )


def _repeated(again: Repeated, source: str) -> Problem:
    text = f"{dotted(again.path)} is there already, in line {again.first.line}. Keep one of the two."
    return Problem(text, source, again.again.line, again.again.column)


def _placed(found: Found, document: Document, source: str) -> Problem:
    mark = _mark(document, found.path, found.at)
    return Problem(found.text, source, mark.line if mark else None, mark.column if mark else None)


def _mark(document: Document, path: KeyPath, at: Literal["key", "value"]) -> Mark | None:
    """Where something stands; what an alias stands for has no place of its own, so the nearest thing around it."""
    marks = document.keys if at == "key" else document.values
    if path in marks:
        return marks[path]
    return next((mark for end in range(len(path) - 1, -1, -1) if (mark := document.values.get(path[:end]))), None)


def _origins(settings: Mapping[str, Any], document: Document, source: str) -> list[tuple[str, str]]:
    paths: list[KeyPath] = []
    for key, value in settings.items():
        paths += [(key, entry) for entry in value] if key in TABLES else [(key,)]
    placed = [(".".join(map(str, path)), _mark(document, path, "key")) for path in paths]
    shown_source = printable(source, 4096)
    return [(key, f"{shown_source}:{mark.line}" if mark else shown_source) for key, mark in placed]
