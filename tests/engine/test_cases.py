"""Loops, false alarms and asks as people met them, each cut down to a session."""

from __future__ import annotations

from typing import Any

import pytest

from engine.configuration.file import ConfigError, from_mapping
from engine.replay import replay
from tests.engine.sessions_data import lines, rows

LEFT_OUT: dict[str, str] = {}
"""Cases that contradict the design, and why."""
CASES = [row for row in rows("cases.jsonl") if row["id"] not in LEFT_OUT]


@pytest.mark.parametrize("case", CASES, ids=[row["id"] for row in CASES])
def test_case(case: dict[str, Any]):
    expected = case["expected"]
    if expected["first_block"] == "config_error":
        with pytest.raises(ConfigError, match=next(iter(case["config"]["limits"]))):
            from_mapping(case["config"])
        return
    calls = list(replay(lines(case["events"]), from_mapping(case["config"])))
    assert next((call.number for call in calls if call.verdict == "deny"), None) == expected["first_block"]
    assert next((call.number for call in calls if call.advisories), None) == expected["first_advisory"]
    spoke = {one.fingerprint for call in calls for one in (*call.hits, *call.advisories)}
    for measure in expected["measures"]:
        assert any(fingerprint.startswith(measure) for fingerprint in spoke), measure


def test_the_refusal_quotes_the_result_of_the_measure_that_hit():
    (case,) = [row for row in CASES if row["id"] == "A21"]
    calls = replay(lines(case["events"]), from_mapping(case["config"]))
    refused = next(call for call in calls if call.verdict == "deny")
    assert "STATUS red" in refused.reason
    assert "UNRELATED" not in refused.reason
