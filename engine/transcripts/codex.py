"""Codex's rollouts: ``sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl``. Written from Codex 0.171.0.

An object a line, each with a ``timestamp``, a ``type`` and a ``payload``::

    {"type":"session_meta","payload":{"id":THREAD,"session_id":SESSION,"parent_thread_id":…}}
    {"type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage",…}}}
    {"type":"response_item","payload":{"type":"function_call","call_id":C,"name":"exec_command","arguments":"{…}"}}
    {"type":"event_msg","payload":{"type":"item_completed","item":{"type":"CommandExecution","id":C,"exit_code":0,…}}}
    {"type":"response_item","payload":{"type":"function_call_output","call_id":C,"output":"…"}}

A sub-agent is a thread, and a file, of its own; what stands there as a user's message is its parent's. Calls are told
as Codex tells them to its hooks: every way to run a command is ``Bash`` with a ``command``. ``write_stdin``, which no
hook is asked about, goes on with a command that is counted already.

Of a command the line with its exit code comes first, as a rule, and settles it. One that outlives its time is left
running by what the model is told, and settled by the line that says how it ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from msgspec import Struct

from engine.calls import Result, args_of
from engine.harnesses.codex import NAME
from engine.session_items import CallLine, Line, ResultLine, TurnLine
from engine.transcripts.format import (
    Entries,
    Format,
    Introductions,
    Place,
    Remembered,
    arguments_of,
    home_of,
    is_refusal,
    moment,
    name_of,
    never_ran,
    text_of,
)

SAY_NOTHING = frozenset(
    {"turn_context", "world_state", "token_usage_record", "compacted", "session_state", "ghost_snapshot"}
)
"""Types of lines that tell a breaker nothing."""
READ = frozenset({"session_meta", "response_item", "event_msg"})
CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})
COMMANDS = frozenset({"exec_command", "shell", "shell_command", "local_shell", "container.exec", "unified_exec"})
"""Tools that its hooks know as ``Bash``."""
PATCH = "apply_patch"
GO_ON = frozenset({"write_stdin"})
"""Tools that no hook is asked about."""

OUTPUT_HEAD = 400
"""Characters of an output before what the command printed, at the most."""
KILLED = -1
"""The exit code of a command that Codex ended itself, when the turn or the program was over."""
_HEADER = re.compile(r"(?:[^\n]{0,120}\n){0,6}?Output:\n")
_EXITED = re.compile(r"(?:^|\n)(?:Process exited with code|Exit code:) (-?\d{1,10})(?:\n|$)")
_RUNNING = re.compile(r"(?:^|\n)Process running with session ID ")
_BLOCKED = "Command blocked by PreToolUse hook: "
_UNSUPPORTED = "unsupported call: "


class _Line(Struct, gc=False):
    type: Any = None
    timestamp: Any = None
    payload: Any = None


_lines = Entries(_Line)


class CodexReader:
    """Reads one rollout: that of one thread."""

    def __init__(self) -> None:
        self._introduce = Introductions(NAME)
        self._agent = "session"
        self._parent = ""
        self._name = ""
        self._begun = False
        self._commands: Remembered[bool] = Remembered()
        """Calls whose results are awaited, and whether each runs a command."""

    def read(self, number: int, raw: bytes) -> Iterable[Line]:
        line = _lines.read(raw)
        kind, payload = name_of(line.type), line.payload
        if kind not in READ and kind not in SAY_NOTHING:
            raise LookupError(kind or "none")
        if kind in SAY_NOTHING or not isinstance(payload, dict):
            return ()
        at = moment(line.timestamp)
        match kind:
            case "session_meta":
                self._begin(payload)
                return self._introduce.of(number, at, self._agent, self._parent, self._name)
            case "response_item":
                lines = self._item(number, at, payload)
            case _:
                lines = self._event(number, at, payload)
        return chain(self._introduce.of(number, at, self._agent, self._parent, self._name), lines)

    def _begin(self, payload: Mapping[str, Any]) -> None:
        """Whose file it is. A thread that goes on where another was left has that one's head further down."""
        thread = name_of(payload.get("id"))
        if self._begun or not thread:
            return
        self._begun = True
        parent = name_of(payload.get("parent_thread_id")) or _spawner(payload.get("source"))
        if not parent:
            self._agent = thread
            return
        root = name_of(payload.get("session_id")) or parent
        self._agent, self._parent = f"{root}/{thread}", parent if parent == root else f"{root}/{parent}"
        self._name = name_of(payload.get("agent_nickname")) or "sub-agent"

    # -- calls ------------------------------------------------------------------------------------------------

    def _item(self, number: int, at: float, payload: Mapping[str, Any]) -> Iterator[Line]:
        kind = name_of(payload.get("type"))
        call = name_of(payload.get("call_id")) or name_of(payload.get("id"))
        if kind in OUTPUTS:
            yield from self._output(number, at, call, payload.get("output"))
        if kind not in CALLS or not call:
            return
        name = name_of(payload.get("name")) or ("local_shell" if kind == "local_shell_call" else "")
        if not name or name in GO_ON:
            return
        tool, args = _as_told(name, payload)
        self._commands.keep(call, tool == "Bash")
        yield CallLine(number, call, self._agent, tool, args, at=at)

    def _output(self, number: int, at: float, call: str, output: object) -> Iterator[Line]:
        """What the model is told. It says nothing new of a call that was settled before."""
        if call not in self._commands:
            return
        result = _result_of_output(output, command=self._commands.get(call) is True)
        if result is not None:
            self._commands.take(call)
            yield ResultLine(number, call, self._agent, result, at=at)

    # -- events -----------------------------------------------------------------------------------------------

    def _event(self, number: int, at: float, payload: Mapping[str, Any]) -> Iterator[Line]:
        kind, item = payload.get("type"), payload.get("item")
        if kind == "item_completed" and isinstance(item, dict):
            if item.get("type") == "UserMessage":
                yield from self._message(number, at)
            elif item.get("type") == "CommandExecution":
                yield from self._ended(number, at, name_of(item.get("id")), item)
        elif kind == "user_message":
            yield from self._message(number, at)
        elif kind == "exec_command_end":
            yield from self._ended(number, at, name_of(payload.get("call_id")), payload)

    def _message(self, number: int, at: float) -> Iterator[Line]:
        if not self._parent:
            yield TurnLine(number, self._agent, human=True, at=at)

    def _ended(self, number: int, at: float, call: str, how: Mapping[str, Any]) -> Iterator[Line]:
        if self._commands.take(call) is not None:
            yield ResultLine(number, call, self._agent, _result_of_end(how), at=at)


