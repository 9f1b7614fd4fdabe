"""Why a result counts as a failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.calls import Failure, Identity, Result, result_of
from engine.failures import DETAIL_CHARS, describe, failure_of

DATA = Path(__file__).parent.parent / "data" / "failures.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]

SHELL = Identity((), (), shell=True)
READER = Identity((), (), shell=True, reads_only=True)
WRITES_CODE = Identity((), (), shell=True, asks_http_code=True)
OTHER = Identity((), ())


def of_text(text: str, identity: Identity = SHELL) -> tuple[str, str] | None:
    failure = failure_of(Result(text=text), identity)
    return (failure.reason, failure.detail) if failure else None


def of_value(value: dict[str, Any], identity: Identity = OTHER, text: str = "") -> tuple[str, str] | None:
    failure = failure_of(Result(value=value, text=text), identity)
    return (failure.reason, failure.detail) if failure else None


@pytest.mark.parametrize("row", ROWS, ids=range(1, len(ROWS) + 1))
def test_every_recorded_result(row: dict[str, Any]):
    identity = SHELL if row["tool"] in ("bash", "shell") else OTHER
    failure = failure_of(result_of(row["result"]), identity)
    assert (failure.reason if failure else None) == row["expected"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"exitCode": 3}, ("exit", "3")),
        ({"exitCode": 3.0}, ("exit", "3")),
        ({"exitCode": True}, None),
        ({"exitCode": "1"}, None),
        ({"exitCode": float("nan")}, None),
        ({"exitCode": float("inf")}, ("exit", "with a number out of range")),
        ({"exitCode": 10**5000}, ("exit", "with a number out of range")),
        ({"timedOut": True, "timeoutMs": 5000}, ("timeout", "5000 ms")),
        ({"signal": "SIGKILL"}, ("signal", "SIGKILL")),
        ({"statusCode": 400}, ("http", "400")),
        ({"statusCode": 399, "sandbox": {"denied": True}}, None),
        ({"sandbox": {"denied": True, "mode": "read-only"}}, ("sandbox", "read-only")),
        ({"sandbox": ["denied"]}, None),
        ({"kind": "background", "jobId": "b1", "exitCode": 1}, None),
    ],
)
def test_fields(value: dict[str, Any], expected: tuple[str, str] | None):
    assert of_value(value) == expected


def test_a_long_detail_is_cut():
    failure = failure_of(Result(is_error=True, error_code="E" * 10_000), OTHER)
    assert failure == Failure("error", "E" * DETAIL_CHARS)
    assert of_value({"signal": "S" * 10_000}) == ("signal", "S" * DETAIL_CHARS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The harness adds its markers last and at the start of a line; what a program printed is not one.
        ("[exit code: 1]\nlater\n[exit code: 0]", None),
        ("[exit code: 0]\n[exit code: 2]\n", ("exit", "2")),
        ("the log says [exit code: 1] there", None),
        ("done\r\n[exit code: 7]\r\n", ("exit", "7")),
        ("50 %\r[timed out after 30000ms]", ("timeout", "30000 ms")),
        ("see [killed by signal: SIGTERM]", None),
        ("[killed by signal: SIGTERM]", ("signal", "SIGTERM")),
        ("[sandbox: file access denied to /etc/shadow]", ("sandbox", "")),
        ("Fetched https://e.com/ (HTTP 502)  \r\nmore", ("http", "502")),
        ("Fetched https://e.com/ (HTTP 404) is what it said", None),
        ("HTTP Error 404: Not Found", ("http", "404")),
        ("HTTP Error 301: Moved", None),
        ("HTTP Error 4040", None),
        ("  curl: (28) Operation timed out", ("curl", "28")),
        ("a.b.MyError: x\nc.LastException: y", ("exception", "LastException")),
        ("\t \f requests.exceptions.ReadTimeoutError: gone", ("exception", "ReadTimeoutError")),
        ("12:00:01 ValueError: in a log line", None),
        ("Error: unknown flag", None),
        ("KeyboardInterrupt", None),
        ("web-1 | Traceback (most recent call last):\nKeyboardInterrupt", ("exception", "")),
    ],
)
def test_text_of_a_shell(text: str, expected: tuple[str, str] | None):
    assert of_text(text) == expected


def test_output_fields_are_read_when_there_is_no_text():
    value = {"stdout": "ok", "stderr": "curl: (6) Could not resolve host: x"}
    assert of_value(value, SHELL) == ("curl", "6")
    assert of_value(value, OTHER) is None


def test_what_a_reader_prints_is_not_its_own_outcome():
    log = "Traceback (most recent call last):\nValueError: bad\n[exit code: 1]"
    assert of_text(log, READER) is None
    assert of_value({"exitCode": 0}, READER, log) is None
    assert of_value({"exitCode": 1}, READER, log) == ("exit", "1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("404", ("http", "404")),
        ("\n503 0.213\n", ("http", "503")),
        ("200", None),
        ("000", ("curl", "")),
        ('{"error":"no such page"}404', ("http", "404")),
        ('{"items":[1,2,3]}200', None),
        ("<html>\n</html>\n500\n", ("http", "500")),
        ("line\n404\nline", None),
        ("200 500", None),
        ("200\n500", None),
        ("0.404 200", None),
        ("404.5 apples", None),
        ("153226 /tmp/x", None),
        ("HTTP_CODE:429", ("http", "429")),
        ("http_code=200 size=512", None),
        ("body\nHTTP 403 time 0.2", ("http", "403")),
        ('  "status": 404,', None),
        ("page 12404", None),
    ],
)
def test_the_code_that_curl_was_asked_to_write(text: str, expected: tuple[str, str] | None):
    assert of_text(text, WRITES_CODE) == expected
    assert of_text(text, SHELL) is None


def test_every_reason_has_its_clause():
    assert describe(Failure("exit", "3")) == "exited 3"
    assert describe(Failure("http", "404")) == "returned HTTP 404"
    assert describe(Failure("timeout", "5000 ms")) == "timed out after 5000 ms"
    assert describe(Failure("signal", "SIGKILL")) == "was killed by SIGKILL"
    assert describe(Failure("exception", "{0}")) == "raised {0}"
    assert describe(Failure("curl")) == "got no response"
    assert describe(Failure("error")) == "ended in an error"


HOSTILE = [
    "\n" * 1_000_000,
    "[killed by signal: " * 50_000,
    "\n[killed by signal: " * 50_000,
    "[exit code: " * 80_000,
    "\n[exit code: 9" * 80_000,
    "\n[exit code: " + "9" * 1_000_000 + "]",
    "a." * 500_000 + "Error: ",
    "\n a.Error:" * 100_000 + "Error: ",
    " " * 1_000_000 + "x Error: ",
    "\r\n\t" * 300_000 + "Error: ",
    "(HTTP 404)" + " " * 1_000_000,
    "(HTTP " * 150_000,
    "curl: (" * 150_000,
    "curl: (" + "1" * 1_000_000,
    "[" * 1_000_000,
    "\ud800" * 300_000 + "Error: ",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_megabyte_of_anything_is_read(text: str):
    for identity in (SHELL, WRITES_CODE):
        failure = failure_of(Result(text=text), identity)
        assert failure is None or len(failure.detail) <= DETAIL_CHARS


ANY_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(["exitCode", "timedOut", "timeoutMs", "signal", "statusCode", "sandbox", "kind", "stdout"])
PIECES = st.sampled_from(
    ["[exit code: ", "1]", "\n", "\r", " ", "Error: ", "a.b", "404", "(HTTP 500)", "curl: (6)", "é"]
)


@given(
    st.dictionaries(FIELDS, ANY_VALUE | st.sampled_from([True, 3, 404, "SIGKILL"])),
    st.lists(PIECES).map("".join) | st.text(),
    st.builds(Identity, st.just(()), st.just(()), st.booleans(), st.booleans(), st.booleans(), st.booleans()),
)
def test_no_result_raises_and_every_failure_can_be_described(value: dict[str, Any], text: str, identity: Identity):
    failure = failure_of(Result(value=value, text=text), identity)
    if failure:
        assert len(failure.detail) <= DETAIL_CHARS
        assert describe(failure)
