"""``breaker report``: what happened in a session, as text, JSON or one HTML file."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import click
import msgspec

from console.commands.configured import configured
from console.commands.recorded import RecordedSession, UnreadableSessionError, check_place, end, ending
from console.text import visible
from engine.events import Event
from engine.journal_parts import parts_in
from engine.journal_reader import Damaged, read
from engine.paths import PathError, journal_directory
from engine.report import report_of, supposed_report
from engine.report_forms import Report
from engine.transcripts.recorded import JOURNAL

_LEAST_WIDTH, _MOST_WIDTH = 60, 200


@click.command(
    epilog="""\b
Examples:
  breaker report --last                         the newest run of the breaker
  breaker report --last --html report.html
  breaker report ~/.claude/projects/-home-me-project/7f3a0c52.jsonl
  breaker report session.jsonl --json | jq '.sums'
"""
)
@click.argument("file", required=False)
@click.option("--last", is_flag=True, help="The newest journal instead of FILE.")
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), help="Write one HTML file; it needs no network."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help="Judge a session that no breaker guarded by this configuration instead of the one in force here.",
)
def report(file: str | None, html: Path | None, config_file: Path | None, *, last: bool, as_json: bool) -> None:
    """Tell what happened in a session: loops and how far they climbed, advice and what the agent did next, asks.

    FILE is a journal, which tells what happened; or a session or a transcript of any format that breaker replay reads
    (- for standard input), and then it is told what a breaker would have done. Times are told as far as FILE has them.
    """
    if (file is None) == (not last):
        raise click.UsageError("Name a FILE, or --last for the newest journal.")
    if html:
        check_place("report", html)
    made = _of_journal(_newest(), "") if last else _of_file(str(file), config_file)
    if html:
        _write(html, made)
    if as_json:
        sys.stdout.write(json.dumps(msgspec.to_builtins(made)).replace("\x7f", "\\u007f") + "\n")
    elif not html:
        from console.report_text import text_of  # noqa: PLC0415 - for who reads it here

        width = min(max(shutil.get_terminal_size((100, 24)).columns, _LEAST_WIDTH), _MOST_WIDTH)
        sys.stdout.write("".join(f"{line}\n" for line in text_of(made, width)))


def _of_file(file: str, config_file: Path | None) -> Report:
    session = RecordedSession(file)
    with ending("report", session.name):
        if session.format() is JOURNAL:
            return _of_journal([Path(file)], session.name)
        made = supposed_report(session.lines(), session.name, configured(config_file))
    session.report()
    return made


def _of_journal(files: list[Path], name: str) -> Report:
    name = name or str(files[0])
    with ending("report", name):
        return report_of(_events(files), name)


def _events(files: list[Path]) -> Iterator[Event]:
    try:
        for event in chain.from_iterable(read(file) for file in files):
            if isinstance(event, Damaged):
                click.echo(visible(str(event), 4000), err=True)
            else:
                yield event
    except OSError as error:
        raise UnreadableSessionError(error.strerror or str(error)) from error


def _newest() -> list[Path]:
    """The parts of the newest run."""
    try:
        directory = journal_directory()
        parts = parts_in(directory)
    except (PathError, OSError) as error:
        end("report", str(error))
    if not parts:
        end("report", f"there is no journal in {directory} yet")
    return [part.events for part in parts if part.run == parts[-1].run]


def _write(path: Path, made: Report) -> None:
    from console.report_html import html_of  # noqa: PLC0415 - for who asks for it

    path.write_text(html_of(made), encoding="utf-8")
    click.echo(f"written to {visible(str(path))}", err=True)
