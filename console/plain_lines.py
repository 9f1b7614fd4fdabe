"""The engine's events as lines of text, for line mode: what is worth a line, and how it reads. Every line is safe.

A line of ours begins with a time or is indented; what an agent wrote stands behind a name or a bar, so that no call
can print a line that passes for one of ours.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from console.question import Question, describe, time_left
from console.state import State, reduce
from console.state.stream import Row, Stream
from console.text import visible
from engine.events import (
    AgentEnded,
    AskClosed,
    AskOpened,
    CallDecided,
    CallSeen,
    CallSettled,
    Event,
    Exempted,
    ExemptionRevoked,
    RefusalLifted,
    Refused,
    Snapshot,
    TurnStarted,
)
from engine.verdicts import Advisory, Ask

FINGERPRINT_CHARS = 200
ALIKE_SECONDS = 10.0
"""Refusals and failures of one agent's tool in a row are one line and a number, told at the latest after this time."""

ROWS_KEPT = 2_000
"""Rows that are remembered: a call that has run for longer than that is not told of when it fails."""
PRUNED_EVERY_SECONDS = 5.0
"""How often agents that have ended are forgotten."""

TAKEN_BACK_BY = {"exemption": "revoke", "refusal": "lift"}

Rule = tuple[str, str, str]
"""``exemption`` or ``refusal``, the agent, the fingerprint."""


