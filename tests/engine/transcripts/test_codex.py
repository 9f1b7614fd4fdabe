"""Codex's rollouts: as the real client wrote them, and what no recording has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.harnesses.adapter import Proposed
from engine.harnesses.codex import Codex
from engine.harnesses.payloads import read_payload
from engine.session_items import AgentLine, CallLine
from tests.engine.transcripts.recordings import items, items_in, recording, told


def line(kind: str, /, **payload: Any) -> bytes:
    return json.dumps({"timestamp": "2026-01-31T12:00:00.5Z", "type": kind, "payload": payload}).encode() + b"\n"


META = line("session_meta", id="t1", session_id="t1")


def call(name: str, number: int = 1, **arguments: Any) -> bytes:
    written = json.dumps(arguments)
    return line("response_item", type="function_call", name=name, call_id=f"c{number}", arguments=written)


def output(text: Any, number: int = 1) -> bytes:
    return line("response_item", type="function_call_output", call_id=f"c{number}", output=text)


def command_ended(number: int = 1, **how: Any) -> bytes:
    return line("event_msg", type="item_completed", item={"type": "CommandExecution", "id": f"c{number}", **how})


def last(content: bytes) -> str:
    return told(items_in(META + content))[-1]


def test_two_messages_of_a_human_and_every_kind_of_ending():
    assert told(items(recording("codex/two-turns.jsonl"))) == [
        *("agent", "turn", "call Bash echo one", "result exitCode 0", "call Bash ls /nowhere", "result exitCode 2"),
        *("call Bash sleep 2; echo late; exit", "call apply_patch x", "result never ran", "result never ran"),
        *("turn", "call Bash echo two", "call Bash exit 3", "result exitCode 3", "result exitCode 0"),
        *("call view_image /nowhere.png", "result ok"),
    ]


def test_a_sub_agent_is_named_as_the_hooks_name_it_and_has_no_human():
    found = items(recording("codex/sub-agent.jsonl"))
    assert told(found) == [
        *(
            "agent Leibniz",
            "call Bash echo from-sub",
            "result exitCode 0",
            "call Bash cat /no/file",
            "result exitCode 1",
        )
    ]
    agent = found[0]
    assert isinstance(agent, AgentLine)
    assert agent.parent == "01a22ed2-8a0e-7112-8f56-3cc441d5cd19"
    assert agent.agent == "01a22ed2-8a0e-7112-8f56-3cc441d5cd19/01a22ed2-8ad7-7890-a45d-8bae70f3dc6a"


def test_what_tells_the_parent_of_its_sub_agent_is_no_message_of_a_human():
    assert told(items(recording("codex/parent.jsonl"))).count("turn") == 1


def test_calls_are_those_that_the_hook_was_told():
    hooks = recording("codex/denied.hooks.jsonl").read_bytes().splitlines()
    proposed = [Codex().read(read_payload(hook)) for hook in hooks]
    calls = {item.id: item for item in items(recording("codex/denied.jsonl")) if isinstance(item, CallLine)}
    for one in proposed:
        assert isinstance(one, Proposed)
        assert (calls[one.call].agent, calls[one.call].tool, calls[one.call].args) == (one.agent.id, one.tool, one.args)
    assert not [item for item in calls.values() if item.tool == "write_stdin"], "no hook is asked about it"


def test_a_refused_call_never_ran():
    found = told(items(recording("codex/denied.jsonl")))
    assert found[found.index("call Bash echo DENYME") + 1] == "result never ran"


@pytest.mark.parametrize(
    ("content", "tool", "args"),
    [
        (call("shell", command=["bash", "-lc", "ls"]), "Bash", {"command": ["bash", "-lc", "ls"]}),
        (call("shell_command", command="ls"), "Bash", {"command": "ls"}),
        (call("exec_command", cmd="ls", yield_time_ms=5), "Bash", {"command": "ls"}),
        (
            line("response_item", type="local_shell_call", call_id="c1", action={"type": "exec", "command": ["ls"]}),
            "Bash",
            {"command": ["ls"]},
        ),
        (
            line("response_item", type="custom_tool_call", name="apply_patch", call_id="c1", input="*** Begin"),
            "apply_patch",
            {"command": "*** Begin"},
        ),
        (
            line(
                "response_item", type="function_call", name="find", namespace="mcp__docs", call_id="c1", arguments="{}"
            ),
            "mcp__docs__find",
            {},
        ),
        (
            line("response_item", type="function_call", name="f", call_id="c1", arguments="no JSON"),
            "f",
            {"value": "no JSON"},
        ),
    ],
)
def test_calls_as_the_hooks_are_told(content: bytes, tool: str, args: dict[str, Any]):
    made = items_in(META + content)[-1]
    assert isinstance(made, CallLine)
    assert (made.tool, made.args) == (tool, args)


@pytest.mark.parametrize(
    ("ending", "brief"),
    [
        (output("Wall time: 1 s\nProcess exited with code 4\nOutput:\nno"), "result exitCode 4"),
        (output("Wall time: 1 s\nProcess running with session ID 7\nOutput:\n"), "call Bash ls"),
        (output('{"output":"no","metadata":{"exit_code":2,"duration_seconds":0.1}}'), "result exitCode 2"),
        (output({"content": "no", "success": False}), "result error"),
        (output([{"type": "input_text", "text": "fine"}]), "result ok"),
        (output("Output:\nProcess exited with code 9\n"), "result ok"),
        (command_ended(status="failed", exit_code=3, aggregated_output="x"), "result exitCode 3"),
        (command_ended(status="declined"), "result never ran"),
        (command_ended(status="failed", exit_code=-1), "result never ran"),
        (command_ended(status="failed"), "result error"),
        (
            line("event_msg", type="exec_command_end", call_id="c1", exit_code=1, aggregated_output=""),
            "result exitCode 1",
        ),
    ],
)
def test_endings(ending: bytes, brief: str):
    assert last(call("exec_command", cmd="ls") + ending) == brief


def test_a_command_is_settled_once():
    both = command_ended(exit_code=0, status="completed") + output("Process exited with code 0\nOutput:\n")
    assert told(items_in(META + call("exec_command", cmd="ls") + both)).count("result exitCode 0") == 1


def test_a_result_that_nobody_waits_for_is_nothing():
    assert told(items_in(META + output("late", 9))) == ["agent"]


def test_older_versions_tell_messages_in_another_way():
    assert last(line("event_msg", type="user_message", message="hello", kind="plain")) == "turn"
    assert (
        last(line("response_item", type="message", role="user", content=[{"type": "input_text", "text": "x"}]))
        == "agent"
    )


def test_an_older_sub_agents_parent():
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "p1", "depth": 1}}}
    (agent,) = items_in(line("session_meta", id="t2", source=spawned))
    assert isinstance(agent, AgentLine)
    assert (agent.agent, agent.parent) == ("p1/t2", "p1")


def test_a_thread_that_goes_on_from_another_keeps_its_name():
    found = items_in(META + line("session_meta", id="t0") + call("exec_command", cmd="ls"))
    assert {item.agent for item in found if isinstance(item, AgentLine | CallLine)} == {"t1"}
