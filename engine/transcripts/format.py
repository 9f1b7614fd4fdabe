"""What every format of a transcript has, and what their readers share."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct

from engine.calls import Result, result_of
from engine.session_items import LATEST, AgentLine, Line
from engine.session_lines import LINE_BYTES, UnreadableLineError, converted, object_of

REMEMBERED = 4096
"""Agents, calls under way, messages: of each so many are remembered by a reader, the latest."""
BLOCKED = "REPEAT_TOOL_BLOCKED"
"""How a refusal of ours begins; behind a harness's own words, within the first ``BLOCKED_WITHIN`` characters."""
BLOCKED_WITHIN = 200


class Reader(Protocol):
    """Reads one file. It remembers what a later line refers to, and no more of it than it must."""

    def read(self, number: int, raw: bytes) -> Iterable[Line]:
        """What a line says. Raises UnreadableLineError; LookupError with a type that is not known."""
        ...


class Place(Struct, frozen=True):
    """Where a harness keeps its transcripts: a directory, and a pattern below it."""

    directory: Path
    pattern: str


class Format(Struct, frozen=True):
    """One format. ``claims`` says whether an object, of a file's first lines, can only be of this one."""

    name: str
    """With its article, to follow "it is"."""
    harness: str
    claims: Callable[[Mapping[str, Any]], bool]
    reader: Callable[[], Reader]
    place: Callable[[], Place] | None = None

    @property
    def foreign(self) -> bool:
        """Whether a harness writes it, and not this program: then it knows of no asks."""
        return bool(self.harness)


Form = TypeVar("Form")


class Entries(Generic[Form]):
    """Decodes lines to one msgspec form: fast, and with more patience where a line needs it."""

    def __init__(self, form: type[Form]) -> None:
        self._form = form
        self._decoder = msgspec.json.Decoder(form)

    def read(self, raw: bytes) -> Form:
        """Raises UnreadableLineError."""
        if len(raw) <= LINE_BYTES:
            try:
                return self._decoder.decode(raw)
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
                pass
        entry: Form = converted(object_of(raw), self._form)
        return entry


class Remembered(Generic[Form]):
    """The latest ``REMEMBERED`` things by a name."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Form] = OrderedDict()

    def __contains__(self, name: str) -> bool:
        return name in self._kept

    def keep(self, name: str, value: Form) -> None:
        self._kept[name] = value
        if len(self._kept) > REMEMBERED:
            self._kept.popitem(last=False)

    def get(self, name: str) -> Form | None:
        return self._kept.get(name)

    def take(self, name: str) -> Form | None:
        return self._kept.pop(name, None)


class Introductions:
    """Says of each agent, once and whenever more is known, who it is."""

    def __init__(self, harness: str) -> None:
        self._harness = harness
        self._known: Remembered[str] = Remembered()

    def of(self, number: int, at: float, agent: str, parent: str = "", name: str = "") -> tuple[AgentLine, ...]:
        """What is to be said of an agent before the line of this number; nothing, as a rule."""
        known = self._known.get(agent)
        if known is not None and (known or not name):
            return ()
        self._known.keep(agent, name)
        return (AgentLine(number, agent, parent, self._harness, name, at),)


def moment(text: object) -> float:
    """Unix seconds of an ISO 8601 time; 0.0 for what is none."""
    if not isinstance(text, str) or len(text) > 40:
        return 0.0
    try:
        time = datetime.fromisoformat(text)
        seconds = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
    return seconds if 0 < seconds < LATEST else 0.0


_any_decoder = msgspec.json.Decoder()


def arguments_of(written: object) -> object:
    """Arguments that a model wrote as JSON text; what is no JSON object stays the text it was."""
    if not isinstance(written, str):
        return written
    try:
        return _any_decoder.decode(written)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        pass
    try:
        return object_of(written.encode("utf-8", "surrogatepass"))
    except UnreadableLineError:
        return written


def text_of(content: object) -> str:
    """The text in what a message or a result holds: a text, or blocks of which some have one."""
    return result_of({"content": content}).text


def name_of(value: object) -> str:
    """An id or a name; empty for what is none."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def never_ran(text: str) -> Result:
    """The result of a call that was stopped before it ran, which says nothing of what it would have done."""
    return Result(is_error=True, error_code="ABORTED", text=text)


def is_refusal(text: str) -> bool:
    """Whether this is what a harness shows of a refusal of ours."""
    return BLOCKED in text[:BLOCKED_WITHIN]


def home_of(variable: str, *below_home: str) -> Path:
    """The directory that a harness is given by a variable, else its usual one below the home directory."""
    named = os.environ.get(variable, "")
    return Path(named) if named else Path.home().joinpath(*below_home)
