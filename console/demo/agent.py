"""The demo's agent process: a main agent and a sub-agent, each in a thread, at a real socket.

``python -m console.demo.agent --socket PATH --seed N --speed X``. It runs no call: it asks whether it may, waits as
long as a tool would take, and hands in the result that its scene has made up. It goes on, a turn after the other,
until the engine is gone or it is told to end.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import threading
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from random import Random

from console.demo.scenes import Act, Scene, delegate, report, scout
from engine.client import BreakerUnreachableWarning, Client

HARNESS = "demo"
BETWEEN_TURNS = 6.0
"""Seconds until the next human message, when the agents have come to their end."""


class Player:
    """One agent: plays scenes through its own client. ``speed`` 2 halves every wait."""

    def __init__(self, client: Client, speed: float) -> None:
        self._client = client
        self._speed = speed
        self._numbers = itertools.count(1)

    def play(self, scenes: Iterable[Scene]) -> None:
        """Play scene after scene; each is told what became of its calls."""
        for scene in scenes:
            act = next(scene, None)
            while act is not None:
                allowed = self.perform(act)
                try:
                    act = scene.send(allowed)
                except StopIteration:
                    act = None

    def perform(self, act: Act) -> bool:
        """Make one call, and wait for the operator if need be. Whether it was allowed."""
        call_id = f"call-{next(self._numbers)}"
        self.wait(act.thinks)
        if self._client.decide(call_id, act.tool, act.args).decision == "deny":
            return False
        self.wait(act.takes)
        self._client.settle(call_id, act.result)
        return True

    def wait(self, seconds: float) -> None:
        time.sleep(seconds / self._speed)


def write_reports(socket: Path, seed: int, speed: float) -> None:
    """The main agent, turn after turn, and its sub-agent beside it. It ends when the engine is gone."""
    random = made_up_by(seed)
    agent = f"demo-{random.randrange(16**4):04x}"
    with Client(agent, socket=socket, harness=HARNESS, name="report-writer") as client:
        player = Player(client, speed)
        for turn in itertools.count(1):
            if turn > 1:
                client.start_turn()
            player.perform(delegate("Find out which stations report hourly."))
            scouting = (socket, agent, random.randrange(2**32), speed)
            beside = threading.Thread(target=send_scout, args=scouting, daemon=True)
            beside.start()
            player.play(report(random))
            beside.join()
            player.wait(BETWEEN_TURNS)


def send_scout(socket: Path, parent: str, seed: int, speed: float) -> None:
    """The sub-agent, from its start to its end."""
    random = made_up_by(seed)
    agent = f"{parent}-{random.randrange(16**4):04x}"
    with (
        contextlib.suppress(BreakerUnreachableWarning),
        Client(agent, socket=socket, parent=parent, harness=HARNESS, name="scout") as client,
    ):
        Player(client, speed).play(scout(random))
        client.end()


def made_up_by(seed: int) -> Random:
    """The same numbers for the same seed."""
    return Random(seed)  # noqa: S311 - for variety on the screen, no secret hangs on it


def main() -> None:
    """Read the options and work."""
    parser = argparse.ArgumentParser(description="The demo's agents. They run nothing.")
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--speed", type=float, required=True)
    options = parser.parse_args()
    warnings.simplefilter("error", BreakerUnreachableWarning)  # no engine, no demo
    with contextlib.suppress(BreakerUnreachableWarning, KeyboardInterrupt):
        write_reports(options.socket, options.seed, options.speed)


if __name__ == "__main__":
    main()
