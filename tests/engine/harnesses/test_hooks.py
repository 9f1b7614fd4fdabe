"""Hooks served: what the engine makes of a harness's story, told payload by payload."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from engine.config import DEFAULTS
from engine.events import AgentEnded, AgentStarted, AskClosed, AskOpened, CallSeen, CallSettled, TurnStarted
from engine.harnesses.hooks import ADAPTERS, SCHEDULED_KEPT, TRIAL_ANSWER
from engine.protocol import ProtocolError
from engine.verdicts import Advisory
from tests.engine.harnesses.captures import EVERY, HARNESSES, capture
from tests.engine.harnesses.desks import HookBench

BEFORE = {"claude-code": "PreToolUse.Bash", "codex": "PreToolUse.Bash", "gemini-cli": "BeforeTool.run_shell_command"}
AFTER = {"claude-code": "PostToolUse.Bash", "codex": "PostToolUse.Bash", "gemini-cli": "AfterTool.run_shell_command"}
FAILED = {
    "claude-code": "PostToolUseFailure.Bash.exit3",
    "codex": "PostToolUse.Bash.exit3",
    "gemini-cli": "AfterTool.run_shell_command.exit3",
}
PROMPT = {"claude-code": "UserPromptSubmit", "codex": "UserPromptSubmit", "gemini-cli": "BeforeAgent"}


def story(harness: str, name: str, number: int = 0, **changed: Any) -> dict[str, Any]:
    """A payload of one session, its call with an id of its own."""
    payload = capture(harness, name) | {"session_id": "s1", "transcript_path": "/nowhere"} | changed
    if "tool_use_id" in payload:
        payload["tool_use_id"] = f"call-{number}"
    if "tool_input" in payload and "tool_input" not in changed:
        payload["tool_input"] = {"command": "make", "description": f"attempt {number}"}
    return payload


async def call(bench: HookBench, harness: str, number: int, **changed: Any) -> tuple[bool, str]:
    """Make a call and, if it may run, settle it. Whether it ran, and what the model was told."""
    denied = await bench.tell(harness, story(harness, BEFORE[harness], number, **changed))
    if denied:
        return False, json.dumps(denied)
    advised = await bench.tell(harness, story(harness, AFTER[harness], number, **changed))
    return True, advised.get("hookSpecificOutput", {}).get("additionalContext", "")


@pytest.mark.parametrize("harness", HARNESSES)
async def test_the_same_call_again_and_again(harness: str) -> None:
    bench = HookBench()
    told = [await call(bench, harness, number) for number in range(14)]
    assert [ran for ran, _ in told] == [True] * 11 + [False] * 3
    advised = [number for number, (ran, text) in enumerate(told, 1) if ran and text]
    assert advised == [7, 11]
    assert all(text.startswith("CONVERGENCE_CHECK") for ran, text in told if ran and text)
    assert all("REPEAT_TOOL_BLOCKED" in text for ran, text in told if not ran)
    assert bench.of(CallSeen)[11].outcome == "unattended"


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize(("answer", "ran"), [("approved", True), ("rejected", False)])
async def test_the_operator_decides_at_the_gate(harness: str, answer: Any, ran: bool) -> None:
    bench = HookBench(operator=answer)
    told = [await call(bench, harness, number) for number in range(14)]
    assert [one for one, _ in told] == [True] * 11 + [ran] * 3
    assert len(bench.of(AskOpened)) == 1
    if not ran:
        assert "a note" in told[11][1]


@pytest.mark.parametrize("harness", HARNESSES)
async def test_a_failing_command_is_refused_from_its_sixth_call(harness: str, tmp_path: Path) -> None:
    bench = HookBench()
    rollout = tmp_path / "rollout.jsonl"
    ran = []
    for number in range(7):
        item = {"type": "CommandExecution", "id": f"call-{number}", "exit_code": 3, "status": "failed"}
        with rollout.open("a") as file:
            file.write(json.dumps({"type": "event_msg", "payload": {"type": "item_completed", "item": item}}) + "\n")
        denied = await bench.tell(harness, story(harness, BEFORE[harness], number))
        ran.append(not denied)
        if not denied:
            await bench.tell(harness, story(harness, FAILED[harness], number, transcript_path=str(rollout)))
    assert ran == [True] * 5 + [False] * 2
    assert {event.failure.reason for event in bench.of(CallSettled)} == {"exit"}


@pytest.mark.parametrize("harness", HARNESSES)
async def test_a_human_message_clears_the_turn_and_prints_nothing(harness: str) -> None:
    bench = HookBench()
    for number in range(12):
        await call(bench, harness, number)
    assert await bench.raw(harness, json.dumps(story(harness, PROMPT[harness])).encode()) == ""
    assert await call(bench, harness, 99) == (True, "")
    assert [event.source for event in bench.of(TurnStarted)] == ["user"]


@pytest.mark.parametrize("harness", ["claude-code", "codex"])
async def test_a_sub_agent_has_its_own_count_under_its_parent(harness: str) -> None:
    bench = HookBench()
    for number in range(11):
        await call(bench, harness, number)
    for number in range(20, 26):
        assert await call(bench, harness, number, agent_id="sub1", agent_type="explore") == (True, "")
    assert not (await call(bench, harness, 50))[0]
    started = bench.of(AgentStarted)
    assert [(one.agent, one.parent, one.harness, one.name) for one in started] == [
        ("s1", "", harness, ""),
        ("s1/sub1", "s1", harness, "explore"),
    ]
    await bench.tell(harness, story(harness, "SubagentStop", agent_id="sub1", agent_type="explore"))
    assert [one.agent for one in bench.of(AgentEnded)] == ["s1/sub1"]


@pytest.mark.parametrize("harness", HARNESSES)
async def test_a_session_that_ends_takes_its_sub_agents_with_it(harness: str) -> None:
    bench = HookBench()
    await call(bench, harness, 1)
    sub_agents = harness != "gemini-cli"
    if sub_agents:
        await call(bench, harness, 2, agent_id="sub1", agent_type="explore")
    await bench.tell(harness, story(harness, "SessionEnd"))
    assert {one.agent for one in bench.of(AgentEnded)} == ({"s1", "s1/sub1"} if sub_agents else {"s1"})
    assert bench.desk.snapshot().agents == ()


async def test_what_an_agent_wrote_to_itself_starts_no_turn() -> None:
    bench = HookBench()
    wakeup = {"prompt": " go on with it ", "delaySeconds": 60, "reason": "r"}
    await bench.tell(
        "claude-code", story("claude-code", "PreToolUse.Bash", tool_name="ScheduleWakeup", tool_input=wakeup)
    )
    for text in ("go on with it", "<task-notification>done</task-notification>"):
        await bench.tell("claude-code", story("claude-code", "UserPromptSubmit", prompt=text))
        assert bench.of(TurnStarted) == []
    await bench.tell("claude-code", story("claude-code", "UserPromptSubmit", prompt="go on with that"))
    assert len(bench.of(TurnStarted)) == 1


async def test_how_much_an_agent_can_schedule_is_bounded() -> None:
    bench = HookBench()
    for number in range(SCHEDULED_KEPT + 10):
        payload = story("claude-code", "PreToolUse.Bash", number, tool_name="CronCreate")
        await bench.tell("claude-code", payload | {"tool_input": {"prompt": f"p{number}"}})
    assert sum(len(one) for one in bench.hooks._scheduled.values()) <= SCHEDULED_KEPT


async def test_a_codex_sub_agent_is_written_to_by_an_agent() -> None:
    bench = HookBench()
    await bench.tell("codex", capture("codex", "UserPromptSubmit-subagent"))
    assert bench.of(TurnStarted) == []


async def test_a_hook_that_is_gone_withdraws_its_ask() -> None:
    bench = HookBench()
    bench.desk.attach()
    for number in range(11):
        await call(bench, "claude-code", number)
    waiting = asyncio.ensure_future(bench.tell("claude-code", story("claude-code", BEFORE["claude-code"], 11)))
    await bench.asked.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert [event.outcome for event in bench.of(AskClosed)] == ["cancelled"]


async def test_calls_without_ids_are_paired_by_what_they_are() -> None:
    bench = HookBench()
    commands = ["make a", "make b", "make a"]
    for command in commands:
        payload = story("gemini-cli", BEFORE["gemini-cli"], tool_input={"command": command})
        assert await bench.tell("gemini-cli", payload) == {}
    for command in ("make b", "make a", "make a", "make c"):
        await bench.tell("gemini-cli", story("gemini-cli", AFTER["gemini-cli"], tool_input={"command": command}))
    seen = {event.id: event.args["command"] for event in bench.of(CallSeen)}
    assert [seen[event.id] for event in bench.of(CallSettled)] == ["make b", "make a", "make a"]


async def test_advice_of_several_kinds_is_one_answer() -> None:
    config = structs.replace(DEFAULTS, warn_at=3, fail_warn_at=3)
    bench = HookBench(config)
    for number in range(3):
        await bench.tell("claude-code", story("claude-code", BEFORE["claude-code"], number))
        told = await bench.tell("claude-code", story("claude-code", FAILED["claude-code"], number))
    specific = told["hookSpecificOutput"]
    assert specific["hookEventName"] == "PostToolUseFailure"
    settled: tuple[Advisory, ...] = bench.of(CallSettled)[-1].advisories
    assert len(settled) == 2
    assert specific["additionalContext"] == "\n\n".join(advisory.text for advisory in settled)


async def test_a_trial_reaches_the_engine_and_leaves_no_trace() -> None:
    bench = HookBench()
    for harness in ADAPTERS:
        assert await bench.raw(harness, b'{"hook_event_name":"BreakerTrial"}') == TRIAL_ANSWER
    assert bench.events == []


async def test_an_unknown_harness_is_an_error() -> None:
    with pytest.raises(ProtocolError, match="there is no harness"):
        await HookBench().raw("emacs", b"{}")


# -- hostile payloads -------------------------------------------------------------------------------------------

KEYS = ["session_id", "agent_id", "agent_type", "tool_name", "tool_input", "tool_use_id", "tool_response", "error"]
KEYS += ["prompt", "is_interrupt", "transcript_path", "source", "hook_event_name"]
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=40)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=8,
)


@given(st.sampled_from(EVERY), st.dictionaries(st.sampled_from(KEYS), values, max_size=6))
def test_no_payload_has_an_accident(which: tuple[str, str], changed: dict[str, Any]) -> None:
    """Whatever is in it: silence, an answer in the harness's form, or an error, which the hook has an answer to."""
    harness, name = which

    async def serve() -> str:
        try:
            return await HookBench().raw(
                harness, json.dumps(capture(harness, name) | changed).encode("utf-8", "replace")
            )
        except ProtocolError:
            return ""

    printed = asyncio.run(serve())
    assert not printed or isinstance(json.loads(printed), dict)


@pytest.mark.parametrize(
    "payload", [b"", b"nonsense", b"[]", b"null", b"[" * 100_000, b'{"a":' * 50_000, b'{"session_id":"\xff"}']
)
async def test_what_is_no_payload_is_an_error(payload: bytes) -> None:
    for harness in ADAPTERS:
        with pytest.raises(ProtocolError):
            await HookBench().raw(harness, payload)
