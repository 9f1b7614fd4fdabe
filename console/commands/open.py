"""``breaker``: the console, and the engine in it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from console.commands.journal import journal_kept
from console.commands.options import socket_option
from console.showing import Look, look_options, show
from console.sources import HostSource

if TYPE_CHECKING:
    from engine.host import Host


@click.command(
    name="open",
    epilog="""\b
Examples:
  breaker                               the engine and its console
  breaker --config strict.yaml --no-journal
  breaker --plain < /dev/null           only watch, line by line
""",
)
@socket_option("Where agents find it.")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Use this configuration file alone.")
@click.option("--journal", type=click.Path(path_type=Path), help="Keep the journal in this directory.")
@click.option("--no-journal", is_flag=True, help="Keep no journal: nothing is recorded, nothing is recovered.")
@look_options
def open_console(
    path: Path | None, config_file: Path | None, journal: Path | None, *, no_journal: bool, **look: Any
) -> None:
    """Open the console, with the engine in it.

    Agents find the engine at its socket; what reaches the gate is asked here. With a broken configuration, or with
    another engine at that socket, it does not start and exits with 2.
    """

    def make() -> Host:
        from engine.configuration.file import find  # noqa: PLC0415 - in the source's thread, after the first paint
        from engine.harnesses.endpoint import load_endpoint  # noqa: PLC0415 - as above
        from engine.host import Host  # noqa: PLC0415 - as above
        from engine.service.hardening import allow_many_connections, keep_out  # noqa: PLC0415 - as above

        allow_many_connections()
        keep_out()
        record = journal_kept(journal, no_journal=no_journal)
        where = path.absolute() if path else None
        return Host(find(config_file).load(), socket=where, journal=record, http=load_endpoint())

    name = str(path) if path else "this console's engine"
    sys.exit(show(HostSource(make, name), Look(**look)))
