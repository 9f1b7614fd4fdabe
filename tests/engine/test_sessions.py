"""Sessions and journals, read line by line."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from engine.calls import Failure, Identity, Measure
from engine.events import (
    AgentStarted,
    AskClosed,
    AskOpened,
    CallDecided,
    CallSeen,
    CallSettled,
    ConfigChanged,
    Event,
    Notice,
    TurnStarted,
    encoder,
)
from engine.session_items import AgentLine, CallLine, Damaged, Line, ResultLine, TurnLine, Unknown
from engine.session_lines import LINE_BYTES
from engine.sessions import FOREIGN_LINES_READ, NotASessionError, read_session
from engine.verdicts import Ask

CALL = b'{"type":"call","id":"c1","agent":"a1","tool":"bash","args":{"command":"ls"}}\n'


def read(content: bytes) -> list[Line]:
    return list(read_session(io.BytesIO(content)))


def after_a_call(line: bytes) -> Line:
    """What a line after a good one is read as."""
    first, *rest = read(CALL + line)
    assert isinstance(first, CallLine)
    (item,) = rest
    return item


def test_the_documented_lines():
    call, result, turn = read(
        CALL
        + b'{"type":"result","id":"c1","agent":"a1","result":{"isError":false,"value":{"exitCode":0},'
        + b'"content":[{"type":"text","text":"a.css"}]}}\n'
        + b'{"type":"turn","agent":"a1","source":"user"}\n'
    )
    assert call == CallLine(1, "c1", "a1", "bash", {"command": "ls"})
    assert isinstance(result, ResultLine)
    assert (result.line, result.id, result.agent, result.result.text) == (2, "c1", "a1", "a.css")
    assert result.failure is UNSET
    assert turn == TurnLine(3, "a1", human=True)


def test_a_call_may_carry_its_answer_and_its_result():
    call, result = read(b'{"type":"call","tool":"bash","answer":"unavailable","result":{"isError":true}}\n')
    assert isinstance(call, CallLine)
    assert isinstance(result, ResultLine)
    assert call.answer == "unattended"
    assert (result.id, result.agent, result.result.is_error) == (call.id, call.agent, True)


def test_calls_without_an_id_are_numbered_and_their_results_come_in_order():
    items = read(
        b'{"type":"call","tool":"a"}\n{"type":"call","tool":"b","agent":"other"}\n{"type":"call","tool":"c"}\n'
        b'{"type":"result","result":"for a"}\n{"type":"result","result":"for c"}\n{"type":"result","result":"late"}\n'
    )
    assert [(item.id, item.agent) for item in items if isinstance(item, CallLine)] == [
        ("#1", "agent"),
        ("#2", "other"),
        ("#3", "agent"),
    ]
    assert [(item.id, item.result.text) for item in items if isinstance(item, ResultLine)] == [
        ("#1", "for a"),
        ("#3", "for c"),
    ]
    assert isinstance(items[-1], Damaged)
    assert items[-1].line == 6


def test_numbers_are_names_too():
    (call,) = read(b'{"type":"call","id":7,"agent":3,"tool":"bash"}\n')
    assert isinstance(call, CallLine)
    assert (call.id, call.agent, call.args) == ("7", "3", {})


@pytest.mark.parametrize(("source", "human"), [("user", True), ("operator", True), ("plugin", False), ("tool", False)])
def test_only_a_human_message_begins_a_turn(source: str, human: bool):
    assert read(b'{"type":"turn","source":"%s"}\n' % source.encode()) == [TurnLine(1, "agent", human)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"\xff\xfe\n", "not UTF-8: byte 0xff at column 1"),
        (b'{"type":"call","tool":"b\xc3\x28"}\n', "not UTF-8: byte 0xc3 at column 25"),
        (b"{bad}\n", "not JSON: expecting property name enclosed in double quotes at column 2"),
        (b'{"type":"call","tool":"a\tb"}\n', "not JSON: invalid control character at column 25"),
        (b'{"type":"call","to', "the file ends in the middle of this line"),
        (b"[1]\n", "JSON, but not an object"),
        (b'"call"\n', "JSON, but not an object"),
        (b'{"tool":"bash"}\n', "it has no `type`"),
        (b'{"type":5}\n', "it has no `type`"),
        (b'{"type":"call"}\n', "object missing required field `tool`"),
        (b'{"type":"call","tool":5}\n', "tool: expected `str`, got `int`"),
        (b'{"type":"call","tool":"b","id":true}\n', "id: expected `int | str | null`, got `bool`"),
        (b'{"type":"call","tool":"b","answer":"maybe"}\n', "answer: invalid enum value 'maybe'"),
        (b'{"type":"turn","agent":[]}\n', "agent: expected `int | str | null`, got `array`"),
        (b'{"type":"result","id":"c1"}\n', "object missing required field `result`"),
    ],
)
def test_a_damaged_line_is_named_and_passed_over(line: bytes, problem: str):
    assert after_a_call(line) == Damaged(2, problem)
    if line.endswith(b"\n"):
        assert read(line + CALL)[0] == Damaged(1, problem)


def test_a_type_that_is_not_known():
    assert after_a_call(b'{"type":"comment","tool":5}\n') == Unknown(2, "comment")


def test_blank_lines_windows_lines_and_a_byte_order_mark():
    content = b"\xef\xbb\xbf" + CALL.replace(b"\n", b"\r\n") + b"\n  \r\n" + CALL.rstrip()
    assert [(type(item), item.line) for item in read(content) if isinstance(item, CallLine)] == [
        (CallLine, 1),
        (CallLine, 4),
    ]


def test_what_python_reads_and_fast_decoders_do_not():
    line = (
        b'{"type":"call","tool":"\\ud800","args":{"nan":NaN,"inf":-Infinity,"big":1e999,"long":' + b"9" * 5000 + b"}}\n"
    )
    call = after_a_call(line)
    assert isinstance(call, CallLine)
    assert call.tool == "\ud800"
    assert call.args["nan"] != call.args["nan"]
    assert call.args["long"] == float("inf")


def test_half_a_character_in_the_name_of_a_field():
    line = b'{"type":"call","id":"1","tool":"bash","args":{"\\udc00":1},"to\\ud800ol":"x"}\n'
    (call,) = read(line)
    assert isinstance(call, CallLine)
    assert (call.tool, call.args) == ("bash", {"\udc00": 1})
    nested = b'{"type":"result","id":"1","ticket":1,"result":{},"failure":{"reason":"exit","\\udc00":1}}\n'
    assert isinstance(after_a_call(nested), Damaged | ResultLine)


@pytest.mark.parametrize("depth", [10, 900, 2_000, 200_000])
def test_arguments_of_any_depth(depth: int):
    line = b'{"type":"call","tool":"t","args":{"command":"ls","deep":' + b'[{"a":' * depth + b'"]}"' + b"}]" * depth
    call = after_a_call(line + b"}}\n")
    assert isinstance(call, CallLine)
    assert call.args["command"] == "ls"
    json.dumps(call.args)


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"\\"":'])
def test_nesting_that_never_ends(opening: bytes):
    assert isinstance(after_a_call(b'{"type":"call","tool":"t","args":' + opening * 200_000 + b"\n"), Damaged)


def test_an_endless_line_costs_no_memory_and_the_next_is_read():
    long = b'{"type":"call","tool":"t","args":"' + b"x" * (4 * LINE_BYTES) + b'"}\n'
    damaged, call = read(long + CALL)
    assert damaged == Damaged(1, "longer than 16 MiB")
    assert isinstance(call, CallLine)
    assert call.line == 2


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "an empty file"),
        (b"\n \n", "an empty file"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
        (b"\x28\xb5\x2f\xfd\x04\x00", "zstd data; unpack it first"),
        (b"\x1f\x8b\x08\0", "gzip data; unpack it first"),
        ("{}\n".encode("utf-16"), "UTF-16 text"),
        (b"\0" * 5000, "binary data"),
        (b"id,name,count\n1,ls,3\n", "a table of comma-separated values"),
        (b"id\tname\n1\tls\n", "a table of tab-separated values"),
        (b"# Read me\n\nSome words.\n", "a Markdown document"),
        (b"<!DOCTYPE html>\n<html></html>\n", "an HTML or XML document"),
        (b"window: 16\nonLimit: deny\n", "a YAML document"),
        (b"#!/bin/sh\nls\n", "a script"),
        (b'{\n  "type": "call"\n}\n', "one JSON document over many lines"),
        (b'[{"type":"call","tool":"x"}]\n', "a JSON list"),
        (
            b'{"type":"user","message":{}}\n{"type":"assistant"}\n',
            "JSON lines of another kind (types 'user', 'assistant')",
        ),
        (b'{"tool":"bash","args":{}}\n', "JSON lines of another kind (line 1: it has no `type`)"),
        (b"just words\n", "plain text"),
    ],
)
def test_a_file_that_is_no_session_is_one_error_that_says_what_it_is(content: bytes, kind: str):
    with pytest.raises(NotASessionError, match="not a session: it looks like") as error:
        read(content)
    assert f"it looks like {kind}" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_foreign_file_is_given_up_early_and_a_bad_beginning_is_not():
    endless = io.BytesIO(b"word\n" * 1_000_000)
    with pytest.raises(NotASessionError):
        list(read_session(endless))
    assert endless.tell() < 1_000_000
    items = read(b"word\n" * (FOREIGN_LINES_READ - 1) + CALL)
    assert sum(isinstance(item, Damaged) for item in items) == FOREIGN_LINES_READ - 1


# -- journals ---------------------------------------------------------------------------------------------------


def journal(*events: Event) -> list[Line]:
    return read(b"".join(encoder.encode(event) + b"\n" for event in events))


def test_a_journals_call_says_what_it_is():
    (call,) = journal(
        CallSeen(
            at=1.0,
            id="c1",
            agent="a1",
            tool="bash",
            args={"command": "curl …"},
            ticket=7,
            turn=1,
            verdict="deny",
            fingerprints=("exact:bash:{}", "verb:curl"),
            measures=(Measure("exact:bash:{}", 12),),
            outcome="unattended",
            asked=True,
            shell=True,
            asks_http_code=True,
        )
    )
    assert isinstance(call, CallLine)
    assert call.answer == "unattended"
    assert call.recorded is not None
    assert (call.recorded.ticket, call.recorded.verdict) == (7, "deny")
    assert call.recorded.identity == Identity(("exact:bash:{}", "verb:curl"), (), shell=True, asks_http_code=True)


def test_a_journals_result_carries_its_finding():
    failed, succeeded, aborted = journal(
        CallSettled(at=1.0, id="c1", agent="a1", ticket=1, result={"isError": False}, failure=Failure("exit", "3")),
        CallSettled(at=1.0, id="c2", agent="a1", ticket=2, result={"content": "Traceback …"}),
        CallSettled(at=1.0, id="c3", agent="a1", ticket=3, result={}, aborted=True),
    )
    assert isinstance(failed, ResultLine)
    assert isinstance(succeeded, ResultLine)
    assert isinstance(aborted, ResultLine)
    assert failed.failure == Failure("exit", "3")
    assert succeeded.failure is None
    assert aborted.result.aborted


def test_events_that_move_a_breaker_are_kept_and_the_others_passed_over():
    ask = Ask("ask-1", "a1", "c1", "bash", ("host:x",), (), 1.0, None)
    decided = CallDecided(at=2.0, id="c1", agent="a1", ticket=1, verdict="deny", outcome="timed_out")
    closed = AskClosed(at=2.0, id="ask-1", agent="a1", outcome="timed_out", calls=1)
    items = journal(
        AgentStarted(at=0.0, agent="a1", harness="codex"),
        ConfigChanged(at=0.0, source="defaults", config={"window": 16}),
        AskOpened(at=1.0, ask=ask),
        closed,
        decided,
        Notice(at=3.0, level="warning", text="disk full"),
        TurnStarted(at=4.0, agent="a1", turn=2, source="operator"),
    )
    assert items == [
        AgentLine(1, "a1", harness="codex"),
        AskOpened(at=1.0, ask=ask),
        closed,
        decided,
        TurnLine(7, "a1", human=True, at=4.0),
    ]


def test_a_journal_without_a_single_call_is_still_one():
    assert journal(AgentStarted(at=5.0, agent="a1", parent="a0")) == [AgentLine(1, "a1", "a0", at=5.0)]


@pytest.mark.parametrize(
    ("at", "moment"),
    [(b"1767225600.5", 1767225600.5), (b"-1", 0.0), (b"1e300", 0.0), (b'"noon"', 0.0), (b"true", 0.0), (b"null", 0.0)],
)
def test_a_line_may_say_when_it_was(at: bytes, moment: float):
    (call, result) = read(b'{"type":"call","tool":"t","result":{},"at":%s}\n' % at)
    (turn,) = read(b'{"type":"turn","at":%s}\n' % at)
    assert isinstance(call, CallLine)
    assert isinstance(result, ResultLine)
    assert isinstance(turn, TurnLine)
    assert call.at == result.at == turn.at == moment


# -- anything ---------------------------------------------------------------------------------------------------

JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    ["type", "id", "agent", "tool", "args", "result", "answer", "source", "ticket", "verdict", "ask"]
)
TYPES = st.sampled_from(["call", "result", "turn", "verdict", "ask", "agent-end", "exempted", "other"])


def any_line() -> st.SearchStrategy[bytes]:
    objects = st.dictionaries(FIELDS, JSON_VALUES | TYPES, max_size=6).map(lambda one: json.dumps(one).encode())
    broken = st.tuples(objects, st.integers(0, 80)).map(lambda pair: pair[0][: pair[1]])
    return objects | broken | st.binary(max_size=40) | st.just(CALL.rstrip())


@given(st.lists(any_line(), max_size=12))
def test_no_file_raises_anything_but_the_one_error(lines: list[bytes]):
    items: list[Line] = []
    with suppress(NotASessionError):
        items = read(b"\n".join(lines))
    numbers = [item.line for item in items if isinstance(item, CallLine | ResultLine | TurnLine | Damaged | Unknown)]
    assert numbers == sorted(numbers)


@given(st.dictionaries(st.text(), JSON_VALUES, max_size=4))
def test_arguments_come_as_they_were_written(args: dict[str, Any]):
    (call,) = read(json.dumps({"type": "call", "tool": "t", "args": args}).encode() + b"\n")
    assert isinstance(call, CallLine)
    assert json.dumps(call.args) == json.dumps(args)
    assert msgspec.structs.asdict(call)["tool"] == "t"
