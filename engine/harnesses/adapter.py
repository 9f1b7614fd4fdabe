"""What every adapter gives: what a payload tells, and how the harness wants to be answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from engine.calls import Result
from engine.harnesses.payloads import Payload


class Subject(Struct, frozen=True):
    """The agent that a payload is about. A sub-agent has a parent, and the name of its kind."""

    id: str
    parent: str = ""
    name: str = ""

    @property
    def root(self) -> str:
        """The agent's session."""
        return self.parent or self.id


class Proposed(Struct, frozen=True):
    """A call that is about to run. ``call`` is its id, empty when the harness gives none.

    ``schedules`` is a text that the call will have the harness submit later, as if a human had typed it.
    """

    agent: Subject
    call: str
    tool: str
    args: Mapping[str, Any]
    schedules: str = ""


class Ran(Struct, frozen=True):
    """A call that has run. ``transcript``: a file in which more may stand about how it ended."""

    agent: Subject
    call: str
    tool: str
    args: Mapping[str, Any]
    event: str
    result: Result
    transcript: str = ""


class Prompted(Struct, frozen=True):
    """Somebody has written to the agent: a human, unless the text is one that the agent itself had scheduled."""

    agent: Subject
    text: str = ""


class Began(Struct, frozen=True):
    """The agent has begun."""

    agent: Subject


class Ended(Struct, frozen=True):
    """The agent is gone, and those under it."""

    agent: Subject


class Nothing(Struct, frozen=True):
    """Nothing that concerns a breaker."""


Told = Proposed | Ran | Prompted | Began | Ended | Nothing


class Adapter(Protocol):
    """Translates between one harness and the breaker. Pure: no state, no I/O."""

    name: str

    def read(self, payload: Payload) -> Told:
        """What a payload tells. Raises ProtocolError for one that cannot be made sense of."""
        ...

    def denial(self, reason: str) -> str:
        """What the hook before a call prints to refuse it. A call that passes is answered with nothing at all."""
        ...

    def advice(self, event: str, text: str) -> str:
        """What the hook after a call prints to have the model told ``text``."""
        ...


def as_json(form: object) -> str:
    """A form as JSON text."""
    return msgspec.json.encode(form).decode()


def hook_specific(event: str, **fields: str) -> str:
    """The form that Claude Code began and the others took over."""
    return as_json({"hookSpecificOutput": {"hookEventName": event, **fields}})


def subject_of(payload: Payload) -> Subject:
    """The agent, where sub-agents have an ``agent_id`` of their own within the session."""
    session, agent = payload.name("session_id"), payload.optional_name("agent_id")
    if not agent:
        return Subject(session)
    return Subject(f"{session}/{agent}", session, payload.optional_name("agent_type") or "sub-agent")
