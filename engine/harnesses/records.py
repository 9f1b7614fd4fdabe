"""What installing did to each settings file, with the file as it was before: so that it can be undone to the byte."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from engine.harnesses.known import Scope
from engine.paths import PathError, private_directory, state_directory


class Record(Struct, frozen=True):
    """One installation. ``path`` is the settings file's real one; ``made`` are the directories that were made for it.

    ``existed`` says whether there was a file before; what was in it is kept beside the record. ``after`` is the digest
    of what was written.
    """

    harness: str
    scope: Scope
    path: str
    existed: bool
    after: str
    made: tuple[str, ...] = ()
    over_http: bool = False

    def is_of(self, data: bytes | None) -> bool:
        """Whether the file is still as installing left it."""
        return data is not None and digest_of(data) == self.after


def digest_of(data: bytes) -> str:
    """By what a record knows a file's content."""
    return sha256(data).hexdigest()


def records_directory() -> Path:
    """Where they are kept. Raises PathError."""
    return private_directory(state_directory() / "installed")


def backup_of(path: Path) -> Path:
    """Where the settings file with this real path is kept as it was. Raises PathError."""
    return _stem(path).with_suffix(".before")


def load_record(path: Path) -> Record | None:
    """The record about the settings file with this real path; None when there is none that can be read."""
    return _read(_stem(path).with_suffix(".json"))


def all_records() -> Iterator[Record]:
    """Every record that can be read. Raises PathError."""
    for file in sorted(records_directory().glob("*.json")):
        if record := _read(file):
            yield record


def keep_record(record: Record, before: bytes | None) -> None:
    """Keep a record, and the file as it was. Raises PathError."""
    path = Path(record.path)
    try:
        _write(backup_of(path), before or b"")
        _write(_stem(path).with_suffix(".json"), msgspec.json.encode(record))
    except OSError as error:
        raise PathError(f"The backup of {path} cannot be written: {error.strerror}. Nothing was changed.") from error


def load_backup(path: Path) -> bytes | None:
    """The file as it was; None when that is lost."""
    try:
        return backup_of(path).read_bytes()
    except OSError:
        return None


def drop_record(path: Path) -> None:
    """Forget an installation. Raises PathError."""
    for suffix in (".json", ".before"):
        with contextlib.suppress(OSError):
            _stem(path).with_suffix(suffix).unlink()


def _stem(path: Path) -> Path:
    return records_directory() / sha256(os.fsencode(path)).hexdigest()[:32]


def _read(file: Path) -> Record | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Record)
    except (OSError, msgspec.MsgspecError):
        return None


def _write(file: Path, data: bytes) -> None:
    fresh = file.with_name(f"{file.name}.{os.getpid()}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as opened:
        opened.write(data)
    fresh.replace(file)
