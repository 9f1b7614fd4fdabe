"""LangChain agents with a scripted model: what their tools do, and what the model is told."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain", reason="langchain is not installed: make test-integrations")

from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from engine.conversation import BreakerUnreachableWarning
from engine.events import AgentStarted, AskOpened, CallSettled, TurnStarted
from engine.integrations.langchain import BreakerMiddleware
from tests.engine.sockets import hosted, until

SAME = ("fetch", {"url": "https://example.org/a"})
_numbers = itertools.count(1)


class Scripted(BaseChatModel):
    """A model that calls one tool a turn, and then says that it is done."""

    calls: list[tuple[str, dict[str, Any]]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        message = AIMessage("done")
        if self.calls:
            name, arguments = self.calls.pop(0)
            call = {"name": name, "args": arguments, "id": f"call_{next(_numbers)}", "type": "tool_call"}
            message = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])


class Ran:
    """How often a tool's body ran."""

    def __init__(self) -> None:
        self.times = 0

    def tool(self, body: Callable[[], Any] = lambda: "done", **how: Any) -> BaseTool:
        def fetch(url: str) -> Any:
            """Fetch a page."""
            self.times += 1
            return body()

        return StructuredTool.from_function(fetch, **how)


@contextlib.contextmanager
def guarded(agent: str = "support", **how: Any) -> Iterator[tuple[BreakerMiddleware, list[Any], Any]]:
    events: list[Any] = []
    with hosted(listeners=[events.append]) as (host, path):
        middleware = BreakerMiddleware(agent, socket=path, **how)
        yield middleware, events, host
        middleware.close()


def run(
    middleware: BreakerMiddleware, tools: Sequence[BaseTool], calls: int, *others: Any, thread: str = ""
) -> list[ToolMessage]:
    """Run an agent that calls the tool so many times, always alike; what each call was answered."""
    model = Scripted(calls=[SAME] * calls)
    agent = create_agent(model, tools, middleware=[middleware, *others])
    config: Any = {"recursion_limit": 200} | ({"configurable": {"thread_id": thread}} if thread else {})
    return answers(agent.invoke({"messages": [("user", "go")]}, config))


