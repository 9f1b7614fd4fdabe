"""The demo: what its agents do to a real breaker, and the whole of it in a real pty."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from console.demo.scenes import Act, Scene, delegate, edit_and_test, report, scout
from engine.breaker import Breaker
from engine.calls import Call, result_of
from engine.verdicts import Outcome, Waiting
from tests.console.terminal import DEADLINE, Terminal

ROOT = Path(__file__).parents[2]
DEMO = [sys.executable, "-m", "console", "demo"]


class Stage:
    """A real breaker that one agent's scenes are played to; ``now`` is the time that it would have taken."""

    def __init__(self, outcome: Outcome) -> None:
        self.now = 0.0
        self.breaker = Breaker(attended=True, clock=lambda: self.now)
        self.outcome = outcome
        self.asked_at: list[float] = []
        self.asked_about: list[str] = []
        self.refused = 0
        self.calls = 0

    def perform(self, act: Act) -> bool:
        self.now += act.thinks
        self.calls += 1
        call_id = f"c{self.calls}"
        answer = self.breaker.decide(Call(call_id, "a", act.tool, act.args))
        if isinstance(answer, Waiting):
            (ask,) = self.breaker.asks()
            self.asked_at.append(self.now)
            self.asked_about.extend(ask.fingerprints)
            (decided,) = self.breaker.answer(ask.id, self.outcome)
            answer = decided.verdict
        if answer.decision == "deny":
            self.refused += 1
            return False
        self.now += act.takes
        self.breaker.settle("a", call_id, result_of(act.result))
        return True

    def play(self, scenes: Iterator[Scene]) -> None:
        for scene in scenes:
            act = next(scene, None)
            while act is not None:
                allowed = self.perform(act)
                try:
                    act = scene.send(allowed)
                except StopIteration:
                    act = None


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("outcome", ["approved", "rejected"])
def test_both_agents_ask_within_the_first_half_minute_and_go_on(seed: int, outcome: Outcome) -> None:
    writer, scouting = Stage(outcome), Stage(outcome)
    writer.perform(delegate("x"))
    scouting.now = writer.now
    writer.play(report(Random(seed)))
    scouting.play(scout(Random(seed)))
    assert writer.asked_about[0] == "host:api.weather.gc.ca"
    assert any("stations.example.org" in fingerprint for fingerprint in scouting.asked_about)
    assert "host:open.canada.ca" in writer.asked_about
    for stage in (writer, scouting):
        assert stage.asked_at[0] < 25
        assert stage.now > stage.asked_at[-1], "it goes on"
        assert bool(stage.refused) == (outcome == "rejected")


def test_approved_and_rejected_agents_do_different_things() -> None:
    approved, rejected = Stage("approved"), Stage("rejected")
    for stage in (approved, rejected):
        stage.play(report(Random(1)))
    assert approved.calls > rejected.calls


@pytest.mark.parametrize("seed", range(20))
def test_the_edit_and_test_cycle_stays_free(seed: int) -> None:
    stage = Stage("rejected")
    stage.play(iter([edit_and_test(Random(seed), rounds=8)]))
    assert stage.calls == 16
    assert not stage.asked_at


def asks(terminal: Terminal) -> list[str]:
    """The asks printed so far, by number."""
    return re.findall(r"ASK \d+ \([^)]*\): (.*) wants to run", terminal.written)


