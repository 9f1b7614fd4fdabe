"""What a Python tool returned or raised, as a result in the session format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TEXT_SENT = 256 * 1024
"""Characters sent of what a tool returned, half of them from its end: that is where it says how it ended."""
_SCALARS = (str, int, float, bool)


def result_from(returned: object) -> dict[str, Any]:
    """The result of a tool that returned.

    A mapping with ``isError`` or ``content`` is one already. Of a finished process the exit status is read, of an
    HTTP response the status, of another mapping the plain values; the rest is text.
    """
    if isinstance(returned, Mapping):
        if "isError" in returned or "content" in returned:
            return dict(returned)
        plain = {str(key): value for key, value in returned.items() if isinstance(value, _SCALARS)}
        return _result(plain, _text(returned))
    if isinstance(code := _attribute(returned, "returncode"), int):
        return _result({"exitCode": code}, _output_of(returned))
    if isinstance(status := _attribute(returned, "status_code"), int):
        return _result({"statusCode": status}, _text(_attribute(returned, "text")))
    return _result({}, _text(returned))


def result_raised(raised: BaseException) -> dict[str, Any]:
    """The result of a tool that raised. What stops a tool from outside (an interrupt, a cancellation) is no failure."""
    name = type(raised).__name__
    if not isinstance(raised, Exception) or name == "CallRefusedError":
        return {"isError": True, "error": {"code": "ABORTED", "name": name}}
    value: dict[str, Any] = {}
    if isinstance(code := _attribute(raised, "returncode"), int):
        value["exitCode"] = code
    if isinstance(raised, TimeoutError) or name == "TimeoutExpired":
        value["timedOut"] = True
    return _result(value, f"{name}: {_text(raised)}") | {"isError": True, "error": {"name": name}}


def _result(value: dict[str, Any], text: str) -> dict[str, Any]:
    return {"isError": False, "value": value, "content": [{"type": "text", "text": _ends(text)}] if text else []}


def _output_of(process: object) -> str:
    streams = (_text(_attribute(process, name)) for name in ("stdout", "stderr"))
    return "\n".join(text for text in streams if text)


def _text(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bytes | bytearray):
        return value.decode("utf-8", "replace")
    try:
        return str(value)
    except Exception as fault:  # noqa: BLE001 - a value that cannot be shown is still a result
        return f"<{type(value).__name__} that cannot be shown: {type(fault).__name__}>"


def _attribute(value: object, name: str) -> object:
    try:
        return getattr(value, name, None)
    except Exception:  # noqa: BLE001 - a response whose text was never read raises its own error
        return None


def _ends(text: str) -> str:
    if len(text) <= TEXT_SENT:
        return text
    half = TEXT_SENT // 2
    return f"{text[:half]}\n… {len(text) - TEXT_SENT} characters …\n{text[-half:]}"
