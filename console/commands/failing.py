"""How a command ends that cannot go on: with words for a person, never with a traceback."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click

from console.text import visible

UNWRITTEN = 1
"""The exit code when what was to be printed could not be."""


def say(problem: object) -> None:
    """Print a problem, which may have several lines, to standard error."""
    for number, line in enumerate(str(problem).splitlines()):
        click.echo(f"{'' if number else 'breaker: '}{visible(line, 4000)}", err=True)


def open_missing_streams() -> None:
    """Put an empty file in the place of each standard stream that was closed (``>&-``).

    Otherwise whatever is opened first, a journal or a socket, would take its number, and get what is printed.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - as long as we run


@contextmanager
def printing() -> Iterator[None]:
    """Whatever the system refuses a command that is not the command's own to explain: a full disk, most of all."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader has seen enough
            raise
        where = f"{error.filename}: " if error.filename else ""
        with suppress(OSError):
            say(f"{where}{error.strerror or error}.")
        _let_go_of_standard_output()
        sys.exit(UNWRITTEN)


def _let_go_of_standard_output() -> None:
    """What it still holds would be tried once more at the very end, and fail once more, without words."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
