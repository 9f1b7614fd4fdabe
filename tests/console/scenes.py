"""Scenes for the console's tests: a real breaker is driven, and what it reports is the scene. Always the same.

No clock runs: ``Scene.at`` is moved by hand, so that a picture of a scene is the same picture every time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.breaker import Breaker
from engine.calls import Call, result_of
from engine.config import DEFAULTS
from engine.events import Event, Snapshot
from engine.operator import Answer, AskNotOpenError, Operator
from engine.verdicts import Outcome, Verdict, Waiting

NOON = 1_789_992_000.0
"""When every scene begins, in unix seconds."""
OK = {"isError": False, "value": {"exitCode": 0}, "content": [{"type": "text", "text": "done"}]}


def page(number: int) -> str:
    """A command that fetches a page, spelled as an agent would."""
    url = f"https://api.weather.gc.ca/collections/climate-daily/items?limit=100&offset={number * 100}"
    return f'curl -s "{url}" -o /tmp/page{number}.json'


def failed(code: int, text: str) -> dict[str, Any]:
    """A result of a command that failed."""
    return {"isError": False, "value": {"exitCode": code}, "content": [{"type": "text", "text": text}]}


class Scene:
    """A breaker with an operator, and all it has reported since ``drain``: an ``Operator`` and its ``Feed`` in one."""

    def __init__(self, config: Any = DEFAULTS) -> None:
        self.at = NOON
        self.answers: list[tuple[str, Answer, str]] = []
        self._events: list[Event | Snapshot] = []
        self._calls = 0
        self.breaker = Breaker(config, attended=True, clock=lambda: self.at, listener=self._events.append)
        self._events.append(self.breaker.snapshot())

    # -- a feed -----------------------------------------------------------------------------------------------

    def drain(self) -> list[Event | Snapshot]:
        drained, self._events[:] = list(self._events), []
        return drained

    def close(self) -> None:
        """Nothing to end."""

    def subscribe(self) -> Scene:
        return self

    def told(self, event: Event) -> None:
        """Report an event of the engine about itself."""
        self._events.append(event)

    # -- an operator ------------------------------------------------------------------------------------------

    def answer(self, ask_id: str, answer: Answer, note: str = "") -> None:
        outcome: Outcome = answer
        try:
            self.breaker.answer(ask_id, outcome, note)
        except KeyError:
            raise AskNotOpenError("that ask is not open any more") from None
        self.answers.append((ask_id, answer, note))

    def revoke(self, agent: str, fingerprint: str) -> bool:
        return self.breaker.revoke(agent, fingerprint)

    def lift(self, agent: str, fingerprint: str) -> bool:
        return self.breaker.lift(agent, fingerprint)

    def reset_turn(self, agent: str) -> None:
        self.breaker.reset_turn(agent)

    # -- what happens -----------------------------------------------------------------------------------------

    def agent(self, agent_id: str, harness: str = "claude-code", **more: str) -> str:
        self.breaker.start_agent(agent_id, harness=harness, **more)
        return agent_id

    def call(
        self,
        agent: str,
        command: str = "",
        result: Mapping[str, Any] | None = OK,
        *,
        tool: str = "Bash",
        args: Mapping[str, Any] | None = None,
        took: float = 0.8,
    ) -> Verdict | Waiting:
        """One call, and its result when it was allowed; ``result`` None leaves it running."""
        self.at += 1
        self._calls += 1
        call = Call(f"c{self._calls}", agent, tool, args if args is not None else {"command": command})
        answer = self.breaker.decide(call)
        if isinstance(answer, Verdict) and answer.decision == "allow" and result is not None:
            self.at += took
            self.breaker.settle(agent, call.id, result_of(dict(result)))
        return answer


class SceneSource:
    """A scene as the source of a console. ``observes`` makes it one that can only be watched."""

    leaving = ("This console is the engine: it stops with it.", "Calls that wait for you are refused.")
    failed: Exception | None = None

    def __init__(self, scene: Scene, *, observes: bool = False) -> None:
        self.name = "engine.sock"
        self.scene = scene
        self.observes = observes
        self.operator: Operator | None = None if observes else scene
        self.gone = ""
        self.silent = False
        """Events are on their way: none arrives."""
        self.closed = False

    def start(self) -> None:
        """It is there already."""

    def drain(self) -> list[Event | Snapshot]:
        if self.gone:
            raise ConnectionError(self.gone)
        return [] if self.silent else self.scene.drain()

    def close(self) -> None:
        self.closed = True


def calm() -> Scene:
    """Two agents at work, nothing to worry about."""
    scene = Scene()
    one = scene.agent("0192-4c1e-7f3a")
    two = scene.agent("0192-4c1e-a67e", name="explore", parent=one)
    for number in range(3):
        scene.call(one, f"sed -n '{number * 40},{number * 40 + 40}p' src/station.py")
        scene.call(two, tool="Grep", args={"pattern": f"def load_{number}", "path": "src"})
    scene.call(one, "python -m pytest tests/test_station.py -q", took=4.2)
    scene.call(one, tool="Edit", args={"file_path": "src/station.py", "old_string": "a", "new_string": "b"})
    return scene


def climbing() -> Scene:
    """An agent pages through a host, and one endpoint fails."""
    scene = calm()
    one = "0192-4c1e-7f3a"
    three = scene.agent("ses_19c2", harness="dsh")
    for number in range(12):
        scene.call(one, page(number), took=0.4)
        if number % 4 == 0:
            scene.call(three, f"python tools/build.py --step {number} > /tmp/build.log", took=1.5)
    for _ in range(3):
        scene.call("0192-4c1e-a67e", "curl -sf https://stations.example.org/v1/list", failed(22, "curl: (22) HTTP 503"))
    return scene


def asking() -> Scene:
    """The agent has reached the gate, and waits."""
    scene = climbing()
    for number in range(12, 16):
        scene.call("0192-4c1e-7f3a", page(number), took=0.4)
    return scene


def answered() -> Scene:
    """The operator has approved one thing and rejected another."""
    scene = asking()
    scene.answer("ask-1", "approved")
    for _ in range(12):
        scene.call("ses_19c2", "make -C firmware flash", failed(2, "make: *** [flash] Error 2"))
    for ask in scene.breaker.asks():
        scene.answer(ask.id, "rejected", "the board is not connected")
    for number in range(16, 20):
        scene.call("0192-4c1e-7f3a", page(number), took=0.4)
    return scene


def many(agents: int = 50, asks: int = 10) -> Scene:
    """Many agents, some of which ask."""
    scene = Scene()
    for number in range(agents):
        scene.agent(f"agent-{number:04}", harness=("claude-code", "codex", "dsh", "opencode")[number % 4])
        for again in range(12 if number < asks else number % 9):
            scene.call(f"agent-{number:04}", f"make -C project{number} target{again % 2}")
    for number in range(asks):
        for _ in range(8):
            scene.call(f"agent-{number:04}", f"make -C project{number} target0")
    return scene


def load(agents: int = 20) -> Iterator[tuple[str, str]]:
    """Calls without end: an agent and its command; every measure keeps climbing and falling."""
    number = 0
    while True:
        number += 1
        yield f"agent-{number % agents:04}", f"curl -s https://host{number % 7}.example.org/items/{number % 40}"
