"""Agents of the OpenAI Agents SDK with a scripted model: what their tools do, and what the model is told."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents", reason="openai-agents is not installed: make test-integrations")

from agents import (
    Agent,
    FunctionTool,
    ModelResponse,
    RunConfig,
    Runner,
    Usage,
    function_tool,
    handoff,
    set_tracing_disabled,
)
from agents.models.interface import Model
from agents.tool_guardrails import ToolGuardrailFunctionOutput, tool_input_guardrail, tool_output_guardrail
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from engine.conversation import BreakerUnreachableWarning
from engine.events import AgentStarted, AskOpened, CallSettled
from engine.integrations.openai_agents import BreakerGuardrails
from tests.engine.sockets import hosted, until

set_tracing_disabled(disabled=True)

Called = tuple[str, Any]


class Scripted(Model):
    """A model that calls one tool a turn, and then says that it is done. ``told`` is what each call was answered."""

    def __init__(self, *calls: Called) -> None:
        self._calls = list(calls)
        self._numbers = iter(range(1, 10_000))
        self.told: list[str] = []

    async def get_response(self, *args: Any, input: Any, **kwargs: Any) -> ModelResponse:  # noqa: A002
        outputs = [item for item in input if isinstance(item, dict) and item.get("type") == "function_call_output"]
        if outputs:
            self.told.append(outputs[-1]["output"])
        if not self._calls:
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            message = ResponseOutputMessage(
                id="m", content=[text], role="assistant", status="completed", type="message"
            )
            return ModelResponse(output=[message], usage=Usage(), response_id=None)
        name, arguments = self._calls.pop(0)
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        number = f"call_{id(self)}_{next(self._numbers)}"
        call = ResponseFunctionToolCall(arguments=written, call_id=number, name=name, type="function_call")
        return ModelResponse(output=[call], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("nothing here asks for a stream")


class Ran:
    """How often a tool's body ran."""

    def __init__(self) -> None:
        self.times = 0

    def tool(self, body: Callable[[], Any] = lambda: "done", **how: Any) -> FunctionTool:
        def fetch(url: str = "") -> Any:
            """Fetch a page."""
            self.times += 1
            return body()

        return function_tool(fetch, **how)


@contextlib.contextmanager
def guarded(**how: Any) -> Iterator[tuple[BreakerGuardrails, list[Any], Any]]:
    events: list[Any] = []
    with hosted(listeners=[events.append]) as (host, path):
        breaker = BreakerGuardrails("run-1", socket=path, **how)
        yield breaker, events, host
        breaker.close()


async def run(breaker: BreakerGuardrails, tool: FunctionTool, calls: int, **how: Any) -> Scripted:
    """Run an agent that calls this tool so many times, always alike."""
    model = Scripted(*[("fetch", {"url": "https://example.org/a"})] * calls)
    agent = Agent(name="Main", model=model, tools=breaker.on([tool]))
    await Runner.run(agent, "go", max_turns=calls + 2, **how)
    return model