class Lines:
    """Turns events into lines. Asks, exemptions and refusals have the numbers they were printed with; a number is
    never used twice, so what was typed for one can do nothing to another. Without ``answers`` no line says what to
    type."""

    def __init__(self, *, answers: bool = True) -> None:
        self.state = State()
        self.state.stream = Stream(ROWS_KEPT)
        self.asks: dict[int, Ask] = {}
        self.rules: dict[int, Rule] = {}
        self.verbose = False
        self._answers = answers
        self._asks_numbered = 0
        self._rules_numbered = 0
        self._rules_of: dict[str, dict[Rule, int]] = {}
        """The numbers in ``rules`` by agent."""
        self._pruned_at = 0.0
        self._alike = Alike()

    def told(self, events: Iterable[Event | Snapshot], now: float) -> list[str]:
        """The lines of these events. ``now`` is in unix seconds."""
        lines = [line for event in events for line in self._told(event, now)]
        if not 0 <= now - self._pruned_at < PRUNED_EVERY_SECONDS:
            self._pruned_at = now
            self.state.agents.prune(now)
        return lines or self._alike.due(now)

    def number_of(self, ask_id: str) -> int | None:
        """The number of an open ask that was printed."""
        return next((number for number, ask in self.asks.items() if ask.id == ask_id), None)

    def ask_lines(self, number: int, now: float) -> list[str]:
        """An open ask in full, and what to type."""
        ask = self.asks[number]
        waiting = sum(ask.id in one.record.seen.asks for one in self.state.waiting.values())
        call = self.state.call_of(ask)
        seen = call.record.seen if call else None
        question = describe(ask, self.state.label(ask.agent), seen, now, max(waiting, 1))
        lines = list(_ask_lines(number, len(self.asks), question, ask.opened))
        if self._answers:
            lines.append(f"  to approve, type: approve {number} this turn")
            lines.append(
                f"  to reject, type: reject {number}   or, with a note to the model: reject {number} your note"
            )
        return lines

    def list_lines(self, now: float) -> list[str]:
        """Everything that stands now."""
        lines = [f"{len(self.asks)} open asks" if len(self.asks) != 1 else "1 open ask"]
        for number, ask in self.asks.items():
            about = ", ".join(visible(one, FINGERPRINT_CHARS) for one in ask.fingerprints)
            lines.append(f"  ask {number}: {self.state.label(ask.agent)} about {about}, {time_left(ask.deadline, now)}")
        agents = self.state.agents.tree()
        lines.append(f"{len(agents)} agents" if len(agents) != 1 else "1 agent")
        lines += (
            f"  {'  ' * depth}{agent.label}: {agent.doing(now)}, turn {agent.turn}, {agent.calls} calls"
            for agent, depth in agents
        )
        for kind in TAKEN_BACK_BY:
            rules = [(number, rule) for number, rule in sorted(self.rules.items()) if rule[0] == kind]
            lines.append(f"{len(rules)} {kind}s" if len(rules) != 1 else f"1 {kind}")
            lines += (
                f"  {kind} {number}: {visible(fingerprint, FINGERPRINT_CHARS)} for {self.state.label(agent)}"
                f"{self._how_back(kind, number)}"
                for number, (_, agent, fingerprint) in rules
            )
        return lines

    # -- one event --------------------------------------------------------------------------------------------

    def _told(self, event: Event | Snapshot, now: float) -> list[str]:
        stream = self.state.stream
        first = stream.end
        closing = self.number_of(event.id) if isinstance(event, AskClosed) else None
        reduce(self.state, (event,))
        rows = [*stream.since(first, 1000), *(row for number in stream.touched if (row := stream.get(number)))]
        stream.touched.clear()
        match event:
            case CallSeen() | CallDecided() | CallSettled():
                return self._call(event, rows, now)
            case AskOpened(ask=ask):
                return [*self._alike.ended(), *self._opened(ask, now)]
            case Snapshot():
                return [*self._alike.ended(), *(_line(row) for row in rows if row.kind != "call"), *self._began(now)]
            case Exempted() | Refused():
                return self._ruled(event)
            case ExemptionRevoked() | RefusalLifted() | TurnStarted() | AgentEnded():
                self._keep_rules(event.agent)
        if closing is not None:
            del self.asks[closing]
            return [f"{clock(row.at)} ask {closing} is closed: {row.text}" for row in rows]
        return [*self._alike.ended(), *(_line(row) for row in rows)] if rows else []

    def _call(self, event: CallSeen | CallDecided | CallSettled, rows: Iterable[Row], now: float) -> list[str]:
        lines: list[str] = []
        for row in rows:
            line = f"{clock(now)} {_call_words(row)}"
            if row.phase in ("refused", "failed") and not self.verbose:
                lines += self._alike.line((row.agent, row.tool, row.phase), line, now)
            elif row.phase == "waiting":
                asks = [number for ask in self.state.asks if (number := self.number_of(ask)) is not None]
                seen = next(one.record.seen for one in self.state.waiting.values() if one.row is row)
                on = [number for number in asks if self.asks[number].id in seen.asks]
                lines += [f"{clock(now)} {row.who}: {row.tool} {row.text}; it waits on ask {on[0]}"] if on else []
            elif self.verbose:
                lines.append(line)
        settled = isinstance(event, CallSettled)  # the advisories of its verdict were told with the verdict
        advisories = [one for one in event.advisories if not settled or one.stage == "fail-warn"]
        if advisories:
            lines += (*self._alike.ended(), *(self._advised(event.agent, one, now) for one in advisories))
        return lines

    def _advised(self, agent: str, advisory: Advisory, now: float) -> str:
        what = visible(advisory.fingerprint, FINGERPRINT_CHARS)
        word = {"warn": "WARN", "summarize": "SUMMARIZE", "fail-warn": "WARN"}[advisory.stage]
        how = "failures in a row" if advisory.stage == "fail-warn" else "in its window"
        return f"{clock(now)} {self.state.label(agent)}: {word}, {what} has {advisory.count} {how}; it is told so"

    def _opened(self, ask: Ask, now: float) -> list[str]:
        self._asks_numbered += 1
        self.asks[self._asks_numbered] = ask
        return self.ask_lines(self._asks_numbered, now)

    def _ruled(self, event: Exempted | Refused) -> list[str]:
        """What an answer leaves behind, with the number to take it back by."""
        if self.state.supposed:
            return []
        self._keep_rules(event.agent)
        named = event.fingerprints if isinstance(event, Exempted) else tuple(one.fingerprint for one in event.refusals)
        kind = "exemption" if isinstance(event, Exempted) else "refusal"
        return [
            f"{clock(event.at)} {kind} {number}: {visible(rule[2], FINGERPRINT_CHARS)} for "
            f"{self.state.label(rule[1])} until your next message to it{self._how_back(kind, number)}"
            for rule, number in self._rules_of.get(event.agent, {}).items()
            if rule[0] == kind and rule[2] in named
        ]

    def _how_back(self, kind: str, number: int) -> str:
        return f" (to take it back: {TAKEN_BACK_BY[kind]} {number})" if self._answers else ""

    def _began(self, now: float) -> list[str]:
        """After a snapshot: the asks it opened and closed, as far as they were not known."""
        for agent_id in {*self._rules_of, *(agent.id for agent in self.state.agents)}:
            self._keep_rules(agent_id)
        open_now = {(ask.id, ask.opened): ask for ask in self.state.asks.values()}
        known = {(ask.id, ask.opened): number for number, ask in self.asks.items()}
        lines: list[str] = []
        for key, number in known.items():
            if key not in open_now:
                del self.asks[number]
                lines.append(f"{clock(now)} ask {number} is closed")
        for key, ask in open_now.items():
            lines += [] if key in known else self._opened(ask, now)
        return lines

    def _keep_rules(self, agent_id: str) -> None:
        """Give what came into force for an agent its number, and forget what is not in force any more."""
        before, agent = self._rules_of.pop(agent_id, {}), self.state.agents.get(agent_id)
        for number in before.values():
            del self.rules[number]
        if agent is None:
            return
        standing = [("exemption", agent_id, one) for one in agent.exemptions]
        standing += [("refusal", agent_id, one) for one in agent.refusals]
        if standing:
            self._rules_of[agent_id] = {rule: before.get(rule) or self._new_number() for rule in standing}
            self.rules |= {number: rule for rule, number in self._rules_of[agent_id].items()}

    def _new_number(self) -> int:
        self._rules_numbered += 1
        return self._rules_numbered


