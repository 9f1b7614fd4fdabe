"""A real client with hooks that ``breaker install`` wrote, an engine, an operator, and a scripted model.

What really ran is what a command has written to a file; what the model was told is what the client has sent to it.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from engine.events import AskOpened
from engine.harnesses.endpoint import Endpoint
from engine.host import Host
from engine.operator import Answer, Operator
from tests.clients.model import Model, Step
from tests.clients.sessions import PATIENCE, Client, Home, Session
from tests.engine.sockets import BREAKER, ROOT

SAME = "echo ran >> ran.txt"
FAILING = "echo ran >> ran.txt; exit 3"
REFUSED = "REPEAT_TOOL_BLOCKED"
ADVISED = "CONVERGENCE_CHECK"


class Scene:
    """One client in one home, guarded by one engine that reports to ``events``."""

    def __init__(self, client: Client, home: Home, model: Model, host: Host | None, events: list[Any]) -> None:
        self.client = client
        self.home = home
        self.model = model
        self.host = host
        self.events = events

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of this kind."""
        return [event for event in tuple(self.events) if isinstance(event, kind)]

    def session(self) -> Session:
        return self.client.session(self.home, self.model)

    @property
    def ran(self) -> int:
        """How often the command has really run."""
        try:
            return len((self.home.project / "ran.txt").read_text().splitlines())
        except FileNotFoundError:
            return 0

    def told(self, text: str, word: str = "WORK") -> list[int]:
        """Before which of its turns the model was told this."""
        bodies = (json.dumps(body, ensure_ascii=False) for body in self.model.turns(word))
        return [turn for turn, body in enumerate(bodies) if text in body]


@contextlib.contextmanager
def scene(
    client: Client, root: Path, scripts: dict[str, Sequence[Step]], *options: str, operator: Answer | None = None
) -> Iterator[Scene]:
    """A client whose hooks are installed, and an engine in this process. ``operator`` answers whatever is asked."""
    events: list[Any] = []
    home = Home(root)
    with Model(scripts) as model:
        client.prepare(home, model)
        breaker(home, "install", client.harness, "--socket", str(root / "e.sock"), *options)
        client.approve(home)
        engine = Host(socket=root / "e.sock", listeners=[events.append], http=endpoint_in(root))
        with engine as host, attended(host, operator):
            yield Scene(client, home, model, host, events)


@contextlib.contextmanager
def without_engine(client: Client, root: Path, times: int, *options: str) -> Iterator[Scene]:
    """A client whose hooks are installed, and nobody there to ask."""
    home = Home(root)
    with Model({"WORK": again(client, SAME, times)}) as model:
        client.prepare(home, model)
        breaker(home, "install", client.harness, "--socket", str(root / "e.sock"), *options)
        client.approve(home)
        yield Scene(client, home, model, None, [])


@contextlib.contextmanager
def attended(host: Host, answer: Answer | None) -> Iterator[None]:
    if answer is None:
        yield
        return
    with contextlib.closing(host.operator()) as operator:
        gone = threading.Event()
        answering = threading.Thread(target=_answer, args=(operator, answer, gone))
        answering.start()
        try:
            yield
        finally:
            gone.set()
            answering.join()


def _answer(operator: Operator, answer: Answer, gone: threading.Event) -> None:
    with contextlib.closing(operator.subscribe()) as feed:
        while not gone.wait(0.01):
            for event in feed.drain():
                if isinstance(event, AskOpened):
                    operator.answer(event.ask.id, answer, "a note from the operator")


def breaker(home: Home, *arguments: str) -> str:
    """Run ``breaker`` in this home's project; it must succeed."""
    done = subprocess.run(
        [*BREAKER, *arguments],
        cwd=home.project,
        env=home.environment(PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def endpoint_in(root: Path) -> Endpoint | None:
    """Where hooks over HTTP were installed to, in the home that is there."""
    for file in root.rglob("http-hook.json"):
        return Endpoint(**json.loads(file.read_text()))
    return None


def again(client: Client, command: str, times: int, first: int = 0) -> list[Step]:
    """A model that runs the same command over and over."""
    return [Step(client.shell(command, number)) for number in range(first, first + times)]
