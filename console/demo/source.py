"""The demo as a source of events: an engine on a private socket in a temporary directory, and an agent process at it.

Neither the user's engine nor their configuration nor any journal is touched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

from console.sources import HostSource
from engine.events import Event, Notice, Snapshot
from engine.operator import Operator

if TYPE_CHECKING:
    from engine.host import Host

NAME = "demo: nothing is really run"
SHORT_PLACE = "/tmp"  # noqa: S108 - mkdtemp makes it private; a socket's path must be short, and $TMPDIR may be long
PACKAGES = str(Path(__file__).parents[2])
"""Where this very code was imported from; the agents' process is to run the same."""
PATIENCE_SECONDS = 3.0
"""How long the agent process has to end when it is told to."""
COMPLAINT_CHARS = 2000


class DemoSource:
    """Starts the engine, then the agents, and takes both down again."""

    name = NAME
    observes = False
    leaving = ("The demo ends: its engine and its agents stop.",)

    def __init__(self, seed: int, speed: float) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="breaker-demo-", dir=SHORT_PLACE))
        self._socket = self._directory / "engine.sock"
        self._engine = HostSource(self._make_host, NAME)
        self._options = ("--socket", str(self._socket), "--seed", str(seed), "--speed", str(speed))
        self._agents: subprocess.Popen[bytes] | None = None
        self._complaints: IO[bytes] | None = None
        self._mourned = False

    def _make_host(self) -> Host:
        from engine.host import Host  # noqa: PLC0415 - in the source's thread, after the first paint

        return Host(socket=self._socket)

    @property
    def operator(self) -> Operator | None:
        return self._engine.operator

    @property
    def failed(self) -> Exception | None:
        return self._engine.failed

    def start(self) -> None:
        self._engine.start()

    def drain(self) -> list[Event | Snapshot]:
        self._start_agents()
        events = self._engine.drain()
        if self._agents is not None and self._agents.poll() is not None and not self._mourned:
            self._mourned = True
            events.append(Notice(time.time(), "error", f"the demo's agents have ended: {self._complaint()}"))
        return events

    def only_watch(self) -> bool:
        self._start_agents()
        return self._engine.only_watch()

    def close(self) -> None:
        try:
            self._end_agents()
            self._engine.close()
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)

    def _start_agents(self) -> None:
        """Once there is an operator to ask."""
        if self._agents is not None or self.operator is None:
            return
        self._complaints = (self._directory / "agents.log").open("w+b")
        self._agents = subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-P", "-m", "console.demo.agent", *self._options],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (PACKAGES, os.environ.get("PYTHONPATH"))))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._complaints,
            start_new_session=True,  # Ctrl-C is for the console, which then ends them
        )

    def _end_agents(self) -> None:
        if self._agents is not None:
            self._agents.terminate()
            try:
                self._agents.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self._agents.kill()
                self._agents.wait()
        if self._complaints is not None:
            self._complaints.close()

    def _complaint(self) -> str:
        if self._complaints is None:
            return ""
        self._complaints.seek(0)
        return self._complaints.read().decode(errors="replace").strip()[-COMPLAINT_CHARS:]
