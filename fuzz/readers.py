"""What the engine reads, each as one function of bytes: no more than the engine does with them."""

from __future__ import annotations

import json
from io import BytesIO

from engine.calls import Identity, args_of, result_of
from engine.canonical import canonical
from engine.commands import read_command
from engine.config import DEFAULTS
from engine.configuration.file import ConfigError, load_data
from engine.failures import failure_of
from engine.fingerprints import Fingerprinter
from engine.harnesses.hooks import ADAPTERS
from engine.harnesses.payloads import read_payload
from engine.journal_lines import event_of
from engine.masking import mask, mask_value
from engine.messages import defang, preview
from engine.protocol import ProtocolError
from engine.replay import replay
from engine.service.frames import Lines, decode_request
from engine.sessions import NotASessionError, read_session
from engine.transcripts.recognise import read as read_any
from engine.urls import find_urls, identify_url

_FINGERPRINTER = Fingerprinter(DEFAULTS)
_SHELL = Identity((), (), shell=True, asks_http_code=True)


def text_of(data: bytes) -> str:
    """A text of at most as many characters. Halves of characters cost more, and no message can hold them."""
    return data.decode("utf-8", "replace")


def command(data: bytes) -> object:
    return read_command(text_of(data))


def url(data: bytes) -> object:
    text = text_of(data)
    return [identify_url(one, {}) for one in (text, *find_urls(text))]


def call(data: bytes) -> object:
    """One call: all of its fingerprints, and its preview for the journal."""
    name, _, rest = data.partition(b"\n")
    try:
        args = args_of(json.loads(rest))
    except (ValueError, RecursionError):
        args = {"command": text_of(rest)}
    mask_value(args)
    return _FINGERPRINTER.identify(text_of(name), args)


def fetch(data: bytes) -> object:
    text = text_of(data)
    return _FINGERPRINTER.identify("web_fetch", {"prompt": text, "method": text})


def secrets(data: bytes) -> object:
    return mask(text_of(data))


def value(data: bytes) -> object:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = {text_of(data): text_of(data)}
    return canonical(found), mask_value(found)


def result(data: bytes) -> object:
    """One result, read and quoted as in a refusal."""
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        raw = {"content": text_of(data)}
    read = result_of(raw)
    return failure_of(read, _SHELL), defang(preview(read, len(data)))


def words(data: bytes) -> object:
    return defang(text_of(data))


def frame(data: bytes) -> object:
    for line in Lines().feed(data + b"\n"):
        if isinstance(line, bytes):
            try:
                decode_request(line)
            except ProtocolError:
                continue
    return None


def configuration(data: bytes) -> object:
    try:
        return load_data(data, "fuzz.yaml")
    except ConfigError as error:
        return error


def session(data: bytes) -> object:
    try:
        return list(replay(list(read_session(BytesIO(data)))))
    except NotASessionError as error:
        return error


def transcript(data: bytes) -> object:
    try:
        return list(replay(list(read_any(BytesIO(data)))))
    except NotASessionError as error:
        return error


def hook(data: bytes) -> object:
    """What a harness gave its hook."""
    harness, _, told = data.partition(b"\n")
    adapter = ADAPTERS.get(text_of(harness), ADAPTERS["claude-code"])
    try:
        return adapter.read(read_payload(told))
    except ProtocolError as error:
        return error


def event(data: bytes) -> object:
    """A journal's lines."""
    found: list[object] = []
    for line in data.split(b"\n"):
        try:
            found.append(event_of(line))
        except ValueError as error:
            found.append(error)
    return found
