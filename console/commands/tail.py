"""``breaker tail``: the console on a journal, or on what a harness writes, to watch only."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from console.commands.failing import say
from console.showing import UNUSABLE, Look, look_options, show
from console.sources import TailSource, TranscriptSource

if TYPE_CHECKING:
    from engine.config import Config

ANY = "any"
HARNESSES = (ANY, "claude-code", "codex", "dsh")


@click.command(
    epilog="""\b
Examples:
  breaker tail                          the journal that is being written now
  breaker tail --latest                 what any harness here wrote last
  breaker tail --latest claude-code
  breaker tail ~/.codex/sessions/2026/01/31/rollout-2026-01-31T12-00-00-7f3a0c52.jsonl
  breaker tail ~/.local/state/repeat-tool-breaker/journal/2026-01-31T120000Z.jsonl
"""
)
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option(
    "--latest",
    type=click.Choice(HARNESSES),
    is_flag=False,
    flag_value=ANY,
    help="The transcript that was written last, of one harness or of any.",
)
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help="Judge a transcript by this configuration instead of the one in force here.",
)
@look_options
def tail(path: Path | None, latest: str | None, config_file: Path | None, **look: Any) -> None:
    """Watch PATH as it is written: a journal, a directory's newest one, or a transcript of a harness.

    A transcript (of Claude Code, Codex or DSH) needs no hook: it is judged as it comes, and the screen shows what a
    breaker would have counted, advised, asked and refused. Nothing can be answered here. What is not there yet is
    waited for.
    """
    if path and latest:
        raise click.UsageError("Name a PATH, or --latest.")
    where = path or (_newest(latest) if latest else _journals())
    sys.exit(show(_source(where, config_file), Look(**look)))


def _source(where: Path, config_file: Path | None) -> TailSource:
    from engine.sessions import NotASessionError  # noqa: PLC0415 - breaker --help needs none of it
    from engine.transcripts.recognise import format_of  # noqa: PLC0415 - as above
    from engine.transcripts.recorded import JOURNAL  # noqa: PLC0415 - as above

    def load() -> Config:
        from engine.configuration.file import find  # noqa: PLC0415 - as above

        return find(config_file).load().config

    try:
        found = format_of(where) if where.is_file() else JOURNAL
    except OSError as error:
        say(f"cannot read {where}: {error.strerror or error}")
        sys.exit(UNUSABLE)
    except NotASessionError as error:
        say(f"{where}: {error}")
        sys.exit(UNUSABLE)
    return TailSource(where) if found in (None, JOURNAL) else TranscriptSource(where, load)


def _newest(harness: str) -> Path:
    from engine.transcripts.files import NoneFoundError, newest  # noqa: PLC0415 - breaker --help needs none of it

    try:
        return newest("" if harness == ANY else harness)
    except NoneFoundError as error:
        say(error)
        sys.exit(UNUSABLE)


def _journals() -> Path:
    from engine.paths import PathError, journal_directory  # noqa: PLC0415 - breaker --help needs none of it

    try:
        return journal_directory()
    except PathError as error:
        say(error)
        sys.exit(UNUSABLE)