class Alike:
    """Holds back lines that say again what the last one said, and tells how many there were."""

    def __init__(self) -> None:
        self._of: tuple[str, ...] = ()
        self._held = 0
        self._since = 0.0

    def line(self, key: tuple[str, ...], line: str, now: float) -> list[str]:
        """The line, or nothing when it is held back."""
        if key == self._of:
            self._held += 1
            return self.due(now)
        ended = self.ended()
        self._of, self._since = key, now
        return [*ended, line]

    def due(self, now: float) -> list[str]:
        """The number of lines held back, when that is due."""
        if not self._held or now - self._since < ALIKE_SECONDS:
            return []
        self._since = now
        return self._told()

    def ended(self) -> list[str]:
        """The number of lines held back, because something else comes."""
        self._of = ()
        return self._told()

    def _told(self) -> list[str]:
        held, self._held = self._held, 0
        return [f"  and {held} more like it"] if held else []


def clock(at: float) -> str:
    """``12:01:09``, the local time."""
    return time.strftime("%H:%M:%S", time.localtime(at))


def _call_words(row: Row) -> str:
    return f"{row.who}: {row.tool} {row.text}; {row.status}"


def _line(row: Row) -> str:
    who = f"{row.who}: " if row.who else ""
    return f"{clock(row.at)} {who}{row.text}"


def _ask_lines(number: int, open_asks: int, question: Question, opened: float) -> Iterator[str]:
    yield f"{clock(opened)} ASK {number} ({open_asks} open, {question.left}): {question.who}"
    yield from (f"  | {line}" for line in question.call)
    if question.hidden:
        yield f"  careful: {question.hidden} characters of this call are invisible in a terminal; above they are shown"
    for measure, why in question.why:
        yield f"  because {measure}: {why}"
    yield f"  approving {question.approving}"
    yield f"  rejecting {question.rejecting}"
