"""A harness's settings on disk: read with care, replaced in one step, never through a link that leads elsewhere."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from msgspec import Struct

from engine.harnesses.settings import SettingsError

SETTINGS_BYTES = 4 * 1024 * 1024
NEW_FILE_MODE = 0o600
"""Settings may hold secrets; who wants them open opens them."""


class SettingsFile(Struct, frozen=True):
    """A settings file as it was found. ``real`` is where it really is; ``data`` is None when there is none yet."""

    path: Path
    real: Path
    data: bytes | None
    mode: int = NEW_FILE_MODE

    @property
    def text(self) -> str:
        """What is in it, empty when it is not there. Raises SettingsError."""
        try:
            return (self.data or b"").decode()
        except UnicodeDecodeError as error:
            raise SettingsError(
                f"{self.path} is no text in UTF-8 (byte {error.start}). It was left as it is."
            ) from error


def find_settings(path: Path, within: Path | None = None) -> SettingsFile:
    """Read a settings file, or find that there is none.

    A link is followed to the file it stands for; with ``within``, a project's directory, only to one inside of it: what
    stands in a project may have been put there by an agent. Raises SettingsError.
    """
    try:
        real = path.resolve()
        root = within.resolve() if within else None
    except (OSError, RuntimeError) as error:
        raise SettingsError(f"{path} cannot be followed: {error}.") from error
    if root and not real.is_relative_to(root):
        raise SettingsError(
            f"{path} leads out of the project, to {real}. It was not followed: whoever put that link there would "
            "choose what is edited. Remove the link, or edit that file yourself."
        )
    try:
        handle = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NOCTTY)
    except FileNotFoundError:
        return SettingsFile(path, real, None)
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}. It was left as it is.") from error
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise SettingsError(f"{path} is no ordinary file. It was left as it is.")
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(SETTINGS_BYTES + 1)
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}. It was left as it is.") from error
    finally:
        os.close(handle)
    if len(data) > SETTINGS_BYTES:
        raise SettingsError(f"{path} is larger than any settings ({SETTINGS_BYTES} bytes). It was left as it is.")
    return SettingsFile(path, real, data, stat.S_IMODE(about.st_mode))


def write_settings(found: SettingsFile, data: bytes) -> tuple[Path, ...]:
    """Put ``data`` in the place of what was found, in one step. Returns the directories that had to be made.

    Raises SettingsError, also when the file has changed since it was read; then nothing was written.
    """
    made: list[Path] = []
    try:
        for directory in reversed([one for one in found.real.parents if not one.exists()]):
            directory.mkdir(mode=0o700)
            made.append(directory)
        _replace(found, data)
    except OSError as error:
        for directory in reversed(made):
            with contextlib.suppress(OSError):
                directory.rmdir()
        raise SettingsError(f"{found.path} cannot be written: {error.strerror}. It was left as it is.") from error
    return tuple(made)


def delete_settings(found: SettingsFile, made: tuple[Path, ...]) -> None:
    """Take the file away, and those directories in which nothing else is. Raises SettingsError."""
    try:
        _require_unchanged(found)
        found.real.unlink()
    except OSError as error:
        raise SettingsError(f"{found.path} cannot be deleted: {error.strerror}.") from error
    for directory in reversed(made):
        with contextlib.suppress(OSError):
            directory.rmdir()


def _replace(found: SettingsFile, data: bytes) -> None:
    directory = os.open(found.real.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    fresh = f".{found.real.name}.{secrets.token_hex(4)}"
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(fresh, flags, NEW_FILE_MODE, dir_fd=directory)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                os.fchmod(handle, found.mode)
                file.flush()
                os.fsync(handle)
            _require_unchanged(found)
            os.replace(fresh, found.real.name, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(fresh, dir_fd=directory)
            raise
    finally:
        os.close(directory)


def _require_unchanged(found: SettingsFile) -> None:
    if find_settings(found.real).data != found.data:
        raise SettingsError(f"{found.path} was changed by somebody else just now. Nothing was written; try again.")
