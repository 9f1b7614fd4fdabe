"""DSH's session logs: as the real client wrote them, and what no recording has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.session_items import AgentLine, CallLine
from tests.engine.transcripts.recordings import items, items_in, recording, told


def head(**more: Any) -> bytes:
    return (
        json.dumps({"type": "session", "version": 0, "id": "s1", "createdAt": 1796082096000, **more}).encode() + b"\n"
    )


def event(kind: str, number: int, data: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"type": kind, "seq": number, "time": 1796082096500, "data": data, **more}).encode() + b"\n"


def call(number: int, command: str = "ls", name: str = "bash") -> bytes:
    arguments = json.dumps({"command": command})
    return event("tool/call", number, {"callId": f"c{number}", "name": name, "arguments": arguments})


def result(number: int, text: str, *, failed: bool = False, error: Any = None, **more: Any) -> bytes:
    block = {
        "type": "tool-result",
        "toolCallId": f"c{number}",
        "content": [{"type": "text", "text": text}],
        "isError": failed,
    }
    data = {"message": {"content": [block]}, **({"error": error} if error else {})}
    return event("tool/result", number + 1, data, surfaceOp="append", **more)


def message(number: int, **source: Any) -> bytes:
    return event("user/message", number, {"source": source, "content": []}, surfaceOp="append")


def test_two_messages_of_a_human_and_every_kind_of_ending():
    assert told(items(recording("dsh/two-turns.jsonl.zstd"))) == [
        *("agent", "turn", "call bash echo one", "result exitCode 0", "call bash ls /nowhere", "result exitCode 2"),
        *("call read /tmp/no-such-file", "result error FS_NOT_FOUND", "call bash sleep 5", "result timedOut True"),
        *("call bash kill -9 $$", "result signal SIGKILL", "call bash sleep 1", "result kind background"),
        *("turn", "call bash echo two", "result exitCode 0", "call bash echo three", "result exitCode 0"),
    ]


def test_a_sub_agent_has_a_parent_and_no_human():
    found = items(recording("dsh/sub-agent.jsonl.zstd"))
    assert told(found) == [
        *(
            "agent sub-agent",
            "call bash echo from-sub",
            "result exitCode 0",
            "call bash cat /no/file",
            "result exitCode 1",
        )
    ]
    agent = found[0]
    assert isinstance(agent, AgentLine)
    assert agent.parent == "session-a138a555-ee20-4e71-8bbc-6421f8f858ba"


def test_the_parents_log():
    assert told(items(recording("dsh/parent.jsonl.zstd"))) == [
        *("agent", "turn", "call bash echo main", "result exitCode 0", "call subagent look", "result ok"),
        *("call bash echo main again", "result exitCode 0"),
    ]


@pytest.mark.parametrize(
    ("source", "headed", "human"),
    [
        ({"kind": "user"}, {}, True),
        ({"kind": "plugin", "plugin": "x"}, {}, False),
        ({"kind": "user"}, {"origin": "subagent", "parentSession": "s0"}, False),
        ({"kind": "user", "rpcId": "r1"}, {"origin": "subagent", "parentSession": "s0"}, True),
        ({"kind": "user"}, {"parentSession": "s0"}, True),
    ],
)
def test_only_a_humans_message_is_a_turn(source: dict[str, Any], headed: dict[str, Any], human: bool):
    assert ("turn" in told(items_in(head(**headed) + message(1, **source)))) is human


def test_what_a_fork_inherited_did_not_happen_in_it():
    content = head(parentSession="s0", origin="subagent", seedLength=2) + call(0) + result(0, "x") + call(5)
    assert [item.id for item in items_in(content) if isinstance(item, CallLine)] == ["c5"]


def test_what_a_compaction_puts_in_the_place_of_others_did_not_happen():
    replaced = {"op": "replace", "start": 1, "end": 4}
    moved = event("user/message", 9, {"source": {"kind": "user"}, "content": []}, surfaceOp=replaced)
    assert "turn" not in told(items_in(head() + call(1) + moved))


@pytest.mark.parametrize(
    ("text", "brief"),
    [
        ("fine\n", "result exitCode 0"),
        ("no\n[exit code: 7]", "result exitCode 7"),
        ("no\n[timed out after 900ms]\n[killed by signal: SIGTERM]", "result timedOut True"),
        ("it printed [exit code: 7] itself\nand more", "result exitCode 0"),
        ("started background job bash-1", "result kind background"),
        ("no\n[sandbox: file access denied under read-only mode]\n[hint: ask]\n[exit code: 1]", "result exitCode 1"),
    ],
)
def test_how_a_command_ended_is_read_from_its_markers(text: str, brief: str):
    assert told(items_in(head() + call(1) + result(1, text)))[-1] == brief


def test_calls_that_never_ran():
    refused = result(1, "Error: REPEAT_TOOL_BLOCKED: bash was not run.", failed=True)
    assert told(items_in(head() + call(1) + refused))[-1] == "result never ran"
    aborted = result(1, "Error: aborted", failed=True, error={"name": "X", "code": "ABORTED_BEFORE_DISPATCH"})
    assert told(items_in(head() + call(1) + aborted))[-1] == "result never ran"


def test_the_status_of_a_fetched_page():
    fetched = result(1, "Fetched https://example.org/x (HTTP 404)\n\nnot here")
    found = items_in(head() + call(1, name="web_fetch") + fetched)[-1]
    assert getattr(found, "result", None)
    assert found.result.value == {"statusCode": 404}  # type: ignore[union-attr]
