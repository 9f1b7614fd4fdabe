"""Files are recognised by what is in them; what is damaged or unknown is told and costs nothing else."""

from __future__ import annotations

import io
import json
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.session_items import Damaged, Unknown
from engine.session_lines import LINE_BYTES
from engine.sessions import FOREIGN_LINES_READ, NotASessionError
from engine.transcripts.recognise import AnyReader, format_of, read
from tests.engine.transcripts.recordings import ALL, NAMES, items_in, recording, told

NAMED = {
    "claude-code": "a Claude Code transcript",
    "codex": "a Codex rollout",
    "dsh": "a DSH session log",
}
PLAIN = [path for path in ALL if path.suffix == ".jsonl"]
SESSION = b'{"type":"call","id":"c1","agent":"a1","tool":"bash","args":{"command":"ls"}}\n'
JOURNAL = b'{"type":"agent","at":1767225600.0,"agent":"a1"}\n'


@pytest.mark.parametrize("path", ALL, ids=NAMES)
def test_a_file_is_recognised_under_any_name(path: Path, tmp_path: Path):
    elsewhere = tmp_path / "anything.txt"
    elsewhere.write_bytes(path.read_bytes())
    found = format_of(elsewhere)
    assert found
    assert found.name == NAMED[path.relative_to(recording("")).parts[0]]


def test_our_own_are_recognised(tmp_path: Path):
    for content, name in ((SESSION, "a session"), (JOURNAL, "a journal"), (b"\n \n" + SESSION, "a session")):
        (tmp_path / "file").write_bytes(content)
        found = format_of(tmp_path / "file")
        assert found
        assert found.name == name


def test_an_empty_file_may_become_anything(tmp_path: Path):
    (tmp_path / "file").touch()
    assert format_of(tmp_path / "file") is None
    with pytest.raises(NotASessionError, match="an empty file"):
        items_in(b"")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"PK\x03\x04rest\n", "a ZIP archive"),
        (b"# Notes\n\nwords\n", "a Markdown document"),
        (b"[tool.x]\nkey = 1\n", "a TOML or INI document"),
        (b'{"event":"x"}\n{"event":"y"}\n', "JSON lines of another kind"),
        (b'{"type":"trace","span":1}\n', "'trace'"),
        (b"id,tool,args\n1,bash,ls\n", "comma-separated"),
        (b"\x00\x01\x02", "binary data"),
        (b"SQLite format 3\x00", "an SQLite database"),
        (b"\x1f\x8b\x08", "gzip data"),
        (b"\x28\xb5\x2f\xfdgarbage that is no frame", "zstd data"),
    ],
)
def test_a_wrong_file_is_one_clear_error(content: bytes, what: str):
    with pytest.raises(NotASessionError) as raised:
        items_in(content)
    assert what in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "Claude Code" in str(raised.value)


def test_a_wrong_file_is_not_read_to_its_end(tmp_path: Path):
    (tmp_path / "file").write_bytes(b'{"event":"x"}\n' * 1_000_000)
    with (tmp_path / "file").open("rb") as file:
        with pytest.raises(NotASessionError):
            list(read(file))
        assert file.tell() < 1_000_000


def test_what_comes_before_the_first_line_that_is_known_is_told():
    content = b"not json\n" + PLAIN[0].read_bytes()
    assert told(items_in(content))[0].startswith("damaged not JSON")
    with pytest.raises(NotASessionError):
        items_in(b"not json\n" * FOREIGN_LINES_READ + PLAIN[0].read_bytes())


# -- damage -------------------------------------------------------------------------------------------------------

DAMAGES = (
    b"half a li",
    b'{"type":"user","sessionId":',
    b'{"type":"user","sessionId":7,"message":{"content":"x"}}',
    b'{"type":"assistant","sessionId":"s","message":{"content":[7]}}',
    b'{"timestamp":"t","type":"response_item","payload":[1]',
    b"\xff\xfe\xfd",
    b"[1,2]",
    b'"words"',
    b'{"type":5}',
    b'{"type":[1],"sessionId":"s","payload":{},"seq":1,"data":{}}',
    b"[" * 100_000,
    b'{"a":"\\ud800","type":"user"',
)


@pytest.mark.parametrize("path", PLAIN, ids=str)
@given(data=st.data())
def test_damaged_lines_are_told_and_change_nothing_else(path: Path, data: st.DataObject):
    lines = path.read_bytes().splitlines(keepends=True)
    whole = told(items_in(b"".join(lines)))
    where = data.draw(st.lists(st.integers(1, len(lines)), min_size=1, max_size=4))
    for place in sorted(where, reverse=True):
        lines.insert(place, data.draw(st.sampled_from(DAMAGES)) + b"\n")
    found = items_in(b"".join(lines))
    bad = [one for one in found if isinstance(one, Damaged | Unknown)]
    unknown_before = sum(brief.startswith("unknown") for brief in whole)
    assert len(bad) == len(where) + unknown_before
    assert told(one for one in found if not isinstance(one, Damaged | Unknown)) == [
        brief for brief in whole if not brief.startswith("unknown")
    ]


