"""Why a result counts as a failure, or that it does not.

What a tool says in fields is believed first. The text is evidence only for a tool that runs a command line: its
exit code may be that of the last program of a pipeline, so ``0`` proves nothing there, while the words of any
other tool's text are somebody's document.

No text is cut before it is searched. Each pattern is tried only when a literal it cannot do without is in the
text, is anchored or bounded, and backtracks over nothing that repeats, so the cost is a few passes over the text
whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from engine.calls import Failure, FailureReason, Identity, Result
from engine.canonical import is_number

DETAIL_CHARS = 80
"""A detail is for quoting; error codes and signal names are as long as a tool likes."""

_LINE_START = r"(?:^|(?<=[\r\u2028\u2029]))"
"""A progress bar returns the carriage and the error follows on what is the same line only to ``re``."""

_EXIT_CODE = re.compile(_LINE_START + r"\[exit code: (-?\d{1,12})\]", re.MULTILINE)
_Sign = tuple[str, re.Pattern[str], FailureReason, str]
_MARKERS: tuple[_Sign, ...] = (
    ("(HTTP ", re.compile(r"\(HTTP ([4-9]\d\d)\)(?=[ \t]{0,8}\r?$)", re.MULTILINE), "http", "{}"),
    (
        "[timed out after ",
        re.compile(_LINE_START + r"\[timed out after (\d{1,12})ms\]", re.MULTILINE),
        "timeout",
        "{} ms",
    ),
    (
        "[killed by signal: ",
        re.compile(_LINE_START + r"\[killed by signal: ([^\]\r\n]{1,80})\]", re.MULTILINE),
        "signal",
        "{}",
    ),
    (
        "[sandbox: file access denied",
        re.compile(_LINE_START + r"\[sandbox: file access denied()", re.MULTILINE),
        "sandbox",
        "",
    ),
)
"""What a harness adds to an output: a literal to look for first, where it counts, the reason, the detail."""
_COMPLAINTS: tuple[_Sign, ...] = (
    ("HTTP Error ", re.compile(r"\bHTTP Error ([4-9]\d\d)(?!\d)"), "http", "{}"),
    ("curl: (", re.compile(r"\bcurl: \((\d{1,6})\)"), "curl", "{}"),
)
"""What a client prints when it caught its own failure and its script went on."""
_EXCEPTION = re.compile(
    _LINE_START + r"[ \t\f\v]*+([A-Za-z_][A-Za-z0-9_.]*+)(?:(?<=\wError)|(?<=\wException)): ", re.MULTILINE
)
_TRACEBACK = "Traceback (most recent call last)"
_EXCEPTION_ENDS = ("Error: ", "Exception: ")

_BRACKETED = re.compile(r"\[(?:exit code: |timed out after |killed by signal: |sandbox: file access denied)")
_PARENTHESISED = re.compile(r"\((?:HTTP [4-9]|(?<=curl: \()[0-9]|(?<=Traceback \()most recent call last\))")
_NAMED = re.compile(r"E(?:rror: |rror [4-9]|xception: )")
"""One of these is in every text that tells of a failure. Each begins with a character that few texts have many of: a
search skips to it quickly, and three such passes take a third of the time of one for each literal (50 KB: 60 µs, not
190; without the characters 2 µs)."""

_CODE_FIRST = re.compile(r"\s*([0-5]\d\d)(?![.,]?\d)")
_CODE_LAST = re.compile(r"(?:^|[^\w\s.,:/+%-])([0-5]\d\d)$", re.MULTILINE)
_CODE_NAMED = re.compile(
    r"[^\w\"'{<\[]{0,8}(?:http(?:[ _-]?(?:status|code))?|(?:status|response)(?:[ _-]?code)?|code)[ \t]?[:= ][ \t]?"
    r"([0-5]\d\d)(?![.,]?\d)",
    re.IGNORECASE,
)
_LINE_CHARS = 400
"""How far into the first line, and back from the end, curl's write-out is looked for."""


def failure_of(result: Result, identity: Identity) -> Failure | None:
    """The failure a result tells of, or None. An aborted call is the caller's to sort out first."""
    if result.is_error:
        return Failure("error", result.error_code[:DETAIL_CHARS])
    value = result.value
    if value:
        if value.get("kind") == "background":
            return None
        failure = _from_fields(value)
        if failure or ("statusCode" in value and _number(value["statusCode"]) is not None):
            return failure
        if "sandbox" in value and _denied(value):
            return Failure("sandbox", short(value["sandbox"].get("mode")))
    if not identity.shell or identity.reads_only:
        return None
    text = printed(result)
    return _from_text(text, asks_http_code=identity.asks_http_code) if text else None


