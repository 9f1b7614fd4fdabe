"""Claude Code: its hooks' payloads, and the forms of its answers. Written from Claude Code 2.1.332."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from engine.calls import Result, args_of
from engine.harnesses.adapter import (
    Began,
    Ended,
    Nothing,
    Prompted,
    Proposed,
    Ran,
    Told,
    hook_specific,
    subject_of,
)
from engine.harnesses.payloads import Payload, printed_text, unknown_event

NAME = "claude-code"

SHELLS = frozenset({"Bash", "PowerShell"})
SCHEDULERS = frozenset({"ScheduleWakeup", "CronCreate"})
"""Tools with which the agent has a ``prompt`` of its own submitted to it later. The hook cannot tell it from a
human's, except by its text."""
HUMAN_SOURCES = frozenset({"", "user", "sdk"})
"""``source`` of a prompt that a human wrote, here or through a program; versions that do not say so leave it out."""
MACHINE_TAGS = (
    "task-notification",
    "agent-message",
    "teammate-message",
    "cross-session-message",
    "coordinator-relay",
    "slack-ping",
    "remote-review",
    "channel",
    "system-reminder",
)
"""What begins a prompt that no human wrote; the same event tells of them."""

MEANINGLESS = frozenset(
    {
        *("SessionStart", "Setup", "Stop", "StopFailure", "Notification", "PreCompact", "PostCompact"),
        *("PostToolBatch", "PermissionRequest", "PermissionDenied", "UserPromptExpansion", "PreSkillShellCommand"),
        *("PreModelSwitch", "PostModelSwitch", "TeammateIdle", "TaskCreated", "TaskCompleted", "ConfigChange"),
        *("Elicitation", "ElicitationResult", "WorktreeCreate", "WorktreeRemove", "InstructionsLoaded"),
        *("CwdChanged", "FileChanged"),
    }
)
"""Events that tell a breaker nothing."""

_MACHINE = re.compile(rf"\s*<(?:{'|'.join(MACHINE_TAGS)})[\s>]")
_EXIT_CODE = re.compile(r"Exit code (-?\d{1,10})(?:\n|$)")
_TIMED_OUT = re.compile(r"(?:Exit code -?\d{1,10}\n)?Command timed out after (\d{1,9})(ms|s)?")
_REJECTED = "The user doesn't want to "
"""How Claude Code words that its user turned a call down: no failure of the call."""


class ClaudeCode:
    """The adapter."""

    name = NAME

    def read(self, payload: Payload) -> Told:
        event = payload.name("hook_event_name")
        match event:
            case "PreToolUse":
                return _proposed(payload)
            case "PostToolUse" | "PostToolUseFailure":
                return _ran(payload, event)
            case "UserPromptSubmit":
                return _prompted(payload)
            case "SubagentStart":
                return Began(subject_of(payload))
            case "SubagentStop" | "SessionEnd":
                return Ended(subject_of(payload))
        if event in MEANINGLESS:
            return Nothing()
        raise unknown_event(NAME, event)

    def denial(self, reason: str) -> str:
        return hook_specific("PreToolUse", permissionDecision="deny", permissionDecisionReason=reason)

    def advice(self, event: str, text: str) -> str:
        return hook_specific(event, additionalContext=text)


def _proposed(payload: Payload) -> Proposed:
    tool, args = payload.name("tool_name"), args_of(payload.get("tool_input"))
    prompt = args.get("prompt") if tool in SCHEDULERS else None
    return Proposed(
        subject_of(payload),
        payload.optional_name("tool_use_id"),
        tool,
        args,
        schedules=prompt if isinstance(prompt, str) else "",
    )


def _ran(payload: Payload, event: str) -> Ran:
    tool = payload.name("tool_name")
    if event == "PostToolUseFailure":
        result = _failed(tool, payload.text("error"), interrupted=payload.flag("is_interrupt"))
    else:
        result = _succeeded(tool, payload.get("tool_response"))
    return Ran(
        subject_of(payload),
        payload.optional_name("tool_use_id"),
        tool,
        args_of(payload.get("tool_input")),
        event,
        result,
    )


def _prompted(payload: Payload) -> Told:
    text = payload.text("prompt")
    if payload.optional_name("agent_id") or payload.text("source") not in HUMAN_SOURCES or _MACHINE.match(text):
        return Nothing()
    return Prompted(subject_of(payload), text)


def _failed(tool: str, error: str, *, interrupted: bool) -> Result:
    """A failure's text tells its kind: a command's begins with its exit code, anything else is a tool that threw."""
    if interrupted or error.startswith(_REJECTED):
        return Result(is_error=True, error_code="ABORTED", text=error)
    if tool in SHELLS:
        if timed_out := _TIMED_OUT.match(error):
            limit = int(timed_out[1]) * (1 if timed_out[2] == "ms" else 1000)
            return Result(value={"timedOut": True, "timeoutMs": limit}, text=error)
        if exited := _EXIT_CODE.match(error):
            return Result(value={"exitCode": int(exited[1])}, text=error[exited.end() :])
    return Result(is_error=True, text=error)


def _succeeded(tool: str, response: object) -> Result:
    if not isinstance(response, dict):
        return Result(text=printed_text(response))
    if tool in SHELLS:
        streams = [response.get("stdout"), response.get("stderr")]
        return Result(
            value=_shell_value(response), text="\n".join(one for one in streams if one and isinstance(one, str))
        )
    code = response.get("code") if tool == "WebFetch" else None
    value = {"statusCode": code} if isinstance(code, int) and not isinstance(code, bool) else {}
    return Result(value=value, text=printed_text(response))


def _shell_value(response: Mapping[str, Any]) -> Mapping[str, Any]:
    if response.get("interrupted") is True:
        return {"aborted": True}
    if response.get("backgroundTaskId"):
        return {"kind": "background"}
    # With an interpretation (grep found nothing) the code was another one, which is not told.
    return {} if response.get("returnCodeInterpretation") else {"exitCode": 0}
