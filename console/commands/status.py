"""``breaker status``: what a running engine is doing, for anybody who may look."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from console.commands.ascii_json import ascii_json
from console.commands.failing import say
from console.commands.options import socket_option
from console.question import time_left
from console.text import visible
from engine.client import Client, UnreachableError
from engine.paths import PathError, check_socket_path, socket_path
from engine.protocol import AgentStatus, AskState, Heat, Status

NO_ENGINE = 1
UNUSABLE = 2
"""The exit code when no engine could be at such a path."""
NAME_CHARS = 60
FINGERPRINT_CHARS = 100

_DOING = {"waiting": "waiting for the operator", "blocked": "blocked", "idle": "idle", "working": "working"}


@click.command(
    epilog="""\b
Examples:
  breaker status
  breaker status --json | jq '.asks[].fingerprints'
"""
)
@socket_option("Where the engine listens.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def status(path: Path | None, *, as_json: bool) -> None:
    """Say what a running engine is doing: agents, their hottest measures, open asks. Needs no token.

    Exits with 1 when no engine runs, with 2 when none could at that path.
    """
    try:
        where = (path or socket_path()).absolute()
        check_socket_path(where)
        with Client("", socket=where) as client:
            found = client.status()
    except PathError as error:
        say(error)
        sys.exit(UNUSABLE)
    except UnreachableError as error:
        say(f"{error}. Start one with: breaker serve")
        sys.exit(NO_ENGINE)
    if as_json:
        click.echo(ascii_json(msgspec.to_builtins(found), indent=2))
    else:
        click.echo("\n".join(_lines(found, time.time())))


def _lines(found: Status, now: float) -> Iterator[str]:
    operator = "an operator is there" if found.attended else "no operator is there: what would be asked is refused"
    name, version = visible(found.server.name, NAME_CHARS), visible(found.server.version, NAME_CHARS)
    server = f"{name} {version}, process {found.server.pid}"
    yield f"{server}, up {_span(now - found.started)}; {operator}"
    yield f"configuration: {visible(found.config_source)}"
    yield ""
    yield _counted(len(found.asks), "open ask")
    for ask in found.asks:
        yield from _ask(ask, now)
    yield ""
    yield _counted(len(found.agents), "agent")
    for agent in found.agents:
        yield from _agent(agent, now)


def _ask(ask: AskState, now: float) -> Iterator[str]:
    who, tool = visible(ask.agent, NAME_CHARS), visible(ask.tool, NAME_CHARS)
    yield f"  {who} wants to run {tool}; asked {_span(now - ask.opened)} ago, {time_left(ask.deadline, now)}"
    for fingerprint in ask.fingerprints:
        yield f"    {visible(fingerprint, FINGERPRINT_CHARS)}"


def _agent(agent: AgentStatus, now: float) -> Iterator[str]:
    names = " ".join(visible(one, NAME_CHARS) for one in (agent.harness, agent.name, agent.agent) if one)
    under = f", under {visible(agent.parent, NAME_CHARS)}" if agent.parent else ""
    yield (
        f"  {names}{under}: {_DOING[agent.state]}; turn {agent.turn}, {_counted(agent.calls, 'call')}, "
        f"heard of {_span(now - agent.last_seen)} ago"
    )
    for heat in agent.hottest:
        yield _heat(heat)
    for word, fingerprints in (("exempted", agent.exemptions), ("refused", agent.refusals)):
        for fingerprint in fingerprints:
            yield f"    {word:>9}  {visible(fingerprint, FINGERPRINT_CHARS)}"


def _heat(heat: Heat) -> str:
    count = f"{heat.count}/{heat.cap:g}"
    failing = f", failed {heat.streak} in a row" if heat.streak else ""
    return f"    {count:>9}  {visible(heat.fingerprint, FINGERPRINT_CHARS)}{failing}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _span(seconds: float) -> str:
    whole = max(0, round(seconds))
    hours, minutes = divmod(whole // 60, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min" if minutes >= 2 else f"{whole} s"