def answers(state: Any) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def of(events: list[Any], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def check(told: list[ToolMessage], ran: Ran) -> None:
    """Fourteen calls alike, and nobody there to be asked."""
    assert ran.times == 11
    assert [n for n, one in enumerate(told, 1) if "CONVERGENCE_CHECK" in str(one.content)] == [7, 11]
    assert str(told[6].content).startswith("done\n\nCONVERGENCE_CHECK")
    assert all(str(one.content).startswith("REPEAT_TOOL_BLOCKED") for one in told[11:])
    assert [one.status for one in told] == ["success"] * 11 + ["error"] * 3
    assert {one.name for one in told} == {"fetch"}


def test_the_model_is_advised_and_then_refused() -> None:
    ran = Ran()
    with guarded() as (middleware, events, _):
        check(run(middleware, [ran.tool()], 14), ran)
        (started,) = of(events, AgentStarted)
        assert (started.agent, started.parent, started.harness) == ("support", "", "langchain")


async def test_the_same_for_asyncio() -> None:
    ran = Ran()
    with guarded() as (middleware, _, _):
        agent = create_agent(Scripted(calls=[SAME] * 14), [ran.tool()], middleware=[middleware])
        check(answers(await agent.ainvoke({"messages": [("user", "go")]}, {"recursion_limit": 200})), ran)


def test_a_tool_that_fails_is_refused_until_a_human_writes() -> None:
    ran = Ran()

    def fail() -> str:
        raise ToolException("no such page")

    with guarded() as (middleware, events, _):
        told = run(middleware, [ran.tool(fail, handle_tool_error=True)], 7)
        assert ran.times == 5
        assert "failed 3 times in a row" in str(told[2].content)
        assert of(events, CallSettled)[0].failure.reason == "error"
        run(middleware, [ran.tool(fail, handle_tool_error=True)], 1)
        assert ran.times == 6
        assert len(of(events, TurnStarted)) == 2


def test_an_exception_goes_on_and_counts() -> None:
    ran = Ran()

    def fail() -> str:
        raise OSError("broken")

    with guarded() as (middleware, events, _):
        with pytest.raises(OSError, match="broken"):
            run(middleware, [ran.tool(fail)], 1)
        assert of(events, CallSettled)[0].failure.reason == "error"


def test_a_retry_inside_is_one_call() -> None:
    ran = Ran()

    def fail() -> str:
        raise OSError("broken")

    with guarded() as (middleware, events, _):
        retry = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
        run(middleware, [ran.tool(fail)], 1, retry)
        assert (ran.times, len(of(events, CallSettled))) == (3, 1)


def test_an_artifact_says_how_it_went() -> None:
    ran = Ran()
    with guarded() as (middleware, events, _):
        run(middleware, [ran.tool(lambda: ("no", {"exitCode": 3}), response_format="content_and_artifact")], 6)
        assert ran.times == 5
        assert of(events, CallSettled)[0].failure.detail == "3"


def test_content_in_blocks_is_advised_with_one_more() -> None:
    ran = Ran()
    with guarded() as (middleware, _, _):
        told = run(middleware, [ran.tool(lambda: [{"type": "text", "text": "done"}])], 7)
        content = told[-1].content
        assert isinstance(content, list)
        assert [str(block["text"])[:17] for block in content] == ["done", "CONVERGENCE_CHECK"]  # type: ignore[index]


def test_a_command_is_left_as_it_is() -> None:
    @tool
    def fetch(url: str) -> Any:
        """Fetch a page."""
        return Command(update={"messages": [ToolMessage("done", tool_call_id=f"call_{next(_numbers) - 1}")]})

    with guarded() as (middleware, events, _):
        told = run(middleware, [fetch], 8)
        assert [one.content for one in told] == ["done"] * 8
        assert not any(event.failure for event in of(events, CallSettled))


def test_the_operator_approves_for_the_turn() -> None:
    ran = Ran()
    with guarded() as (middleware, events, host):
        operator = host.operator()

        def answer() -> None:
            opened = until(lambda: of(events, AskOpened), "the operator is asked")
            operator.answer(opened[0].ask.id, "approved")

        answering = threading.Thread(target=answer)
        answering.start()
        told = run(middleware, [ran.tool()], 14)
        answering.join()
        assert ran.times == 14
        assert all(one.status == "success" for one in told)


def test_conversations_are_counted_apart() -> None:
    ran = Ran()
    with guarded() as (middleware, events, _):
        for thread in ("a", "b"):
            run(middleware, [ran.tool()], 8, thread=thread)
        assert ran.times == 16
        assert {event.agent for event in of(events, AgentStarted)} == {"support/a", "support/b"}


def test_a_sub_agent_has_its_own_count_and_its_parents_words_clear_nothing() -> None:
    ran = Ran()
    with guarded() as (middleware, events, host):
        inner = BreakerMiddleware("researcher", parent="support", socket=host.socket)

        @tool
        def research(topic: str) -> str:
            """Have a researcher look."""
            calls = [SAME] * 8
            researcher = create_agent(Scripted(calls=calls), [ran.tool()], middleware=[inner])
            researcher.invoke({"messages": [("user", topic)]}, {"recursion_limit": 100})
            return "found"

        model = Scripted(calls=[SAME] * 8 + [("research", {"topic": n}) for n in "ab"])
        agent = create_agent(model, [ran.tool(), research], middleware=[middleware])
        agent.invoke({"messages": [("user", "go")]}, {"recursion_limit": 200, "configurable": {"thread_id": "t"}})
        assert ran.times == 8 + 11
        started = {event.agent: (event.parent, event.name) for event in of(events, AgentStarted)}
        assert started == {"support/t": ("", ""), "researcher/t": ("support/t", "researcher")}
        assert {event.agent for event in of(events, TurnStarted)} == {"support/t"}
        inner.close()


def test_a_tool_that_waits_for_a_human_has_not_failed() -> None:
    ran = Ran()
    with guarded() as (middleware, events, _):
        model = Scripted(calls=[SAME])
        agent = create_agent(
            model, [ran.tool(lambda: interrupt("really?"))], middleware=[middleware], checkpointer=InMemorySaver()
        )
        config: Any = {"configurable": {"thread_id": "t"}}
        agent.invoke({"messages": [("user", "go")]}, config)
        assert of(events, CallSettled)[0].aborted
        state = agent.invoke(Command(resume="yes"), config)
        assert [one.content for one in answers(state)] == ["yes"]
        assert len(of(events, TurnStarted)) == 1


def test_without_an_engine(tmp_path: Path) -> None:
    ran = Ran()
    with pytest.warns(BreakerUnreachableWarning):
        run(BreakerMiddleware("support", socket=tmp_path / "none"), [ran.tool()], 13)
    assert ran.times == 13
    told = run(BreakerMiddleware("support", socket=tmp_path / "none", on_unreachable="deny"), [ran.tool()], 1)
    assert ran.times == 13
    assert "no breaker guards this call" in str(told[0].content)


async def test_a_run_that_is_cancelled_withdraws_its_ask() -> None:
    ran = Ran()
    with guarded() as (middleware, events, host):
        host.operator()
        agent = create_agent(Scripted(calls=[SAME] * 12), [ran.tool()], middleware=[middleware])
        running = asyncio.create_task(
            agent.ainvoke({"messages": [("user", "go")]}, {"recursion_limit": 200})  # type: ignore[arg-type]
        )
        await asyncio.to_thread(until, lambda: of(events, AskOpened), "the operator is asked")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert ran.times == 11
        await asyncio.to_thread(until, lambda: any(type(e).__name__ == "AskClosed" for e in events), "it is withdrawn")
