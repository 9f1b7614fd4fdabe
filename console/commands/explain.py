"""``breaker explain``: what calls are, and why two of them collide or do not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import click

from console.commands.ascii_json import ascii_json
from console.commands.configured import configured
from console.text import fit, visible
from engine.explain import Comparison, Explained, Explainer, NotACallError, Repeated, Tally, as_json, compare
from engine.failures import describe
from engine.masking import mask
from engine.replayed import telling_argument
from engine.session_lines import UnreadableLineError, lines_of, object_of

DAMAGED = 1
"""The exit code when a line could not be read."""
REPEATED_SHOWN = 20
WHAT_CELLS = 90


@click.command(
    epilog="""\b
Examples:
  echo '{"tool":"bash","args":{"command":"curl -s HTTPS://a.example/x"}}' | breaker explain
  breaker explain --json < calls.jsonl | jq .fingerprints

\b
A line is a call, with its result if you have it:
  {"tool":"bash","args":{"command":"ls"},"result":{"value":{"exitCode":2}}}
"""
)
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help="Read calls by this configuration instead of the one in force here.",
)
@click.option("--json", "json_lines", is_flag=True, help="One JSON object a call.")
def explain(config_file: Path | None, *, json_lines: bool) -> None:
    """Say what the calls on standard input are, one JSON object a line.

    Names each call's fingerprints and their caps, compares it with the call before it, and at the end names what
    several calls have in common.

    Exits with 1 when a line could not be read, with 2 when the configuration cannot be used.
    """
    lines = _Lines(Explainer(configured(config_file)))
    for text in _as_json_lines(lines) if json_lines else _as_account(lines):
        sys.stdout.write(text)
        sys.stdout.flush()
    sys.exit(DAMAGED if lines.damaged else 0)


class _Lines:
    """The calls on standard input. A line that holds none is named on standard error and passed over."""

    def __init__(self, explainer: Explainer) -> None:
        self.damaged = 0
        self._explainer = explainer

    def __iter__(self) -> Iterator[Explained]:
        for number, raw in lines_of(sys.stdin.buffer):
            try:
                yield self._explainer.explain(number, object_of(raw))
            except (UnreadableLineError, NotACallError) as error:
                self.damaged += 1
                click.echo(visible(f"line {number}: passed over, {error}"), err=True)


def _as_json_lines(calls: _Lines) -> Iterator[str]:
    for call in calls:
        yield ascii_json(as_json(call)) + "\n"


# -- an account ---------------------------------------------------------------------------------------------------


def _as_account(calls: _Lines) -> Iterator[str]:
    tally = Tally()
    before: Explained | None = None
    for call in calls:
        tally.add(call)
        compared = _comparison(before.line, call.line, compare(before, call)) if before else ()
        yield "\n".join([*_call(call), *compared, "", ""])
        before = call
    repeated = tally.repeated()
    if repeated:
        yield "\n".join(_repeated(repeated)) + "\n"


def _call(call: Explained) -> Iterator[str]:
    yield f"line {call.line}  {visible(call.tool, 80)}  {fit(mask(telling_argument(call.args)), WHAT_CELLS)}".rstrip()
    if not call.tracked:
        yield "  not counted: the configuration leaves this tool out (exclude, include)"
    if call.ignored:
        yield f"  ignored      {visible(', '.join(call.ignored), 400)}"
    caps = {one.fingerprint: f"{one.cap:g} calls" for one in call.identity.measures}
    for fingerprint in call.identity.fingerprints:
        yield f"  {caps.get(fingerprint, 'no cap'):<12} {visible(fingerprint)}"
    if call.identity.local:
        yield "  local        every URL in it is on this machine or its network"
    if call.failure:
        yield f"  failed       {visible(describe(call.failure))}"


def _comparison(before: int, line: int, both: Comparison) -> Iterator[str]:
    if both.measures:
        yield f"  collides with line {before}: a loop of the two would count as one action on"
        yield from (f"    {one.cap:g} calls     {visible(one.fingerprint)}" for one in both.measures)
    elif both.uncapped:
        yield f"  does not collide with line {before}: what they share has no cap"
        yield from (f"    no cap       {visible(one)}" for one in both.uncapped)
    else:
        yield f"  does not collide with line {before}: they share no fingerprint"
    width = len(str(line))
    for difference in both.differences:
        yield f"  differs in {difference.kind}"
        yield f"    line {before:<{width}}  {visible(difference.earlier)}"
        yield f"    line {line:<{width}}  {visible(difference.later)}"
    for number, kinds in ((before, both.only_earlier), (line, both.only_later)):
        if kinds:
            yield f"  only line {number} has  {visible(', '.join(kinds))}"


def _repeated(repeated: list[Repeated]) -> Iterator[str]:
    yield "What several calls are:"
    for one in islice(repeated, REPEATED_SHOWN):
        lines = ", ".join(map(str, one.lines)) + (", …" if one.count > len(one.lines) else "")
        gate = f"gate at {one.measure.cap:g}"
        yield f"  {one.count} calls, {gate}  {visible(one.measure.fingerprint)}"
        yield f"    lines {lines}"
    if len(repeated) > REPEATED_SHOWN:
        yield f"  and {len(repeated) - REPEATED_SHOWN} more fingerprints"
