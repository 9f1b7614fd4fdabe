"""``breaker serve``: the engine alone, without a console."""

from __future__ import annotations

import contextlib
import math
import queue
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn, TextIO

import click
from msgspec import structs

from console.commands.failing import say
from console.commands.journal import journal_kept
from console.commands.options import socket_option
from console.hosting import Collecting, put_agents_first
from console.plain_lines import Lines
from console.text import visible
from engine.config import Config
from engine.configuration.file import ConfigError, find
from engine.configuration.forms import LARGEST
from engine.harnesses.endpoint import load_endpoint
from engine.host import Host
from engine.paths import PathError, socket_path
from engine.service.feed import BoundedFeed
from engine.service.hardening import allow_many_connections, keep_out
from engine.service.listening import EngineRunningError, SocketError

UNUSABLE = 2
LOOK_SECONDS = 0.1
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _number(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    if value is not None and math.isnan(value):  # it is within any bounds
        raise click.BadParameter("that is no number")
    return value


class _StoppedError(BaseException):
    """A signal to stop. No Exception: it may come at any moment, and nothing but the end may catch it."""


@click.command(
    epilog="""\b
Examples:
  breaker serve
  breaker serve --config strict.yaml --no-journal
  breaker serve --socket "$HOME/.cache/breaker/b.sock" > serve.log &

\b
Then, in another terminal:
  breaker attach       answer what it asks; it wants the token that is printed here
  breaker status       look, without a token
"""
)
@socket_option("Where agents find it.")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Use this configuration file alone.")
@click.option(
    "--ask-timeout",
    type=click.FloatRange(0, LARGEST),
    callback=_number,
    help="Seconds an ask waits for an answer, whatever the files say; 0: for ever.",
)
@click.option("--journal", type=click.Path(path_type=Path), help="Keep the journal in this directory.")
@click.option("--no-journal", is_flag=True, help="Keep no journal: nothing is recorded, nothing is recovered.")
def serve(
    path: Path | None, config_file: Path | None, ask_timeout: float | None, journal: Path | None, *, no_journal: bool
) -> None:
    """Run the engine alone, until it is stopped.

    Prints where it listens, then a line for every event worth one, and, on its own terminal only, a token: with it
    one operator can attach. Without a terminal nobody can, and what would be asked is refused.

    Exits with 2 when it cannot start.
    """
    allow_many_connections()
    keep_out()
    put_agents_first()
    try:
        loaded = find(config_file).load()
        where = (path or socket_path()).absolute()
        record = journal_kept(journal, no_journal=no_journal)
        http = load_endpoint()
    except (ConfigError, PathError) as error:
        _refuse(error)
    terminal = _terminal()
    tokens: queue.SimpleQueue[str] = queue.SimpleQueue()

    def adjust(config: Config) -> Config:
        return config if ask_timeout is None else structs.replace(config, ask_timeout=ask_timeout or None)

    announce = tokens.put if terminal else None
    host = Host(loaded, socket=where, journal=record, http=http, announce=announce, adjust=adjust)
    feed = host.subscribe()
    try:
        with _stopped_by_signals(), host:
            _say(_beginning(where, record, attachable=terminal is not None))
            _follow(feed, tokens, terminal)
    except _StoppedError:
        _say(["Stopped."])
    except (EngineRunningError, PathError, SocketError) as error:
        _refuse(error)


@contextlib.contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """The first signal to stop raises _StoppedError; while that is heeded, further ones change nothing."""

    def stop(_: int, __: FrameType | None) -> None:
        for one in STOPPING:
            signal.signal(one, signal.SIG_IGN)
        raise _StoppedError

    for one in STOPPING:
        if signal.getsignal(one) is not signal.SIG_IGN:  # under nohup a hang-up is ignored, and stays so
            signal.signal(one, stop)
    yield


def _terminal() -> TextIO | None:
    """This process's own terminal. Never what its output was sent to instead: a token in a file is anybody's."""
    if sys.stdout.isatty():
        return sys.stdout
    try:
        return open("/dev/tty", "w", encoding="utf-8")  # noqa: PTH123 - open as long as the process runs
    except OSError:
        return None


def _beginning(where: Path, record: Path | None, *, attachable: bool) -> Iterator[str]:
    yield f"Agents: {visible(str(where))}"
    yield f"Journal: {visible(str(record))}" if record else "Journal: none; nothing is recorded."
    if not attachable:
        yield "No terminal to print a token on: nobody can attach, and what would be asked is refused."


def _follow(feed: BoundedFeed, tokens: queue.SimpleQueue[str], terminal: TextIO | None) -> None:
    """Print what happens, until a signal comes or the engine is gone."""
    lines = Lines(answers=False)
    collecting = Collecting()
    while True:
        with contextlib.suppress(queue.Empty):
            token = tokens.get(timeout=LOOK_SECONDS)
            if terminal:
                _say([f"Token for one operator (breaker attach): {token}"], terminal)
        try:
            events = feed.drain()
        except ConnectionError as error:
            _refuse(error)
        _say(lines.told(events, time.time()))
        collecting.look(time.monotonic(), busy=bool(events))


def _say(lines: Iterable[str], where: TextIO | None = None) -> None:
    """Print; a reader that has gone away is no reason to stop guarding."""
    with contextlib.suppress(OSError, ValueError):
        for line in lines:
            print(line, file=where, flush=True)


def _refuse(error: Exception) -> NoReturn:
    say(error)
    sys.exit(UNUSABLE)
