"""``breaker doctor``: whether agents are guarded, and what stands in the way."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
from msgspec import Struct

from console.commands.ascii_json import ascii_json
from console.commands.options import socket_option
from console.text import visible
from engine.client import Client, UnreachableError
from engine.config import DEFAULTS
from engine.configuration.file import ConfigError, find
from engine.configuration.thresholds import unreachable
from engine.harnesses.bridges import PLUGIN
from engine.harnesses.checks import Checked, check_all
from engine.harnesses.switches import redirected
from engine.paths import SOCKET_VARIABLE, PathError, socket_path

UNWELL = 1
NOTHING = "Nothing is installed, so nothing is guarded. Run: breaker install HARNESS"


class EngineState(Struct, frozen=True, omit_defaults=True):
    """The engine that hooks find by default. ``attended``: an operator is there to be asked."""

    socket: str
    running: bool
    attended: bool = False
    pid: int = 0
    problem: str = ""


class Configuration(Struct, frozen=True, omit_defaults=True):
    """The configuration that an engine started here would have. ``never``: thresholds that can never fire."""

    source: str
    never: tuple[str, ...] = ()
    problem: str = ""


class Report(Struct, frozen=True):
    """Everything that was looked at. ``ok`` is what the exit code says."""

    ok: bool
    engine: EngineState
    configuration: Configuration
    harnesses: tuple[Checked, ...]
    problems: tuple[str, ...]


@click.command(
    epilog="""\b
Examples:
  breaker doctor
  breaker doctor --json | jq '.problems'
"""
)
@socket_option("Where the engine listens.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def doctor(path: Path | None, *, as_json: bool) -> None:
    """Say whether agents are guarded here: what is installed, whether it answers, what cannot work.

    Runs each installed hook for real, a few times, with a payload that concerns no call. Exits with 1 when something
    keeps a harness from being guarded.
    """
    configuration, ask_timeout = _configuration()
    engine = _engine(path)
    harnesses = check_all(Path.cwd(), ask_timeout)
    problems = tuple(_problems(engine, configuration, harnesses))
    report = Report(not problems, engine, configuration, harnesses, problems)
    if as_json:
        click.echo(ascii_json(msgspec.to_builtins(report), indent=2))
    else:
        for line in _lines(report):
            click.echo(line)
    sys.exit(0 if report.ok else UNWELL)


# -- looking --------------------------------------------------------------------------------------------------


def _configuration() -> tuple[Configuration, float | None]:
    """What is in force here, and how long an ask waits."""
    try:
        loaded = find().load()
    except ConfigError as error:
        return Configuration("", problem=f"The configuration cannot be used: {error}"), DEFAULTS.ask_timeout
    return Configuration(loaded.source, unreachable(loaded.config)), loaded.config.ask_timeout


def _engine(path: Path | None) -> EngineState:
    try:
        where = (path or socket_path()).absolute()
    except PathError as error:
        return EngineState("", running=False, problem=str(error))
    try:
        with Client("", socket=where) as client:
            found = client.status()
    except UnreachableError as error:
        return EngineState(str(where), running=False, problem=f"No engine is running: {error}. Start one: breaker")
    return EngineState(str(where), running=True, attended=found.attended, pid=found.server.pid)


def _problems(engine: EngineState, configuration: Configuration, harnesses: tuple[Checked, ...]) -> Iterator[str]:
    if engine.problem:
        yield engine.problem
    if configuration.problem:
        yield configuration.problem
    for one in harnesses:
        yield from (f"{one.harness} ({one.scope}): {problem}" for problem in one.problems)
    if not any(one.installed for one in harnesses):
        yield NOTHING


# -- telling --------------------------------------------------------------------------------------------------


def _lines(report: Report) -> Iterator[str]:
    engine, configuration = report.engine, report.configuration
    yield _line(engine.running, "engine", f"running (process {engine.pid})" if engine.running else engine.problem)
    if engine.running:
        operator = "an operator is attached" if engine.attended else "no operator: what would be asked is refused"
        yield _line(None if not engine.attended else True, "operator", operator)
    if elsewhere := redirected():
        yield _line(None, "socket", f"${SOCKET_VARIABLE} leads this shell's hooks to {elsewhere}")
    yield _line(not configuration.problem, "config", configuration.problem or configuration.source)
    yield from (_line(None, "", never) for never in configuration.never)
    for one in report.harnesses:
        yield from _harness_lines(one)
    if not any(one.installed for one in report.harnesses):
        yield _line(False, "", NOTHING)
    yield ""
    yield "All is well." if report.ok else f"{len(report.problems)} to put right."


def _harness_lines(one: Checked) -> Iterator[str]:
    name = f"{one.harness} ({one.scope})"
    if not one.installed and not one.problems:
        yield _line(None, name, "not installed")
        return
    yield _line(not one.problems, name, one.settings)
    if one.milliseconds is not None:
        way = "where its plugin asks" if PLUGIN in one.events else "over HTTP" if one.over_http else "as a process"
        without = "calls are denied" if one.fail_closed else "calls run unguarded"
        yield _line(True, "", f"answers in {one.milliseconds:.1f} ms {way}; without an engine {without}")
    yield from (_line(False, "", problem) for problem in one.problems)


def _line(well: bool | None, subject: str, text: str) -> str:
    """One line; None is neither good nor bad."""
    mark = "·" if well is None else "✓" if well else "✗"
    return f"{mark} {subject:<21} {visible(text)}"
