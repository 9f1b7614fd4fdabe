"""Sessions read line by line: what people write by hand, and what the journal writes.

A session is one JSON object a line::

    {"type":"call","id":"c1","agent":"a1","tool":"bash","args":{"command":"ls"}}
    {"type":"result","id":"c1","agent":"a1","result":{"isError":false,"value":{"exitCode":0},"content":[…]}}
    {"type":"turn","agent":"a1","source":"user"}

``agent`` and ``id`` may be left out; a call may carry its ``answer`` and its ``result``; any line may say when it was,
as ``at`` in unix seconds. A journal's lines are the engine's events: its calls say what they are, so nobody needs
the arguments that were cut from them.

``engine.transcripts`` reads what harnesses write to the same items.

A line that cannot be read is an item of its own, and reading goes on. Memory is bounded by one line.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any, BinaryIO, Literal, Union

import msgspec
from msgspec import UNSET, Struct

from engine.calls import Failure, Identity, Result, args_of, result_of
from engine.session_items import (
    ANSWERS,
    AgentLine,
    CallLine,
    Damaged,
    Line,
    Recalled,
    Recorded,
    ResultLine,
    TurnLine,
    Unknown,
    moment_of,
)
from engine.session_lines import HEAD_BYTES, LINE_BYTES, UnreadableLineError, converted, lines_of, looks_like, object_of
from engine.verdicts import Outcome

DEFAULT_AGENT = "agent"
FOREIGN_LINES_READ = 100
"""So many lines that are not a session's and not one that is: the file is something else."""
UNNAMED_KEPT = 1024
"""Calls without an id that await a result, per agent."""


class NotASessionError(Exception):
    """The file holds no line of a session. ``str()`` says what it looks like instead."""


def read_session(file: BinaryIO) -> Iterator[Line]:
    """The lines of a session. Raises NotASessionError as soon as it is clear that it is none."""
    reader = SessionReader()
    head = b""
    foreign: list[Line] = []
    recognized = False
    for number, raw in lines_of(file):
        items = reader.read(number, raw)
        if recognized:
            yield from items
            continue
        head += raw[: HEAD_BYTES - len(head)]
        if items and all(isinstance(item, Damaged | Unknown) for item in items):
            foreign.extend(items)
            if len(foreign) >= FOREIGN_LINES_READ:
                break
            continue
        recognized = True
        yield from foreign
        yield from items
    if not recognized:
        raise NotASessionError(_what_it_is(head, foreign))


def _what_it_is(head: bytes, foreign: list[Line]) -> str:
    what = looks_like(head)
    types = dict.fromkeys(item.type for item in foreign if isinstance(item, Unknown))
    if types:
        what = f"JSON lines of another kind (types {', '.join(repr(one[:40]) for one in list(types)[:4])})"
    elif what.startswith("JSON lines") and isinstance(foreign[0], Damaged):
        what += f" (line {foreign[0].line}: {foreign[0].problem})"
    return f'not a session: it looks like {what}. A session has lines like {{"type":"call","tool":…,"args":{{…}}}}'


# -- the forms of the lines ---------------------------------------------------------------------------------------

_Name = str | int | None


class _Call(Struct, tag_field="type", tag="call"):
    tool: str
    id: _Name = None
    agent: _Name = None
    args: Any = None
    answer: Literal["approve", "reject", "unavailable"] | None = None
    result: Any = UNSET
    at: Any = None
    # From here on a journal's own.
    ticket: int | None = None
    verdict: Literal["allow", "deny", "wait"] | None = None
    outcome: Outcome | None = None
    fingerprints: tuple[str, ...] = ()
    local: bool = False
    shell: bool = False
    reads_only: bool = False
    asks_http_code: bool = False


class _Result(Struct, tag_field="type", tag="result"):
    result: Any
    id: _Name = None
    agent: _Name = None
    at: Any = None
    # From here on a journal's own.
    ticket: int | None = None
    failure: Failure | None = None
    aborted: bool = False


class _Turn(Struct, tag_field="type", tag="turn"):
    agent: _Name = None
    source: str | None = None
    at: Any = None


class _Agent(Struct, tag_field="type", tag="agent"):
    agent: _Name = None
    parent: str = ""
    harness: str = ""
    name: str = ""
    at: Any = None


