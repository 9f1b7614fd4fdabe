"""How an ask is worded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.question import LINES, call_lines, describe, hidden_in, time_left
from engine.calls import Failure
from engine.events import CallSeen
from engine.verdicts import Ask, Hit


def seen(args: dict[str, Any], tool: str = "bash") -> CallSeen:
    return CallSeen(0.0, "c1", "a1", tool, args, 1, 1, "wait")


def test_a_question_says_everything_the_operator_decides_by() -> None:
    hits = (
        Hit("failure", "net:a.org/x", 5, 5, Failure("http", "HTTP 503")),
        Hit("repeat", "host:a.org", 16, 16, previous="\n200 ok\nmore"),
    )
    ask = Ask("ask-1", "a1", "c1", "bash", ("net:a.org/x", "host:a.org"), hits, 100.0, 400.0)
    question = describe(ask, "claude-code 7f3a", seen({"command": "curl https://a.org/x", "timeout": 5}), 148.5, 3)
    assert question.who == "claude-code 7f3a wants to run bash, and 2 more of its calls wait on this"
    assert question.call == ("curl https://a.org/x", "timeout: 5")
    assert [measure for measure, _ in question.why] == ["net:a.org/x", "host:a.org"]
    assert "5 failures in a row" in question.why[0][1]
    assert "503" in question.why[0][1]
    assert "16 of 16" in question.why[1][1]
    assert "200 ok" in question.why[1][1]
    for text in (question.approving, question.rejecting):
        assert "net:a.org/x" in text
        assert "host:a.org" in text
        assert "claude-code 7f3a" in text
    assert question.left == "4:12 left"
    assert question.hidden == 0


def test_the_whole_call_is_shown_line_by_line_and_bounded() -> None:
    args = {"path": "a.py", "cmd": "cat <<E\n\tx\nE", "content": "one\ntwo", "n": [1, {"k": "v\x1b"}]}
    assert call_lines(args) == (
        "cat <<E",
        "⇥x",
        "E",
        "path: a.py",
        "content:",
        "  one",
        "  two",
        'n: [1, {"k": "v\\u001b"}]',
    )
    assert call_lines({}) == ("(no arguments)",)
    for many in ({"content": "x\n" * 100_000}, {str(n): "a\nb" for n in range(100_000)}):
        assert len(call_lines(many)) == LINES + 1
        assert call_lines(many)[-1].startswith("…‹+")


def test_hidden_characters_of_the_call_are_counted() -> None:
    assert hidden_in({"command": "rm\u200b -rf\n\t/\u202e", "na\u200bme": {"deep": "\u200b"}}) == 4


@pytest.mark.parametrize(
    ("deadline", "words"),
    [
        (None, "no time limit"),
        (999.0, "no time left"),
        (1000.2, "1 s left"),
        (1059.0, "59 s left"),
        (1060.0, "1:00 left"),
        (1000.0 + 7260, "2 h 01 min left"),
    ],
)
def test_time_left(deadline: float | None, words: str) -> None:
    assert time_left(deadline, 1000.0) == words


hostile = st.text(st.characters(exclude_categories=()))


@given(
    hostile, hostile, hostile, hostile, st.dictionaries(hostile, hostile | st.lists(hostile, max_size=2), max_size=3)
)
def test_every_word_of_it_is_safe(tool: str, label: str, fp: str, previous: str, args: dict[str, Any]) -> None:
    hits = (Hit("repeat", fp, 16, 16, previous=previous), Hit("failure", fp, 5, 5, Failure("exit", previous)))
    question = describe(Ask("ask-1", "a1", "c1", tool, (fp,), hits, 0.0, None), label, seen(args, tool), 1.0)
    parts = [question.who, *question.call, question.approving, question.rejecting, question.left]
    for measure, why in question.why:
        parts += (measure, why)
    assert all(part.isprintable() for part in parts)


def test_a_call_nobody_knows_any_more() -> None:
    question = describe(Ask("ask-1", "a1", "c1", "", (), (), 0.0, None), "a1", None, 1.0)
    assert question.call == ("(the call is not known here)",)
    assert "a tool without a name" in question.who
