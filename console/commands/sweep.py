"""``breaker sweep``: what other thresholds would have done to recorded sessions."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import click
from msgspec import Struct

from console.commands.configured import configured
from console.commands.recorded import UNUSABLE, check_place, end
from console.sweep_table import count
from console.text import visible
from engine.config import LIMITS
from engine.sweep import SessionTallies, work_of
from engine.sweep import sweep as swept
from engine.sweep_findings import Finding, Label, LabelsError, findings_of, labels_for, read_labels
from engine.swept_thresholds import SWEPT, Combination, RangeError, combined, values_in
from engine.transcripts.files import sessions_of

KINDS = tuple(f"limits.{kind}" for kind in LIMITS if ":" not in kind)
ABOUT = {
    "window": "How many of an agent's calls are counted together.",
    "warnAt": "The count at which an advisory is given.",
    "summarizeAt": "The count at which a written summary is demanded.",
    "failWarnAt": "The failures in a row after which an advisory is given.",
    "failLimit": "The failures in a row after which the next call meets the gate.",
}
PROBLEMS_SHOWN = 50
_LEAST_WIDTH, _MOST_WIDTH = 60, 240
FILE = click.Path(path_type=Path, dir_okay=False)


def _parameter(key: str) -> str:
    """The name of a threshold's option in Python."""
    return key.replace(".", "_")