_PASSED_OVER = ("exempted", "refused", "config", "notice", "snapshot", "checkpoint")
"""Events that follow from others, or that move nothing here."""
_passed_over = tuple(msgspec.defstruct(f"_{tag}", [], tag_field="type", tag=tag) for tag in _PASSED_OVER)
_Wire: Any = Union[(_Call, _Result, _Turn, _Agent, *Recalled.__args__, *_passed_over)]
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_Wire)
KNOWN_TYPES = frozenset(form.__struct_config__.tag for form in _Wire.__args__)
"""The types of lines that a session may have, a journal's own included."""


def _wire_of(raw: bytes) -> Any:
    """A line as one of the forms above. Raises UnreadableLineError; LookupError with a type that is not known."""
    if len(raw) <= LINE_BYTES:
        try:
            return _decoder.decode(raw)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            pass
    found = object_of(raw)
    kind = found.get("type")
    if not isinstance(kind, str):
        raise UnreadableLineError("it has no `type`")
    if kind not in KNOWN_TYPES:
        raise LookupError(kind)
    return converted(found, _Wire)


# -- from forms to items ------------------------------------------------------------------------------------------


class SessionReader:
    """Gives names to what has none: calls by their number, their results in the same order."""

    def __init__(self) -> None:
        self._calls = 0
        self._unnamed: defaultdict[str, deque[str]] = defaultdict(lambda: deque(maxlen=UNNAMED_KEPT))

    def read(self, number: int, raw: bytes) -> tuple[Line, ...]:
        """What a line says: nothing, one thing, or a call and its result."""
        try:
            return self._read(number, _wire_of(raw))
        except UnreadableLineError as error:
            return (Damaged(number, str(error)),)
        except LookupError as error:
            return (Unknown(number, str(error.args[0])),)

    def _read(self, number: int, wire: Any) -> tuple[Line, ...]:
        match wire:
            case _Call():
                return self._call(number, wire)
            case _Result():
                return (self._result(number, wire),)
            case _Turn():
                human = wire.source in (None, "user", "operator")
                return (TurnLine(number, _agent(wire.agent), human, moment_of(wire.at)),)
            case _Agent():
                who = _agent(wire.agent)
                return (AgentLine(number, who, wire.parent, wire.harness, wire.name, moment_of(wire.at)),)
        return (wire,) if isinstance(wire, Recalled) else ()

    def _call(self, number: int, wire: _Call) -> tuple[Line, ...]:
        self._calls += 1
        agent = _agent(wire.agent)
        call_id = f"#{self._calls}" if wire.id is None else str(wire.id)
        if wire.id is None and wire.result is UNSET:
            self._unnamed[agent].append(call_id)
        recorded = None
        answer = ANSWERS[wire.answer] if wire.answer else None
        if wire.ticket is not None and wire.verdict:
            recorded = Recorded(wire.ticket, wire.verdict, _identity(wire))
            answer = answer or wire.outcome
        at = moment_of(wire.at)
        call = CallLine(number, call_id, agent, wire.tool, args_of(wire.args), answer, recorded, at)
        if wire.result is UNSET:
            return (call,)
        return (call, ResultLine(number, call_id, agent, result_of(wire.result), at=at))

    def _result(self, number: int, wire: _Result) -> ResultLine:
        agent, at = _agent(wire.agent), moment_of(wire.at)
        if wire.id is None:
            awaiting = self._unnamed[agent]
            if not awaiting:
                raise UnreadableLineError("a result without an `id`, and no call without one awaits it")
            return ResultLine(number, awaiting.popleft(), agent, result_of(wire.result), at=at)
        result = result_of(wire.result)
        if wire.ticket is None:
            return ResultLine(number, str(wire.id), agent, result, at=at)
        if wire.aborted and not result.aborted:
            result = Result(result.is_error, "ABORTED", result.value, result.text)
        return ResultLine(number, str(wire.id), agent, result, wire.failure, at)


def _agent(name: _Name) -> str:
    return DEFAULT_AGENT if name is None else str(name)


def _identity(wire: _Call) -> Identity:
    return Identity(
        wire.fingerprints,
        (),
        local=wire.local,
        shell=wire.shell,
        reads_only=wire.reads_only,
        asks_http_code=wire.asks_http_code,
    )