def describe(failure: Failure) -> str:
    """One short clause with a past verb, for after a subject: ``exited 3``. The detail in it is a tool's own text."""
    plain, with_detail = _CLAUSES[failure.reason]
    return with_detail.format(failure.detail) if failure.detail else plain


_CLAUSES = {
    "error": ("ended in an error", "ended in an error ({})"),
    "exit": ("exited with a failure", "exited {}"),
    "timeout": ("timed out", "timed out after {}"),
    "signal": ("was killed", "was killed by {}"),
    "http": ("returned an HTTP error", "returned HTTP {}"),
    "sandbox": ("was denied by the sandbox", "was denied by the sandbox ({})"),
    "exception": ("raised an exception", "raised {}"),
    "curl": ("got no response", "ended in curl error {}"),
}
"""Reason: the clause without a detail, and with one."""


def printed(result: Result) -> str:
    """What a tool printed: its text, or its output fields when it has none."""
    if result.text or not result.value:
        return result.text
    parts = [result.value.get(key) for key in ("stdout", "stderr", "output", "body")]
    return "\n".join(part for part in parts if isinstance(part, str) and part)


# -- fields -----------------------------------------------------------------------------------------------------


def _from_fields(value: Mapping[str, Any]) -> Failure | None:
    code = value.get("exitCode")
    if code and _number(code):
        return Failure("exit", short(code))
    if value.get("timedOut") is True:
        limit = _number(value.get("timeoutMs"))
        return Failure("timeout", f"{short(limit)} ms" if limit else "")
    signal = value.get("signal")
    if signal and isinstance(signal, str):
        return Failure("signal", short(signal))
    status = _number(value["statusCode"]) if "statusCode" in value else None
    if status is not None and status >= 400:
        return Failure("http", short(status))
    return None


def _denied(value: Mapping[str, Any]) -> bool:
    sandbox = value.get("sandbox")
    return isinstance(sandbox, dict) and sandbox.get("denied") is True


def _number(value: Any) -> Any:
    """The number, if it is one; true, false and NaN are none."""
    return value if is_number(value) and value == value else None  # noqa: PLR0124 - only NaN is not itself


def short(value: Any) -> str:
    """A scalar as a detail, "" for what is none; ``3.0`` is ``3``, and a number no exit code can be is not spelled."""
    if isinstance(value, str):
        return value[:DETAIL_CHARS]
    if is_number(value):
        if not -1e12 < value < 1e12:
            return "with a number out of range"
        return str(int(value)) if value == int(value) else str(value)
    return ""


# -- text -------------------------------------------------------------------------------------------------------


def _from_text(text: str, *, asks_http_code: bool) -> Failure | None:
    bracketed = "[" in text and _BRACKETED.search(text) is not None
    parenthesised = "(" in text and _PARENTHESISED.search(text) is not None
    complains = parenthesised or ("E" in text and _NAMED.search(text) is not None)
    failure = _from_exit_code(text) if bracketed else None
    if failure is None and (bracketed or parenthesised):
        failure = _from_signs(text, _MARKERS)
    if failure is None and asks_http_code:
        failure = _from_written_code(text)
    if failure is None and complains:
        failure = _from_exception(text) or _from_signs(text, _COMPLAINTS)
    return failure


def _from_exit_code(text: str) -> Failure | None:
    """A harness adds its marker after the output, so the last exit code is its own and the others were printed."""
    codes = _EXIT_CODE.findall(text) if "[exit code: " in text else ()
    return Failure("exit", codes[-1]) if codes and int(codes[-1]) != 0 else None


def _from_signs(text: str, signs: tuple[_Sign, ...]) -> Failure | None:
    for literal, pattern, reason, detail in signs:
        if literal in text and (found := pattern.search(text)):
            return Failure(reason, detail.format(found[1]))
    return None


def _from_exception(text: str) -> Failure | None:
    """An uncaught exception. Several in one text are a chain; the last is the one that got out."""
    if any(end in text for end in _EXCEPTION_ENDS):
        names = _EXCEPTION.findall(text)
        if names:
            return Failure("exception", names[-1].rpartition(".")[2][:DETAIL_CHARS])
    return Failure("exception") if _TRACEBACK in text else None


def _from_written_code(text: str) -> Failure | None:
    """The response code that curl was asked to write: first when the body went elsewhere, last when it follows one.

    The first that is found decides: what else looks like a code is the body, or a size, or a count of lines.
    ``000`` is curl's word for no response at all.
    """
    first = text[:_LINE_CHARS].lstrip().partition("\n")[0]
    last = text[-_LINE_CHARS:].rstrip().rpartition("\n")[2]
    code = _CODE_FIRST.match(first) or _CODE_NAMED.match(first) or _CODE_LAST.search(last) or _CODE_NAMED.match(last)
    if code is None:
        return None
    if code[1] == "000":
        return Failure("curl")
    return Failure("http", code[1]) if code[1] >= "400" else None
