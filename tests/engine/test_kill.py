"""kill -9 at any moment: what stood before stands after the restart, but for at most the event under way.

``BREAKER_KILLS`` says how often to kill; by default as often as one has patience for with every change.
"""

from __future__ import annotations

import contextlib
import os
import pty
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from engine.breaker import Breaker
from engine.checkpoint import Checkpoint
from engine.config import Config
from engine.configuration.file import load
from engine.events import AgentSnapshot, Event, Snapshot
from engine.journal_parts import parts_in
from engine.journal_reader import recover
from engine.operator_client import RemoteOperator, connect
from engine.paths import operator_socket_path
from tests.engine.sockets import BREAKER, ROOT, Wire, listens, short_directory, until
from tests.engine.steps import TIGHT, Step, comparable, named, steps_at_random, take

KILLS = int(os.environ.get("BREAKER_KILLS", "0"))
ENGINE_KILLS = KILLS or 15
JOURNAL_KILLS = KILLS or 25

CONFIG = """
window: 6
warnAt: 2
summarizeAt: 3
failWarnAt: 2
failLimit: 3
limits: {exact: 4, cmd: 4, host: 5, net: 4, sink: 4}
"""


class Standing:
    """Where a breaker stood at one moment."""

    def __init__(self, breaker: Breaker) -> None:
        self.checkpoint = breaker.checkpoint()
        self.agents = shown(breaker.snapshot())

    def is_found_in(self, past: Checkpoint) -> bool:
        return comparable(past, waiting=False) == comparable(self.checkpoint, waiting=False)


def shown(snapshot: Snapshot) -> dict[str, AgentSnapshot]:
    """What an operator sees of each agent, but for when it was last heard of."""
    return {agent.agent: structs.replace(agent, last_seen=0.0) for agent in snapshot.agents}


class Shadow:
    """A breaker that is never killed, given the same steps, and where it stood after each event of the latest."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.go_on_from(Checkpoint(0.0, config.window))

    def go_on_from(self, checkpoint: Checkpoint) -> None:
        self.breaker = Breaker(self.config, attended=True, listener=self._heard)
        self.breaker.restore(checkpoint)
        self.stood = [Standing(self.breaker)]

    def take(self, step: Step) -> None:
        self.stood = [Standing(self.breaker)]
        take(self.breaker, step)
        self.stood.append(Standing(self.breaker))

    def _heard(self, _: Event) -> None:
        self.stood.append(Standing(self.breaker))

    def find(self, past: Checkpoint) -> Standing | None:
        """The latest moment of the latest step that ``past`` tells of."""
        return next((standing for standing in reversed(self.stood) if standing.is_found_in(past)), None)


@pytest.fixture
def seed() -> str:
    """Every run is another; a failure says which."""
    return f"{random.SystemRandom().getrandbits(32):x}"


def test_a_journal_killed_at_any_moment_tells_where_its_breaker_stood(tmp_path: Path, seed: str):
    moments = random.Random(seed)
    shadow = Shadow(TIGHT)
    acknowledged = 0
    for number in range(JOURNAL_KILLS):
        command = [sys.executable, "-m", "tests.engine.journaling", str(tmp_path / "journal"), f"{seed}-{number}"]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
            assert process.stdout
            done = len(process.stdout.read(1))
            time.sleep(moments.uniform(0, 0.1))
            process.kill()
            done += len(process.stdout.read())
        assert process.returncode == -signal.SIGKILL
        steps = steps_at_random(random.Random(f"{seed}-{number}"))
        for _ in range(done):
            take(shadow.breaker, next(steps))
        shadow.take(next(steps))
        past = recover(tmp_path / "journal", TIGHT)
        standing = shadow.find(past.checkpoint)
        assert standing, f"kill {number} after {done} steps, seed {seed}"
        assert all("no end" in warning or ".checkpoint" in warning for warning in past.warnings)
        shadow.go_on_from(standing.checkpoint)
        acknowledged += done
    assert acknowledged > JOURNAL_KILLS
    assert len(parts_in(tmp_path / "journal")) > 1


class Engine:
    """``breaker serve`` on a terminal of its own, an agent's wire to it and an operator."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "e.sock"
        command = [*BREAKER, "serve", "--socket", str(self.path), "--journal", str(directory / "journal")]
        command += ["--config", str(directory / "breaker.yaml"), "--ask-timeout", "0"]
        self._terminal, inner = pty.openpty()
        self.process = subprocess.Popen(
            command, cwd=directory, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=inner, stdout=inner, stderr=inner
        )
        os.close(inner)
        self._printed = bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.operator: RemoteOperator | None = None
        self.wire: Wire | None = None

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # how a terminal ends
            while data := os.read(self._terminal, 1 << 16):
                self._printed += data

    def meet(self) -> Snapshot:
        """Attach and connect; what the operator is shown first."""
        said = b"breaker attach): "
        until(lambda: b"\n" in self._printed.partition(said)[2] or self.process.poll(), "a token is printed")
        token = self._printed.partition(said)[2].split()[0].decode()
        self.operator = connect(operator_socket_path(self.path), token)
        until(lambda: listens(self.path), "the engine listens")
        self.wire = Wire(self.path)
        assert "result" in self.wire.ask("initialize", protocol=1)
        first = until(self.operator.subscribe().drain)[0]
        assert isinstance(first, Snapshot)
        return first

    def take(self, step: Step, *, waits: bool) -> None:
        """Take a step as an agent or an operator does, and wait until the engine has done it.

        Raises OSError or EOFError when it dies meanwhile.
        """
        match step:
            case ["decide", agent, call_id, tool, command]:
                self._request("call/decide", waits=waits, id=call_id, agent=agent, tool=tool, args={"command": command})
            case ["settle", agent, call_id, result]:
                self._request("call/settle", id=call_id, agent=agent, result=result)
            case ["turn", agent]:
                self._request("turn/start", agent=agent)
            case ["start", agent, parent]:
                self._request("agent/start", agent=agent, parent=parent, harness="test", name=agent.upper())
            case ["end", agent]:
                self._request("agent/end", agent=agent)
            case ["cancel", agent, call_id]:
                self._request("call/cancel", agent=agent, id=call_id)
            case [act, *given]:
                assert self.operator
                {
                    "answer": self.operator.answer,
                    "reset": self.operator.reset_turn,
                    "revoke": self.operator.revoke,
                    "lift": self.operator.lift,
                }[act](*given)

    def _request(self, method: str, *, waits: bool = False, **params: Any) -> None:
        """Send and read on to the answer. A call that waits has none yet; then the next request's says it is there."""
        assert self.wire
        wanted = self.wire.send(method, **params)
        if waits:
            wanted = self.wire.send("status")
        while True:
            line = self.wire.read_line()
            if not line:
                raise EOFError
            if f'"id":{wanted},'.encode() in line:
                assert b'"error":{' not in line
                return

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for one in (self.operator, self.wire):
            if one:
                with contextlib.suppress(ConnectionError):
                    one.close()
        self._reader.join()
        os.close(self._terminal)


