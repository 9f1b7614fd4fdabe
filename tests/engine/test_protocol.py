"""The frames: what is read, what is refused and under which id, and that the documentation is true."""

from __future__ import annotations

import contextlib
import gc
import json
import re

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine import protocol
from engine.protocol import DecideCall, ErrorCode, ProtocolError
from engine.service.connection import AgentConnection
from engine.service.frames import (
    HEAD_KEPT,
    Lines,
    Overlong,
    decode_params,
    decode_request,
    encode_error,
    encode_request,
    encode_result,
    overlong_error,
)

DECIDE = msgspec.json.Decoder(DecideCall)


def refused(line: bytes) -> ProtocolError:
    with pytest.raises(ProtocolError) as found:
        decode_params(DECIDE, decode_request(line))
    return found.value


def decide(params: str, head: str = '"jsonrpc":"2.0","id":7') -> bytes:
    return f'{{{head},"method":"call/decide","params":{params}}}'.encode()


@pytest.mark.parametrize(
    ("line", "code", "field", "request_id"),
    [
        (b"nonsense", ErrorCode.PARSE, "", None),
        (b'"text"', ErrorCode.INVALID_REQUEST, "", None),
        (b"[]", ErrorCode.INVALID_REQUEST, "", None),
        (b' [{"jsonrpc":"2.0","id":1,"method":"status"}]', ErrorCode.INVALID_REQUEST, "", None),
        (b"{}", ErrorCode.INVALID_REQUEST, "method", None),
        (b'{"jsonrpc":"1.0","id":3,"method":"status"}', ErrorCode.INVALID_REQUEST, "jsonrpc", None),
        (b'{"jsonrpc":"2.0","id":3,"method":4}', ErrorCode.INVALID_REQUEST, "method", 3),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"status"}', ErrorCode.INVALID_REQUEST, "id", None),
        (b'{"jsonrpc":"2.0","id":{},"method":"status"}', ErrorCode.INVALID_REQUEST, "id", None),
        (b'{"id":"abc","method":"x","params":{"a":tru}}', ErrorCode.PARSE, "", "abc"),
        (b'{"jsonrpc":"2.0","id":9,"method":"call/decide","params":{"id":"\xff"}}', ErrorCode.PARSE, "", 9),
        (decide("[" * 100_000 + "]" * 100_000), ErrorCode.PARSE, "", 7),
        (decide("[" * 100_000), ErrorCode.PARSE, "", 7),
        (decide('{"id":"c","tool":"t"'), ErrorCode.PARSE, "", 7),
        (decide("[]"), ErrorCode.INVALID_PARAMS, "params", 7),
        (decide("null"), ErrorCode.INVALID_PARAMS, "params", 7),
        (decide('{"id":"c"}'), ErrorCode.INVALID_PARAMS, "tool", 7),
        (decide('{"id":"c","tool":5}'), ErrorCode.INVALID_PARAMS, "tool", 7),
        (decide('{"id":"","tool":"t"}'), ErrorCode.INVALID_PARAMS, "id", 7),
        (decide('{"id":"c","tool":"t","agent":null}'), ErrorCode.INVALID_PARAMS, "agent", 7),
        (decide('{"id":"c","tool":"t","arguments":{}}'), ErrorCode.INVALID_PARAMS, "arguments", 7),
        (decide(f'{{"id":"c","tool":"{"t" * 1025}"}}'), ErrorCode.INVALID_PARAMS, "tool", 7),
        (decide('{"id":"c","tool":"t","args":1e999}'), ErrorCode.INVALID_PARAMS, "args", 7),
    ],
)
def test_what_cannot_be_read_is_refused_by_field_and_under_its_id(
    line: bytes, code: ErrorCode, field: str, request_id: object
) -> None:
    error = refused(line)
    assert (error.code, error.field, error.request) == (code, field, request_id)
    assert not field or str(error).find(field) >= 0
    assert len(str(error)) < 400


def test_a_nested_field_is_named_by_its_path() -> None:
    decoder = msgspec.json.Decoder(protocol.Initialize)
    with pytest.raises(ProtocolError) as found:
        decode_params(
            decoder, decode_request(b'{"jsonrpc":"2.0","method":"initialize","params":{"protocol":1,"agent":{"id":3}}}')
        )
    assert found.value.field == "agent.id"


@pytest.mark.parametrize("half", [r"\ud800", r"\udc00", r"\ud800\ud800", r"\uD83D x", r"\udfff\ud800"])
def test_half_a_character_does_not_keep_a_call_from_being_judged(half: str) -> None:
    line = decide(f'{{"id":"c","tool":"t","args":{{"{half}":"{half} and \\ud83d\\ude00 and \\\\ud800"}}}}')
    asked = decode_params(DECIDE, decode_request(line))
    assert isinstance(asked.args, dict)
    (text,) = asked.args.values()
    assert text.endswith(" and 😀 and \\ud800")
    text.encode()


