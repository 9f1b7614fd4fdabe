"""The breaker's state told as events and snapshots. Called only when somebody listens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from engine.agents import Agent, Agents
from engine.calls import Result
from engine.canonical import is_number
from engine.config import Config
from engine.events import AgentSnapshot, CallDecided, CallSeen, CallSettled, Snapshot
from engine.failures import printed
from engine.fingerprints import cap_of
from engine.masking import mask_head
from engine.pending import Pending
from engine.turn import Turn
from engine.verdicts import Settlement, Verdict, Waiting

RESULT_TEXT_KEPT = 4000
"""Characters of a result's text that its event carries."""
VALUES_KEPT = (
    "kind", "exitCode", "statusCode", "timedOut", "timeoutMs", "signal", "aborted", "jobId", "url", "truncated",
)  # fmt: skip
VALUE_CHARS_KEPT = 400

_UNDECIDED = Verdict("deny", asked=True)


def call_seen(
    at: float, pending: Pending, answer: Verdict | Waiting, moved: Sequence[str], limits: Mapping[str, float | None]
) -> CallSeen:
    """The event of a call just judged. ``moved``: the fingerprints that its commit pushed or evicted."""
    call, identity, turn = pending.call, pending.identity, pending.turn
    verdict = answer if isinstance(answer, Verdict) else _UNDECIDED
    return CallSeen(
        at=at,
        id=call.id,
        agent=call.agent,
        tool=call.tool,
        args=call.args,
        ticket=pending.ticket,
        turn=turn.number,
        verdict="wait" if isinstance(answer, Waiting) else verdict.decision,
        fingerprints=identity.fingerprints,
        measures=identity.measures,
        hits=verdict.hits,
        advisories=verdict.advisories,
        counts=counts_of(turn, moved, limits),
        outcome=verdict.outcome,
        asked=verdict.asked,
        asks=answer.asks if isinstance(answer, Waiting) else (),
        reason=verdict.reason,
        tracked=bool(identity.fingerprints),
        local=identity.local,
        shell=identity.shell,
        reads_only=identity.reads_only,
        asks_http_code=identity.asks_http_code,
    )


def call_decided(
    at: float, pending: Pending, verdict: Verdict, moved: Sequence[str], limits: Mapping[str, float | None]
) -> CallDecided:
    """The event of a call that waited and is now decided."""
    return CallDecided(
        at=at,
        id=pending.call.id,
        agent=pending.call.agent,
        ticket=pending.ticket,
        verdict=verdict.decision,
        outcome=verdict.outcome,
        hits=verdict.hits,
        advisories=verdict.advisories,
        counts=counts_of(pending.turn, moved, limits),
        reason=verdict.reason,
    )


def call_settled(
    at: float, pending: Pending, result: Result, settlement: Settlement, streaks: Mapping[str, int]
) -> CallSettled:
    """The event of a result. Long text is cut: the journal and the screen show previews."""
    return CallSettled(
        at=at,
        id=pending.call.id,
        agent=pending.call.agent,
        ticket=pending.ticket,
        result=result_preview(result),
        failure=settlement.failure,
        aborted=result.aborted,
        streaks=streaks,
        advisories=settlement.advisories,
        seconds=max(0.0, at - pending.decided_at),
    )


def result_preview(result: Result) -> dict[str, Any]:
    """A result in the session format, bounded: the scalars that say how it went, and the head of what it printed."""
    value = {key: _bounded(result.value[key]) for key in VALUES_KEPT if _is_scalar(result.value.get(key))}
    preview: dict[str, Any] = {"isError": result.is_error}
    if result.error_code:
        preview["error"] = {"code": result.error_code[:VALUE_CHARS_KEPT]}
    if value:
        preview["value"] = value
    if text := printed(result):
        preview["content"] = [{"type": "text", "text": text[:RESULT_TEXT_KEPT]}]
    return preview


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | bool) or is_number(value)


def _bounded(value: Any) -> Any:
    if not isinstance(value, str) or len(value) <= VALUE_CHARS_KEPT:
        return value
    return mask_head(value, VALUE_CHARS_KEPT)


def counts_of(turn: Turn, moved: Iterable[str], limits: Mapping[str, float | None]) -> dict[str, int]:
    """The window counts of those of ``moved`` that have a cap."""
    return {one: turn.counts.get(one, 0) for one in moved if cap_of(one, limits) is not None}


def snapshot_of(agents: Agents, config: Config, config_source: str, *, at: float, attended: bool) -> Snapshot:
    """Everything that stands now, for one who starts to watch."""
    limits = config.limits
    return Snapshot(
        at=at,
        agents=tuple(_agent_snapshot(agent, limits) for agent in agents),
        asks=tuple(ask for agent in agents for ask in agent.asks.values()),
        waiting=tuple(
            call_seen(pending.decided_at, pending, Waiting(pending.ticket, asks_of(agent, pending)), (), limits)
            for agent in agents
            for pending in agent.waiting.values()
        ),
        attended=attended,
        config=msgspec.to_builtins(config),
        config_source=config_source,
    )


def asks_of(agent: Agent, pending: Pending) -> tuple[str, ...]:
    """The open asks that a waiting call waits on."""
    wanted = {measure.fingerprint for measure in pending.identity.measures}
    return tuple(ask.id for ask in agent.asks.values() if not wanted.isdisjoint(ask.fingerprints))


def _agent_snapshot(agent: Agent, limits: Mapping[str, float | None]) -> AgentSnapshot:
    turn = agent.turn
    caps = {one: cap for one in (*turn.counts, *turn.streaks) if (cap := cap_of(one, limits)) is not None}
    return AgentSnapshot(
        agent=agent.id,
        parent=agent.parent,
        harness=agent.harness,
        name=agent.name,
        turn=turn.number,
        calls=turn.calls,
        last_seen=agent.last_seen,
        caps=caps,
        counts={one: count for one, count in turn.counts.items() if one in caps},
        streaks={one: streak.count for one, streak in turn.streaks.items() if one in caps},
        exemptions=tuple(turn.exemptions),
        refusals=tuple(turn.refusals.values()),
    )
