"""The state of an engine in brief, for those who may look but not answer."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from engine.events import AgentSnapshot, Snapshot
from engine.protocol import AgentStatus, AskState, Heat, ServerInfo, Status
from engine.turn import telling

HOTTEST = 5
LISTED = 20
IDLE_AFTER = 60.0
"""Seconds without a word from an agent after which it is called idle."""


def status_of(snapshot: Snapshot, server: ServerInfo, started: float) -> Status:
    """The answer to ``status``."""
    waiting = Counter(call.agent for call in snapshot.waiting)
    fail_limit = snapshot.config.get("failLimit") or float("inf")
    return Status(
        server=server,
        started=started,
        attended=snapshot.attended,
        config_source=snapshot.config_source,
        agents=tuple(_agent(agent, waiting[agent.agent], snapshot.at, fail_limit) for agent in snapshot.agents),
        asks=tuple(
            AskState(ask.id, ask.agent, ask.tool, ask.fingerprints, ask.opened, ask.deadline) for ask in snapshot.asks
        ),
    )


def _agent(agent: AgentSnapshot, waiting: int, now: float, fail_limit: float) -> AgentStatus:
    return AgentStatus(
        agent=agent.agent,
        parent=agent.parent,
        harness=agent.harness,
        name=agent.name,
        state=_state(agent, waiting, now),
        turn=agent.turn,
        calls=agent.calls,
        waiting=waiting,
        last_seen=agent.last_seen,
        hottest=hottest(agent, fail_limit),
        exemptions=agent.exemptions[:LISTED],
        refusals=tuple(refusal.fingerprint for refusal in agent.refusals[:LISTED]),
    )


def _state(agent: AgentSnapshot, waiting: int, now: float) -> Literal["waiting", "blocked", "idle", "working"]:
    if waiting:
        return "waiting"
    if agent.refusals:
        return "blocked"
    return "idle" if now - agent.last_seen > IDLE_AFTER else "working"


def hottest(agent: AgentSnapshot, fail_limit: float) -> tuple[Heat, ...]:
    """The measures nearest the gate on either track."""

    def heat(fingerprint: str) -> tuple[float, int, str]:
        count, streak = agent.counts.get(fingerprint, 0), agent.streaks.get(fingerprint, 0)
        return -max(count / agent.caps[fingerprint], streak / fail_limit), telling(fingerprint), fingerprint

    return tuple(
        Heat(one, agent.counts.get(one, 0), agent.caps[one], agent.streaks.get(one, 0))
        for one in sorted(agent.caps, key=heat)[:HOTTEST]
    )
