"""``breaker demo``: the console on agents that loop, with nothing at stake."""

from __future__ import annotations

import signal
import sys

import click


@click.command()
@click.option(
    "--seed", type=int, default=4, show_default=True, help="What the agents make up; the same seed, the same."
)
@click.option(
    "--speed",
    type=click.FloatRange(0.1, 100),
    default=1.0,
    show_default=True,
    help="How fast the agents work.",
)
@click.option("--plain", is_flag=True, help="Append-only lines and typed answers, for screen readers and pipes.")
def demo(seed: int, speed: float, *, plain: bool) -> None:
    """Watch two agents loop, and answer for them.

    A real agent process talks to a real engine on a private socket. Its calls run nothing and its results are made
    up; your own engine, configuration and journals are not touched.
    """
    from console.demo.source import DemoSource  # noqa: PLC0415 - only for who asks for it

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    source = DemoSource(seed, speed)
    if plain:
        from console.plain import run_plain  # noqa: PLC0415 - as above

        sys.exit(run_plain(source, sys.stdout, sys.stdin))
    from console.app import ConsoleApp  # noqa: PLC0415 - Textual, for who draws

    try:
        sys.exit(ConsoleApp(source).run())
    finally:
        source.close()


def _leave(number: int, _frame: object) -> None:
    """Told to end, take the engine, the agents and the directory along."""
    sys.exit(128 + number)
