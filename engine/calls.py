"""What an agent asks for, what came back, and what the call is once its disguise is stripped.

These are the engine's nouns. They are made at the edge (``Call.args`` is always a mapping, ``Result`` never
raises) and trusted inside. They are trees of text and numbers, so the garbage collector need not look at them
(``gc=False``): it would, at every few hundred calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

FailureReason = Literal["error", "exit", "timeout", "signal", "http", "sandbox", "exception", "curl"]

ABORTED_CODES = frozenset({"ABORTED", "ABORTED_BEFORE_DISPATCH", "ABORT_ERR", "AbortError", "CANCELLED"})
"""Error codes with which a harness says that a call was stopped from outside and never had its chance."""


class Call(Struct, frozen=True):
    """One tool call, before it runs. ``id`` is unique within its agent only."""

    id: str
    agent: str
    tool: str
    args: Mapping[str, Any]


class Result(Struct, frozen=True):
    """What a tool gave back.

    ``value`` is the tool's structured result (``exitCode``, ``statusCode``, ``timedOut``, ...), empty when it
    has none; ``text`` is every text block of its content, joined by newlines.
    """

    is_error: bool = False
    error_code: str = ""
    value: Mapping[str, Any] = {}
    text: str = ""

    @property
    def aborted(self) -> bool:
        """Whether the call was stopped from outside: that says nothing about what it would have done."""
        return self.value.get("aborted") is True or self.error_code in ABORTED_CODES


class Failure(Struct, frozen=True, gc=False):
    """Why a result counts as a failure: a reason from a closed list, and a short detail to quote."""

    reason: FailureReason
    detail: str = ""


class Streak(Struct, frozen=True, gc=False):
    """Consecutive failures of one fingerprint, and the last of them."""

    count: int
    failure: Failure


class Measure(Struct, frozen=True, gc=False, rename={"fingerprint": "fp"}):
    """A fingerprint that has a cap, and the cap in force when the call was made."""

    fingerprint: str
    cap: float


def kind_of(fingerprint: str) -> str:
    """``host`` of ``host:example.org``."""
    return fingerprint.partition(":")[0]


class Identity(Struct, frozen=True, gc=False):
    """What a call is. ``measures`` are those of ``fingerprints`` that have a cap, in the same order."""

    fingerprints: tuple[str, ...]
    measures: tuple[Measure, ...]
    local: bool = False
    """Every URL in it is local (False when it has none)."""
    shell: bool = False
    """Its tool runs a command line, so the text of its result is evidence."""
    reads_only: bool = False
    """It is a pipeline of pure readers: what it prints is somebody else's log, not its own outcome."""
    asks_http_code: bool = False
    """It asked curl to print the response code, so a leading 4xx or 5xx in its output is one."""


class Marks(Struct, frozen=True, gc=False):
    """What a command line, a request or one URL adds to an identity: its fingerprints, each with its cap if any."""

    caps: dict[str, float | None] = {}
    local: bool = False
    reads_only: bool = False
    asks_http_code: bool = False


class Tool(Struct, frozen=True):
    """What the configuration says of a tool."""

    tracked: bool
    decoys: frozenset[str]
    prefix: str
    shell: bool
    takes_url: bool


def args_of(raw: object) -> Mapping[str, Any]:
    """The arguments as a mapping, whatever the agent sent: nothing is ``{}``, a bare value is ``{"value": raw}``."""
    if isinstance(raw, dict):
        return raw
    return {} if raw is None else {"value": raw}


def result_of(raw: object) -> Result:
    """Read a result in the session format; what is not of that form is taken as absent. Never raises."""
    if not isinstance(raw, dict):
        return Result(text=raw if isinstance(raw, str) else "")
    value = raw.get("value")
    return Result(
        raw.get("isError") is True,
        _error_code(raw["error"]) if "error" in raw else "",
        value if isinstance(value, dict) else {},
        _text_of(raw.get("content")),
    )


def _error_code(error: object) -> str:
    """The code or name of an error; a DSH error keeps them one level down, under ``info``."""
    if not isinstance(error, dict):
        return ""
    info = error.get("info")
    for place in (error, info if isinstance(info, dict) else {}):
        for key in ("code", "name"):
            code = place.get(key)
            if isinstance(code, str):
                return code
    return ""


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [block.get("text") if isinstance(block, dict) else block for block in content]
    return "\n".join([text for text in texts if isinstance(text, str)])
