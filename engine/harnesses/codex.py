"""Codex: its hooks' payloads, and the forms of its answers. Written from Codex 0.171.0."""

from __future__ import annotations

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

NAME = "codex"

MEANINGLESS = frozenset(
    {"SessionStart", "Stop", "PermissionRequest", "PreCompact", "PostCompact", "Interrupt", "Notification"}
)
"""Events that tell a breaker nothing."""


class Codex:
    """The adapter. A hook after a call gets the bare output; how it ended stands in the session's transcript."""

    name = NAME

    def read(self, payload: Payload) -> Told:
        event = payload.name("hook_event_name")
        match event:
            case "PreToolUse":
                call = payload.optional_name("tool_use_id")
                return Proposed(
                    subject_of(payload), call, payload.name("tool_name"), args_of(payload.get("tool_input"))
                )
            case "PostToolUse":
                return _ran(payload)
            case "UserPromptSubmit":
                # It also tells of what an agent wrote to a sub-agent.
                sub_agent = payload.optional_name("agent_id")
                return Nothing() if sub_agent else Prompted(subject_of(payload), payload.text("prompt"))
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


def _ran(payload: Payload) -> Ran:
    return Ran(
        subject_of(payload),
        payload.optional_name("tool_use_id"),
        payload.name("tool_name"),
        args_of(payload.get("tool_input")),
        "PostToolUse",
        Result(text=printed_text(payload.get("tool_response"))),
        transcript=payload.text("transcript_path"),
    )
