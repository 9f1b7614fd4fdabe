"""``breaker install`` and ``breaker uninstall``: our hooks into a harness's own settings, and out again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from console.commands.options import socket_option
from console.text import visible
from engine.configuration.file import ConfigError, find
from engine.harnesses.endpoint import Endpoint, keep_endpoint, load_endpoint, make_endpoint
from engine.harnesses.handlers import HOOK_SCRIPT, Wishes
from engine.harnesses.installation import Plan, Target, carry_out, entries, plan_install, plan_uninstall
from engine.harnesses.known import HARNESSES, Scope
from engine.harnesses.settings import SettingsError
from engine.paths import PathError, check_socket_path, socket_path

REFUSED = 2

Command = TypeVar("Command", bound=Callable[..., Any])

_FAULTS = (SettingsError, PathError, ConfigError)
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def target_options(command: Command) -> Command:
    """Which settings: a harness's, and whose."""
    for decorate in (
        click.argument("harness", type=click.Choice(tuple(HARNESSES))),
        click.option("--user", "scope", flag_value="user", help="For you, in every project."),
        click.option("--project", "scope", flag_value="project", help="For the project in this directory alone."),
        click.option("--dry-run", is_flag=True, help="Show what would change; change nothing."),
    ):
        command = decorate(command)
    return command


@click.command(
    epilog="""\b
Examples:
  breaker install claude-code              in this project, not shared with its other users
  breaker install codex --dry-run
  breaker install gemini-cli --fail-closed

\b
Without --user or --project: claude-code and opencode for the project, the others for you.
"""
)
@target_options
@click.option("--fail-closed", is_flag=True, help="Without a running engine, deny every call. Default: allow it.")
@click.option(
    "--http",
    is_flag=True,
    help="Claude Code only: no process per call, the engine listens on the loopback. As with --fail-closed, calls are "
    "denied without a running engine.",
)
@socket_option("Where the hooks find the engine.")
def install(  # noqa: PLR0913 - click's options, each by its name
    harness: str, scope: Scope | None, path: Path | None, *, dry_run: bool, fail_closed: bool, http: bool
) -> None:
    """Have a harness ask the breaker before every tool call, through hooks in its own settings.

    Everything else in the settings is left as it is, and kept as it was until "breaker uninstall". Installing again
    replaces what was installed. Exits with 2 when the settings cannot be edited; then they were not.
    """
    target = _target(harness, scope)
    try:
        _require_settings(target)
        if http and target.harness.name != "claude-code":
            raise SettingsError(f"{target.harness.title} has no hooks over HTTP. Leave --http out.")
        _require_not_elsewhere(target)
        endpoint = _endpoint() if http else None
        plan = plan_install(target, _wishes(path, endpoint, fail_closed=fail_closed))
        _show(plan)
        if not dry_run:
            if endpoint:
                keep_endpoint(endpoint)
            carry_out(plan)
    except _FAULTS as error:
        _refuse(error)
    _say(_installed(target, plan, endpoint, dry_run=dry_run))


@click.command(
    epilog="""\b
Examples:
  breaker uninstall claude-code
  breaker uninstall codex --dry-run
"""
)
@target_options
def uninstall(harness: str, scope: Scope | None, *, dry_run: bool) -> None:
    """Take the breaker's hooks out of a harness's settings.

    The settings are then byte for byte as they were before "breaker install"; where you have edited them since, only
    the hooks go. Exits with 2 when the settings cannot be edited; then they were not.
    """
    target = _target(harness, scope)
    try:
        _require_settings(target)
        plan = plan_uninstall(target)
        _show(plan)
        if not dry_run:
            carry_out(plan)
        _say(_uninstalled(target, plan, scope, dry_run=dry_run))
    except _FAULTS as error:
        _refuse(error)


# -- inside ---------------------------------------------------------------------------------------------------


def _target(name: str, scope: Scope | None) -> Target:
    harness = HARNESSES[name]
    return Target(harness, scope or harness.default_scope, Path.cwd())


