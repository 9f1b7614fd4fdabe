"""What a replay gives out: each call and what the breaker made of it, and the sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from engine.calls import Failure
from engine.verdicts import Advisory, Decision, Hit, Outcome

WHAT_CHARS = 200


class ReplayedCall(Struct, frozen=True):
    """One call of the session, and what the breaker made of it.

    ``number`` counts the session's calls from 1, ``line`` its lines. ``what`` is the argument that tells most, as
    the agent wrote it. ``advisories`` are those of both tracks, the failure track's first.
    """

    number: int
    line: int
    id: str
    agent: str
    tool: str
    what: str
    verdict: Decision
    asked: bool
    outcome: Outcome | None
    hits: tuple[Hit, ...]
    advisories: tuple[Advisory, ...]
    failure: Failure | None
    reason: str


class Totals(Struct):
    """The sums of a replay, told call by call."""

    calls: int = 0
    refused: int = 0
    asked: int = 0
    failed: int = 0
    first_refused: ReplayedCall | None = None
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    advisories: Counter[str] = field(default_factory=Counter)
    agents: set[str] = field(default_factory=set)

    def add(self, call: ReplayedCall) -> None:
        self.calls += 1
        self.agents.add(call.agent)
        self.asked += call.asked
        self.failed += call.failure is not None
        self.advisories.update(advisory.stage for advisory in call.advisories)
        if call.outcome:
            self.outcomes[call.outcome] += 1
        if call.verdict == "deny":
            self.refused += 1
            self.first_refused = self.first_refused or call


def as_json(call: ReplayedCall) -> dict[str, Any]:
    """The documented form of a replayed call."""
    return {
        "id": call.id,
        "agent": call.agent,
        "verdict": call.verdict,
        "asked": call.asked,
        "outcome": call.outcome,
        "hits": [
            {"track": hit.track, "fp": hit.fingerprint, "count": hit.count, "cap": _plain(hit.cap)} for hit in call.hits
        ],
        "advisories": [
            {"stage": advisory.stage, "fp": advisory.fingerprint, "count": advisory.count}
            for advisory in call.advisories
        ],
    }


def _plain(cap: float) -> float:
    """A cap as people write it: 12 and not 12.0."""
    return int(cap) if isinstance(cap, float) and cap.is_integer() else cap


_TELLING_ARGUMENTS = ("command", "cmd", "url", "file_path", "path", "pattern", "query", "script", "prompt")


def telling_argument(args: Mapping[str, Any]) -> str:
    """The argument that says best what a call does, cut and as the agent wrote it; "" when it has no text at all."""
    if not args:
        return ""
    for key in _TELLING_ARGUMENTS:
        if text := _text(args.get(key)):
            return text
    return next((text for value in args.values() if (text := _text(value))), "")


def _text(value: object) -> str:
    if isinstance(value, list):
        value = " ".join(word for word in value[:WHAT_CHARS] if isinstance(word, str))
    return value[:WHAT_CHARS] if isinstance(value, str) else ""
