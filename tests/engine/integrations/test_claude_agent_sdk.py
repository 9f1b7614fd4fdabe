"""Agents of the Claude Agent SDK: its hooks on payloads as the real CLI sends them, and the real CLI itself."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk", reason="claude-agent-sdk is not installed: make test-integrations")

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, Transport, query

from engine.conversation import BreakerUnreachableWarning
from engine.events import AgentEnded, AgentStarted, AskClosed, AskOpened, CallSeen, CallSettled, TurnStarted
from engine.integrations.claude_agent_sdk import EVENTS, breaker_hooks
from tests.clients.model import Model, Step
from tests.engine.harnesses.bridging import HANG_UP, PretendEngine, replies
from tests.engine.harnesses.captures import capture
from tests.engine.sockets import hosted, short_directory, until

Payload = dict[str, Any]


class Cli(Transport):
    """The CLI's side of the wire: tells the SDK's hooks of these payloads, one after another, those in a tuple at once.

    ``heard`` is what they answer.
    """

    def __init__(self, *payloads: Payload | tuple[Payload, ...]) -> None:
        self._payloads = payloads
        self._written: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._hooks: dict[str, Any] = {}
        self.heard: list[Any] = []

    async def connect(self) -> None:
        pass

    async def write(self, data: str) -> None:
        await self._written.put(json.loads(data))

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        asked = await self._next("control_request")
        self._hooks = asked["request"]["hooks"]
        body = {
            "subtype": "success",
            "request_id": asked["request_id"],
            "response": {"hook_on_failure_supported": True},
        }
        yield {"type": "control_response", "response": body}
        for number, given in enumerate(self._payloads):
            together = given if isinstance(given, tuple) else (given,)
            for place, payload in enumerate(together):
                yield self._request(f"{number}.{place}", payload)
            for _ in together:
                self.heard.append(_answer(await self._next("control_response")))
        result = {"subtype": "success", "duration_ms": 1, "duration_api_ms": 1, "is_error": False, "num_turns": 1}
        yield {"type": "result", "session_id": "s", "total_cost_usd": 0, **result}

    def _request(self, number: str, payload: Payload) -> dict[str, Any]:
        (matcher,) = self._hooks[payload["hook_event_name"]]
        request = {
            "subtype": "hook_callback",
            "callback_id": matcher["hookCallbackIds"][0],
            "input": payload,
            "tool_use_id": payload.get("tool_use_id"),
        }
        return {"type": "control_request", "request_id": number, "request": request}

    async def _next(self, kind: str) -> dict[str, Any]:
        while (message := await self._written.get())["type"] != kind:
            pass
        return message

    async def close(self) -> None:
        pass

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None:
        pass


def _answer(message: dict[str, Any]) -> Any:
    assert message["response"]["subtype"] == "success", message
    return message["response"]["response"]


@contextlib.contextmanager
def engine() -> Iterator[tuple[Path, list[Any], Any]]:
    events: list[Any] = []
    with hosted(listeners=[events.append]) as (host, path):
        yield path, events, host


async def tell(hooks: Any, *payloads: Payload | tuple[Payload, ...]) -> list[Any]:
    """What the hooks answer to these payloads."""
    cli = Cli(*payloads)
    async for _ in query(prompt="go", options=ClaudeAgentOptions(hooks=hooks), transport=cli):
        pass
    return cli.heard


def of(events: list[Any], kind: type[Any]) -> list[Any]:
    return [event for event in tuple(events) if isinstance(event, kind)]


def call(name: str, number: int) -> tuple[Payload, Payload]:
    """A call as it was captured, before and after, under an id of its own."""
    after = "PostToolUseFailure" if name.endswith("exit3") else "PostToolUse"
    both = capture("claude-code", f"PreToolUse.{name}"), capture("claude-code", f"{after}.{name}")
    return both[0] | {"tool_use_id": f"t{number}"}, both[1] | {"tool_use_id": f"t{number}"}


async def test_the_model_is_advised_and_then_refused() -> None:
    with engine() as (path, events, _):
        payloads = [payload for number in range(11) for payload in call("Bash", number)]
        heard = await tell(breaker_hooks(socket=path), *payloads, call("Bash", 12)[0])
        advised = [n // 2 + 1 for n, answer in enumerate(heard) if "CONVERGENCE_CHECK" in json.dumps(answer)]
        assert advised == [7, 11]
        assert heard[:12] == [{}] * 12
        decision = heard[-1]["hookSpecificOutput"]
        assert decision["permissionDecision"] == "deny"
        assert decision["permissionDecisionReason"].startswith("REPEAT_TOOL_BLOCKED")
        assert of(events, AgentStarted)[0].harness == "claude-code"


async def test_a_failing_command_is_refused_until_a_human_writes() -> None:
    with engine() as (path, events, _):
        payloads = [payload for number in range(5) for payload in call("Bash.exit3", number)]
        before, _ = call("Bash.exit3", 9)
        prompt = capture("claude-code", "UserPromptSubmit") | {"session_id": before["session_id"]}
        heard = await tell(breaker_hooks(socket=path), *payloads, before, prompt, before | {"tool_use_id": "t10"})
        assert heard[10]["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert heard[11:] == [{}, {}]
        assert of(events, CallSettled)[0].failure.detail == "3"
        assert of(events, TurnStarted)


async def test_a_sub_agent_has_its_own_count() -> None:
    with engine() as (path, events, _):
        main, sub = capture("claude-code", "PreToolUse.Bash"), capture("claude-code", "PreToolUse.Bash-subagent")
        stop = capture("claude-code", "SubagentStop") | {"session_id": sub["session_id"], "agent_id": sub["agent_id"]}
        await tell(breaker_hooks(socket=path), main | {"session_id": sub["session_id"]}, sub, stop)
        one, other = of(events, AgentStarted)
        assert other.parent == one.agent
        assert until(lambda: of(events, AgentEnded), "it is gone")[0].agent == other.agent


async def test_parallel_calls_wait_on_one_ask() -> None:
    with engine() as (path, events, host):
        operator = host.operator()
        payloads = [payload for number in range(11) for payload in call("Bash", number)]
        together = tuple(call("Bash", number)[0] for number in (20, 21, 22))
        telling = asyncio.create_task(tell(breaker_hooks(socket=path), *payloads, together))
        (opened,) = await asyncio.to_thread(until, lambda: of(events, AskOpened), "the operator is asked")
        await asyncio.to_thread(until, lambda: len(of(events, CallSeen)) == 14, "all of them wait")
        operator.answer(opened.ask.id, "approved")
        assert (await telling)[-3:] == [{}] * 3


async def test_a_session_that_ends_while_a_call_waits_withdraws_its_ask() -> None:
    with engine() as (path, events, host):
        host.operator()
        payloads = [payload for number in range(11) for payload in call("Bash", number)]
        telling = asyncio.create_task(tell(breaker_hooks(socket=path), *payloads, call("Bash", 20)[0]))
        await asyncio.to_thread(until, lambda: of(events, AskOpened), "the operator is asked")
        telling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await telling
        (closed,) = await asyncio.to_thread(until, lambda: of(events, AskClosed), "the ask is withdrawn")
        assert closed.outcome == "cancelled"


async def test_without_an_engine() -> None:
    before, after = call("Bash", 1)
    with short_directory() as directory:
        path = directory / "none"
        with pytest.warns(BreakerUnreachableWarning):
            assert await tell(breaker_hooks(socket=path), before, after) == [{}, {}]
        heard = await tell(breaker_hooks(socket=path, on_unreachable="deny"), before, after)
        assert "no breaker guards this call" in json.dumps(heard[0])
        assert heard[1] == {}


@pytest.mark.parametrize(
    "answer",
    [HANG_UP, b"junk\n", {"stdout": "[]", "exit": 0}, {"stdout": "{", "exit": 0}, {"exit": "x"}],
    ids=["hung up", "junk", "no object", "no JSON", "no answer"],
)
async def test_an_engine_whose_answer_cannot_be_had(answer: Any) -> None:
    before, after = call("Bash", 1)
    with short_directory() as directory, PretendEngine(directory / "e", replies(harness_hook=answer)):
        heard = await tell(breaker_hooks(socket=directory / "e"), before, after)
        assert heard[0]["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert heard[1] == {}


def test_every_hook_outlasts_its_operator() -> None:
    hooks = breaker_hooks(on_unreachable="deny")
    assert tuple(hooks) == EVENTS
    assert all(matcher.timeout >= 24 * 3600 and matcher.on_failure == "block" for (matcher,) in hooks.values())


async def test_the_real_cli(tmp_path: Path) -> None:
    command = {"command": "echo ran >> ran.txt", "description": "once more"}
    with engine() as (path, events, _), Model({"WORK": [Step(("Bash", command)) for _ in range(13)]}) as model:
        environment = {
            "HOME": str(tmp_path),
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",
        }
        options = ClaudeAgentOptions(
            hooks=breaker_hooks(socket=path), cwd=tmp_path, env=environment, allowed_tools=["Bash"], setting_sources=[]
        )
        async with ClaudeSDKClient(options) as client:
            await client.query("WORK, please")
            async for _ in client.receive_response():
                pass
        assert (tmp_path / "ran.txt").read_text().count("ran") == 11
        assert len(of(events, CallSeen)) == 13
        assert "REPEAT_TOOL_BLOCKED" in json.dumps(model.turns("WORK")[-1])
        assert of(events, TurnStarted)
