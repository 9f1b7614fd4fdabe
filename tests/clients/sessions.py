"""A session of a real client, and the human in front of it; a home that the client runs in."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from tests.clients.install import path
from tests.clients.model import Model

PATIENCE = 150.0
"""Seconds; a client takes a while to start on a machine with other things to do."""
ERRORS_SHOWN = 4000
"""Characters of what a client said on standard error."""

Call = tuple[str, Mapping[str, Any]]


def until(holds: Callable[[], Any], what: str, gone: Callable[[], str] = lambda: "") -> Any:
    """What ``holds`` gives once it gives something true.

    Fails when that takes too long for any client, or as soon as ``gone`` says why it cannot come any more.
    """
    give_up = time.monotonic() + PATIENCE
    while True:
        why = gone()
        if found := holds():
            return found
        if why or time.monotonic() > give_up:
            raise AssertionError(f"never came true: {what}{why and '; '}{why}")
        time.sleep(0.02)


class Home:
    """A user's home, with a project, for one client."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = root / "project"
        self.project.mkdir()

    def environment(self, **more: str) -> dict[str, str]:
        """What a client's process gets to know: nothing of this one's."""
        return {"PATH": path(), "HOME": str(self.root), "LANG": "C.UTF-8", "TERM": "xterm-256color", **more}

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Session(ABC):
    """One session of a client, from ``with`` to its end, and the human in front of it."""

    interrupt_ends_it: ClassVar[bool] = False

    def __init__(self, home: Home, model: Model) -> None:
        self.home = home
        self.model = model

    def __enter__(self) -> Session:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def tell(self, word: str) -> None:
        """Write a message with this word to the agent, and wait until the model has come to its script's end."""
        before = self.model.ended(word)
        self.write(f"{word}, please")
        self.until(lambda: self.model.ended(word) > before, f"the model comes to the end of {word}")

    def until(self, holds: Callable[[], Any], what: str) -> Any:
        """What ``holds`` gives once it gives something true; fails when the client ends before."""
        return until(holds, what, self.gone)

    @abstractmethod
    def start(self) -> None:
        """Start the client."""

    @abstractmethod
    def write(self, text: str) -> None:
        """Write a message to the agent."""

    @abstractmethod
    def interrupt(self) -> None:
        """Do what a human does who wants the agent to stop."""

    @abstractmethod
    def gone(self) -> str:
        """Empty while the client runs, then what it said."""

    @abstractmethod
    def stop(self) -> None:
        """End the client and whatever it started."""


class Client(ABC):
    """A client. ``delegate`` is what its model calls to start a sub-agent that is given ``word``.

    ``apart``: its sub-agents can be told from the main agent.
    """

    harness: ClassVar[str]
    session: ClassVar[type[Session]]
    apart: ClassVar[bool] = True

    @property
    @abstractmethod
    def program(self) -> Path:
        """What is started; it tells whether the client is installed."""

    def prepare(self, home: Home, model: Model) -> None:  # noqa: B027 - some have none
        """Write the client's own settings, before anything is installed."""

    def approve(self, home: Home) -> None:  # noqa: B027 - most need nothing
        """Do what installing leaves to do, by hand or by the client."""

    @abstractmethod
    def shell(self, command: str, number: int) -> Call:
        """The call that runs this command."""

    @abstractmethod
    def delegate(self, word: str) -> Call:
        """The call that starts a sub-agent."""


class Spawned(Session):
    """A session with a process whose standard output is read line by line."""

    def start(self) -> None:
        self._errors = self.home.root / "client.errors"
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                self.command(),
                cwd=self.home.project,
                env=self.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @abstractmethod
    def command(self) -> list[str]:
        """What is started."""

    @abstractmethod
    def environment(self) -> dict[str, str]:
        """What it gets to know."""

    @abstractmethod
    def said(self, line: str) -> None:
        """The client has printed this."""

    def gone(self) -> str:
        status = self._process.poll()
        if status is None:
            return ""
        errors = self._errors.read_text(errors="replace")[-ERRORS_SHOWN:]
        return f"the client has ended with status {status}: {errors}"

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join(PATIENCE)
        assert self._process.stdin
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as stdout:
            for line in stdout:
                self.said(line)


class Piped(Spawned):
    """A session over a pipe, a JSON object a line in both directions."""

    def send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def heard(self, message: dict[str, Any]) -> None:
        """The client has said this."""

    def said(self, line: str) -> None:
        with contextlib.suppress(ValueError):
            self.heard(json.loads(line))
