"""Line mode as a process: without a terminal's size, on dumb terminals, in pipes, in any encoding."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

import pytest

from tests.console.fronts import ROOT, Agent, command, front
from tests.console.terminal import DEADLINE

BARE = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "PYTHONDONTWRITEBYTECODE": "1"}


class Piped:
    """The line mode between two pipes."""

    def __init__(self, place: Path, environment: Mapping[str, str]) -> None:
        self.written = ""
        self.process = subprocess.Popen(
            command("plain", place),
            cwd=ROOT,
            env={**BARE, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def send_line(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def end_input(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.stdin = None

    def read(self, seconds: float) -> bool:
        """Take in what was written. False at its end."""
        assert self.process.stdout
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            return True
        read = os.read(self.process.stdout.fileno(), 65536)
        self.written += read.decode()
        return bool(read)

    def wait_for(self, text: str) -> None:
        self.wait_until(lambda: text in self.written, repr(text))

    def wait_until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + DEADLINE
        while not holds():
            assert time.monotonic() < deadline, f"waited for {what}:\n{self.written}"
            assert self.read(0.1) or holds(), f"ended before {what}:\n{self.written}"

    def insist(self, line: str, done: str) -> None:
        """Type a line, again as often as it comes too soon."""
        while done not in self.written:
            before = self.written.count("too soon")
            self.send_line(line)
            self.wait_until(lambda n=before: done in self.written or self.written.count("too soon") > n, done)  # type: ignore[misc]
            self.read(0.1)


def bring_to_the_gate(agent: Agent) -> int:
    """Make the same call until it waits; the number of its request."""
    agent.ask("initialize", protocol=1)
    call = {"agent": "a1", "tool": "bash", "args": {"command": "make é"}}
    for count in range(11):
        assert agent.ask("call/decide", id=f"c{count}", **call)["result"]["decision"] == "allow"
    return agent.tell("call/decide", id="c11", **call)


def test_a_dumb_terminal_without_a_size(place: Path) -> None:
    with front("plain", place, term="dumb", columns=0, rows=0) as terminal, Agent(place) as agent:
        call = bring_to_the_gate(agent)
        terminal.wait_for_written("type: approve 1 this turn")
        terminal.insist("approve 1 this turn", "approved: ask 1", "too soon")
        assert agent.answer_to(call)["result"]["outcome"] == "approved"
        terminal.interrupt()
        assert terminal.wait_for_exit() == 130
        written = terminal.written
    assert "\x1b" not in written
    assert written.count("\x07") == 1


def test_pipes_take_answers_and_hear_no_bell(place: Path) -> None:
    with Piped(place, {"LC_ALL": "C.UTF-8"}) as piped, Agent(place) as agent:
        call = bring_to_the_gate(agent)
        piped.wait_for("type: reject 1")
        piped.insist("reject 1 It is  built already", "rejected: ask 1")
        verdict = agent.answer_to(call)["result"]
        assert verdict["outcome"] == "rejected"
        assert "It is built already" in verdict["reason"]
        piped.send_line("quit")
        piped.wait_for("leaving")
        assert piped.process.wait(DEADLINE) == 0
    assert piped.written.replace("\n", "").isprintable()
    assert "  | make é\n" in piped.written


def test_lines_that_waited_in_the_pipe_answer_nothing(place: Path) -> None:
    with Piped(place, {}) as piped, Agent(place) as agent:
        for number in range(1, 4):
            piped.send_line(f"approve {number} this turn")
            piped.send_line(f"reject {number}")
        bring_to_the_gate(agent)
        piped.wait_for("type: reject 1")
        piped.send_line("show 1")
        piped.wait_until(lambda: piped.written.count("type: reject 1") == 2, "the ask again: it is open")
    assert piped.written.count("no ask is open") == 6
    assert "approved" not in piped.written


def test_after_the_end_of_the_input_it_only_watches_and_no_agent_waits_for_it(place: Path) -> None:
    with Piped(place, {}) as piped, Agent(place) as agent:
        waits = bring_to_the_gate(agent)
        piped.wait_for("type: reject 1")
        piped.end_input()
        assert agent.answer_to(waits)["result"]["outcome"] == "unattended"
        piped.wait_for("input has ended")
        piped.wait_for("ask 1 is closed")
        agent.ask("turn/start", agent="a1")
        waits = bring_to_the_gate(agent)
        assert agent.answer_to(waits)["result"]["outcome"] == "unattended"
        piped.wait_for("turn 2 begins")
        piped.process.terminate()
        assert piped.process.wait(DEADLINE) == 128 + signal.SIGTERM


@pytest.mark.parametrize("environment", [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "ascii"}])
def test_an_encoding_that_lacks_half_of_it(place: Path, environment: dict[str, str]) -> None:
    with Piped(place, {"PYTHONCOERCECLOCALE": "0", **environment}) as piped, Agent(place) as agent:
        bring_to_the_gate(agent)
        piped.wait_for("type: reject 1")
    assert "make \\xe9" in piped.written
    assert piped.written.isascii()


def test_a_reader_that_goes_away_ends_it_without_a_complaint(place: Path) -> None:
    complaints = place.parent / "complaints"
    with complaints.open("wb") as stderr:
        process = subprocess.Popen(
            command("plain", place), cwd=ROOT, env=BARE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
        )
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b"help\n")
        process.stdin.flush()
        assert process.wait(DEADLINE) == 0
        process.stdin.close()
    assert complaints.read_text() == ""


def test_an_engine_that_cannot_start_says_why(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(place))
        other.listen()
        with Piped(place, {}) as piped:
            piped.wait_for("the engine is gone: ")
            assert piped.process.wait(DEADLINE) == 1
    assert str(place) in piped.written
    assert "Traceback" not in piped.written
