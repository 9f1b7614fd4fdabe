"""``breaker replay``: run a recorded session through the breaker, as a table or as JSON lines."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO, Literal

import click

from console.commands.configured import configured
from console.text import fit, visible
from engine.failures import describe
from engine.replay import replay as replayed
from engine.replayed import ReplayedCall, Totals, as_json
from engine.session_items import Damaged, Line, Unknown
from engine.sessions import NotASessionError, read_session

REFUSED = 3
"""The exit code when the gate refused something, so that a script notices."""
UNUSABLE = 2
DAMAGES_SHOWN = 100
TYPES_SHOWN = 8

_NUMBER, _ID, _AGENT, _END = 6, 10, 12, 22
"""Widths of the columns; the tool and its argument have what is left."""
_LEAST_WIDTH, _MOST_WIDTH = 70, 200
_INDENT = " " * (_NUMBER + 1)


@click.command(
    epilog="""\b
Examples:
  breaker replay session.jsonl
  breaker replay session.jsonl --config stricter.yaml --answers reject
  breaker replay - --json < session.jsonl | jq 'select(.verdict == "deny")'

\b
A session has one JSON object a line; a journal is one too:
  {"type":"call","id":"c1","agent":"a1","tool":"bash","args":{"command":"ls"}}
  {"type":"result","id":"c1","agent":"a1","result":{"value":{"exitCode":0}}}
  {"type":"turn","agent":"a1","source":"user"}
