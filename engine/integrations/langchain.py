"""LangChain agents: a middleware around their tools. Written from langchain 1.5.

::

    from langchain.agents import create_agent
    from engine.integrations.langchain import BreakerMiddleware

    agent = create_agent(model, tools, middleware=[BreakerMiddleware("support")])

The conversation (``thread_id``) is part of who the agent is: each has its own counts, and they are cleared when the
agent is invoked with a human's message. A sub-agent that is called as a tool names its parent, and its messages are
its parent's work: ``BreakerMiddleware("researcher", parent="support")``.

Put it first, so that it counts what the model asked for, and a retry inside of it as one call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest

from engine.conversation import OnUnreachable
from engine.guard import AsyncGuardedCall, CallRefusedError, GuardedCall
from engine.integrations.clients import Clients
from engine.results import result_from

PAUSED = {"isError": True, "error": {"code": "ABORTED"}}
"""The graph was interrupted inside of the tool, which will be called again."""


class BreakerMiddleware(AgentMiddleware[Any, Any, Any]):
    """Asks before every tool call of an agent, and hands in what came of it.

    A refused call is answered with a tool message of status ``error``. Options as of ``engine.client.Client``.
    """

    def __init__(
        self,
        agent: str,
        *,
        parent: str = "",
        socket: Path | None = None,
        on_unreachable: OnUnreachable = "allow",
        timeout: float | None = None,
    ) -> None:
        super().__init__()
        self._agent = agent
        self._parent = parent
        self._clients = Clients("langchain", socket=socket, on_unreachable=on_unreachable, timeout=timeout)

    def close(self) -> None:
        """Hang up."""
        self._clients.close()

    def before_agent(self, state: Any, runtime: Any) -> None:  # noqa: ARG002 - so it is called
        if self._is_human(state):
            self._clients.client(**self._who(get_config())).start_turn()

    async def abefore_agent(self, state: Any, runtime: Any) -> None:  # noqa: ARG002 - as above
        if self._is_human(state):
            await self._clients.asynchronous(**self._who(get_config())).start_turn()

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        client = self._clients.client(**self._who(request.runtime.config))
        call = client.call(request.tool_call["name"], request.tool_call["args"])
        paused: GraphBubbleUp | None = None
        outcome: Any = None
        try:
            with call:
                try:
                    outcome = handler(request)
                    call.returned(_result(outcome))
                except GraphBubbleUp as pause:
                    paused = pause
                    call.returned(PAUSED)
        except CallRefusedError as refused:
            return _refusal(request, refused, call)
        if paused:
            raise paused
        return _advised(outcome, call.advice)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        client = self._clients.asynchronous(**self._who(request.runtime.config))
        call = client.call(request.tool_call["name"], request.tool_call["args"])
        paused: GraphBubbleUp | None = None
        outcome: Any = None
        try:
            async with call:
                try:
                    outcome = await handler(request)
                    call.returned(_result(outcome))
                except GraphBubbleUp as pause:
                    paused = pause
                    call.returned(PAUSED)
        except CallRefusedError as refused:
            return _refusal(request, refused, call)
        if paused:
            raise paused
        return _advised(outcome, call.advice)

    def _who(self, config: RunnableConfig) -> dict[str, str]:
        thread = config.get("configurable", {}).get("thread_id")
        suffix = "" if thread is None else f"/{thread}"
        parent = f"{self._parent}{suffix}" if self._parent else ""
        return {"agent": f"{self._agent}{suffix}", "parent": parent, "name": self._agent if parent else ""}

    def _is_human(self, state: Any) -> bool:
        messages: Sequence[Any] = state.get("messages") or ()
        return not self._parent and bool(messages) and isinstance(messages[-1], HumanMessage)


def _result(outcome: object) -> Mapping[str, Any]:
    """A tool's message in the session format; its artifact is what the tool returned beside what the model reads."""
    if not isinstance(outcome, ToolMessage):
        return {"isError": False}
    value = {} if outcome.artifact is None else result_from(outcome.artifact).get("value", {})
    return {"isError": outcome.status == "error", "value": value, "content": outcome.content}


def _refusal(request: ToolCallRequest, refused: CallRefusedError, call: GuardedCall | AsyncGuardedCall) -> ToolMessage:
    """The answer to a refused call; a refusal of a call that the tool itself made goes on."""
    if refused.verdict is not call.verdict:
        raise refused
    tool_call = request.tool_call
    return ToolMessage(str(refused), tool_call_id=tool_call["id"], name=tool_call["name"], status="error")


def _advised(outcome: Any, advice: str) -> Any:
    if not advice or not isinstance(outcome, ToolMessage):
        return outcome
    content = outcome.content
    if isinstance(content, str):
        return outcome.model_copy(update={"content": f"{content}\n\n{advice}"})
    return outcome.model_copy(update={"content": [*content, {"type": "text", "text": advice}]})
