"""Plugins in a process of their own, on a stand-in for their harness; and engines that are none."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.engine.sockets import DEADLINE, until

HERE = Path(__file__).resolve().parent
NODE = shutil.which("node")

needs_node = pytest.mark.skipif(NODE is None, reason="the plugins are JavaScript: .ci/run brings a node")

WELCOME = {
    "protocol": 1,
    "server": {"name": "repeat-tool-breaker", "version": "0", "pid": 1},
    "limits": {"frame": 16777216, "waiting": 1024, "askTimeout": 300.0},
}
IMPATIENT = WELCOME | {"limits": {"frame": 16777216, "waiting": 1024, "askTimeout": -14.9}}
"""An engine whose verdicts are waited for no longer than a tenth of a second."""


class Stage:
    """A stand-in for a harness, with our plugin on it."""

    script = ""

    def __init__(self, *arguments: object, **variables: str) -> None:
        assert NODE
        environment = {"PATH": os.environ["PATH"]} | variables
        command = [NODE, str(HERE / self.script), *(json.dumps(one) for one in arguments)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        self.warned: list[str] = []
        self._answers: dict[int, dict[str, Any]] = {}
        self._numbers = itertools.count(1)
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def start(self, act: str, **command: Any) -> int:
        """Have something done, and do not wait for it; its number."""
        number = next(self._numbers)
        assert self.process.stdin
        self.process.stdin.write(json.dumps(command | {"act": act, "number": number}) + "\n")
        self.process.stdin.flush()
        return number

    def result(self, number: int) -> Any:
        """What came of it. Raises AssertionError with the message of what it threw."""
        answer = until(lambda: self._answers.get(number) or self.process.poll() is not None, f"an answer to {number}")
        assert answer is not True, f"the process has ended: {self.process.communicate()}"
        if "threw" in answer:
            raise Thrown(answer["threw"])
        return answer["gave"]

    def do(self, act: str, **command: Any) -> Any:
        return self.result(self.start(act, **command))

    def done(self, number: int) -> bool:
        """Whether something has come of it yet."""
        return number in self._answers

    def leave(self) -> int:
        """Nothing more is to be done: the exit code of the process, which must end of itself."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait(DEADLINE)

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            message = json.loads(line)
            if "warned" in message:
                self.warned.append(message["warned"])
            else:
                self._answers[message["answers"]] = message


class Thrown(Exception):  # noqa: N818 - what the plugin threw at its harness, which is how it speaks there
    pass


Kind = TypeVar("Kind", bound=Stage)


@contextlib.contextmanager
def stage(kind: type[Kind], *arguments: object, **variables: str) -> Iterator[Kind]:
    """A stand-in, until the end of the test, by when it must not have crashed."""
    one = kind(*arguments, **variables)
    try:
        yield one
        assert one.process.poll() in {None, 0}, one.process.communicate()
    finally:
        one.process.kill()
        one.process.wait()
        for stream in (one.process.stdin, one.process.stdout, one.process.stderr):
            assert stream
            with contextlib.suppress(OSError):
                stream.close()


Reply = Callable[[dict[str, Any]], Any]
"""What to answer to a message: a result, bytes as they are, None for nothing, HANG_UP."""
HANG_UP = object()


class PretendEngine:
    """Something that listens where an engine would. ``heard`` is every message, in order."""

    def __init__(self, path: Path, reply: Reply) -> None:
        self.heard: list[dict[str, Any]] = []
        self._path = path
        self._reply = reply
        self._open: list[socket.socket] = []
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> PretendEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def methods(self) -> list[str]:
        return [message["method"] for message in self.heard]

    def stop(self) -> None:
        """Be gone, with every connection."""
        self._path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self._open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as lines:
            for line in lines:
                message = json.loads(line)
                self.heard.append(message)
                answer = self._reply(message)
                if answer is HANG_UP:
                    connection.shutdown(socket.SHUT_RDWR)
                    return
                if isinstance(answer, bytes):
                    connection.sendall(answer)
                elif answer is not None and "id" in message:
                    body = {"jsonrpc": "2.0", "id": message["id"], "result": answer}
                    connection.sendall(json.dumps(body).encode() + b"\n")


def replies(**by_method: Any) -> Reply:
    """Welcomes whoever comes, and answers by method, its slash an underscore; whatever else there is, with nothing."""
    answers = {"initialize": WELCOME} | {method.replace("_", "/"): reply for method, reply in by_method.items()}

    def reply(message: dict[str, Any]) -> Any:
        answer = answers.get(message["method"])
        return answer(message) if callable(answer) else answer

    return reply
