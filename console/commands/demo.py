"""``breaker demo``: the console on agents that loop, with nothing at stake."""

from __future__ import annotations

import sys
from typing import Any

import click

from console.showing import Look, look_options, show


@click.command(
    epilog="""\b
Examples:
  breaker demo                the console, two agents, the first asks after some ten seconds
  breaker demo --speed 3      the same, faster
  breaker demo --plain        line by line, answers are typed
""",
)
@click.option(
    "--seed", type=int, default=4, show_default=True, help="What the agents make up; the same seed, the same."
)
@click.option(
    "--speed", type=click.FloatRange(0.1, 100), default=1.0, show_default=True, help="How fast the agents work."
)
@look_options
def demo(seed: int, speed: float, **look: Any) -> None:
    """Watch two agents loop, and answer for them.

    A real agent process talks to a real engine on a private socket. Its calls run nothing and its results are made
    up; your own engine, configuration and journals are not touched.
    """
    from console.demo.source import DemoSource  # noqa: PLC0415 - not for --help

    sys.exit(show(DemoSource(seed, speed), Look(**look)))
