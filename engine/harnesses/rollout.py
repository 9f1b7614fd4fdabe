"""How a Codex call ended, from the session's transcript: the hook after a call is not told.

The transcript (a "rollout") has a JSON object a line. By the time of the hook the line of the finished command is
written, as a rule; what the model will be told comes only after the hook::

    {"type":"event_msg","payload":{"type":"item_completed","item":{"type":"CommandExecution","id":CALL,
     "status":"failed","aggregated_output":"…","exit_code":3, …}}}
    {"type":"response_item","payload":{"type":"function_call_output","call_id":CALL,
     "output":"…\\nProcess exited with code 3\\n…"}}

The path stands in a payload, so it is opened with care: a regular file of the user's own, or nothing.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Iterator
from typing import Any

import msgspec

from engine.calls import Result

TAILS = (256 * 1024, 4 * 1024 * 1024)
"""Bytes read from the end: the line is among the last, but an output may be long."""
LOOKS = (0.0, 0.02, 0.08)
"""Seconds to wait before each look: the line may be on its way."""
OUTPUT_HEAD = 400

_EXITED = re.compile(r"(?:^|\n)(?:Process exited with code|Exit code:) (-?\d{1,10})(?:\n|$)")
_STATUSES = {
    "completed": Result(),
    "failed": Result(is_error=True),
    "declined": Result(is_error=True, error_code="ABORTED"),
    "interrupted": Result(is_error=True, error_code="ABORTED"),
}
_decoder = msgspec.json.Decoder()


async def ending_of(transcript: str, call: str) -> Result | None:
    """The exit code, or the failure, of this call; None when it cannot be told."""
    if not transcript or not call or "\0" in transcript:
        return None
    for seconds in LOOKS:
        await asyncio.sleep(seconds)
        if found := await asyncio.to_thread(find_ending, transcript, call):
            return found
    return None


def find_ending(transcript: str, call: str) -> Result | None:
    """Look into the transcript once. Never raises."""
    try:
        handle = os.open(transcript, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid():
            return None
        for tail in TAILS:
            start = max(0, about.st_size - tail)
            if found := _ending_in(os.pread(handle, tail, start), call):
                return found
            if start == 0:
                return None
    except OSError:
        return None
    finally:
        os.close(handle)
    return None


def _ending_in(data: bytes, call: str) -> Result | None:
    for line in _lines_about(data, call.encode("utf-8", "replace")):
        try:
            entry = _decoder.decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            continue  # cut off at its beginning, or still being written
        payload = entry.get("payload") if isinstance(entry, dict) else None
        if isinstance(payload, dict) and (found := _ending(payload, call)):
            return found
    return None


def _lines_about(data: bytes, call: bytes) -> Iterator[bytes]:
    """The lines in which the id stands, the last one first."""
    end = len(data)
    while (at := data.rfind(call, 0, end)) >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        stop = data.find(b"\n", at)
        yield data[start : stop if stop >= 0 else len(data)]
        end = start


def _ending(payload: dict[str, Any], call: str) -> Result | None:
    kind, item = payload.get("type"), payload.get("item")
    if kind == "item_completed" and isinstance(item, dict) and item.get("id") == call:
        return _of_status(item.get("exit_code"), item.get("status"))
    if payload.get("call_id") != call:
        return None
    if kind == "exec_command_end":
        return _of_status(payload.get("exit_code"), payload.get("status"))
    output = payload.get("output")
    if kind == "function_call_output" and isinstance(output, str) and (exited := _EXITED.search(output[:OUTPUT_HEAD])):
        return Result(value={"exitCode": int(exited[1])})
    return None


def _of_status(code: object, status: object) -> Result | None:
    if isinstance(code, int) and not isinstance(code, bool):
        return Result(value={"exitCode": code})
    return _STATUSES.get(status) if isinstance(status, str) else None
