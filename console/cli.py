"""``breaker``: the command line. Each subcommand lives in a module of its own, imported when it is called.

So no command pays for what it does not use: ``breaker status`` never imports Textual.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

COMMANDS: dict[str, tuple[str, str]] = {
    "attach": ("console.commands.attach:attach", "the console of an engine that runs elsewhere"),
    "config": ("console.commands.config:config", "check, show or describe the configuration"),
    "demo": ("console.commands.demo:demo", "watch agents that loop, and answer for them; nothing is really run"),
    "doctor": ("console.commands.doctor:doctor", "whether agents are guarded here, and what stands in the way"),
    "explain": ("console.commands.explain:explain", "why two calls collide, or do not"),
    "install": ("console.commands.install:install", "have an agent's harness ask the breaker before every tool call"),
    "open": ("console.commands.open:open_console", "the console, and the engine in it; what bare breaker does"),
    "replay": ("console.commands.replay:replay", "run a recorded session through the breaker"),
    "report": ("console.commands.report:report", "what happened in a session: loops, advice, asks, time"),
    "serve": ("console.commands.serve:serve", "run the engine alone, without a console"),
    "status": ("console.commands.status:status", "agents, hottest measures and open asks of a running engine"),
    "sweep": ("console.commands.sweep:sweep", "what other thresholds would have done to recorded sessions"),
    "tail": ("console.commands.tail:tail", "watch a journal or a harness's transcript as it is written"),
    "uninstall": ("console.commands.install:uninstall", "take the breaker's hooks out of a harness's settings"),
}
"""Subcommand: where it lives (``module:attribute``) and its line in the list of commands."""

OPENED_WHEN_BARE = "open"
"""The subcommand that a bare ``breaker`` runs."""
OWN_OPTIONS = frozenset({"-h", "--help", "--version"})
"""Options of ``breaker`` itself."""


class LazyGroup(click.Group):
    """A group that imports a subcommand when it is called, and lists them without importing any."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Without a subcommand the arguments are those of ``OPENED_WHEN_BARE``."""
        if not args or (args[0].startswith("-") and args[0] not in OWN_OPTIONS):
            args = [OPENED_WHEN_BARE, *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand; what the system refuses it ends in words."""
        from console.commands.failing import open_missing_streams, printing  # noqa: PLC0415 - not for --help

        open_missing_streams()
        with printing():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, attribute = place[0].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)  # noqa: S101 - a slip in COMMANDS, not in anybody's input
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in sorted(COMMANDS.items())])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="repeat-tool-breaker", prog_name="breaker")
def main() -> None:
    """See an agent's loop coming, and stop it.

    The breaker counts what each tool call is, not how it is spelled, and asks you at the gate.

    Without a command it opens the console; breaker open --help lists the options.
    """
