"""A recorded session that a command reads: its lines, and what is to be said of those that say nothing."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import click

from console.text import visible
from engine.session_items import Damaged, Line, Unknown
from engine.sessions import NotASessionError
from engine.transcripts.files import read_session_file
from engine.transcripts.format import Format
from engine.transcripts.recognise import format_of, read

UNUSABLE = 2
"""The exit code when the file cannot be used."""
DAMAGES_SHOWN = 100
TYPES_SHOWN = 8
STANDARD_INPUT = "-"


class UnreadableSessionError(Exception):
    """The file cannot be opened or read; ``str()`` says why. Not an OSError: that may as well come from printing."""


class RecordedSession:
    """A session in a file, or in what is piped in, of any known format. ``name`` is raw text."""

    def __init__(self, file: str) -> None:
        self.name = "standard input" if file == STANDARD_INPUT else file
        self._file = file
        self._damaged = 0
        self._unknown: Counter[str] = Counter()

    def format(self) -> Format | None:
        """Its format; None when it is piped in, or empty. Raises NotASessionError, UnreadableSessionError."""
        try:
            return None if self._file == STANDARD_INPUT else format_of(Path(self._file))
        except OSError as error:
            raise UnreadableSessionError(error.strerror or str(error)) from error

    def lines(self) -> Iterator[Line]:
        """Its lines; damaged ones are named on standard error as they come.

        Raises NotASessionError, UnreadableSessionError; ``ending`` ends the command on either.
        """
        try:
            source = read(sys.stdin.buffer) if self._file == STANDARD_INPUT else read_session_file(Path(self._file))
            for line in source:
                self.look_at(line)
                yield line
        except OSError as error:
            raise UnreadableSessionError(error.strerror or str(error)) from error

    def look_at(self, line: object) -> None:
        """Tell of a line that is damaged, and count one of a type that is not known."""
        if isinstance(line, Damaged):
            self._damaged += 1
            if self._damaged <= DAMAGES_SHOWN:
                where = f"{line.file or self.name}, line {line.line}"
                click.echo(visible(f"{where}: passed over, {line.problem}"), err=True)
        elif isinstance(line, Unknown):
            self._unknown[line.type[:40]] += 1

    def report(self) -> None:
        """Say what was passed over, when all was read."""
        if self._damaged > DAMAGES_SHOWN:
            click.echo(f"and {self._damaged - DAMAGES_SHOWN} more damaged lines", err=True)
        if self._unknown:
            types = ", ".join(f"{visible(kind)} ({count})" for kind, count in self._unknown.most_common(TYPES_SHOWN))
            more = ", and others" if len(self._unknown) > TYPES_SHOWN else ""
            total = self._unknown.total()
            lines = f"{total} line{'' if total == 1 else 's'}"
            click.echo(f"{lines} of an unknown type passed over: {types}{more}", err=True)


@contextmanager
def ending(command: str, name: str) -> Iterator[None]:
    """End the command, with a line for a person, when the session cannot be used."""
    try:
        yield
    except NotASessionError as error:
        end(command, f"{name}: {error}")
    except UnreadableSessionError as error:
        end(command, f"cannot read {name}: {error}")


def check_place(command: str, path: Path) -> None:
    """End the command when a file could not be written there: before all the work, not after."""
    if not path.absolute().parent.is_dir():
        end(command, f"there is no directory {path.absolute().parent}")


def end(command: str, problem: str) -> NoReturn:
    """End the command with a line for a person."""
    click.echo(f"breaker {command}: {visible(problem, 4000)}", err=True)
    sys.exit(UNUSABLE)
