"""``breaker replay``: run a recorded session through the breaker, as a table or as JSON lines."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from console.commands.ascii_json import ascii_json
from console.commands.configured import configured
from console.commands.recorded import STANDARD_INPUT, RecordedSession, UnreadableSessionError, end, ending
from console.showing import THEMES, Look, has_screen, show
from console.text import fit, visible
from engine.config import Config
from engine.failures import describe
from engine.replay import replay as replayed
from engine.replayed import ReplayedCall, Totals, as_json
from engine.transcripts import dsh
from engine.transcripts.files import read_session_file, size_of
from engine.transcripts.recognise import format_of

if TYPE_CHECKING:
    from console.app import ConsoleApp, Options

FixedAnswer = Literal["approve", "reject", "unavailable"]

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
  breaker replay --console session.jsonl --theme light
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
@click.option(
    "--console",
    "on_screen",
    is_flag=True,
    help="Play it on the screen: pause, step, seek, jump to the next stage, gate or failure.",
)
@click.option("--theme", type=click.Choice(THEMES), help="The screen's colours; terminal: the terminal's own.")
def replay(  # noqa: PLR0913 - one parameter an option
    file: str,
    config_file: Path | None,
    answers: FixedAnswer | None,
    *,
    json_lines: bool,
    on_screen: bool,
    theme: str | None,
) -> None:
    """Run the recorded session FILE (- for standard input) through the breaker.

    Says of each call what was decided, what hit and what was advised. Damaged lines are named on standard error
    and passed over.

    Exits with 3 when the gate refused a call, with 2 when FILE or the configuration cannot be used. With --console
    damaged lines are shown where they stand, and it exits with 0 when you leave.
    """
    if on_screen:
        _check_screen(file, json_lines=json_lines)
    elif theme:
        raise click.UsageError("--theme is for --console.")
    config = configured(config_file)
    if on_screen:
        sys.exit(_on_screen(file, config, answers, theme or THEMES[0]))
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


# -- on the screen ------------------------------------------------------------------------------------------------


def _check_screen(file: str, *, json_lines: bool) -> None:
    """End the command when there is no screen to draw on, or nobody could press a key."""
    if json_lines:
        raise click.UsageError("--json prints, --console draws: choose one.")
    if file == STANDARD_INPUT:
        raise click.UsageError("--console needs standard input for the keyboard: name a FILE instead of -.")
    if not has_screen():
        end("replay", "--console needs a terminal, for its screen and its keys. Without --console a table is printed.")


def _on_screen(file: str, config: Config, answers: FixedAnswer | None, theme: str) -> int:
    """Read as far as shows that it is a session, and play it. Returns the exit code."""
    from console.replaying.source import Progress, ReplaySource  # noqa: PLC0415 - for --console alone

    path = Path(file)
    with ending("replay", file):
        try:
            form = format_of(path) if path.is_file() else None  # what a pipe has given it does not give again
            progress = Progress(0 if form is dsh.FORMAT else size_of(path))
            lines = read_session_file(path, progress.take)
            first = next(lines, None)
        except OSError as error:
            raise UnreadableSessionError(error.strerror or str(error)) from error
    known = lines if first is None else chain((first,), lines)
    silent = answers == "unavailable" or (answers is None and form is not None and form.foreign)
    source = ReplaySource(file, known, config, answers or "as recorded", attended=not silent, progress=progress)

    def make(options: Options) -> ConsoleApp:
        from console.replaying.app import ReplayApp  # noqa: PLC0415 - Textual, for who draws

        return ReplayApp(source, options)

    return show(source, Look(theme=theme, bell=False, notify=False), make)


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
