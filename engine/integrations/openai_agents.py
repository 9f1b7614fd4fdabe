"""Agents of the OpenAI Agents SDK: guardrails on their tools. Written from openai-agents 0.24.

::

    from agents import Agent, Runner
    from engine.integrations.openai_agents import BreakerGuardrails

    breaker = BreakerGuardrails("support")
    agent = Agent(name="Support", tools=breaker.on([fetch, search]))

    await breaker.start_turn()            # a human has written
    await Runner.run(agent, their_message)

Every SDK agent with such tools is an agent of its own. ``main`` names the one that has no parent, by default the first
that is heard of. Only function tools have guardrails: hosted tools go unguarded.
"""

from __future__ import annotations

import copy
import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agents import (
    FunctionTool,
    Tool,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
    ToolOutputGuardrail,
    ToolOutputGuardrailData,
)

from engine.async_client import AsyncClient
from engine.conversation import OnUnreachable
from engine.integrations.clients import Clients
from engine.results import result_from

FAILED = ("An error occurred while running the tool", "An error occurred while parsing tool arguments")
"""What the SDK puts in place of a tool's exception."""
RUNNING_KEPT = 4096

_ALLOW = ToolGuardrailFunctionOutput.allow


class BreakerGuardrails:
    """The guardrails of one run, ``before`` and ``after``, and ``on`` to put them on tools.

    ``id`` tells this run from others; each needs its own. Other options as of ``engine.client.Client``.
    """

    def __init__(
        self,
        id: str,  # noqa: A002 - the name it has everywhere
        *,
        main: str = "",
        socket: Path | None = None,
        on_unreachable: OnUnreachable = "allow",
        timeout: float | None = None,
    ) -> None:
        self._id = id
        self._main = main
        self._clients = Clients("openai-agents", socket=socket, on_unreachable=on_unreachable, timeout=timeout)
        self._running: OrderedDict[tuple[str, str], None] = OrderedDict()
        self.before: ToolInputGuardrail[Any] = ToolInputGuardrail(self._before, name="repeat-tool-breaker")
        self.after: ToolOutputGuardrail[Any] = ToolOutputGuardrail(self._after, name="repeat-tool-breaker")

    def on(self, tools: Iterable[Tool]) -> list[Tool]:
        """These tools, guarded after every guardrail that they have. The originals stay as they are."""
        return [self._guarded(tool) if isinstance(tool, FunctionTool) else tool for tool in tools]

    async def start_turn(self) -> None:
        """A human has written to the main agent."""
        await self._clients.asynchronous(self._id).start_turn()

    def close(self) -> None:
        """Hang up."""
        self._clients.close()

    # -- inside -----------------------------------------------------------------------------------------------

    def _guarded(self, tool: FunctionTool) -> FunctionTool:
        guarded = copy.copy(tool)
        guarded.tool_input_guardrails = [*(tool.tool_input_guardrails or []), self.before]
        guarded.tool_output_guardrails = [*(tool.tool_output_guardrails or []), self.after]
        return guarded

    async def _before(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        context, client = data.context, self._client(data)
        call = (data.agent.name, context.tool_call_id)
        if call in self._running:
            return _ALLOW()  # asked about before its approval, and now again
        verdict = await client.decide(context.tool_call_id, context.tool_name, _arguments(context.tool_arguments))
        if verdict.decision == "deny":
            return ToolGuardrailFunctionOutput.reject_content(verdict.reason)
        self._running[call] = None
        if len(self._running) > RUNNING_KEPT:
            self._running.popitem(last=False)
        return _ALLOW()

    async def _after(self, data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        call_id = data.context.tool_call_id
        self._running.pop((data.agent.name, call_id), None)
        settlement = await self._client(data).settle(call_id, _result(data.output))
        advice = "\n\n".join(advisory.text for advisory in settlement.advisories)
        # A guardrail can add to an output only by putting another in its place.
        return ToolGuardrailFunctionOutput.reject_content(f"{data.output}\n\n{advice}") if advice else _ALLOW()

    def _client(self, data: ToolInputGuardrailData) -> AsyncClient:
        name = data.agent.name
        self._main = self._main or name
        if name == self._main:
            return self._clients.asynchronous(self._id)
        return self._clients.asynchronous(f"{self._id}/{name}", parent=self._id, name=name)


def _arguments(text: str) -> Mapping[str, Any]:
    """The arguments as the model wrote them; what is no object is still told from what is another."""
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError):
        arguments = text
    return arguments if isinstance(arguments, dict) else {"value": arguments}


def _result(output: object) -> Mapping[str, Any]:
    result = result_from(output)
    if isinstance(output, str) and output.startswith(FAILED):
        return result | {"isError": True}
    return result
