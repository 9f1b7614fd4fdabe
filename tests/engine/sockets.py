"""Real sockets for tests: a wire that speaks the protocol by hand, engines in this process and in one of their own."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from engine.config import DEFAULTS, Config
from engine.host import Host

DEADLINE = 30.0
"""Seconds; long, because it is only waited for when a test is about to fail."""
BREAKER = [sys.executable, "-c", "from console.cli import main; main()"]
ROOT = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def short_directory() -> Iterator[Path]:
    """A private directory whose path leaves room for a socket's."""
    directory = Path(tempfile.mkdtemp(prefix="rtb-", dir="/tmp"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def until(holds: Callable[[], Any], what: str = "") -> Any:
    """What ``holds`` gives once it gives something true; fails when that takes too long."""
    give_up = time.monotonic() + DEADLINE
    while not (found := holds()):
        if time.monotonic() > give_up:
            raise AssertionError(f"never came true: {what or holds}")
        time.sleep(0.005)
    return found


def listens(path: Path) -> bool:
    """Whether somebody takes connections there."""
    with socket.socket(socket.AF_UNIX) as probing, contextlib.suppress(OSError):
        probing.connect(str(path))
        return True
    return False


class Wire:
    """A client by hand: bytes out, lines in."""

    def __init__(self, path: Path, agent: str = "") -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(DEADLINE)
        self.socket.connect(str(path))
        self._received = b""
        self._numbers = itertools.count(1)
        if agent:
            assert "result" in self.ask("initialize", protocol=1, agent={"id": agent})

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def write(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send(self, method: str, **params: Any) -> int:
        """Send a request; its id."""
        number = next(self._numbers)
        self.write(frame(method, number, **params))
        return number

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and read its answer, which must be the next."""
        number = self.send(method, **params)
        answer = self.read()
        assert answer["id"] == number, answer
        return answer

    def decide(self, call: str, tool: str = "bash", **args: Any) -> dict[str, Any]:
        return self.ask("call/decide", id=call, tool=tool, args=args)["result"]

    def read_line(self) -> bytes:
        """The next line; nothing at the end."""
        while b"\n" not in self._received:
            data = self.socket.recv(1 << 16)
            if not data:
                return b""
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        return line

    def read(self) -> dict[str, Any]:
        line = self.read_line()
        assert line, "the server hung up"
        return json.loads(line)

    def hung_up(self) -> bool:
        """Wait for the server's end of file."""
        try:
            return self.read_line() == b""
        except ConnectionResetError:
            return True


def frame(method: str, number: Any = None, **params: Any) -> bytes:
    """A request as a line; without ``number`` a notification."""
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    if number is None:
        del message["id"]
    return json.dumps(message).encode() + b"\n"


@contextlib.contextmanager
def hosted(config: Config = DEFAULTS, **options: Any) -> Iterator[tuple[Host, Path]]:
    """An engine in this process, and where agents find it."""
    with short_directory() as directory:
        path = directory / "e.sock"
        with Host(config, socket=path, **options) as host:
            yield host, path


@contextlib.contextmanager
def served(*options: str, directory: Path, **how: Any) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """``breaker serve`` in a process of its own, and where agents find it."""
    path = directory / "e.sock"
    command = [*BREAKER, "serve", "--socket", str(path), *options]
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True} | how
    environment = {
        **os.environ,
        "XDG_CONFIG_HOME": str(directory),
        "XDG_STATE_HOME": str(directory),
        "PYTHONPATH": str(ROOT),
    }
    process = subprocess.Popen(command, env=environment, cwd=directory, **how)
    try:
        until(lambda: listens(path) or process.poll() is not None, "the engine listens")
        assert process.poll() is None, process.communicate()
        yield process, path
    finally:
        process.kill()
        process.communicate()


def printed(process: subprocess.Popen[str], text: str) -> str:
    """What a process printed until ``text`` was in it."""
    assert process.stdout
    descriptor = process.stdout.fileno()
    os.set_blocking(descriptor, False)
    found = b""

    def enough() -> bool:
        nonlocal found
        with contextlib.suppress(BlockingIOError):
            found += os.read(descriptor, 1 << 16)
        return text.encode() in found

    until(enough, f"{text!r} was printed")
    return found.decode()


def gate_open(wire: Wire, command: str = "make", cap: int = 12) -> None:
    """Bring the wire's agent to where its next call of this command meets the gate."""
    for number in range(cap - 1):
        assert wire.decide(f"before-{number}", command=command)["decision"] == "allow"