def ranges(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options for thresholds, in the order in which ``breaker config`` lists them."""
    for key in reversed((*SWEPT, *KINDS)):
        about = ABOUT.get(key, f"The cap of {key.removeprefix('limits.')} measures.")
        command = click.option(f"--{key}", _parameter(key), metavar="RANGE", help=about)(command)
    return command


@click.command(
    epilog="""\b
Examples:
  breaker sweep ~/.claude/projects/*/*.jsonl --warnAt 3..9 --limits.exact 6,9,12
  breaker sweep runs/*.jsonl --failLimit 3..8 --failWarnAt 2,3,off --csv sweep.csv
  breaker sweep runs/*.jsonl --limits.host 8..24:4 --plot sweep.png
  breaker sweep runs/*.jsonl --warnAt 3..9 --labels labels.csv --plot front.svg
  breaker sweep runs/*.jsonl --vary limits.verb:curl=4..12

\b
A RANGE is 3..9, 3..9:2 (every second of them) or a list like 6,9,off.
Labels are lines like SESSION,stuck and SESSION,good; SESSION is a file's name or path.
"""
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@ranges
@click.option("--vary", multiple=True, metavar="KEY=RANGE", help="A limit that has no option here.")
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help="Vary this configuration instead of the one in force here.",
)
@click.option(
    "--answers",
    type=click.Choice(["approve", "reject", "unavailable"]),
    help="What the operator says to every ask. Without it: what the session says, where it is silent nobody is there.",
)
@click.option(
    "--labels",
    "labels_file",
    type=click.Path(path_type=Path),
    help="Which sessions are good and which stuck: then what is caught is counted, and false alarms.",
)
@click.option("--csv", "csv_file", type=FILE, help="Write all findings as comma-separated values.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON instead of the table.")
@click.option("--plot", "plot_file", type=FILE, help="Draw them: a .png or .svg file. Needs the extra [plot].")
@click.option("--jobs", type=click.IntRange(1, 512), help="Processes that work at it. Default: one for each core.")
def sweep(files: tuple[Path, ...], **options: Any) -> None:
    """Run recorded sessions through the breaker once for every combination of the given thresholds.

    Says for each combination how many sessions are advised, asked about and refused, how many calls are refused, and
    how early the gate comes. FILES are sessions, journals or transcripts of any format that breaker replay reads; a
    sub-agent's file is read along with its session's. A session is one file with those.

    Exits with 2 when no session could be read, or an option cannot be used.
    """
    thresholds = {_parameter(key): key for key in (*SWEPT, *KINDS)}
    wanted = _Wanted(**{name: value for name, value in options.items() if name not in thresholds})
    given = {thresholds[name]: text for name, text in options.items() if name in thresholds and text is not None}
    combinations = _combinations(wanted, given)
    paths = sessions_of(files)
    labels = _labels(wanted.labels_file, paths)
    if wanted.csv_file:
        check_place("sweep", wanted.csv_file)
    if wanted.plot_file:
        check_place("sweep", wanted.plot_file)
        _check_plot(wanted.plot_file)
    tallies = _judged(paths, combinations, wanted)
    _tell_problems(tallies)
    if all(one.problem for one in tallies):
        sys.exit(UNUSABLE)
    _give_out(findings_of(combinations, tallies, labels), wanted)


class _Wanted(Struct, frozen=True):
    """What was asked for, beside the ranges."""

    vary: tuple[str, ...]
    config_file: Path | None
    answers: Literal["approve", "reject", "unavailable"] | None
    labels_file: Path | None
    csv_file: Path | None
    plot_file: Path | None
    jobs: int | None
    as_json: bool


def _combinations(wanted: _Wanted, texts: dict[str, str]) -> list[Combination]:
    for one in wanted.vary:
        key, equals, text = one.rpartition("=")
        if not equals:
            raise click.UsageError(f"--vary {visible(one, 80)}: write KEY=RANGE, like limits.verb:curl=4..12")
        texts[key] = text
    try:
        chosen = {key: values_in(text) for key, text in texts.items()}
        return combined(configured(wanted.config_file), chosen)
    except RangeError as error:
        end("sweep", str(error))


def _labels(file: Path | None, paths: Sequence[Path]) -> dict[Path, Label] | None:
    if file is None:
        return None
    try:
        labels, unknown = labels_for(paths, read_labels(file))
    except LabelsError as error:
        end("sweep", f"{file}: {error}")
    if unknown:
        names = ", ".join(visible(name, 60) for name in unknown[:5])
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        click.echo(f"{visible(str(file))}: no such session: {names}{more}", err=True)
    return labels


def _check_plot(path: Path) -> None:
    from console.sweep_plot import PlotError, check  # noqa: PLC0415 - for who draws

    try:
        check(path)
    except PlotError as error:
        end("sweep", str(error))


def _judged(paths: Sequence[Path], combinations: Sequence[Combination], wanted: _Wanted) -> list[SessionTallies]:
    """The sweep, with a bar on standard error while it runs there."""
    configs = [one.config for one in combinations]
    answers = wanted.answers or "as recorded"
    if not sys.stderr.isatty():
        return swept(paths, configs, answers=answers, jobs=wanted.jobs)
    label = f"{count(len(paths), 'session')}, {count(len(configs), 'combination')}"
    with click.progressbar(length=work_of(paths, configs, wanted.jobs), label=label, file=sys.stderr) as bar:
        return swept(paths, configs, answers=answers, jobs=wanted.jobs, progress=bar.update)


def _tell_problems(tallies: Sequence[SessionTallies]) -> None:
    problems = [f"{one.path}: {one.problem}" for one in tallies if one.problem]
    for problem in problems[:PROBLEMS_SHOWN]:
        click.echo(visible(problem, 4000), err=True)
    if len(problems) > PROBLEMS_SHOWN:
        click.echo(f"and {len(problems) - PROBLEMS_SHOWN} more files that could not be read", err=True)
    damaged, unknown = sum(one.damaged for one in tallies), sum(one.unknown for one in tallies)
    if damaged or unknown:
        lines = f"{count(damaged, 'damaged line')}, {count(unknown, 'line')} of an unknown type"
        click.echo(f"passed over: {lines}", err=True)


def _give_out(findings: Sequence[Finding], wanted: _Wanted) -> None:
    from console.sweep_table import csv_of, json_of, table_of  # noqa: PLC0415 - when all is judged

    if path := wanted.csv_file:
        _write(path, lambda: path.write_text(csv_of(findings), encoding="utf-8"))
    if drawn := wanted.plot_file:
        from console.sweep_plot import plot  # noqa: PLC0415 - for who draws

        _write(drawn, lambda: plot(findings, drawn))
    if wanted.as_json:
        sys.stdout.write(json_of(findings))
        return
    width = min(max(shutil.get_terminal_size((100, 24)).columns, _LEAST_WIDTH), _MOST_WIDTH)
    sys.stdout.write("".join(f"{line}\n" for line in table_of(findings, width)))


def _write(path: Path, write: Callable[[], object]) -> None:
    write()
    click.echo(f"written to {visible(str(path))}", err=True)
