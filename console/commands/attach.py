"""``breaker attach``: the console on an engine that runs elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from console.commands.failing import say
from console.commands.options import socket_option
from console.showing import UNUSABLE, Look, look_options, show
from console.sources import AttachSource


@click.command(
    epilog="""\b
Examples:
  breaker attach                        asks for the token that breaker serve printed
  breaker attach --socket /run/user/1000/other/engine.sock
"""
)
@socket_option("Where agents find the engine.")
@look_options
def attach(path: Path | None, **look: Any) -> None:
    """Answer for an engine that breaker serve runs.

    Asks for the token that the engine printed on its own terminal; it is not shown while it is typed, and is never
    taken from the command line, where others could read it. Exits with 2 when it is not let in.
    """
    from engine.operator_client import AttachError, connect, reach  # noqa: PLC0415 - as above
    from engine.paths import PathError, operator_socket_path, socket_path  # noqa: PLC0415 - as above
    from engine.service.hardening import keep_out  # noqa: PLC0415 - breaker --help needs none of it

    keep_out()
    try:
        agents = (path or socket_path()).absolute()
        where = operator_socket_path(agents)
        reach(where)
        token = click.prompt("Token", hide_input=True, err=True)
        operator = connect(where, token.strip())
    except (AttachError, ConnectionError, PathError) as error:
        say(error)
        sys.exit(UNUSABLE)
    sys.exit(show(AttachSource(operator, f"attached to {agents.name}"), Look(**look)))
