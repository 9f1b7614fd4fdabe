"""Claude Code's transcripts: as the real client wrote them, and what no recording has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.harnesses.adapter import Proposed
from engine.harnesses.claude_code import ClaudeCode
from engine.harnesses.payloads import read_payload
from engine.session_items import AgentLine, CallLine, ResultLine, TurnLine
from tests.engine.transcripts.recordings import items, items_in, recording, told

TWO_TURNS = [
    "agent",
    "turn",
    "call Bash echo one",
    "result exitCode 0",
    "call Bash ls /nowhere",
    "result exitCode 2",
    "call Read /tmp/no-such-file",
    "result error",
    "call Bash sleep 5",
    "result timedOut True",
    "call Bash sleep 3",
    "result kind background",
    "turn",
    "call Bash echo two",
    "call Bash echo three",
    "result exitCode 0",
    "result exitCode 0",
    "call Write /home/dev/project/x.txt",
    "result ok",
]


def line(kind: str, content: Any, **more: Any) -> bytes:
    entry = {"type": kind, "sessionId": "s1", "message": {"content": content}, "isSidechain": False, **more}
    return json.dumps(entry).encode() + b"\n"


def use(call: str, **more: Any) -> bytes:
    block = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"echo {call}"}}
    return line("assistant", [block], **more)


def result(call: str, text: str = "done", *, failed: bool = False, **more: Any) -> bytes:
    block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed}
    return line("user", [block], **more)


# -- as it was written --------------------------------------------------------------------------------------------


def test_two_messages_of_a_human_and_every_kind_of_ending():
    assert told(items(recording("claude-code/two-turns.jsonl"))) == TWO_TURNS


def test_times_are_told_and_agents_are_named_as_the_hooks_name_them():
    found = items(recording("claude-code/two-turns.jsonl"))
    agent = found[0]
    assert isinstance(agent, AgentLine)
    assert agent.agent == "4168f375-80de-44ea-80cb-2f3df4e75e49"
    assert agent.harness == "claude-code"
    times = [item.at for item in found if isinstance(item, CallLine | ResultLine | TurnLine)]
    assert times == sorted(times)
    assert 1796082086 < times[0] < times[-1] < 1796082092


def test_sub_agents_are_read_along_in_the_order_of_time():
    found = items(recording("claude-code/sub-agent.jsonl"))
    assert told(found) == [
        *("agent", "turn", "call Bash echo main", "result exitCode 0", "call Agent look"),
        *("agent", "result ok", "call Bash echo main again", "agent general-purpose", "call Bash echo from-sub"),
        *("result exitCode 0", "result exitCode 0", "call Bash cat /no/file", "result exitCode 1"),
    ]
    sub_agent = next(item for item in found if isinstance(item, AgentLine) and item.name)
    assert sub_agent.agent == f"{sub_agent.parent}/a6b47bbb22ee07d80"
    assert sum(isinstance(item, TurnLine) for item in found) == 1, "a task and its notification are no human's messages"


def test_a_sub_agents_file_alone():
    path = next(recording("claude-code/sub-agent/subagents").glob("*.jsonl"))
    assert told(items(path)) == [
        *("agent", "agent general-purpose", "call Bash echo from-sub", "result exitCode 0"),
        *("call Bash cat /no/file", "result exitCode 1"),
    ]


def test_a_summary_and_a_local_command_are_no_messages():
    assert told(items(recording("claude-code/compacted.jsonl"))).count("turn") == 2


def test_calls_that_were_turned_down_never_ran():
    endings = dict(zip(*[iter(told(items(recording("claude-code/denied.jsonl")))[2:])] * 2, strict=True))
    assert endings["call Bash echo DENYME"] == "result never ran"
    assert endings["call Grep zz"] == "result never ran"
    assert endings["call Bash x"] == "result never ran"
    assert endings["call Edit /home/dev/project/a.txt"] == "result never ran"
    assert endings["call WebFetch http://127.0.0.1:9/x"] == "result error"
    assert endings["call Bash grep zz /etc/hostname"] == "result ok", "grep found nothing: Claude Code says so"


def test_calls_are_those_that_the_hook_was_told():
    """Those Claude Code itself turned down have no hook; the others are told alike, argument for argument."""
    hooks = recording("claude-code/denied.hooks.jsonl").read_bytes().splitlines()
    proposed = [ClaudeCode().read(read_payload(hook)) for hook in hooks]
    calls = {item.id: item for item in items(recording("claude-code/denied.jsonl")) if isinstance(item, CallLine)}
    for one in proposed:
        assert isinstance(one, Proposed)
        call = calls[one.call]
        assert (call.agent, call.tool, call.args) == (one.agent.id, one.tool, one.args)


# -- what no recording has ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "human"),
    [
        (line("user", "go on"), True),
        (line("user", "go on", promptSource="typed"), True),
        (line("user", "go on", promptSource="queued"), True),
        (line("user", [{"type": "text", "text": "see this"}, {"type": "image", "source": {}}]), True),
        (line("user", [{"type": "image", "source": {}}]), True),
        (line("user", "<command-message>review</command-message>\n<command-name>/review</command-name>"), True),
        (line("user", "go on", promptSource="system"), False),
        (line("user", "go on", isMeta=True), False),
        (line("user", "go on", isCompactSummary=True), False),
        (line("user", "go on", isSidechain=True, agentId="a1"), False),
        (line("user", "<system-reminder>the date has changed</system-reminder>"), False),
        (line("user", "<task-notification>\n<task-id>1</task-id></task-notification>"), False),
        (line("user", "<command-name>/compact</command-name>"), False),
        (line("user", "<local-command-stdout>Compacted</local-command-stdout>"), False),
        (line("user", "<bash-input>ls</bash-input>"), False),
        (line("user", "[Request interrupted by user for tool use]"), False),
        (line("user", [{"type": "text", "text": "[Request interrupted by user]"}]), False),
        (line("user", []), False),
        (line("user", None), False),
    ],
)
def test_only_a_humans_message_is_a_turn(entry: bytes, human: bool):
    assert ("turn" in told(items_in(use("c1") + entry))) is human


def test_what_a_human_wrote_meanwhile():
    queued = {"type": "queued_command", "prompt": "stop that", "commandMode": "prompt"}
    said = json.dumps({"type": "attachment", "sessionId": "s1", "attachment": queued}).encode() + b"\n"
    assert told(items_in(use("c1") + said)) == ["agent", "call Bash echo c1", "turn"]
    notice = json.dumps({"type": "attachment", "sessionId": "s1", "attachment": {**queued, "isMeta": True}}).encode()
    assert told(items_in(use("c1") + notice + b"\n")) == ["agent", "call Bash echo c1"]


def test_sub_agents_without_ids_between_the_lines_of_their_parent():
    """Older versions tell sub-agents apart by which message answers which."""
    content = b"".join(
        [
            use("m1", uuid="u1"),
            line("user", "task one", isSidechain=True, uuid="a1", parentUuid=None),
            line("user", "task two", isSidechain=True, uuid="b1", parentUuid=None),
            use("a", isSidechain=True, uuid="a2", parentUuid="a1"),
            use("b", isSidechain=True, uuid="b2", parentUuid="b1"),
            result("a", isSidechain=True, uuid="a3", parentUuid="a2"),
            use("a-again", isSidechain=True, uuid="a4", parentUuid="a3"),
        ]
    )
    agents = {item.id: item.agent for item in items_in(content) if isinstance(item, CallLine)}
    assert agents["m1"] == "s1"
    assert agents["a"] == agents["a-again"]
    assert len({agents["m1"], agents["a"], agents["b"]}) == 3
    assert "turn" not in told(items_in(content))


def test_a_message_written_twice_is_one_call():
    assert told(items_in(use("c1") + use("c1") + result("c1"))) == ["agent", "call Bash echo c1", "result exitCode 0"]


def test_a_result_without_its_fields_is_read_from_its_text():
    assert told(items_in(use("c1") + result("c1", "Exit code 3\nno", failed=True)))[-1] == "result exitCode 3"
    assert told(items_in(use("c1") + result("c1", "hello")))[-1] == "result exitCode 0"


def test_several_results_in_one_line_share_no_fields():
    blocks = [{"type": "tool_result", "tool_use_id": one, "content": f"out {one}"} for one in ("c1", "c2")]
    both = line("user", blocks, toolUseResult={"stdout": "of one of them", "interrupted": True})
    assert told(items_in(use("c1") + use("c2") + both))[-2:] == ["result exitCode 0", "result exitCode 0"]


def test_a_call_that_the_user_stopped():
    refused = result("c1", "The user doesn't want to proceed with this tool use.", failed=True)
    assert told(items_in(use("c1") + refused))[-1] == "result never ran"
    interrupted = result("c2", "", toolUseResult={"stdout": "", "stderr": "", "interrupted": True})
    assert told(items_in(use("c2") + interrupted))[-1] == "result never ran"


def test_a_sub_agents_file_that_cannot_be_read_is_told(tmp_path: Path):
    (tmp_path / "s1.jsonl").write_bytes(use("c1"))
    beside = tmp_path / "s1" / "subagents"
    beside.mkdir(parents=True)
    (beside / "agent-x.jsonl").write_bytes(b"PK\x03\x04 nothing of ours\n")
    found = told(items(tmp_path / "s1.jsonl"))
    assert found[-1].startswith("damaged not a session: it looks like a ZIP archive")
    assert "call Bash echo c1" in found
