"""``breaker serve`` as a process of its own, on a terminal of its own, to be watched and to be killed."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.journal_parts import parts_in
from engine.operator_client import RemoteOperator, connect
from engine.paths import operator_socket_path
from tests.engine.sockets import BREAKER, ROOT, listens

PATIENCE = 60.0
"""Seconds; long, because it is only waited for when something is about to be found."""
_TOKEN = re.compile(rb"breaker attach\): ([a-z0-9-]+)")
_KEPT = 1 << 16


class Engine:
    """One engine that may be started again and again over the same journal, until ``end``.

    Its directory must have a short path. What it writes to its standard error is kept in ``errors``: it
    should be nothing.
    """

    def __init__(self, directory: Path, *options: str) -> None:
        self.directory = directory
        self.path = directory / "e.sock"
        self.journal = directory / "journal"
        self.errors = directory / "stderr"
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._printed = bytearray()
        self._reader: threading.Thread | None = None

    def __enter__(self) -> Engine:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    # -- its life ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start it, and wait until it listens."""
        terminal, inner = pty.openpty()
        command = [*BREAKER, "serve", "--socket", str(self.path), "--journal", str(self.journal), *self._options]
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "XDG_CONFIG_HOME": str(self.directory),
            "XDG_STATE_HOME": str(self.directory),
        }
        self._printed.clear()
        with self.errors.open("ab") as errors:
            self._process = subprocess.Popen(
                command, cwd=self.directory, env=environment, stdin=inner, stdout=inner, stderr=errors
            )
        os.close(inner)
        self._reader = threading.Thread(target=self._read, args=(terminal,), daemon=True)
        self._reader.start()
        until(lambda: listens(self.path) or not self.alive, "the engine listens")
        if not self.alive:
            raise RuntimeError(f"the engine did not start: {self.said()}")

    def kill(self) -> None:
        """``kill -9``."""
        if self._process and self._reader:
            self._process.kill()
            self._process.wait()
            self._reader.join()

    def end(self) -> None:
        """Stop it as a person would, and kill it if that does not help. Returns when it is gone."""
        if self._process and self._reader and self.alive:
            self._process.send_signal(signal.SIGCONT)
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(PATIENCE)
        self.kill()

    def freeze(self) -> None:
        """Stop the process where it stands."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    # -- what it is like --------------------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        return self._process.poll() if self._process else None

    def said(self) -> str:
        """What it wrote to its standard error."""
        return self.errors.read_text(errors="replace")[:4000] if self.errors.exists() else ""

    def resident(self) -> float:
        """Resident megabytes."""
        found = subprocess.run(["ps", "-o", "rss=", "-p", str(self.pid)], capture_output=True, text=True, check=True)
        return int(found.stdout) / 1024

    def seconds(self) -> float:
        """Seconds of CPU so far."""
        found = subprocess.run(
            ["ps", "-o", "cputimes=", "-p", str(self.pid)], capture_output=True, text=True, check=True
        )
        return float(found.stdout)

    def parts(self) -> list[Path]:
        """The journal's files, oldest first."""
        return [part.events for part in parts_in(self.journal)]

    # -- operators --------------------------------------------------------------------------------------------

    def token(self, used: str = "") -> str:
        """The token on its terminal, another one than ``used``."""

        def found() -> str:
            tokens = _TOKEN.findall(bytes(self._printed))
            return tokens[-1].decode() if tokens and tokens[-1].decode() != used else ""

        token = until(lambda: found() or not self.alive, "a token is printed")
        return token if isinstance(token, str) else ""

    def operator(self, used: str = "") -> tuple[RemoteOperator, str]:
        """Attach, with another token than the one that is used up. The operator and its token."""
        token = self.token(used)
        return connect(operator_socket_path(self.path), token), token

    def _read(self, terminal: int) -> None:
        printed = self._printed
        with contextlib.suppress(OSError):  # how a terminal ends
            while data := os.read(terminal, 1 << 16):
                printed += data
                if len(printed) > 2 * _KEPT:
                    tokens = b"".join(
                        b"breaker attach): %b \n" % token for token in _TOKEN.findall(bytes(printed))[-1:]
                    )
                    printed[:] = tokens + printed[-_KEPT:]
        os.close(terminal)


def until(holds: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """What ``holds`` gives once it gives something true. Raises TimeoutError when that takes too long."""
    give_up = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > give_up:
            raise TimeoutError(f"never came true: {what}")
        time.sleep(0.01)
    return found


def end_well() -> None:
    """Let a polite signal end this program as an interrupt does: what it has started is ended first."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def say(text: str) -> None:
    """A line of a report."""
    print(text, flush=True, file=sys.stdout)
