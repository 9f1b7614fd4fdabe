"""Recorded sessions for the tests of the replay, and a console on one, whose clock is moved by hand."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot

from console.app import Options
from console.replaying.app import ReplayApp
from console.replaying.recording import PRUNED_EVERY, Recording
from console.replaying.screen import ReplayScreen
from console.replaying.source import ReplaySource
from console.state import State, reduce
from engine.config import DEFAULTS
from engine.events import AgentEnded, AgentStarted, Event, Snapshot, TurnStarted
from engine.replay import Answers
from engine.session_items import Damaged, Unknown
from tests.console.scenes import NOON, page
from tests.console.stage import DEADLINE, SILENT, Stage
from tests.engine.sessions_data import lines

ONE, TWO = "0192-4c1e-7f3a", "0192-4c1e-a67e"
HOST = "host:api.weather.gc.ca"


class Session:
    """A session as it is written, line by line. Its calls come six seconds apart."""

    def __init__(self, at: float = NOON) -> None:
        self.at = at
        self.lines: list[dict[str, Any]] = []
        self._calls = 0

    def add(self, **line: Any) -> None:
        self.lines.append(line | ({"at": self.at} if self.at else {}))

    def call(self, agent: str, command: str, code: int = 0, text: str = "done", **more: Any) -> None:
        """A call and its result."""
        self._calls += 1
        number = f"c{self._calls}"
        self.add(type="call", id=number, agent=agent, tool="Bash", args={"command": command}, **more)
        self.at += 1 if self.at else 0
        content = [{"type": "text", "text": text}]
        self.add(type="result", id=number, agent=agent, result={"value": {"exitCode": code}, "content": content})
        self.at += 5 if self.at else 0


def looping(at: float = NOON) -> list[dict[str, Any]]:
    """An agent pages through a host up to the gate and on, tests fail meanwhile, and a sub-agent searches in vain.

    Then the night passes, and on a new message it begins again.
    """
    session = Session(at)
    session.add(type="agent", agent=ONE, harness="claude-code")
    session.add(type="turn", agent=ONE, source="user")
    for number in range(3):
        session.call(ONE, f"sed -n '{number * 40},{number * 40 + 40}p' src/station.py")
    session.add(type="agent", agent=TWO, parent=ONE, harness="claude-code", name="explore")
    for number in range(8):
        session.call(ONE, page(number))
        if number % 2:
            session.call(TWO, "rg -n climate docs", 1, "")
    for _ in range(3):
        session.call(ONE, "python -m pytest tests/test_station.py -q", 1, "1 failed")
    for number in range(8, 26):
        session.call(ONE, page(number))
    session.at += 8 * 3600 if session.at else 0
    session.add(type="turn", agent=ONE, source="user")
    for number in range(6):
        session.call(ONE, f"git diff HEAD~{number}")
    return session.lines


def source_of(session: Iterable[Any], answers: Answers = "as recorded", **more: Any) -> ReplaySource:
    """A source on a session, as it is written or as it is read, not started."""
    known = lines(session) if isinstance(session, list) and session and isinstance(session[0], dict) else session
    return ReplaySource("run.jsonl", known, DEFAULTS, answers, **more)


def recorded(source: ReplaySource) -> Recording:
    """The whole recording of a source."""
    source.start()
    deadline = time.monotonic() + DEADLINE
    while not source.recording.course.complete:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    source.close()
    return source.recording


def recording_of(events: Iterable[Event | Snapshot | Damaged | Unknown], every: int = 7) -> tuple[Recording, Snapshot]:
    """A recording of events, the first of which is a snapshot, with a keyframe after so many."""
    told = iter(events)
    snapshot = next(told)
    assert isinstance(snapshot, Snapshot)
    recording = Recording(snapshot, keyframe_every=every)
    for event in told:
        assert not isinstance(event, Snapshot | Damaged | Unknown)
        recording.append(event)
    recording.finish()
    return recording, snapshot


def played(snapshot: Snapshot, events: Iterable[Event]) -> State:
    """The state that a console has which was there from the start, and forgets agents when a replay does."""
    state = reduce(State(), [snapshot])
    for number, event in enumerate(events):
        reduce(state, [event])
        if number % PRUNED_EVERY == 0 or isinstance(event, AgentStarted | AgentEnded | TurnStarted):
            state.agents.prune(event.at)
    return state


def seen_of(state: State) -> dict[str, Any]:
    """Everything in a state that can be brought to the screen."""
    return {
        "agents": [(agent, depth) for agent, depth in _agents(state)],
        "rows": [_fields(row) for row in state.stream.since(state.stream.first, state.stream.end)],
        "first": state.stream.first,
        "calls": [_record(state, row.number) for row in state.stream.since(0, 10**9) if row.kind == "call"],
        "asks": list(state.asks.values()),
        "waiting": [(ticket, _fields(one.row), one.record.seen) for ticket, one in state.waiting.items()],
        "config": _fields(state.config),
        "thresholds": state.thresholds,
        "notes": state.notes,
        "standing": (state.attended, state.supposed, state.missed, state.events),
    }


def _fields(struct: Any) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def _agents(state: State) -> Iterable[tuple[dict[str, Any], int]]:
    for agent, depth in state.agents.tree():
        fields = _fields(agent)
        fields["measures"] = [_fields(measure) for measure in agent.measures.values()]
        yield fields, depth


def _record(state: State, row: int) -> tuple[Any, ...] | None:
    record = state.records.get(row)
    return (record.seen, record.decided, record.settled) if record else None


class ReplayStage(Stage):
    """A console on a replay: what a test holds."""

    def __init__(self, source: ReplaySource, options: Options = SILENT) -> None:
        self.replayed = source
        self.now = 1000.0
        self.app: ReplayApp = ReplayApp(source, options, ticking=lambda: self.now)
        self.pilot: Pilot[int]

    @property
    def main(self) -> ReplayScreen:
        assert isinstance(self.app.main, ReplayScreen)
        return self.app.main

    @property
    def place(self) -> int:
        return self.app.head.place

    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    async def has_read(self) -> None:
        """Wait until all is read, and drawn."""
        await self.until(lambda: self.app.recording.course.complete, "the end of the file")
        await self.taken_in()


@asynccontextmanager
async def replaying(
    source: ReplaySource, size: tuple[int, int] = (100, 30), *, paused: bool = True, options: Options = SILENT
) -> AsyncIterator[ReplayStage]:
    """Put a replay on the screen; all of it is read."""
    stage = ReplayStage(source, options)
    try:
        async with stage.app.run_test(size=size) as pilot:
            stage.pilot = pilot
            await stage.has_read()
            if paused:
                await stage.press("space")
            await stage.taken_in()
            yield stage
    finally:
        source.close()
