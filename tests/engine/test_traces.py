"""Every recorded trace, call by call."""

from __future__ import annotations

from typing import Any

import pytest

from engine.config_file import from_mapping
from engine.replay import replay
from engine.replayed import as_json
from engine.sessions import ANSWERS, CallLine
from engine.verdicts import Ask, Outcome
from tests.engine.sessions_data import lines, rows, verdict_of

LEFT_OUT: dict[str, str] = {}
"""Traces that contradict the design, and why."""
TRACES = [row for row in rows("traces.jsonl") if row["name"] not in LEFT_OUT]


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
    expected = trace["expected"]
    assert len(got) == len(expected)
    for call, like in zip(got, expected, strict=True):
        assert verdict_of(call, like) == verdict_of(like, like)
