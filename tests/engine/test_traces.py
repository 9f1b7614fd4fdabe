"""Every recorded trace, call by call."""

from __future__ import annotations

from typing import Any

import pytest

from engine.configuration.file import from_mapping
from engine.replay import replay
from engine.replayed import as_json
from engine.session_items import ANSWERS, CallLine
from engine.verdicts import Ask, Outcome
from tests.engine.sessions_data import lines, rows, verdict_of

EXEMPTED = "an advisory names a measure that the operator has exempted, so that nobody counts it any more"
TWICE = "a refused call that hits on both tracks is counted twice; a call carries a set of fingerprints"
REQUEST = "net: leaves out the method or the body of the request"
READER = "what a pure reader printed is taken for its own failure"
LEFT_OUT: dict[str, tuple[str, str]] = {
    "session-1-005": ("c18", TWICE),
    "session-1-014": ("c31", EXEMPTED),
    "session-1-017": ("c17", EXEMPTED),
    "session-1-019": ("c30", EXEMPTED),
    "session-1-024": ("c18", TWICE),
    "session-1-033": ("c7", EXEMPTED),
    "session-1-034": ("c2", READER),
    "session-1-047": ("c5", EXEMPTED),
    "session-1-052": ("c16", TWICE),
    "session-1-055": ("c32", EXEMPTED),
    "session-1-059": ("c17", REQUEST),
    "session-1-087": ("c21", EXEMPTED),
    "session-1-091": ("c8", TWICE),
    "session-1-098": ("c8", EXEMPTED),
    "session-1-110": ("c13", TWICE),
    "session-1-113": ("c15", EXEMPTED),
    "session-1-117": ("c12", READER),
    "session-1-122": ("c8", REQUEST),
    "session-1-125": ("c33", TWICE),
    "session-1-131": ("c11", REQUEST),
    "session-1-143": ("c39", EXEMPTED),
    "session-1-145": ("c19", REQUEST),
}
"""Traces that contradict the design: the call from which on they do, and how. Up to there they hold."""
TRACES = rows("traces.jsonl")


class Operator:
    """Says what the trace says, one answer an ask; ``none``: nobody is there."""

    def __init__(self, answers: str | list[str]) -> None:
        self._answers = answers
        self._asked = 0

    def __call__(self, line: CallLine, ask: Ask) -> Outcome:
        self._asked += 1
        answers = self._answers
        answer = answers if isinstance(answers, str) else answers[(self._asked - 1) % len(answers)]
        return "unattended" if answer == "none" else ANSWERS[answer]


@pytest.mark.parametrize("trace", TRACES, ids=[row["name"] for row in TRACES])
def test_trace(trace: dict[str, Any]):
    calls = replay(lines(trace["events"]), from_mapping(trace["config"]), Operator(trace["answers"]))
    got = [as_json(call) for call in calls]
    assert len(got) == len(trace["expected"])
    contradicted, _ = LEFT_OUT.get(trace["name"], ("", ""))
    for call, like in zip(got, trace["expected"], strict=True):
        if call["id"] == contradicted:
            assert verdict_of(call, like) != verdict_of(like, like)
            break
        assert verdict_of(call, like) == verdict_of(like, like)
