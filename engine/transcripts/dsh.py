"""DSH's session logs: ``sessions/PROJECT/SESSION/session.jsonl.zstd``, or without ``.zstd`` where that is switched off.

Written from DSH 0.1.0-rc.8. The first line is the session's head, each other one an event::

    {"type":"session","version":0,"id":S,"createdAt":MILLISECONDS,"parentSession":…,"origin":"subagent"}
    {"type":"user/message","seq":7,"time":MILLISECONDS,"data":{"source":{"kind":"user"},"content":[…]},"surfaceOp":"append"}
    {"type":"tool/call","seq":9,"time":…,"data":{"callId":C,"name":"bash","arguments":"{…}"}}
    {"type":"tool/result","seq":10,"time":…,"data":{"message":{"content":[{"type":"tool-result",…}]},"error":…}}

A sub-agent has a session of its own. Its parent writes to it as a user would; a human who does comes through a client,
which leaves its ``rpcId``. A session that was forked begins with
its parent's events, ``seedLength`` of them; a compaction puts messages in the place of others. Neither happened here.

The log keeps what the model was told of a result and not its fields, so these are read back from the markers
in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from msgspec import Struct

from engine.calls import Result, args_of
from engine.session_items import LATEST, CallLine, Line, ResultLine, TurnLine, moment_of
from engine.transcripts.format import (
    Entries,
    Format,
    Introductions,
    Place,
    Remembered,
    arguments_of,
    home_of,
    is_refusal,
    name_of,
    never_ran,
    text_of,
)

NAME = "dsh"

SAY_NOTHING = frozenset(
    {
        "assistant",
        "turn",
        "step",
        "session",
        "request",
        "agent",
        "permission",
        "sandbox",
        "approval",
        "todo",
        "subagent",
    }
)
"""What stands before the slash in the types of events that tell a breaker nothing."""
READ = frozenset({"user/message", "tool/call", "tool/result"})

MARKER_LINES = 6
"""The shell tool's markers are the last lines of what the model is told; there are no more than so many."""
_MARKERS = (
    (re.compile(r"\[exit code: (-?\d{1,10})\]"), lambda found: {"exitCode": int(found[1])}),
    (re.compile(r"\[timed out after (\d{1,12})ms\]"), lambda found: {"timedOut": True, "timeoutMs": int(found[1])}),
    (re.compile(r"\[killed by signal: ([^\]]{1,80})\]"), lambda found: {"signal": found[1]}),
    (re.compile(r"\[sandbox: file access denied(?: under (\S{1,80}) mode)?.*\]"), lambda found: _denied(found[1])),
)
_BACKGROUND = re.compile(r"started background job \S+\Z")
_FETCHED = re.compile(r"Fetched \S+ \(HTTP (\d{3})\)\n")
SHELLS = frozenset({"bash", "pwsh", "shell"})


class _Event(Struct, gc=False, rename="camel"):
    type: Any = None
    seq: Any = None
    time: Any = None
    data: Any = None
    surface_op: Any = None
    # The head of the file has these.
    id: Any = None
    parent_session: Any = None
    origin: Any = None
    seed_length: Any = None
    agent_preset: Any = None


class _Kind(Struct, gc=False):
    type: Any = None


_kinds = Entries(_Kind)
_events = Entries(_Event)


class DshReader:
    """Reads one session."""

    def __init__(self) -> None:
        self._introduce = Introductions(NAME)
        self._agent = "session"
        self._parent = ""
        self._name = ""
        self._inherited = 0
        self._tools: Remembered[str] = Remembered()
        """The tool of each call whose result is awaited."""

    def read(self, number: int, raw: bytes) -> Iterable[Line]:
        kind = name_of(_kinds.read(raw).type)
        if kind == "session":
            return self._begin(_events.read(raw))
        if kind not in READ:
            if kind.partition("/")[0] in SAY_NOTHING:
                return ()
            raise LookupError(kind or "none")
        event = _events.read(raw)
        if isinstance(event.seq, int) and event.seq < self._inherited:
            return ()
        at = moment_of(event.time / 1000) if isinstance(event.time, int | float) else 0.0
        who = self._introduce.of(number, at, self._agent, self._parent, self._name)
        return chain(who, self._happened(number, at, kind, args_of(event.data), event.surface_op))

    def _begin(self, head: _Event) -> tuple[Line, ...]:
        self._agent = name_of(head.id) or self._agent
        self._parent = name_of(head.parent_session) if head.origin == "subagent" else ""
        self._name = (name_of(head.agent_preset) or "sub-agent") if self._parent else ""
        self._inherited = head.seed_length if isinstance(head.seed_length, int) else 0
        return ()

    def _happened(self, number: int, at: float, kind: str, data: Mapping[str, Any], surface: object) -> Iterator[Line]:
        if kind == "tool/call":
            call, tool = name_of(data.get("callId")), name_of(data.get("name"))
            if call and tool:
                self._tools.keep(call, tool)
                args = args_of(arguments_of(data.get("arguments")))
                yield CallLine(number, call, self._agent, tool, args, at=at)
        elif isinstance(surface, dict):
            return
        elif kind == "user/message":
            source = args_of(data.get("source"))
            if source.get("kind") == "user" and (not self._parent or source.get("rpcId") is not None):
                yield TurnLine(number, self._agent, human=True, at=at)
        else:
            yield from self._results(number, at, data)

    def _results(self, number: int, at: float, data: Mapping[str, Any]) -> Iterator[Line]:
        content = args_of(data.get("message")).get("content")
        error = args_of(data.get("error"))
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict) or block.get("type") != "tool-result":
                continue
            if call := name_of(block.get("toolCallId")):
                tool = self._tools.take(call) or ""
                yield ResultLine(number, call, self._agent, _result(tool, block, error), at=at)


def _result(tool: str, block: Mapping[str, Any], error: Mapping[str, Any]) -> Result:
    text = text_of(block.get("content"))
    failed = block.get("isError") is True
    if failed and is_refusal(text):
        return never_ran(text)
    code = name_of(error.get("code")) or name_of(error.get("name"))
    if failed:
        return Result(is_error=True, error_code=code, text=text)
    if tool in SHELLS:
        return Result(value=_value_of(text), text=text)
    fetched = _FETCHED.match(text[:4000]) if tool == "web_fetch" else None
    return Result(value={"statusCode": int(fetched[1])} if fetched else {}, text=text)


def _value_of(text: str) -> dict[str, Any]:
    """The fields of a command's result, from the markers that its text ends in."""
    if _BACKGROUND.match(text):
        return {"kind": "background"}
    value: dict[str, Any] = {}
    for line in reversed(text[-4000:].rstrip("\n").split("\n")[-MARKER_LINES:]):
        found = next((read(match) for pattern, read in _MARKERS if (match := pattern.fullmatch(line))), None)
        if found:
            value |= found
        elif not line.startswith("["):  # between the markers stands a hint, in brackets too
            break
    return value or {"exitCode": 0}


def _denied(mode: str | None) -> dict[str, Any]:
    return {"sandbox": {"denied": True, "mode": mode or ""}}


# -- the format ---------------------------------------------------------------------------------------------------


def _claims(entry: Mapping[str, Any]) -> bool:
    created = entry.get("createdAt")
    head = entry.get("type") == "session" and isinstance(created, int) and created < LATEST * 1000
    return head or ("seq" in entry and "data" in entry and "/" in str(entry.get("type")))


def _place() -> Place:
    return Place(home_of("DSH_HOME", ".dsh") / "sessions", "*/*/session.jsonl*")


FORMAT = Format("a DSH session log", NAME, _claims, DshReader, _place)
