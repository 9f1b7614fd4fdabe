"""Hooks into a harness's settings, and out again: first as a plan that can be shown, then carried out.

A plan reads and decides everything; carrying it out writes one file, after the file as it was has been kept. What was
installed before is replaced, so installing twice changes nothing.

Taken out, the settings are byte for byte what they were. Where somebody has edited them since, only what is ours goes.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from engine.harnesses.bridges import PLUGIN, plugin_settings
from engine.harnesses.endpoint import drop_endpoint
from engine.harnesses.handlers import Installed, Wishes, groups, installed
from engine.harnesses.known import Harness, Scope
from engine.harnesses.mounts import Mount
from engine.harnesses.records import (
    Record,
    all_records,
    backup_of,
    digest_of,
    drop_record,
    keep_record,
    load_backup,
    load_record,
)
from engine.harnesses.settings import (
    SettingsError,
    handlers_in,
    is_bare,
    read_settings,
    unread,
    with_hooks,
    without_hooks,
)
from engine.harnesses.settings_file import SettingsFile, delete_settings, find_settings, write_settings


class Target(Struct, frozen=True):
    """Whose settings: a harness's, the user's own or those of the project in ``directory``."""

    harness: Harness
    scope: Scope
    directory: Path

    @property
    def path(self) -> Path:
        return self.harness.settings(self.scope, self.directory)


class Plan(Struct, frozen=True):
    """What is to be done to a settings file. ``before`` is the file without us; None stands for no file.

    ``record`` is what is to be remembered afterwards; without one, what is remembered is forgotten.
    """

    found: SettingsFile
    before: bytes | None
    after: bytes | None
    record: Record | None = None
    made: tuple[Path, ...] = ()

    @property
    def changes(self) -> bool:
        return self.after != self.found.data

    @property
    def backup(self) -> Path:
        """Where the file as it was is kept."""
        return backup_of(self.found.real)

    def diff(self) -> list[str]:
        """The change as a unified diff, a line each. The lines are the file's own, not safe to print as they are."""
        old, new = (_lines(data) for data in (self.found.data, self.after))
        name = str(self.found.path)
        names = (name if self.found.data is not None else "/dev/null", name if self.after is not None else "/dev/null")
        return list(difflib.unified_diff(old, new, *names, lineterm=""))


def plan_install(target: Target, wishes: Wishes) -> Plan:
    """What installing would do. Raises SettingsError and PathError."""
    found = _find(target)
    with _naming(found):
        before = _without_us(target.harness, found)
        text = structs.replace(found, data=before).text
        if why := why_unread(target.harness, text):
            raise SettingsError(f"{why} Take that out first.")
        after = _with_us(target.harness, text, wishes).encode()
    old = load_record(found.real)
    record = Record(
        target.harness.name,
        target.scope,
        str(found.real),
        existed=before is not None,
        after=digest_of(after),
        made=old.made if old else (),
        over_http=wishes.endpoint is not None,
    )
    return Plan(found, before, after, record)


def plan_uninstall(target: Target) -> Plan:
    """What taking our hooks out would do. Raises SettingsError and PathError."""
    found = _find(target)
    with _naming(found):
        before = _without_us(target.harness, found)
    old = load_record(found.real)
    return Plan(found, before, before, made=tuple(Path(one) for one in old.made) if old else ())


def carry_out(plan: Plan) -> None:
    """Do it. Raises SettingsError and PathError; then the settings are as they were."""
    real = plan.found.real
    if plan.record:
        keep_record(plan.record, plan.before)
    if plan.changes:
        made = _write(plan)
        if plan.record and made:
            keep_record(structs.replace(plan.record, made=tuple(str(one) for one in made)), plan.before)
    if plan.record is None:
        drop_record(real)
    if not any(record.over_http for record in all_records()):
        drop_endpoint()


def entries(target: Target) -> tuple[Installed, ...]:
    """Our entries in these settings as they are now. Raises SettingsError."""
    text = _find(target).text
    if bridge := target.harness.bridge:
        mounts = bridge.mounts(text)
        return tuple(Installed(PLUGIN, one.settings, None, plugin=one.plugin, off=one.off) for one in mounts)
    settings = read_settings(text)
    every = (installed(target.harness, event, handler, group) for event, group, handler in handlers_in(settings))
    return tuple(one for one in every if one)


def why_unread(harness: Harness, text: str) -> str:
    """Why the harness reads nothing in these settings, hooks and all; empty when it does. Raises SettingsError."""
    what = "" if harness.bridge else unread(text, harness.liberties, harness.keys)
    return f"{harness.title} does not read settings with {what}, so no hook in there runs." if what else ""


# -- inside ---------------------------------------------------------------------------------------------------


def _find(target: Target) -> SettingsFile:
    return find_settings(target.path, target.directory if target.scope == "project" else None)


@contextlib.contextmanager
def _naming(found: SettingsFile) -> Iterator[None]:
    """What is wrong with a text, with the file it is in."""
    try:
        yield
    except SettingsError as error:
        said = str(error)
        raise SettingsError(said if str(found.path) in said else f"{found.path}: {said}") from error


def _with_us(harness: Harness, text: str, wishes: Wishes) -> str:
    if bridge := harness.bridge:
        told = plugin_settings(wishes.socket, fail_closed=wishes.fail_closed)
        return bridge.mounted(text, Mount(str(bridge.plugin), told))
    return with_hooks(text, groups(harness, wishes))


def _without_us(harness: Harness, found: SettingsFile) -> bytes | None:
    """The settings as they would be without us; None for no file at all."""
    if found.data is None:
        return None
    record = load_record(found.real)
    backup = load_backup(found.real) if record else None
    if record and record.is_of(found.data) and (backup is not None or not record.existed):
        return backup if record.existed else None

    def is_ours(handler: Mapping[str, Any]) -> bool:
        return installed(harness, "", handler) is not None

    text, bridge = found.text, harness.bridge
    rest = bridge.unmounted(text) if bridge else without_hooks(text, is_ours, _settings_in(backup))
    if rest != text and (record or bridge) and (not rest.strip() if bridge else is_bare(rest)):
        if not record or not record.existed:
            return None
        if backup is not None and not backup.strip():
            return backup
    return rest.encode()


def _settings_in(data: bytes | None) -> Mapping[str, Any]:
    with contextlib.suppress(SettingsError, UnicodeDecodeError):
        return read_settings((data or b"").decode())
    return {}


def _write(plan: Plan) -> tuple[Path, ...]:
    if plan.after is None:
        delete_settings(plan.found, plan.made)
        return ()
    return write_settings(plan.found, plan.after)


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines()
