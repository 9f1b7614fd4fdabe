"""Agents of the Claude Agent SDK: hooks in this process, no process per call. Written from claude-agent-sdk 0.2.

::

    from claude_agent_sdk import ClaudeAgentOptions, query
    from engine.integrations.claude_agent_sdk import breaker_hooks

    options = ClaudeAgentOptions(hooks=breaker_hooks())

The payloads are Claude Code's own and so is what becomes of them: sub-agents have their own counts, and only a human's
prompt clears them. Leave ``breaker install claude-code`` out where the SDK loads those settings, or every call counts
twice.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from claude_agent_sdk import HookMatcher

from engine.async_client import AsyncClient
from engine.conversation import BreakerUnreachableWarning, OnUnreachable, UnansweredError, UnreachableError
from engine.harnesses.claude_code import NAME, ClaudeCode

EVENTS = (
    *("PreToolUse", "PostToolUse", "PostToolUseFailure"),
    *("UserPromptSubmit", "SubagentStart", "SubagentStop"),
)
BEFORE_A_CALL = "PreToolUse"
PATIENCE_SECONDS = 24 * 3600.0
"""How long the SDK waits for a hook: longer than the engine for its operator."""


def breaker_hooks(
    *, socket: Path | None = None, on_unreachable: OnUnreachable = "allow", timeout: float | None = None
) -> dict[str, list[HookMatcher]]:
    """The ``hooks`` for ``ClaudeAgentOptions``, for any number of sessions. Options as of ``engine.client.Client``."""

    async def ask(payload: Any, _call: str | None, _context: object) -> Any:
        before = payload.get("hook_event_name") == BEFORE_A_CALL
        try:
            # A line for each: when the SDK gives a hook up, the line ends, and with it the ask that waits there.
            async with AsyncClient("", socket=socket, timeout=timeout) as client:
                printed = await client.hook(NAME, payload)
            return _output(json.loads(printed) if printed else {})
        except (UnansweredError, ValueError) as error:
            return _denial(f"the breaker gave no answer about this call, so it was not run: {error}") if before else {}
        except UnreachableError as error:
            if before and on_unreachable == "deny":
                return _denial(f"no breaker guards this call, so it was not run: {error}")
            if before:
                warnings.warn(f"no breaker guards this call: {error}", BreakerUnreachableWarning, stacklevel=1)
            return {}

    # A hook that breaks lets the call run, unless it is told otherwise; older versions of the CLI cannot be told.
    failing: Literal["block"] | None = "block" if on_unreachable == "deny" else None
    return {event: [HookMatcher(hooks=[ask], timeout=PATIENCE_SECONDS, on_failure=failing)] for event in EVENTS}


def _denial(why: str) -> Mapping[str, Any]:
    return _output(json.loads(ClaudeCode().denial(f"REPEAT_TOOL_BLOCKED: {why}.")))


def _output(output: object) -> Mapping[str, Any]:
    if not isinstance(output, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - a value that cannot be read, like any other
    return output