def _spawner(source: object) -> str:
    """The parent's thread, as versions before 0.100 told it."""
    for key in ("subagent", "thread_spawn"):
        source = source.get(key) if isinstance(source, dict) else None
    return name_of(source.get("parent_thread_id")) if isinstance(source, dict) else ""


def _as_told(name: str, payload: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The tool and its arguments as its hooks are told."""
    if name == "local_shell":
        return "Bash", {"command": args_of(payload.get("action")).get("command")}
    if name == PATCH and isinstance(payload.get("input"), str):
        return PATCH, {"command": payload["input"]}
    args = args_of(arguments_of(payload.get("arguments", payload.get("input"))))
    if name in COMMANDS:
        return "Bash", {"command": args.get("cmd", args.get("command"))}
    namespace = name_of(payload.get("namespace"))
    return f"{namespace.rstrip('_')}__{name}" if namespace.startswith("mcp__") else name, args


def _result_of_end(how: Mapping[str, Any]) -> Result:
    code, status = how.get("exit_code"), name_of(how.get("status"))
    output = how.get("aggregated_output")
    text = output if isinstance(output, str) else ""
    if status in {"declined", "interrupted", "cancelled"} or code == KILLED:
        return never_ran(text)
    if isinstance(code, int) and not isinstance(code, bool):
        return Result(value={"exitCode": code}, text=text)
    return Result(is_error=status in {"failed", "error"}, text=text)


def _result_of_output(output: object, *, command: bool) -> Result | None:
    """What a call gave back; None while it still runs."""
    failed = False
    if isinstance(output, dict):
        failed = output.get("success") is False
        output = output.get("content")
    text = text_of(output)
    if text.startswith((_BLOCKED, _UNSUPPORTED)) or (failed and is_refusal(text)):
        return never_ran(text)
    if not command:
        return Result(is_error=failed, text=text)
    if text.startswith('{"output":'):  # the shell tool of older versions
        whole = args_of(arguments_of(text))
        about = args_of(whole.get("metadata"))
        return _result_of_end({"exit_code": about.get("exit_code"), "aggregated_output": whole.get("output")})
    head = text[:OUTPUT_HEAD]
    header = _HEADER.match(head)
    if header and _RUNNING.search(header[0]):
        return None
    exited = _EXITED.search(header[0] if header else "")
    value = {"exitCode": int(exited[1])} if exited else {}
    return Result(is_error=failed, value=value, text=text[header.end() :] if header else text)


# -- the format ---------------------------------------------------------------------------------------------------


def _claims(entry: Mapping[str, Any]) -> bool:
    return isinstance(entry.get("payload"), dict) and name_of(entry.get("type")) in READ | SAY_NOTHING


def _place() -> Place:
    return Place(home_of("CODEX_HOME", ".codex") / "sessions", "**/rollout-*.jsonl")


FORMAT = Format("a Codex rollout", NAME, _claims, CodexReader, _place)