def of(events: list[Any], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


async def test_the_model_is_advised_and_then_refused() -> None:
    ran = Ran()
    with guarded() as (breaker, events, _):
        model = await run(breaker, ran.tool(), 14)
    assert ran.times == 11
    advised = [n for n, text in enumerate(model.told, 1) if "CONVERGENCE_CHECK" in text]
    assert advised == [7, 11]
    assert model.told[6].startswith("done\n\nCONVERGENCE_CHECK")
    assert all(text.startswith("REPEAT_TOOL_BLOCKED") for text in model.told[11:])
    (started,) = of(events, AgentStarted)
    assert (started.agent, started.parent, started.harness) == ("run-1", "", "openai-agents")


async def test_a_tool_that_raises_is_refused_until_a_human_writes() -> None:
    ran = Ran()

    def fail() -> str:
        raise ValueError("no such page")

    with guarded() as (breaker, events, _):
        model = await run(breaker, ran.tool(fail), 7)
        assert ran.times == 5
        assert "failed 3 times in a row" in model.told[2]
        assert model.told[5].startswith("REPEAT_TOOL_BLOCKED")
        assert of(events, CallSettled)[0].failure.reason == "error"
        await breaker.start_turn()
        await run(breaker, ran.tool(fail), 1)
        assert ran.times == 6


async def test_a_result_with_fields_is_read() -> None:
    ran = Ran()
    with guarded() as (breaker, events, _):
        model = await run(breaker, ran.tool(lambda: {"exitCode": 3, "out": "no"}), 6)
        assert ran.times == 5
        assert of(events, CallSettled)[0].failure.detail == "3"
        assert "'exitCode': 3" in model.told[2]


async def test_the_operator_approves_for_the_turn() -> None:
    ran = Ran()
    with guarded() as (breaker, events, host):
        operator = host.operator()

        def answer() -> None:
            opened = until(lambda: of(events, AskOpened), "the operator is asked")
            operator.answer(opened[0].ask.id, "approved")

        _, model = await asyncio.gather(asyncio.to_thread(answer), run(breaker, ran.tool(), 14))
    assert ran.times == 14
    assert not any("REPEAT_TOOL_BLOCKED" in text for text in model.told)


async def test_sub_agents_have_their_own_counts() -> None:
    ran = Ran()
    tool = ran.tool()
    same = ("fetch", {"url": "https://example.org/a"})
    with guarded() as (breaker, events, _):
        specialist = Agent(name="Specialist", model=Scripted(*[same] * 8), tools=breaker.on([tool]))
        heir = Agent(name="Heir", model=Scripted(*[same] * 8), tools=breaker.on([tool]))
        delegate = specialist.as_tool("ask_specialist", "Ask.", max_turns=20)
        model = Scripted(*[same] * 8, ("ask_specialist", {"input": "go"}), ("transfer_to_heir", {}))
        main = Agent(name="Main", model=model, tools=breaker.on([tool, delegate]), handoffs=[handoff(heir)])
        await Runner.run(main, "go", max_turns=40)
    assert ran.times == 24
    started = {event.agent: (event.parent, event.name) for event in of(events, AgentStarted)}
    assert started == {
        "run-1": ("", ""),
        "run-1/Specialist": ("run-1", "Specialist"),
        "run-1/Heir": ("run-1", "Heir"),
    }


async def test_a_call_that_is_asked_about_before_its_approval_counts_once() -> None:
    ran = Ran()
    tool = ran.tool(needs_approval=True)
    how = {"run_config": RunConfig(tool_execution={"pre_approval_tool_input_guardrails": True})}  # type: ignore[arg-type]
    with guarded() as (breaker, events, _):
        model = Scripted(*[("fetch", {"url": "https://example.org/a"})] * 11)
        agent = Agent(name="Main", model=model, tools=breaker.on([tool]))
        result = await Runner.run(agent, "go", max_turns=20, **how)
        while result.interruptions:
            state = result.to_state()
            state.approve(result.interruptions[0])
            result = await Runner.run(agent, state, max_turns=20, **how)
        assert ran.times == 11
        assert len(of(events, CallSettled)) == 11


async def test_other_guardrails_come_first() -> None:
    ran = Ran()

    @tool_input_guardrail
    def never(data: Any) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.reject_content("not this one")

    @tool_output_guardrail
    def seen(data: Any) -> ToolGuardrailFunctionOutput:
        outputs.append(data.output)
        return ToolGuardrailFunctionOutput.allow()

    outputs: list[Any] = []
    with guarded() as (breaker, events, _):
        model = await run(breaker, ran.tool(tool_input_guardrails=[never]), 3)
        assert (ran.times, model.told[-1]) == (0, "not this one")
        assert not of(events, AgentStarted)
        await run(breaker, ran.tool(tool_output_guardrails=[seen]), 8)
        assert outputs == ["done"] * 8


@pytest.mark.parametrize("arguments", ["{", "[1]", "", '{"url": 3}'])
async def test_arguments_that_are_none(arguments: str) -> None:
    ran = Ran()
    with guarded() as (breaker, events, _):
        model = Scripted(("fetch", arguments))
        agent = Agent(name="Main", model=model, tools=breaker.on([ran.tool()]))
        with contextlib.suppress(Exception):
            await Runner.run(agent, "go", max_turns=3)
        assert len(of(events, AgentStarted)) <= 1


async def test_without_an_engine(tmp_path: Path) -> None:
    ran = Ran()
    with pytest.warns(BreakerUnreachableWarning):
        await run(BreakerGuardrails("run-1", socket=tmp_path / "none"), ran.tool(), 13)
    assert ran.times == 13
    closed = BreakerGuardrails("run-1", socket=tmp_path / "none", on_unreachable="deny")
    model = await run(closed, ran.tool(), 1)
    assert ran.times == 13
    assert "no breaker guards this call" in model.told[0]


def test_the_tools_themselves_stay_as_they_are() -> None:
    tool = Ran().tool()
    breaker = BreakerGuardrails("run-1")
    (guarded_tool,) = breaker.on([tool])
    assert not tool.tool_input_guardrails
    assert isinstance(guarded_tool, FunctionTool)
    assert guarded_tool.tool_input_guardrails == [breaker.before]
