"""The targets: one reader each, and what must hold of it whatever it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from fuzz import files, identity, reading, seeds, words


class Target(Struct, frozen=True):
    """``check`` raises when something does not hold. ``seeds`` are valid inputs, ``pieces`` what they are made of.

    ``longest``: bytes up to which its time is held against the length.
    """

    check: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    pieces: tuple[bytes, ...] = ()
    longest: int = 512 * 1024


_CALL_PIECES = (*seeds.SHELL_PIECES, *seeds.URL_PIECES, *seeds.JSON_PIECES)

TARGETS: Mapping[str, Target] = {
    "command": Target(reading.command, seeds.commands, seeds.SHELL_PIECES),
    "url": Target(reading.url, seeds.urls, seeds.URL_PIECES),
    "call": Target(identity.call, seeds.calls, _CALL_PIECES),
    "secret": Target(identity.secret, seeds.commands, seeds.SHELL_PIECES),
    "value": Target(identity.value, seeds.results, seeds.JSON_PIECES),
    "result": Target(words.result, seeds.results, (*seeds.TEXT_PIECES, *seeds.JSON_PIECES)),
    "defanged": Target(words.defanged, seeds.results, seeds.TEXT_PIECES),
    "frame": Target(reading.frame, seeds.frames, seeds.JSON_PIECES),
    "configuration": Target(files.configuration, seeds.configurations, seeds.YAML_PIECES, longest=256 * 1024),
    "session": Target(files.session, seeds.sessions, seeds.JSON_PIECES),
    "journal": Target(files.journal, files.journals, seeds.JSON_PIECES),
}
