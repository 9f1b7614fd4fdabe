"""What a harness gave to its hook, read field by field. The harness wrote it, with an agent's words in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from engine.canonical import canonical
from engine.protocol import ErrorCode, ProtocolError

NAME_CHARS = 1024
"""Characters of an id or a name, as in the rest of the protocol."""

_decoder = msgspec.json.Decoder()


class Payload:
    """One hook's payload. Whatever is missing, or is of another type than it should be, is a ProtocolError."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def name(self, key: str) -> str:
        """An id or a name, which must be there."""
        value = self.optional_name(key)
        if not value:
            raise _misfit(key, "a text is missing here")
        return value

    def optional_name(self, key: str) -> str:
        """An id or a name, empty when there is none."""
        value = self._fields.get(key)
        if value is None:
            return ""
        if not isinstance(value, str) or len(value) > NAME_CHARS:
            raise _misfit(key, f"a text of at most {NAME_CHARS} characters is expected here")
        return value

    def text(self, key: str) -> str:
        """A text; empty when there is none, or something else."""
        value = self._fields.get(key)
        return value if isinstance(value, str) else ""

    def flag(self, key: str) -> bool:
        """Whether this is true, and nothing but true."""
        return self._fields.get(key) is True

    def get(self, key: str) -> Any:
        """Whatever is there; None when nothing is."""
        return self._fields.get(key)


def read_payload(data: bytes) -> Payload:
    """Read a hook's payload. Raises ProtocolError for what is no JSON object."""
    try:
        fields = _decoder.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise ProtocolError(ErrorCode.INVALID_PARAMS, f"payload: {error}", field="payload") from error
    if not isinstance(fields, dict):
        raise ProtocolError(ErrorCode.INVALID_PARAMS, "payload: an object is expected here", field="payload")
    return Payload(fields)


def unknown_event(harness: str, event: str) -> ProtocolError:
    """The error for an event that the harness did not have when its adapter was written."""
    message = f"payload.hook_event_name: {harness} has no event {event[:64]!r} that is known here"
    return ProtocolError(ErrorCode.INVALID_PARAMS, message, field="payload.hook_event_name")


def printed_text(response: object) -> str:
    """What a tool gave back, as text: texts and blocks of text as they are, anything else as JSON."""
    if response is None:
        return ""
    if isinstance(response, str):
        return response
    if isinstance(response, dict):
        for key in ("text", "result", "content", "output"):
            value = response.get(key)
            if isinstance(value, str):
                return value
    if isinstance(response, list):
        blocks = [block.get("text") if isinstance(block, dict) else block for block in response]
        texts = [text for text in blocks if isinstance(text, str)]
        if len(texts) == len(blocks):
            return "\n".join(texts)
    return canonical(response)


def _misfit(key: str, what: str) -> ProtocolError:
    return ProtocolError(ErrorCode.INVALID_PARAMS, f"payload.{key}: {what}", field=f"payload.{key}")
