"""Which thresholds can never be reached, held against a turn that tries; and what loosens the guard."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.calls import Measure
from engine.config import DEFAULTS
from engine.configuration.file import from_mapping
from engine.configuration.thresholds import loosened, unreachable
from engine.turn import Turn


def notes(mapping: dict[str, Any]) -> list[str]:
    """The settings that a note is about."""
    return [note.split(" ")[0] for note in unreachable(from_mapping(mapping))]


OFF = dict.fromkeys(("exact", "cmd", "net", "sink", "host"))


def test_every_default_can_be_reached():
    assert unreachable(DEFAULTS) == ()


@pytest.mark.parametrize(
    ("mapping", "about"),
    [
        ({"limits": {"host": 17}}, []),
        ({"limits": {"host": 16.5}}, []),
        ({"limits": {"host": 18}}, ["limits.host"]),
        ({"limits": {"host": 17.5, "site": 40}}, ["limits.host", "limits.site"]),
        (
            {"window": 4},
            ["limits.exact", "limits.cmd", "limits.net", "limits.sink", "limits.host", "warnAt", "summarizeAt"],
        ),
        ({"warnAt": 15}, []),
        ({"warnAt": 16}, ["warnAt"]),
        ({"warnAt": 40, "summarizeAt": 40}, ["warnAt", "summarizeAt", "warnAt"]),
        ({"summarizeAt": 11, "limits": {**OFF, "exact": 11}}, ["summarizeAt"]),
        ({"summarizeAt": 11, "limits": {**OFF, "exact": 11, "host:example.org": 12}}, []),
        ({"warnAt": 0, "summarizeAt": None}, []),
        ({"warnAt": 11}, ["warnAt"]),
        ({"failWarnAt": 5}, []),
        ({"failWarnAt": 6}, ["failWarnAt"]),
        ({"failWarnAt": 6, "failLimit": None}, []),
        ({"limits": OFF}, ["Every"]),
        ({"exclude": ["*"]}, ["exclude"]),
    ],
)
def test_a_threshold_that_is_never_reached_is_noted(mapping: dict[str, Any], about: list[str]):
    assert notes(mapping) == about


@given(window=st.integers(4, 12), cap=st.floats(2, 20), warn=st.integers(1, 20), summarize=st.integers(1, 20))
def test_the_notes_are_what_a_turn_does(window: int, cap: float, warn: int, summarize: int):
    """One measure, repeated for as long as it may: whatever never happened is noted, and nothing else."""
    measure, turn, happened = Measure("exact:x:{}", cap), Turn(window), set()
    for _ in range(window + 20):
        if turn.hits([measure], None):
            happened.add("limits.exact")
            break
        if turn.reached([measure], {summarize: "summarize"}):
            happened.add("summarizeAt")
        elif turn.reached([measure], {warn: "warn"}):
            happened.add("warnAt")
        turn.commit([measure.fingerprint])
    config = {"window": window, "warnAt": warn, "summarizeAt": summarize, "limits": {**OFF, "exact": cap}}
    assert {"limits.exact", "summarizeAt", "warnAt"} - happened == set(notes(config))


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ({}, {"window": 8}, "window: 16 to 8"),
        ({"onLimit": "deny"}, {}, "onLimit: no longer deny"),
        ({}, {"localHosts": "allow"}, "localHosts: no longer deny"),
        ({"includeLocal": True}, {}, "includeLocal: no longer true"),
        ({}, {"warnAt": None}, "warnAt: 7 to off"),
        ({}, {"failLimit": 5.5}, "failLimit: 5 to 5.5"),
        ({}, {"limits": {"exact": None}}, "limits.exact: 12 to off"),
        ({}, {"limits": {"host:example.org": 20}}, "limits.host:example.org: 16 to 20"),
        ({"limits": {"host:example.org": 3}}, {}, "limits.host:example.org: 3 to 16"),
        ({"limits": {"verb": 9}}, {"limits": {"verb:git": None, "verb": 9}}, "limits.verb:git: 9 to off"),
        ({}, {"exclude": ["todo_write", "bash"]}, "exclude: now has bash"),
        ({}, {"include": ["read"]}, "include: only listed tools are counted"),
        ({"include": ["a", "b"]}, {"include": ["a"]}, "include: no longer has b"),
        ({"shellTools": ["fish"]}, {}, "shellTools: no longer has fish"),
        ({}, {"ignoreArgs": {"pwsh": ["description"]}}, "ignoreArgs.pwsh: no longer has justification"),
        ({}, {"hostAliases": {"api.example.com": "localhost"}}, "hostAliases.api.example.com: now localhost"),
        ({"hostAliases": {"a": "b"}}, {}, "hostAliases.a: gone"),
        ({}, {"exclude": ["todo_write", "\x1b[2J"]}, "exclude: now has \\x1b[2J"),
    ],
)
def test_what_loosens_the_guard_is_listed(before: dict[str, Any], after: dict[str, Any], change: str):
    assert change in loosened(from_mapping(before), from_mapping(after))


@pytest.mark.parametrize(
    "after",
    [
        {"window": 32, "onLimit": "deny", "includeLocal": True},
        {"warnAt": 3, "failLimit": 2, "limits": {"exact": 3, "site": 9, "host:example.org": 4}},
        {"exclude": []},
        {"ignoreArgs": {"read": ["nonce"]}},
        {"shellTools": ["fish"]},
        {"previewChars": 10, "resultPreviewChars": 10, "askTimeout": None},
    ],
)
def test_what_tightens_the_guard_is_not(after: dict[str, Any]):
    assert loosened(DEFAULTS, from_mapping(after)) == ()
    assert loosened(DEFAULTS, DEFAULTS) == ()