def test_an_error_answers_under_the_id_of_a_line_that_was_skipped() -> None:
    head = b'{"jsonrpc":"2.0","id":"skipped","method":"call/decide","params":{"id":"xx'
    lines = Lines(limit=1000)
    (found,) = lines.feed(head + b"x" * 5000 + b"\n")
    assert isinstance(found, Overlong)
    answer = json.loads(encode_error(overlong_error(found, 1000)))
    assert answer["id"] == "skipped"
    assert answer["error"]["code"] == ErrorCode.FRAME_TOO_LARGE


@given(st.lists(st.binary(max_size=40), max_size=20), st.data())
def test_lines_are_the_same_however_the_bytes_arrive(parts: list[bytes], data: st.DataObject) -> None:
    stream = b"\n".join(parts) + b"\n"
    lines, found = Lines(limit=20), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += lines.feed(stream[:size])
        stream = stream[size:]
    expected = [line for part in parts for line in part.split(b"\n") if line]
    assert [line if isinstance(line, bytes) else None for line in found] == [
        line if len(line) <= 20 else None for line in expected
    ]


def test_a_line_that_is_too_long_is_not_kept() -> None:
    lines = Lines(limit=1 << 20)
    for _ in range(64):
        assert lines.feed(b"x" * (1 << 20)) == []
        assert len(lines._kept) <= 1 << 20
    (overlong, line) = lines.feed(b"y\nnext\n")
    assert isinstance(overlong, Overlong)
    assert len(overlong.head) <= HEAD_KEPT
    assert line == b"next"


texts = st.text(max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
requests = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "2.0", "1.0"]),
        "id": st.integers() | texts | json_values,
        "method": st.sampled_from(sorted(AgentConnection.methods)) | texts,
        "params": st.dictionaries(st.sampled_from(["id", "tool", "agent", "args", "result", "protocol"]), json_values),
    },
).map(lambda one: json.dumps(one).encode())


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A request with some of its bytes replaced."""
    line = draw(requests)
    at = draw(st.integers(0, len(line)))
    return line[:at] + draw(st.binary(max_size=4)) + line[at + draw(st.integers(0, 4)) :]


@given(st.binary(max_size=60) | requests | damaged())
@example(b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"status"}')
@example(b"\xef\xbb\xbf{}")
def test_no_line_raises_anything_but_a_protocol_error(line: bytes) -> None:
    try:
        request = decode_request(line)
        if method := AgentConnection.methods.get(request.method):
            decode_params(method.decoder, request)
    except ProtocolError as error:
        answer = json.loads(encode_error(error))
        assert answer["error"]["message"]


@given(json_values.filter(lambda value: "\\ud" not in json.dumps(value)))
def test_what_is_written_is_one_line_of_json(value: object) -> None:
    for line in (encode_result(3, value), encode_request("m", value), encode_request("m", value, "x")):
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        json.loads(line)


def test_the_documented_messages_are_served_as_documented() -> None:
    """Every request that the documentation shows is one that a server takes, every answer one that it gives."""
    text = protocol.__doc__ or ""
    shown = re.findall(r"^    (->|<-) (\{.*?\})$(?=\n(?:\n|    (?:->|<-)))", text, re.DOTALL | re.MULTILINE)
    messages = [
        (arrow, json.loads(re.sub(r"\n\s+", "", body)))
        for arrow, body in shown
        if '"method":"..."' not in body and "{...}" not in body
    ]
    asked = [message for arrow, message in messages if arrow == "->"]
    assert {message["method"] for message in asked} == {"initialize", "call/decide", "call/settle"}
    for message in asked:
        request = decode_request(json.dumps(message).encode())
        decode_params(AgentConnection.methods[request.method].decoder, request)
    for method in AgentConnection.methods:
        assert method in text
    answers = [message["result"] for arrow, message in messages if arrow == "<-" and "result" in message]
    assert {frozenset(answer) for answer in answers} >= {frozenset({"decision"}), frozenset({"advisories"})}


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"method":5}',
        b'{"jso',
        b"[1]",
        b'{"jsonrpc":"2.0","id":1,"method":"call/decide","params":{"id":1}}',
        b'{"a":"\\ud800"}',
        b'{"jsonrpc":"2.0","id":1,"method":"call/decide","params":{"id":"\\ud800"}}',
    ],
)
def test_a_line_that_cannot_be_read_is_gone_at_once(line: bytes) -> None:
    """An engine collects garbage seldom, and a line may have megabytes."""
    refused(line)
    gc.collect()
    gc.disable()
    try:
        with contextlib.suppress(ProtocolError):
            decode_params(DECIDE, decode_request(line))
        assert gc.collect() == 0
    finally:
        gc.enable()