@pytest.mark.parametrize("path", PLAIN, ids=str)
def test_a_last_line_half_written_is_told(path: Path):
    content = path.read_bytes()
    cut = content[: content.rstrip().rfind(b"\n") + 40]
    found = items_in(cut)
    assert told(found)[-1] == "damaged the file ends in the middle of this line"


@pytest.mark.parametrize(
    ("first", "strange"),
    [
        (b'{"type":"user","sessionId":"s","message":{"content":"x"}}\n', b'{"type":"hologram","sessionId":"s"}\n'),
        (b'{"type":"event_msg","payload":{}}\n', b'{"type":"hologram","payload":{}}\n'),
        (b'{"type":"session","version":0,"id":"s","createdAt":1}\n', b'{"type":"hologram/x","seq":1,"data":{}}\n'),
        (SESSION, b'{"type":"hologram"}\n'),
    ],
)
def test_records_of_an_unknown_type_are_told(first: bytes, strange: bytes):
    assert told(items_in(first + strange))[-1].startswith("unknown hologram")


def test_no_record_of_a_real_client_is_unknown():
    for path in ALL:
        assert not [brief for brief in told(items_in(path.read_bytes())) if brief.startswith(("unknown", "damaged"))], (
            path
        )


@given(st.lists(st.one_of(st.binary(max_size=80), st.sampled_from(DAMAGES), st.sampled_from([SESSION, JOURNAL]))))
def test_no_bytes_raise_anything_else(pieces: list[bytes]):
    with suppress(NotASessionError):
        items_in(b"\n".join(pieces))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = {
    "claude": (
        {"sessionId": "s", "type": "user"},
        ("type", "sessionId", "agentId", "isSidechain", "message", "toolUseResult", "timestamp", "uuid", "attachment"),
    ),
    "codex": ({"type": "response_item", "payload": {}}, ("type", "payload", "timestamp")),
    "dsh": ({"type": "session", "createdAt": 1}, ("type", "seq", "time", "data", "id", "seedLength", "surfaceOp")),
}


@pytest.mark.parametrize("kind", FIELDS)
@given(data=st.data())
def test_no_fields_of_any_type_raise(kind: str, data: st.DataObject):
    first, names = FIELDS[kind]
    fields = st.dictionaries(st.sampled_from(names), json_values, max_size=5)
    entries = [first, *({**first, **one} for one in data.draw(st.lists(fields, min_size=1, max_size=4)))]
    items_in("".join(json.dumps(entry) + "\n" for entry in entries).encode())


PAYLOADS = {
    "codex": (
        {"type": "response_item"},
        "payload",
        ("type", "call_id", "name", "arguments", "output", "item", "action"),
    ),
    "dsh": ({"type": "tool/result", "seq": 1}, "data", ("message", "callId", "name", "arguments", "error", "source")),
}


@pytest.mark.parametrize("kind", PAYLOADS)
@given(data=st.data())
def test_no_payload_raises(kind: str, data: st.DataObject):
    entry, place, names = PAYLOADS[kind]
    kinds = ["function_call", "function_call_output", "item_completed", "tool/call", "user/message", "exec_command_end"]
    lines = [FIELDS[kind][0]]
    for _ in range(data.draw(st.integers(1, 4))):
        inner = data.draw(st.dictionaries(st.sampled_from(names), json_values, max_size=5))
        if data.draw(st.booleans()):
            inner["type"] = data.draw(st.sampled_from(kinds))
        kind_of_line = data.draw(
            st.sampled_from([entry["type"], "event_msg", "session_meta", "tool/call", "user/message"])
        )
        lines.append({**entry, "type": kind_of_line, place: inner})
    items_in("".join(json.dumps(one) + "\n" for one in lines).encode())


def test_an_overlong_line_costs_itself_only():
    content = PLAIN[0].read_bytes()
    long = b'{"type":"user","sessionId":"s","message":{"content":"' + b"x" * (LINE_BYTES + 10) + b'"}}\n'
    first, rest = content.split(b"\n", 1)
    found = told(items_in(first + b"\n" + long + rest))
    assert [brief for brief in found if brief.startswith("damaged")] == [
        f"damaged longer than {LINE_BYTES // 2**20} MiB"
    ]
    assert [brief for brief in found if not brief.startswith("damaged")] == told(items_in(content))


class Endless(io.RawIOBase):
    """A transcript of so many bytes, made as it is read."""

    def __init__(self, line: bytes, size: int) -> None:
        self._line, self._left = line, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        size = min(len(buffer) // len(self._line) * len(self._line), self._left // len(self._line) * len(self._line))
        buffer[:size] = self._line * (size // len(self._line))
        self._left -= size
        return size


def test_a_large_file_costs_no_memory():
    block = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "echo " + "x" * 8000}}
    line = json.dumps({"type": "assistant", "sessionId": "s", "message": {"content": [block]}}).encode() + b"\n"
    tracemalloc.start()
    for _ in read(io.BufferedReader(Endless(line, 100_000_000), 256 * 1024), AnyReader()):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8_000_000