def agents_of(terminal: Terminal) -> tuple[int, Path]:
    """The demo's agents' process, and the socket they talk to."""
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], check=True, capture_output=True, text=True
    ).stdout
    for line in listed.splitlines():
        pid, parent, arguments = line.split(maxsplit=2)
        if int(parent) == terminal.pid and "console.demo.agent" in arguments:
            return int(pid), Path(arguments.split("--socket ")[1].split()[0])
    raise AssertionError(f"no agents among:\n{listed}")


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_demo_from_start_to_quit_in_line_mode() -> None:
    with Terminal([*DEMO, "--plain", "--speed", "8"], columns=120, rows=50, directory=ROOT) as terminal:
        terminal.wait_for_written("nothing is really run")
        terminal.wait_until(lambda: len(asks(terminal)) == 2, "two asks")
        agents, socket = agents_of(terminal)
        assert socket.exists()
        number = {name.split()[0]: number for number, name in enumerate(asks(terminal), 1)}
        terminal.insist(f"reject {number['scout']} they have moved", f"rejected: ask {number['scout']}", "too soon")
        terminal.insist(
            f"approve {number['report-writer']} this turn", f"approved: ask {number['report-writer']}", "too soon"
        )
        terminal.wait_for_written("told: they have moved")
        terminal.wait_for_written("host:api.weather.gc.ca for report-writer")
        terminal.wait_for_written("WARN, host:open.canada.ca")
        terminal.wait_for_written("ASK 3")
        terminal.send_line("quit")
        terminal.wait_for_written("to leave, type: quit anyway")
        terminal.send_line("quit anyway")
        assert terminal.wait_for_exit() == 0
    assert not runs(agents)
    assert not socket.parent.exists()


def test_the_demo_from_start_to_quit_on_the_screen() -> None:
    armed = "approving takes two keys: a, then t"
    about = {"scout": "host:stations.example.org", "report-writer": "host:api.weather.gc.ca"}
    with Terminal([*DEMO, "--speed", "8"], columns=110, rows=40, directory=ROOT) as terminal:
        terminal.wait_for("nothing is really run")
        terminal.send("at" * 20)
        terminal.wait_for("ask 1 of 2")
        agents, socket = agents_of(terminal)
        terminal.wait_for(armed)
        first = who_asks(terminal)
        terminal.send("a")
        terminal.wait_for("t approves; any other key cancels")
        terminal.send("t")
        terminal.wait_until(lambda: stands(terminal, "EXEMPT", about[first]), "the exemption")
        terminal.wait_until(lambda: who_asks(terminal) not in ("", first), "the other ask")
        terminal.wait_for(armed)
        second = who_asks(terminal)
        terminal.send("R")
        terminal.wait_for("reject with this note")
        terminal.send("they have moved\r")
        terminal.wait_until(lambda: stands(terminal, "REFUSED", about[second]), "the refusal")
        terminal.wait_for("url: https://")
        terminal.wait_for(armed)
        terminal.send("r")
        terminal.wait_until(lambda: stands(terminal, "REFUSED", "host:open.canada.ca"), "the other refusal")
        terminal.send("q")
        terminal.wait_for("its engine and its agents stop")
        terminal.send("\r")
        assert terminal.wait_for_exit() == 0
    assert not runs(agents)
    assert not socket.parent.exists()


def stands(terminal: Terminal, stage: str, measure: str) -> bool:
    """Whether the measures show this one at this stage."""
    return any(stage in line and measure in line for line in terminal.lines())


def who_asks(terminal: Terminal) -> str:
    """The name of the agent in the prompt; empty when there is none."""
    return next((line.split()[0] for line in terminal.lines() if "wants to run" in line), "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_demo_that_is_told_to_end_leaves_nothing_behind(number: int) -> None:
    with Terminal([*DEMO, "--plain", "--speed", "8"], directory=ROOT) as terminal:
        terminal.wait_for_written("agent started")
        agents, socket = agents_of(terminal)
        os.kill(terminal.pid, number)
        assert terminal.wait_for_exit() == 128 + number
    assert not runs(agents)
    assert not socket.parent.exists()


def test_a_demo_that_is_killed_takes_its_agents_along() -> None:
    with Terminal([*DEMO, "--plain", "--speed", "8"], directory=ROOT) as terminal:
        terminal.wait_for_written("agent started")
        agents, socket = agents_of(terminal)
        os.kill(terminal.pid, signal.SIGKILL)
        terminal.wait_for_exit()
    deadline = time.monotonic() + DEADLINE
    while runs(agents):
        assert time.monotonic() < deadline, "the agents have not noticed that the engine is gone"
        time.sleep(0.05)
    shutil.rmtree(socket.parent)