def _other(target: Target) -> Target:
    return Target(target.harness, "user" if target.scope == "project" else "project", target.directory)


def _require_settings(target: Target) -> None:
    if target.scope not in target.harness.scopes:
        raise SettingsError(f"{target.harness.title} keeps no settings of a project. Leave --project out.")


def _require_not_elsewhere(target: Target) -> None:
    """With hooks in both settings every call would be counted twice. Raises SettingsError."""
    other = _other(target)
    if other.path != target.path and _has_entries(other):
        raise SettingsError(
            f"{target.harness.title} has these hooks already, in {other.path}. With two, every call would be counted "
            f"twice. First run: breaker uninstall {target.harness.name} --{other.scope}"
        )


def _has_entries(target: Target) -> bool:
    try:
        return target.scope in target.harness.scopes and bool(entries(target))
    except SettingsError:
        return False  # its harness cannot read it, either


def _wishes(path: Path | None, endpoint: Endpoint | None, *, fail_closed: bool) -> Wishes:
    where = (path or socket_path()).absolute()
    check_socket_path(where)
    return Wishes(
        interpreter=Path(sys.executable).absolute(),
        script=HOOK_SCRIPT,
        socket=where,
        ask_timeout=find().load().config.ask_timeout,
        fail_closed=fail_closed,
        endpoint=endpoint,
    )


def _endpoint() -> Endpoint:
    return load_endpoint() or make_endpoint()


def _show(plan: Plan) -> None:
    for line in plan.diff():
        click.secho(visible(line), fg=_COLOURS.get(line[:1]))


def _installed(target: Target, plan: Plan, endpoint: Endpoint | None, *, dry_run: bool) -> Iterator[str]:
    harness, path = target.harness, visible(str(plan.found.path))
    if dry_run:
        yield f"Nothing was changed. Without --dry-run, {path} would be."
        return
    yield f"{harness.title} asks the breaker." if plan.changes else f"{harness.title} asks the breaker already."
    yield f"  settings   {path}"
    if plan.found.real != plan.found.path:
        yield f"             a link to {visible(str(plan.found.real))}"
    if plan.before is not None:
        yield f"  as it was  {visible(str(plan.backup))}"
    yield f"  undo       breaker uninstall {harness.name} --{target.scope}"
    yield from (f"  to know    {visible(line)}" for line in harness.to_know)
    yield from (f"  to do      {visible(line)}" for line in _left_to_do(target, plan, endpoint))


def _left_to_do(target: Target, plan: Plan, endpoint: Endpoint | None) -> Iterator[str]:
    harness = target.harness
    yield from harness.by_hand
    if target.scope == "project":
        yield f"Keep {plan.found.path.name} out of version control: it names paths of this machine."
        yield from harness.in_project
    if endpoint:
        yield "Start the engine anew: it listens for http hooks from its start. Without one every call is denied."
        if plan.found.data is not None and plan.found.mode & 0o077:
            yield f"Run chmod 600 on {plan.found.path.name}: others can read it, and a secret stands in there now."
    yield f"Run breaker doctor to see whether it works; sessions of {harness.title} under way may need a restart."


def _uninstalled(target: Target, plan: Plan, scope: Scope | None, *, dry_run: bool) -> Iterator[str]:
    title, path = target.harness.title, visible(str(plan.found.path))
    if not plan.changes:
        yield f"There are no hooks of the breaker in {path}."
        other = _other(target)
        if scope is None and _has_entries(other):
            yield f"There are in {visible(str(other.path))}: breaker uninstall {target.harness.name} --{other.scope}"
    elif dry_run:
        yield f"Nothing was changed. Without --dry-run, {path} would be."
    elif plan.after is None:
        yield f"{title} asks the breaker no longer. {path} is gone again: it held nothing else."
    else:
        yield f"{title} asks the breaker no longer: {path}"


def _say(lines: Iterator[str]) -> None:
    for line in lines:
        click.echo(line)


def _refuse(error: Exception) -> NoReturn:
    click.echo(f"breaker: {visible(str(error), 4000)}", err=True)
    sys.exit(REFUSED)
