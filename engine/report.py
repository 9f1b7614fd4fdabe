"""What happened in a session, told from the engine's events: loops, advice and what came of it, asks, time.

A journal's events are what happened. A session that no breaker guarded is told from the events of its replay, and
then ``supposed`` says that none of it did.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from engine.config import DEFAULTS, Config
from engine.events import (
    AgentStarted,
    AskClosed,
    AskOpened,
    CallDecided,
    CallSeen,
    CallSettled,
    ConfigChanged,
    Event,
    Snapshot,
    TurnStarted,
)
from engine.replay import Answers, replay_events
from engine.report_forms import AgentReport, Report, Thresholds
from engine.report_turn import TurnAccount
from engine.session_items import Damaged, Line, ResultLine, Unknown

AGENTS_KEPT = 2000
"""Agents that are told one by one; what the others did is in the sums."""
TURNS_KEPT = 2000
"""Turns of one agent that are told one by one."""
WAITING_KEPT = 4096


class Reporter:
    """Makes a report of events as they come, in order."""

    def __init__(self, source: str, *, supposed: bool) -> None:
        self._report = Report(source, supposed)
        self._agents: dict[str, AgentReport] = {}
        self._accounts: dict[str, TurnAccount] = {}
        self._thresholds = Thresholds()
        self._waiting: dict[tuple[str, str], CallSeen] = {}
        """Calls that wait for the operator, by agent and id: an ask names the one that raised it."""

    def take(self, event: Event | Snapshot) -> None:
        """Add an event."""
        report = self._report
        if event.at:
            report.started = report.started or event.at
            report.ended = max(report.ended, event.at)
        match event:
            case CallSeen():
                self._seen(event)
            case CallDecided():
                self._account(event.agent, event.at).decided(event)
                self._waiting.pop((event.agent, event.id), None)
            case CallSettled():
                self._account(event.agent, event.at).settled(event)
            case AskOpened(ask=ask):
                seen = self._waiting.get((ask.agent, ask.call))
                self._account(ask.agent, event.at).ask_opened(ask, seen)
            case AskClosed():
                self._account(event.agent, event.at).ask_closed(event)
            case _:
                self._about(event)

    def _about(self, event: Event | Snapshot) -> None:
        match event:
            case TurnStarted():
                self._close(event.agent, event.at)
                self._accounts[event.agent] = TurnAccount(event.turn, event.at, self._thresholds)
            case AgentStarted():
                agent = self._agent(event.agent)
                agent.parent = event.parent or agent.parent
                agent.harness = event.harness or agent.harness
                agent.name = event.name or agent.name
            case Snapshot(config=config) | ConfigChanged(config=config, error=""):
                self._configured(config)

    def ran_anyway(self, agent: str, call: str, at: float) -> None:
        """A call gave something back, refused though it was in a report of what would have been."""
        if account := self._accounts.get(agent):
            account.ran_anyway(call, at)

    def report(self) -> Report:
        """The report of all that was taken."""
        for agent in tuple(self._accounts):
            self._close(agent, self._report.ended)
        self._report.agents = [agent for agent in self._agents.values() if agent.turns]
        return self._report

    def _seen(self, event: CallSeen) -> None:
        if event.verdict == "wait":
            self._waiting[event.agent, event.id] = event
            if len(self._waiting) > WAITING_KEPT:
                del self._waiting[next(iter(self._waiting))]
        account = self._account(event.agent, event.at)
        if account.report.turn != event.turn and not account.report.calls:
            account.report.turn = event.turn
        account.seen(event)

    def _account(self, agent: str, at: float) -> TurnAccount:
        account = self._accounts.get(agent)
        if account is None:
            self._agent(agent)
            account = self._accounts[agent] = TurnAccount(1, at, self._thresholds)
        return account

    def _agent(self, agent: str) -> AgentReport:
        known = self._agents.get(agent)
        if known is None:
            known = AgentReport(agent)
            if len(self._agents) < AGENTS_KEPT:
                self._agents[agent] = known
        return known

    def _close(self, agent: str, at: float) -> None:
        account = self._accounts.pop(agent, None)
        if account is None or not account.report.calls:
            return
        turn = account.close(at)
        self._report.sums.add(turn)
        turns = self._agent(agent).turns
        if len(turns) < TURNS_KEPT:
            turns.append(turn)

    def _configured(self, config: Any) -> None:
        with suppress(msgspec.ValidationError):
            self._thresholds = self._report.thresholds = msgspec.convert(dict(config), Thresholds)
        for account in self._accounts.values():
            account.thresholds = self._thresholds


def report_of(events: Iterable[Event | Snapshot], source: str) -> Report:
    """What happened, by a journal's events."""
    reporter = Reporter(source, supposed=False)
    for event in events:
        reporter.take(event)
    return reporter.report()


def supposed_report(
    lines: Iterable[Line], source: str, config: Config = DEFAULTS, answers: Answers = "as recorded"
) -> Report:
    """What a breaker would have done to a session, and what the calls took that it would have refused."""
    reporter = Reporter(source, supposed=True)
    for event in replay_events(_heard(lines, reporter), config, answers):
        if not isinstance(event, Damaged | Unknown):
            reporter.take(event)
    return reporter.report()


def _heard(lines: Iterable[Line], reporter: Reporter) -> Iterator[Line]:
    for line in lines:
        if isinstance(line, ResultLine):
            reporter.ran_anyway(line.agent, line.id, line.at)
        yield line
