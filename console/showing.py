"""A source put on the terminal: full screen where there is one, line by line where there is not."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct

from console.hosting import put_agents_first
from console.sources import Source
from console.text import visible

if TYPE_CHECKING:
    from console.app import ConsoleApp, Options

UNUSABLE = 2
"""Exit code when there is nothing to show."""
END_SECONDS = 3.0
"""How long the screen may take to be put away once a signal has told this process to end."""
PLAIN_TERMINALS = frozenset({"", "dumb", "unknown"})
THEMES = ("dark", "light", "terminal")

Command = TypeVar("Command", bound=Callable[..., Any])


class Look(Struct, frozen=True):
    """How the operator wants it: what ``look_options`` takes."""

    plain: bool = False
    theme: str = "dark"
    bell: bool = True
    title: bool = True
    notify: bool = True


def look_options(command: Command) -> Command:
    """The options of every command that shows a console. They arrive as the fields of a ``Look``."""
    options = (
        click.option("--plain", is_flag=True, help="Append-only lines and typed answers: screen readers, logs, pipes."),
        click.option(
            "--theme",
            type=click.Choice(THEMES),
            default="dark",
            show_default=True,
            help="Colours; terminal: the terminal's own.",
        ),
        click.option("--no-bell", "bell", flag_value=False, default=True, help="Do not ring when an agent asks."),
        click.option("--no-title", "title", flag_value=False, default=True, help="Leave the window's title alone."),
        click.option("--no-notify", "notify", flag_value=False, default=True, help="No desktop notifications."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def show(source: Source, look: Look, make: Callable[[Options], ConsoleApp] | None = None) -> int:
    """Show a source until the operator leaves or it is gone, and close it. Returns the exit code.

    ``make`` makes the application, where it is not the usual one; it is called only when there is a screen.
    """
    put_agents_first()
    if look.plain or not has_screen():
        from console.plain import run_plain  # noqa: PLC0415 - either this or the screen is needed, never both

        return run_plain(source, sys.stdout, sys.stdin, bell=look.bell)
    from console.app import ConsoleApp, Options  # noqa: PLC0415 - Textual, for who draws
    from console.attention import Settings  # noqa: PLC0415 - as above
    from console.themes import SHORT  # noqa: PLC0415 - as above

    options = Options(SHORT[look.theme], Settings(look.bell, look.title, look.notify))
    app = make(options) if make else ConsoleApp(source, options)

    def end(number: int, _frame: object) -> None:
        app.exit(128 + number)
        threading.Thread(target=_end_anyway, args=(source, 128 + number), daemon=True).start()

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    try:
        code = app.run()
    finally:
        source.close()
    if app.gone and not app.was_live:
        click.echo(f"breaker: {visible(app.trouble, 2000)}", err=True)
        return UNUSABLE
    return (app.return_code or 0) if code is None else code


def _end_anyway(source: Source, code: int) -> None:
    """A terminal that is gone can hold up what still draws on it for ever; an engine must not outlive its operator."""
    time.sleep(END_SECONDS)
    source.close()
    os._exit(code)


def has_screen() -> bool:
    """Whether there is a terminal that can be drawn on."""
    terminals = sys.stdin.isatty() and sys.stdout.isatty()
    return terminals and os.environ.get("TERM", "") not in PLAIN_TERMINALS
