"""``breaker tail``: the console on a journal, to watch only."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from console.commands.failing import say
from console.showing import UNUSABLE, Look, look_options, show
from console.sources import TailSource


@click.command(
    epilog="""\b
Examples:
  breaker tail                          the journal that is being written now
  breaker tail ~/.local/state/repeat-tool-breaker/journal/2026-01-31T120000Z.jsonl
"""
)
@click.argument("journal", type=click.Path(path_type=Path), required=False)
@look_options
def tail(journal: Path | None, **look: Any) -> None:
    """Watch a journal as it is written: a file, or a directory's newest one.

    Nothing can be answered here. What is not there yet is waited for.
    """
    from engine.paths import PathError, journal_directory  # noqa: PLC0415 - breaker --help needs none of it

    try:
        where = journal or journal_directory()
    except PathError as error:
        say(error)
        sys.exit(UNUSABLE)
    sys.exit(show(TailSource(where), Look(**look)))
