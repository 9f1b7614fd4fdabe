"""Gemini CLI: its hooks' payloads, and the forms of its answers. Written from Gemini CLI 0.61.0.

Its calls have no ids, and its sub-agents speak as the main agent does, so they share its counts.
"""

from __future__ import annotations

import re
from typing import Any

from engine.calls import Result, args_of
from engine.harnesses.adapter import (
    Ended,
    Nothing,
    Prompted,
    Proposed,
    Ran,
    Subject,
    Told,
    as_json,
    hook_specific,
)
from engine.harnesses.payloads import Payload, printed_text, unknown_event

NAME = "gemini-cli"

MEANINGLESS = frozenset(
    {
        *("SessionStart", "AfterAgent", "Notification", "PreCompress"),
        *("BeforeModel", "AfterModel", "BeforeToolSelection"),
    }
)
"""Events that tell a breaker nothing."""

SHELL = "run_shell_command"
_WRAPPER = ("<untrusted_context>\n", "\n</untrusted_context>")
_CANCELLED = "Command was cancelled by user"
_TIMED_OUT = re.compile(
    r"Command was automatically cancelled because it exceeded the timeout of (\d{1,6}(?:\.\d)?) min"
)
_BACKGROUND = "Command moved to background (PID:"
_FOOT = re.compile(r"(Exit Code|Signal|Background PIDs|Process Group PGID): ?(.*)")
"""The lines that the shell tool adds below an output."""
FOOT_LINES = 4


class GeminiCli:
    """The adapter."""

    name = NAME

    def read(self, payload: Payload) -> Told:
        event = payload.name("hook_event_name")
        agent = Subject(payload.name("session_id"))
        match event:
            case "BeforeTool":
                return Proposed(agent, "", payload.name("tool_name"), args_of(payload.get("tool_input")))
            case "AfterTool":
                tool = payload.name("tool_name")
                result = _result(tool, payload.get("tool_response"))
                return Ran(agent, "", tool, args_of(payload.get("tool_input")), event, result)
            case "BeforeAgent":
                return Prompted(agent, payload.text("prompt"))
            case "SessionEnd":
                return Ended(agent)
        if event in MEANINGLESS:
            return Nothing()
        raise unknown_event(NAME, event)

    def denial(self, reason: str) -> str:
        return as_json({"decision": "deny", "reason": reason})

    def advice(self, event: str, text: str) -> str:
        return hook_specific(event, additionalContext=text)


def _result(tool: str, response: object) -> Result:
    if not isinstance(response, dict):
        return Result(text=printed_text(response))
    text = _unwrapped(printed_text(response.get("llmContent")))
    error = response.get("error")
    if error:
        kind = error.get("type") if isinstance(error, dict) else None
        return Result(is_error=True, error_code=kind if isinstance(kind, str) else "", text=text)
    return _shell_result(text) if tool == SHELL else Result(text=text)


def _unwrapped(text: str) -> str:
    begin, end = _WRAPPER
    return text[len(begin) : -len(end)] if text.startswith(begin) and text.endswith(end) else text


def _shell_result(text: str) -> Result:
    """What the shell tool tells in words, as fields."""
    if text.startswith(_CANCELLED):
        return Result(value={"aborted": True}, text=text)
    if text.startswith(_BACKGROUND):
        return Result(value={"kind": "background"}, text=text)
    if timed_out := _TIMED_OUT.match(text):
        return Result(value={"timedOut": True, "timeoutMs": int(float(timed_out[1]) * 60_000)}, text=text)
    output, foot = _parted(text)
    value: dict[str, Any] = {"exitCode": 0}
    code, signal = foot.get("Exit Code", ""), foot.get("Signal", "")
    if re.fullmatch(r"-?\d{1,10}", code):
        value["exitCode"] = int(code)
    if signal:
        value["signal"] = signal
    return Result(value=value, text=output.removeprefix("Output: "))


def _parted(text: str) -> tuple[str, dict[str, str]]:
    """The output, and the lines below it by their names. Only the last few lines can be such."""
    lines = text.rsplit("\n", FOOT_LINES)
    foot: dict[str, str] = {}
    while len(lines) > 1 and (found := _FOOT.fullmatch(lines[-1])) and found[1] not in foot:
        foot[found[1]] = found[2]
        lines.pop()
    return "\n".join(lines), foot
