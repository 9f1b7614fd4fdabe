"""What must hold of command lines, URLs and frames, whatever they are."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from msgspec import UnsetType

from engine.command_line import CommandLine
from engine.commands import MAX_QUOTED_LINE, read_command
from engine.nesting import MARK
from engine.programs.sinks import is_generic
from engine.programs.variables import MAX_COMPLETIONS, MAX_VALUE
from engine.protocol import DecideCall, ProtocolError, SettleCall
from engine.service.frames import HEAD_KEPT, Lines, Overlong, decode_params, decode_request, encode_error, encode_result
from engine.service.requests import method
from engine.urls import find_urls, identify_url

COMPLETED = MAX_COMPLETIONS * MAX_VALUE
"""Characters that variables may add to a line."""
_HALF_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
FRAME_SAID = 4096
"""Bytes of an error's answer."""


def text_of(data: bytes) -> str:
    """Any bytes as text; those that are none become lone surrogates, which a program may pass on as well."""
    return data.decode("utf-8", "surrogateescape")


def command(data: bytes) -> None:
    """A command line is read, always in the same way, and what comes of it is no longer than it."""
    text = text_of(data)
    line = read_command(text)
    assert line == read_command(text), "it is read in two ways"
    told = [line.verb, line.text, *line.sinks, *(part for url in line.urls for part in (url.url, url.request))]
    assert not any(MARK in one for one in told), "a placeholder is left"
    assert not any(map(is_generic, line.sinks)), "a sink that says nothing"
    assert all(url.url for url in line.urls), "a URL without a text"
    assert len(line.text) <= 5 * len(text) + 16, "its text grows"
    assert sum(map(len, line.sinks)) <= 2 * len(text) + COMPLETED, "its sinks grow"
    grown = sum(len(url.url) + len(url.request) for url in line.urls)
    assert grown <= (len(line.urls) + 4) * (len(text) + MAX_QUOTED_LINE) + COMPLETED, "its URLs grow"
    _same_in_a_shell(text, line)


def _same_in_a_shell(text: str, line: CommandLine) -> None:
    """``bash -c '…'`` is looked through."""
    if MARK in text or text[:1] in {"-", "+"} or not text.strip(" \t\r\n"):
        return  # nothing, or an option of the shell's
    inside = read_command(f"bash -c {shlex.quote(text)}")
    assert inside.verb in {line.verb, "bash"}, f"bash -c hides {line.verb!r} behind {inside.verb!r}"
    assert set(inside.sinks) == set(line.sinks), f"bash -c changes the sinks: {inside.sinks} and {line.sinks}"
    assert {url.url for url in inside.urls} == {url.url for url in line.urls}, "bash -c changes the URLs"


def url(data: bytes) -> None:
    """The URLs of a text are in it, once each; each has one identity, and its identity has the same."""
    text = text_of(data)
    found = find_urls(text)
    assert len(found) == len(set(found)), "a URL comes twice"
    assert all(one in text for one in found), "a URL that is not in the text"
    for one in (text, *found):
        identity = identify_url(one, {})
        if identity is None or _HALF_ESCAPE.search(one):
            continue  # %4%41 is %4A once decoded, which is no J
        assert identity.host, "no host"
        assert identity.resource.isascii(), "an identity that is not ASCII"
        assert identity.host == identity.host.lower(), "a host in two spellings"
        spellings = (f"http://{identity.resource}", f"http://www.{identity.resource}")
        assert identity in [identify_url(spelling, {}) for spelling in spellings], f"two identities: {identity}"


_DECIDE = method(DecideCall, lambda *_: None)
_SETTLE = method(SettleCall, lambda *_: None)


def frame(data: bytes) -> None:
    """Bytes are cut into the same lines however they arrive; a line is a request, or is answered by an error."""
    lines = Lines(limit=HEAD_KEPT)
    whole = lines.feed(data + b"\n")
    for size in (1, 7):
        lines = Lines(limit=HEAD_KEPT)
        pieces = [one for at in range(0, len(data) + 1, size) for one in lines.feed((data + b"\n")[at : at + size])]
        assert pieces == whole, "how it arrives changes what is read"
    for one in whole:
        if isinstance(one, Overlong):
            continue
        assert one, "an empty line"
        assert b"\n" not in one, "two lines in one"
        try:
            request = decode_request(one)
            for asked in (_DECIDE, _SETTLE):
                decode_params(asked.decoder, request)
            _answers(encode_result(None if isinstance(request.id, UnsetType) else request.id, {}))
        except ProtocolError as error:
            _answers(encode_error(error), said=FRAME_SAID + 6 * 1024)


def _answers(line: bytes, said: int = FRAME_SAID) -> None:
    answer: Any = json.loads(line)
    assert line.endswith(b"\n"), "an answer without an end"
    assert line.count(b"\n") == 1, "an answer of two lines"
    assert "error" in answer or "result" in answer, "an answer without an answer"
    assert len(line) <= said, f"an answer of {len(line)} bytes"