@contextlib.contextmanager
def engine(directory: Path) -> Iterator[Engine]:
    started = Engine(directory)
    try:
        yield started
    finally:
        started.end()


def test_an_engine_killed_at_any_moment_goes_on_where_it_stood(seed: str):
    chance = random.Random(seed)
    acknowledged = 0
    with short_directory() as directory:
        file = directory / "breaker.yaml"
        file.write_text(CONFIG)
        shadow = Shadow(structs.replace(load(file).config, ask_timeout=None))
        standing = shadow.stood[0]
        for number in range(ENGINE_KILLS):
            with engine(directory) as running:
                if chance.random() < 0.2:  # before it has begun
                    time.sleep(chance.uniform(0, 0.5))
                else:
                    assert shown(running.meet()) == standing.agents, f"start {number}, seed {seed}"
                    acknowledged += drive(running, shadow, chance)
            past = recover(directory / "journal", shadow.config)
            found = shadow.find(past.checkpoint)
            assert found, f"kill {number} after {acknowledged} steps, seed {seed}"
            standing = found
            shadow.go_on_from(standing.checkpoint)
        with engine(directory) as running:
            assert shown(running.meet()) == standing.agents
    assert acknowledged > ENGINE_KILLS


def drive(running: Engine, shadow: Shadow, chance: random.Random) -> int:
    """Take steps until the engine is killed, by somebody who does not look. How many it has acknowledged."""
    killer = threading.Timer(chance.uniform(0, 0.3), running.process.kill)
    killer.start()
    for number, numbered in enumerate(steps_at_random(chance)):
        step = named(shadow.breaker, numbered)
        if not step:
            continue
        waiting = len(shadow.breaker.snapshot().waiting)
        shadow.take(step)
        waits = len(shadow.breaker.snapshot().waiting) > waiting
        try:
            running.take(step, waits=waits)
        except (OSError, EOFError):
            killer.join()
            return number
    raise AssertionError("steps have no end")
