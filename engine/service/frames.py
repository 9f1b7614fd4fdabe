"""Bytes to requests and answers to bytes. Nothing that arrives can raise anything but ProtocolError.

A fault that is kept in a variable is kept without its traceback: with it, it would hold the frame that holds the line,
a ring that only the garbage collector ends.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from engine.protocol import FRAME_LIMIT, ErrorBody, ErrorCode, ProtocolError, Request, RequestId

HEAD_KEPT = 512
"""Bytes kept of a line that is too long: enough to find the id of its request."""

Asked = TypeVar("Asked")

_request_decoder = msgspec.json.Decoder(Request)
_id_decoder = msgspec.json.Decoder(RequestId)
_encoder = msgspec.json.Encoder()

_LEADING_ID = re.compile(
    rb'\s{0,64}\{\s{0,64}(?:"jsonrpc"\s{0,64}:\s{0,64}"2\.0"\s{0,64},\s{0,64})?'
    rb'"id"\s{0,64}:\s{0,64}("[^"\\\x00-\x1f]{0,256}"|-?\d{1,18}|null)\s{0,64}[,}]'
)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_PLACE = re.compile(r" - at `(?:key in )?\$\.?([^`]*)`$")
_NAMED = re.compile(r"\bfield `([^`]*)`")
_FAULTS = (msgspec.MsgspecError, RecursionError, UnicodeError)


class Overlong(Struct, frozen=True):
    """A line that was longer than allowed, skipped; its first bytes."""

    head: bytes


class Lines:
    """Cuts a stream of bytes into lines of at most ``limit`` bytes. Keeps at most one unfinished line."""

    __slots__ = ("_kept", "_limit", "_skipping")

    def __init__(self, limit: int = FRAME_LIMIT) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._skipping: bytes | None = None

    def feed(self, data: bytes) -> list[bytes | Overlong]:
        """The lines that ``data`` completes, without their newlines; empty ones are left out."""
        if data.find(b"\n") == len(data) - 1 and not self._kept and self._skipping is None and len(data) > 1:
            return [self._end(data[:-1])]  # just one, as most often
        first, *others = data.split(b"\n")
        if not others:
            self._keep(first)
            return []
        rest = others.pop()
        lines = [line for line in (self._end(first),) if line]
        lines += [part if len(part) <= self._limit else Overlong(part[:HEAD_KEPT]) for part in others if part]
        self._keep(rest)
        return lines

    def _end(self, part: bytes) -> bytes | Overlong:
        if not self._kept and self._skipping is None and len(part) <= self._limit:
            return part
        self._keep(part)
        head, kept = self._skipping, self._kept
        self._kept, self._skipping = bytearray(), None
        return bytes(kept) if head is None else Overlong(head)

    def _keep(self, part: bytes) -> None:
        if self._skipping is not None:
            return
        self._kept += part
        if len(self._kept) > self._limit:
            self._skipping = bytes(self._kept[:HEAD_KEPT])
            self._kept = bytearray()


# -- reading --------------------------------------------------------------------------------------------------


def decode_request(line: bytes) -> Request:
    """Read one line. Raises ProtocolError, under the request's id as far as it can be told."""
    try:
        return _request_decoder.decode(line)
    except _FAULTS as error:
        fault: Exception = error.with_traceback(None)
    if repaired := _without_lone_surrogates(line):
        try:
            return _request_decoder.decode(repaired)
        except _FAULTS as error:
            fault = error.with_traceback(None)
    raise _unreadable(line, fault)


def decode_params(decoder: msgspec.json.Decoder[Asked], request: Request) -> Asked:
    """Read a request's parameters. Raises ProtocolError that names the offending field."""
    try:
        return decoder.decode(request.params)
    except _FAULTS as error:
        fault: Exception = error.with_traceback(None)
    if repaired := _without_lone_surrogates(bytes(request.params)):
        try:
            return decoder.decode(repaired)
        except _FAULTS as error:
            fault = error.with_traceback(None)
    raise _misfit(request, fault)


def overlong_error(overlong: Overlong, limit: int = FRAME_LIMIT) -> ProtocolError:
    """The error that answers a line that was skipped."""
    return ProtocolError(
        ErrorCode.FRAME_TOO_LARGE,
        f"the message is longer than the {limit} bytes that one may have; it was skipped",
        request=_id_of(overlong.head),
    )


def _without_lone_surrogates(text: bytes) -> bytes | None:
    r"""The same JSON with ``?`` for each lone surrogate escape; None when it has none, or is broken otherwise.

    JavaScript writes ``"\ud800"`` for half a character, and a model may well produce one. To refuse the message
    would let such a call pass unguarded.
    """
    if not _SURROGATE.search(text):
        return None
    try:
        return json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return None


def _unreadable(line: bytes, fault: Exception) -> ProtocolError:
    request = _id_of(line[:HEAD_KEPT])
    if line.lstrip()[:1] == b"[":
        message = "batches are not served: write each message as an object on a line of its own"
        return ProtocolError(ErrorCode.INVALID_REQUEST, message)
    if isinstance(fault, msgspec.ValidationError):
        field, message = _explain(fault)
        return ProtocolError(ErrorCode.INVALID_REQUEST, message, field=field, request=request)
    return ProtocolError(ErrorCode.PARSE, _not_json(fault), request=request)


def _misfit(request: Request, fault: Exception) -> ProtocolError:
    if isinstance(fault, msgspec.ValidationError):
        field, message = _explain(fault)
        if not field:
            field, message = "params", f"params: {message}"
        text = f"{request.method[:64]}: {message}"
        return ProtocolError(ErrorCode.INVALID_PARAMS, text, field=field, request=request.id)
    return ProtocolError(ErrorCode.PARSE, _not_json(fault), request=request.id)


def _not_json(fault: Exception) -> str:
    if isinstance(fault, RecursionError):
        return "the message is nested too deeply to be read"
    return f"the message is not JSON: {fault}"


def _explain(fault: msgspec.ValidationError) -> tuple[str, str]:
    """The field at fault as a dotted path, and a message that begins with it."""
    text = str(fault)
    place = _PLACE.search(text)
    path = place[1] if place else ""
    what = text[: place.start()] if place else text
    if named := _NAMED.search(what):
        path = f"{path}.{named[1]}" if path else named[1]
    what = what[:1].lower() + what[1:]
    return path, f"{path}: {what}" if path else what


def _id_of(head: bytes) -> RequestId:
    """The id of a request that cannot be read, when it is among the first things in it."""
    found = _LEADING_ID.match(head)
    if not found:
        return None
    try:
        return _id_decoder.decode(found[1])
    except _FAULTS:
        return None


# -- writing --------------------------------------------------------------------------------------------------


def encode_result(request: RequestId, result: Any) -> bytes:
    """An answer, as a line."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (_encoder.encode(request), _encoder.encode(result))


def encode_error(error: ProtocolError) -> bytes:
    """An error answer, as a line."""
    request = None if isinstance(error.request, UnsetType) else error.request
    body = ErrorBody(int(error.code), str(error), {"field": error.field} if error.field else {})
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (_encoder.encode(request), _encoder.encode(body))


def encode_request(method: str, params: Any, request: RequestId | UnsetType = UNSET) -> bytes:
    """A request, or without ``request`` a notification, as a line."""
    head = b'{"jsonrpc":"2.0",'
    if not isinstance(request, UnsetType):
        head += b'"id":%b,' % _encoder.encode(request)
    return head + b'"method":%b,"params":%b}\n' % (_encoder.encode(method), _encoder.encode(params))
