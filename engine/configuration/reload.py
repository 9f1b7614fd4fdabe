"""A configuration that changes while it is in force.

The directories of the files are watched, not the files: an editor that writes a new file and renames it over the
old one would leave the watch on the old one. What the watch says is only a reason to look; whether a file is
another is told by its stamp, and it is looked at every ``RECHECK_SECONDS`` in any case, so that a file system
which reports nothing delays a change and loses none.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from pathlib import Path

import msgspec
from watchfiles import awatch

from engine.configuration.file import ConfigError, Layers, Loaded
from engine.configuration.report import printable
from engine.configuration.thresholds import loosened

RECHECK_SECONDS = 2.0
SETTLE_SECONDS = 0.1
"""A file is read when it has not changed for so long: one that is being written may be empty, which is valid."""
SETTLE_ROUNDS = 20

Stamp = tuple[int, ...] | None


async def watch(in_force: Loaded, on_change: Callable[[Loaded | ConfigError], None]) -> None:
    """Call ``on_change`` whenever the files of a configuration come to say something else. Runs until cancelled.

    It is called in this loop, with the configuration to take into force, or with a ``ConfigError``: then nothing
    changes. What loosens the guard is among the ``warnings``; a project's file that would loosen it is not part of
    the configuration handed over (see ``engine.configuration.file``).
    """
    files = in_force.sources.files
    if not files:
        await asyncio.Event().wait()
    shown: Loaded | ConfigError = in_force
    seen: tuple[Stamp, ...] | None = None
    async with aclosing(_occasions(files)) as occasions:
        async for _ in occasions:
            stamps = _stamps(files)
            if stamps == seen:
                continue
            seen = await _settled(files, stamps)
            found = await asyncio.to_thread(_read_again, in_force)
            if _same(found, shown):
                continue
            shown = found
            if isinstance(found, ConfigError):
                on_change(found)
            else:
                before, in_force = in_force, found
                on_change(_announced(before, found))


def _read_again(in_force: Loaded) -> Loaded | ConfigError:
    """What the files say now, but for what a project's file may not change while the guard is running."""
    sources = in_force.sources
    try:
        fresh = sources.read()
    except ConfigError as error:
        return error
    before = in_force.layers
    if _trusted_by(before) != _trusted_by(fresh):
        return sources.loaded(fresh)  # the user's own file decides anew whether the project's is heard
    kept = Layers(fresh.base, before.project, before.trusting)
    changes = loosened(kept.config(), fresh.config())
    if not changes:
        return sources.loaded(fresh)
    loaded = sources.loaded(kept)
    refused = (
        f"{printable(str(sources.project), 4096)} changed and is not taken into force, for it loosens the guard: "
        f"{'; '.join(changes)}. To accept it, start the guard again."
    )
    return msgspec.structs.replace(loaded, warnings=(*loaded.warnings, refused))


def _trusted_by(layers: Layers) -> tuple[str, ...]:
    return layers.base.trusted_projects if layers.base else ()


def _same(found: Loaded | ConfigError, shown: Loaded | ConfigError) -> bool:
    if isinstance(found, ConfigError) or isinstance(shown, ConfigError):
        return isinstance(found, ConfigError) and isinstance(shown, ConfigError) and found.problems == shown.problems
    return found.config == shown.config and found.source == shown.source and found.warnings == shown.warnings


def _announced(before: Loaded, after: Loaded) -> Loaded:
    changes = loosened(before.config, after.config)
    if not changes:
        return after
    warning = f"This change loosens the guard: {'; '.join(changes)}."
    return msgspec.structs.replace(after, warnings=(*after.warnings, warning))


async def _occasions(files: tuple[Path, ...]) -> AsyncGenerator[None, None]:
    """Yields when something may have happened to one of the files: at once, on each report, every few seconds."""
    while True:
        yield
        directories = _directories(files)
        timeout = round(RECHECK_SECONDS * 1000)
        reports = awatch(
            *(path for path, _ in directories),
            watch_filter=None,
            recursive=False,
            debounce=200,
            rust_timeout=timeout,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        )
        try:
            async with aclosing(reports):
                async for _ in reports:
                    yield
                    if _directories(files) != directories:
                        break
        except (OSError, RuntimeError):  # too many watches, or a directory that went away in between
            await asyncio.sleep(RECHECK_SECONDS)


def _directories(files: Iterable[Path]) -> frozenset[tuple[Path, int]]:
    """The directories to watch, with their inodes: of each file and of what it links to, or the nearest above."""
    places = [place for file in files for place in (file, _real(file))]
    return frozenset(_nearest_directory(place.parent) for place in places)


def _nearest_directory(directory: Path) -> tuple[Path, int]:
    for one in (directory, *directory.parents):
        try:
            if one.is_dir():
                return one, one.stat().st_ino
        except OSError:
            continue
    return Path("/"), 0


def _real(file: Path) -> Path:
    try:
        return file.resolve()
    except (OSError, RuntimeError):  # a ring of links
        return file


def _stamps(files: Iterable[Path]) -> tuple[Stamp, ...]:
    return tuple(_stamp(file) for file in files)


def _stamp(file: Path) -> Stamp:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


async def _settled(files: tuple[Path, ...], stamps: tuple[Stamp, ...]) -> tuple[Stamp, ...]:
    """The stamps once they have stopped changing, or after a while if they never do."""
    for _ in range(SETTLE_ROUNDS):
        await asyncio.sleep(SETTLE_SECONDS)
        before, stamps = stamps, _stamps(files)
        if stamps == before:
            break
    return stamps
