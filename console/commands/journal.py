"""Where an engine that a command starts keeps its journal."""

from __future__ import annotations

from pathlib import Path


def journal_kept(named: Path | None, *, no_journal: bool) -> Path | None:
    """The directory to record in and to recover from, None for no record. Raises PathError.

    One that others may write to is refused: what an engine recovers from decides what it lets pass.
    """
    from engine.paths import PathError, journal_directory, private_directory  # noqa: PLC0415 - after the first paint

    if no_journal:
        return None
    try:
        return private_directory(named.absolute()) if named else journal_directory()
    except PathError as error:
        raise PathError(f"No journal can be kept. {error} --journal names another place, --no-journal none.") from error
