"""A front end of ours at a real engine, and an agent that speaks to it byte by byte."""

from __future__ import annotations

import json
import socket
import sys
import time
from pathlib import Path
from typing import Any, Literal, Self

from tests.console.terminal import DEADLINE, Terminal

ROOT = Path(__file__).parents[2]
Front = Literal["plain", "screen"]


def command(front_end: Front, place: Path) -> list[str]:
    """What runs an engine at ``place`` behind a front end, from ``ROOT``."""
    return [sys.executable, "-m", "tests.console.engine_front", front_end, str(place)]


def front(front_end: Front, place: Path, **options: Any) -> Terminal:
    """The same in a terminal."""
    return Terminal(command(front_end, place), directory=ROOT, **({"columns": 120, "rows": 45} | options))


class Agent:
    """An agent that writes its frames itself, so that no encoder makes them decent. Waits until there is an engine."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(DEADLINE)
        self._connect(path)
        self._lines = self._socket.makefile("rb")
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._socket.close()

    def _connect(self, path: Path) -> None:
        deadline = time.monotonic() + DEADLINE
        while True:
            try:
                self._socket.connect(str(path))
            except (FileNotFoundError, ConnectionRefusedError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return

    def tell(self, method: str, **params: Any) -> int:
        """Send a request, without waiting for its answer."""
        self._number += 1
        frame = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._socket.sendall(json.dumps(frame).encode() + b"\n")
        return self._number

    def answer_to(self, number: int) -> dict[str, Any]:
        """Wait for the answer to the request of this number."""
        while True:
            answer: dict[str, Any] = json.loads(self._lines.readline())
            if answer.get("id") == number:
                return answer

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        return self.answer_to(self.tell(method, **params))
