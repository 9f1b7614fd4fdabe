"""What calls, their verdicts and their results change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from console.state.agents import Agent
from console.state.measures import GLYPHS, Stage
from console.state.stream import Phase, Row
from console.state.whole import State
from console.text import visible
from engine.calls import Failure, FailureReason
from engine.events import CallDecided, CallSeen, CallSettled
from engine.verdicts import Hit, Outcome

ADVISED: dict[str, Stage] = {"warn": "WARN", "summarize": "SUMMARIZE", "fail-warn": "WARN"}
OUTCOMES: dict[Outcome, str] = {
    "approved": "approved",
    "rejected": "rejected by you",
    "unattended": "no operator",
    "timed_out": "not answered in time",
    "cancelled": "withdrawn",
}
"""How an ask ended, as a row says it."""
FAILURES: dict[FailureReason, str] = {
    "error": "error",
    "exit": "exit",
    "timeout": "timed out",
    "signal": "killed",
    "http": "HTTP",
    "sandbox": "sandbox",
    "exception": "raised",
    "curl": "curl",
}
"""What comes before the detail of a failure."""
_PHASES: dict[str, Phase] = {"allow": "running", "deny": "refused", "wait": "waiting"}


def call_seen(state: State, event: CallSeen) -> None:
    agent = state.agents.known(event.agent, event.at)
    agent.turn = event.turn
    agent.calls += 1
    agent.version += 1
    row = state.add_call(event, agent, _PHASES[event.verdict])
    if event.verdict == "wait":
        row.mark = GLYPHS["GATE"]
    elif event.verdict == "allow":
        _allow(agent, row, event, event)
    else:
        _refuse(state, agent, row, event, event)


def call_decided(state: State, event: CallDecided) -> None:
    agent = state.agents.known(event.agent, event.at)
    agent.version += 1
    waiting = state.waiting.pop(event.ticket, None)
    if waiting is None:
        return
    row, seen = waiting.row, waiting.record.seen
    waiting.record.decided = event
    if event.verdict == "allow":
        row.phase, row.detail = "running", "approved"
        state.run(event.ticket, row.number)
        _allow(agent, row, event, seen)
    else:
        _refuse(state, agent, row, event, seen)
    state.stream.touch(row)


def call_settled(state: State, event: CallSettled) -> None:
    agent = state.agents.known(event.agent, event.at)
    agent.running.discard(event.ticket)
    agent.version += 1
    why = failure_text(event.failure)
    for fingerprint, streak in event.streaks.items():
        measure = agent.measure(fingerprint)
        measure.streak, measure.failure, measure.last_seen = streak, why, event.at
        measure.moved(event.at, f"failed: {why}" if streak else "succeeded")
        agent.drop_empty(fingerprint)
    row = state.end_run(event.ticket)
    if row is None:
        return
    state.records.settle(row.number, event)
    row.phase = "aborted" if event.aborted else "failed" if event.failure else "ran"
    row.detail = " · ".join(part for part in (row.detail, why or _status_code(event.result)) if part)
    row.seconds = event.seconds
    if any(advisory.stage == "fail-warn" for advisory in event.advisories):
        row.mark = row.mark or GLYPHS["WARN"]
    state.stream.touch(row)


def hits_text(hits: Iterable[Hit]) -> str:
    """The measures that hit, each once, safe and short."""
    names = list(dict.fromkeys(hit.fingerprint for hit in hits))
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return ", ".join(visible(name, 60) for name in names[:2]) + more


def failure_text(failure: Failure | None) -> str:
    """Why a call failed, safe and short."""
    if failure is None:
        return ""
    word = FAILURES[failure.reason]
    return f"{word} {visible(failure.detail, 60)}" if failure.detail else word


def _allow(agent: Agent, row: Row, event: CallSeen | CallDecided, seen: CallSeen) -> None:
    agent.running.add(event.ticket)
    agent.blocked = False
    if event.advisories:
        row.mark = GLYPHS[ADVISED[event.advisories[0].stage]]
    _count(agent, event, seen, seen.fingerprints, row)


def _refuse(state: State, agent: Agent, row: Row, event: CallSeen | CallDecided, seen: CallSeen) -> None:
    agent.blocked = not state.supposed
    row.phase, row.mark = "refused", GLYPHS["REFUSED"]
    if state.supposed:
        row.words = "would have asked" if seen.asked else "would have refused"
        row.detail = hits_text(event.hits)
    else:
        row.detail = OUTCOMES[event.outcome] if event.outcome else hits_text(event.hits)
    _count(agent, event, seen, (hit.fingerprint for hit in event.hits), row)


def _count(agent: Agent, event: CallSeen | CallDecided, seen: CallSeen, committed: Iterable[str], row: Row) -> None:
    """Take over the window counts that a commit changed: ``committed`` entered it, the others left it."""
    entered = frozenset(committed)
    caps = {measure.fingerprint: measure.cap for measure in seen.measures}
    what = "counted" if event.verdict == "allow" else "refused, and counted"
    for fingerprint, count in event.counts.items():
        measure = agent.measure(fingerprint)
        measure.count = count
        if fingerprint in entered:
            measure.cap = caps.get(fingerprint, measure.cap)
            measure.last_seen = event.at
            measure.moved(event.at, what)
            measure.counted_by(row.number)
        elif measure.empty:
            agent.drop_empty(fingerprint)
        else:
            measure.moved(event.at, "left the window")


def _status_code(result: Mapping[str, Any]) -> str:
    value = result.get("value")
    code = value.get("statusCode") if isinstance(value, Mapping) else None
    return str(code) if isinstance(code, int) else ""