"""
)
@click.argument("file")
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help="Judge by this configuration instead of the one in force here.",
)
@click.option(
    "--answers",
    type=click.Choice(["approve", "reject", "unavailable"]),
    help="What the operator says to every ask. Without it: what the session says, where it is silent nobody is there.",
)
@click.option("--json", "json_lines", is_flag=True, help="One JSON object a call.")
def replay(
    file: str,
    config_file: Path | None,
    answers: Literal["approve", "reject", "unavailable"] | None,
    *,
    json_lines: bool,
) -> None:
    """Run the recorded session FILE (- for standard input) through the breaker.

    Says of each call what was decided, what hit and what was advised. Damaged lines are named on standard error
    and passed over.

    Exits with 3 when the gate refused a call, with 2 when FILE or the configuration cannot be used.
    """
    config = configured(config_file)
    totals = Totals()
    session = _Session(file)
    try:
        with _opened(file) as stream:
            calls = replayed(session.lines(stream), config, answers or "as recorded")
            for lines in _as_json_lines(calls, totals) if json_lines else _as_table(calls, totals):
                sys.stdout.write(lines)
                if file == "-":
                    sys.stdout.flush()
    except NotASessionError as error:
        _fail(f"{session.name}: {error}")
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        _fail(f"cannot read {session.name}: {error.strerror or error}")
    session.report()
    sys.exit(REFUSED if totals.refused else 0)


def _opened(file: str) -> nullcontext[BinaryIO] | BinaryIO:
    return nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb")


def _fail(problem: str) -> None:
    click.echo(f"breaker replay: {visible(problem)}", err=True)
    sys.exit(UNUSABLE)


class _Session:
    """The lines of a file, with an eye on those that say nothing."""

    def __init__(self, name: str) -> None:
        self.name = "standard input" if name == "-" else name
        self._damaged = 0
        self._unknown: Counter[str] = Counter()

    def lines(self, stream: BinaryIO) -> Iterator[Line]:
        for line in read_session(stream):
            if isinstance(line, Damaged):
                self._damaged += 1
                if self._damaged <= DAMAGES_SHOWN:
                    click.echo(visible(f"{self.name}, line {line.line}: passed over, {line.problem}"), err=True)
            elif isinstance(line, Unknown):
                self._unknown[line.type[:40]] += 1
            yield line

    def report(self) -> None:
        if self._damaged > DAMAGES_SHOWN:
            click.echo(f"and {self._damaged - DAMAGES_SHOWN} more damaged lines", err=True)
        if self._unknown:
            types = ", ".join(f"{visible(kind)} ({count})" for kind, count in self._unknown.most_common(TYPES_SHOWN))
            more = ", and others" if len(self._unknown) > TYPES_SHOWN else ""
            lines = _count(self._unknown.total(), "line")
            click.echo(f"{lines} of an unknown type passed over: {types}{more}", err=True)


# -- JSON ---------------------------------------------------------------------------------------------------------


def _as_json_lines(calls: Iterator[ReplayedCall], totals: Totals) -> Iterator[str]:
    """ASCII only, DEL escaped too: what goes through a terminal on its way to a file must not talk to it."""
    for call in calls:
        totals.add(call)
        yield json.dumps(as_json(call)).replace("\x7f", "\\u007f") + "\n"


# -- a table ------------------------------------------------------------------------------------------------------


def _as_table(calls: Iterator[ReplayedCall], totals: Totals) -> Iterator[str]:
    width = min(max(shutil.get_terminal_size((100, 24)).columns, _LEAST_WIDTH), _MOST_WIDTH)
    what_width = width - _NUMBER - _ID - _AGENT - _END - 4
    head = f"{'call':>{_NUMBER}} {'id':<{_ID}} {'agent':<{_AGENT}} {'tool, argument':<{what_width}} verdict"
    for call in calls:
        if not totals.calls:
            yield f"{head}\n"
        totals.add(call)
        yield _row(call, what_width)
        for line in _remarks(call):
            yield fit(f"{_INDENT}{line}", width) + "\n"
    yield _sums(totals)


def _row(call: ReplayedCall, what_width: int) -> str:
    cells = (
        f"{call.number:>{_NUMBER}}",
        fit(call.id, _ID, "middle", pad=True),
        fit(call.agent, _AGENT, "middle", pad=True),
        fit(f"{call.tool}  {call.what}", what_width, "middle", pad=True),
        fit(_end(call), _END),
    )
    return " ".join(cells) + "\n"


def _end(call: ReplayedCall) -> str:
    if call.verdict == "deny":
        return "REFUSED"
    return f"allowed, {describe(call.failure)}" if call.failure else "allowed"


_ANSWERED = {
    "approved": "approved",
    "rejected": "rejected",
    "unattended": "nobody was there to answer",
    "timed_out": "no answer in time",
    "cancelled": "cancelled before an answer",
}


def _remarks(call: ReplayedCall) -> Iterator[str]:
    for hit in call.hits:
        cap = f"{hit.cap:g}"
        times = f"{hit.count}/{cap} failures" if hit.track == "failure" else f"{hit.count}/{cap} calls"
        yield f"  hit      {times:<16} {hit.fingerprint}"
    if call.asked and call.outcome:
        yield f"  asked    {_ANSWERED[call.outcome]}"
    for advisory in call.advisories:
        yield f"  advised  {f'{advisory.stage} at {advisory.count}':<16} {advisory.fingerprint}"


def _sums(totals: Totals) -> str:
    agents = len(totals.agents)
    lines = [
        "",
        f"{_count(totals.calls, 'call')} by {_count(agents, 'agent')}: {totals.calls - totals.refused} allowed, "
        f"{totals.refused} refused, {totals.asked} asked about.",
    ]
    if totals.outcomes:
        lines.append("Asks: " + ", ".join(f"{count} {_ANSWERED[how]}" for how, count in totals.outcomes.items()) + ".")
    if totals.advisories:
        stages = (f"{totals.advisories[stage]} {stage}" for stage in ("warn", "summarize", "fail-warn"))
        lines.append(f"Advised: {', '.join(stages)}.")
    if totals.failed:
        lines.append(f"Failed: {_count(totals.failed, 'call')}.")
    if first := totals.first_refused:
        lines.append(f"First refused: call {first.number} ({visible(first.id, 80)}), line {first.line}.")
    return "\n".join(lines) + "\n"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
