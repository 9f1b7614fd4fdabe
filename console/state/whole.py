"""The whole state, and the few ways in which reducers change it.

Widgets compare versions to know what to draw again: ``stream.version``, ``agents.version``, ``Agent.version``,
``asks_version``, ``config_version``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from console.state.agents import Agent, Agents
from console.state.measures import Thresholds
from console.state.records import Record, Records
from console.state.stream import Kind, Phase, Row, Stream
from console.state.subjects import subject
from console.text import visible
from engine.config import DEFAULTS
from engine.events import CallSeen
from engine.verdicts import Ask

TEXT_CHARS = 300
TOOL_CHARS = 32
RUNNING_KEPT = 20_000
"""Calls whose results are awaited, over all agents; a harness that never settles loses its oldest."""
NOTES_KEPT = 200
TOOLS_KEPT = 1_000
AS_SHIPPED = Thresholds(DEFAULTS.warn_at, DEFAULTS.summarize_at, DEFAULTS.fail_warn_at, DEFAULTS.fail_limit)
"""What is taken to hold until a configuration is heard of: a journal may begin in the middle."""


class Standing(Struct):
    """The configuration in force, and what became of the last attempt to change it."""

    source: str = ""
    values: Mapping[str, Any] = {}
    error: str = ""
    warnings: tuple[str, ...] = ()
    at: float = 0.0


class Note(Struct, frozen=True):
    """A message of the engine about itself, safe."""

    at: float
    level: str
    text: str


class Waiting(Struct, frozen=True):
    """A call that waits for the operator, kept in full however many calls come after it."""

    row: Row
    record: Record


class State:
    """Everything the console knows."""

    def __init__(self) -> None:
        self.agents = Agents()
        self.stream = Stream()
        self.records = Records()
        self.asks: dict[str, Ask] = {}
        """Open asks, oldest first."""
        self.asks_version = 0
        self.waiting: dict[int, Waiting] = {}
        """By ticket, oldest first."""
        self.config = Standing()
        self.config_version = 0
        self.thresholds = AS_SHIPPED
        self.notes: list[Note] = []
        self.attended = True
        self.supposed = False
        """No breaker was there: verdicts are what would have been."""
        self.missed = 0
        """Events lost because the console fell behind."""
        self.events = 0
        self._running: dict[int, int] = {}
        self._tools: dict[str, str] = {}

    # -- what a widget looks up -------------------------------------------------------------------------------

    def call_of(self, ask: Ask) -> Waiting | None:
        """The call that raised an open ask."""
        for waiting in self.waiting.values():
            if waiting.record.seen.id == ask.call and waiting.record.seen.agent == ask.agent:
                return waiting
        return None

    def label(self, agent_id: str) -> str:
        """An agent's name, safe, whether it is known or not."""
        agent = self.agents.get(agent_id)
        return agent.label if agent else visible(agent_id, 40)

    # -- rows -------------------------------------------------------------------------------------------------

    def add_row(self, at: float, kind: Kind, agent: Agent | None, text: str, mark: str = "") -> None:
        """Append a row that is no call. ``text`` must be safe."""
        agent_id, who = (agent.id, agent.label) if agent else ("", "")
        self.stream.append(Row(self.stream.end, at, kind, agent_id, who, "", text, mark=mark))

    def add_call(self, event: CallSeen, agent: Agent, phase: Phase) -> Row:
        """Append a call's row, and keep the call."""
        number = self.stream.end
        text = subject(event.args)
        row = Row(number, event.at, "call", agent.id, agent.label, self._tool(event.tool), text, phase)
        self.stream.append(row)
        record = self.records.add(number, event)
        if phase == "waiting":
            self.waiting[event.ticket] = Waiting(row, record)
        elif phase == "running":
            self.run(event.ticket, number)
        return row

    def run(self, ticket: int, row: int) -> None:
        """Remember in which row a running call stands."""
        self._running[ticket] = row
        if len(self._running) > RUNNING_KEPT:
            del self._running[next(iter(self._running))]

    def end_run(self, ticket: int) -> Row | None:
        """The row of a call that has its result now."""
        number = self._running.pop(ticket, None)
        return None if number is None else self.stream.get(number)

    def lose_open_calls(self, waiting: Iterable[int]) -> None:
        """Events were lost: of the calls that stood open nothing is known, but of those that still wait."""
        still = frozenset(waiting)
        lost = [one for ticket in tuple(self._running) if (one := self.end_run(ticket))]
        lost += [self.waiting.pop(ticket).row for ticket in tuple(self.waiting) if ticket not in still]
        for row in lost:
            row.phase = "unknown"
            self.stream.touch(row)

    def _tool(self, tool: str) -> str:
        """A tool's name, safe; made once for each tool."""
        known = self._tools.get(tool)
        if known is None:
            known = visible(tool, TOOL_CHARS)
            if len(self._tools) < TOOLS_KEPT:
                self._tools[tool] = known
        return known

    # -- the engine about itself ------------------------------------------------------------------------------

    def tell(self, at: float, level: str, text: str, kind: Kind) -> None:
        """Note something about the engine itself, and show it in the stream. ``text`` must be safe."""
        self.notes.append(Note(at, level, text))
        del self.notes[:-NOTES_KEPT]
        self.add_row(at, kind, None, text if level == "info" else f"{level}: {text}", "" if level == "info" else "!")
