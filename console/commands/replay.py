"""``breaker replay``: run a recorded session through the breaker, as a table or as JSON lines."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import click

from console.commands.ascii_json import ascii_json
from console.commands.configured import configured
from console.commands.recorded import STANDARD_INPUT, RecordedSession, ending
from console.text import fit, visible
from engine.failures import describe
from engine.replay import replay as replayed
from engine.replayed import ReplayedCall, Totals, as_json

REFUSED = 3
"""The exit code when the gate refused something, so that a script notices."""

_NUMBER, _ID, _AGENT, _END = 6, 10, 12, 22
"""Widths of the columns; the tool and its argument have what is left."""
_LEAST_WIDTH, _MOST_WIDTH = 70, 200
_INDENT = " " * (_NUMBER + 1)


@click.command(
    epilog="""\b
Examples:
  breaker replay session.jsonl
  breaker replay session.jsonl --config stricter.yaml --answers reject
  breaker replay ~/.claude/projects/-home-me-project/7f3a0c52.jsonl
  breaker replay ~/.codex/sessions/2026/01/31/rollout-2026-01-31T12-00-00-7f3a0c52.jsonl
  breaker replay - --json < session.jsonl | jq 'select(.verdict == "deny")'

\b
FILE may be a session, a journal, a Claude Code transcript (its sub-agents are read along),
a Codex rollout or a DSH session log; its content says which. A session written by hand
has one JSON object a line:
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
    session = RecordedSession(file)
    with ending("replay", session.name):
        calls = replayed(session.lines(), config, answers or "as recorded")
        for lines in _as_json_lines(calls, totals) if json_lines else _as_table(calls, totals):
            sys.stdout.write(lines)
            if file == STANDARD_INPUT:
                sys.stdout.flush()
    session.report()
    sys.exit(REFUSED if totals.refused else 0)


# -- JSON ---------------------------------------------------------------------------------------------------------


def _as_json_lines(calls: Iterator[ReplayedCall], totals: Totals) -> Iterator[str]:
    for call in calls:
        totals.add(call)
        yield ascii_json(as_json(call)) + "\n"


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
