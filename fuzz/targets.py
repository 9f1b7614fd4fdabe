"""The targets: one reader each, and what must hold of it whatever it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from engine.configuration.yaml import FILE_BYTES
from fuzz import files, hooks, identity, readers, reading, seeds, words


class Target(Struct, frozen=True):
    """``check`` raises when something does not hold; ``read`` does no more than the engine does, and is timed.

    ``seeds`` are valid inputs, ``pieces`` what they are made of. ``longest``: the bytes up to which time is held
    against length; ``always``: seconds that any input may take.
    """

    check: Callable[[bytes], None]
    read: Callable[[bytes], object]
    seeds: Callable[[], list[bytes]]
    pieces: tuple[bytes, ...]
    longest: int = 512 * 1024
    always: float = 0.15


_CALL = (*seeds.SHELL_PIECES, *seeds.URL_PIECES, *seeds.JSON_PIECES)
_RESULT = (*seeds.TEXT_PIECES, *seeds.JSON_PIECES)

TARGETS: Mapping[str, Target] = {
    "command": Target(reading.command, readers.command, seeds.commands, seeds.SHELL_PIECES),
    "url": Target(reading.url, readers.url, seeds.urls, seeds.URL_PIECES),
    "call": Target(identity.call, readers.call, seeds.calls, _CALL),
    "fetch": Target(identity.call, readers.fetch, seeds.urls, seeds.URL_PIECES),
    "secret": Target(identity.secret, readers.secrets, seeds.commands, seeds.SHELL_PIECES),
    "value": Target(identity.value, readers.value, seeds.results, seeds.JSON_PIECES),
    "result": Target(words.result, readers.result, seeds.results, _RESULT),
    "words": Target(words.defanged, readers.words, seeds.results, seeds.TEXT_PIECES),
    "frame": Target(reading.frame, readers.frame, seeds.frames, seeds.JSON_PIECES),
    "configuration": Target(
        files.configuration,
        readers.configuration,
        seeds.configurations,
        seeds.YAML_PIECES,
        longest=FILE_BYTES,
        always=0.6,
    ),  # PyYAML takes 15 µs for each value, and is asked to read 20,000 of them at most
    "session": Target(files.session, readers.session, seeds.sessions, seeds.JSON_PIECES),
    "transcript": Target(files.transcript, readers.transcript, seeds.transcripts, seeds.JSON_PIECES),
    "hook": Target(hooks.hook, readers.hook, seeds.payloads, seeds.JSON_PIECES),
    "journal": Target(files.journal, readers.event, files.journals, seeds.JSON_PIECES),
}
