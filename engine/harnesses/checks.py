"""Whether a harness is guarded: what is installed where, whether it answers and how fast, what stands in its way."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from engine.harnesses import codex
from engine.harnesses.bridges import PLUGIN
from engine.harnesses.codex_trust import is_distrusted, read_config, untrusted
from engine.harnesses.handlers import Installed, is_own, waiting_seconds
from engine.harnesses.installation import Target, entries, why_unread
from engine.harnesses.known import BEFORE_A_CALL, HARNESSES, Harness, Scope
from engine.harnesses.settings import SettingsError, read_settings
from engine.harnesses.settings_file import find_settings
from engine.harnesses.switches import turned_off
from engine.harnesses.trial import Trial, run_trial


class Checked(Struct, frozen=True, omit_defaults=True):
    """One settings file of one harness. ``problems`` keep it from being guarded.

    ``milliseconds`` is what a hook takes, from its start to its end; None when none was run.
    """

    harness: str
    scope: Scope
    settings: str
    installed: bool
    events: tuple[str, ...] = ()
    over_http: bool = False
    fail_closed: bool = False
    milliseconds: float | None = None
    problems: tuple[str, ...] = ()


def check_all(
    directory: Path, ask_timeout: float | None, try_out: Callable[[Installed], Trial] = run_trial
) -> tuple[Checked, ...]:
    """Look at every harness's settings, the user's and those of the project in this directory."""
    return tuple(
        _check(harness, scope, directory, ask_timeout, try_out)
        for harness in HARNESSES.values()
        for scope in harness.scopes
    )


def _check(
    harness: Harness,
    scope: Scope,
    directory: Path,
    ask_timeout: float | None,
    try_out: Callable[[Installed], Trial],
) -> Checked:
    target = Target(harness, scope, directory)
    path = str(target.path)
    try:
        found = entries(target)
    except SettingsError as error:
        return Checked(harness.name, scope, path, installed=False, problems=(str(error),))
    if not found:
        return Checked(harness.name, scope, path, installed=False)
    trial = _trial(harness, found, try_out)
    problems = [
        *("It is disabled in there." for one in found if one.off),
        *_unread(target),
        *_incomplete(harness, scope, found),
        *(_missing_files(found) or _altered(harness, found)),
        *_impatient(found, ask_timeout),
        *turned_off(harness, directory),
        *_untrusted(target),
    ]
    if scope == "project" and _has_entries(Target(harness, "user", directory)):
        problems.append(
            f"It is installed for you as well, so every call is counted twice. {_uninstall(harness, scope)}"
        )
    if trial and trial.fault:
        problems.append(f"What asks before a call does not reach an engine: {trial.fault}.")
    return Checked(
        harness.name,
        scope,
        path,
        installed=True,
        events=tuple(dict.fromkeys(one.event for one in found)),
        over_http=any(one.url for one in found),
        fail_closed=any(_is_closed(one) for one in found),
        milliseconds=trial.milliseconds if trial and trial.answered else None,
        problems=tuple(problems),
    )


def _trial(harness: Harness, found: tuple[Installed, ...], try_out: Callable[[Installed], Trial]) -> Trial | None:
    """Run the hook before a call. One that is not ours to the letter is not run: who knows who wrote it."""
    first = next((one for one in found if one.event in (*BEFORE_A_CALL, PLUGIN)), None)
    gone = first is None or (first.words and not Path(first.script).is_file())
    return None if gone or not first or not is_own(harness, first, Path(sys.executable)) else try_out(first)


def _unread(target: Target) -> Iterator[str]:
    if why := why_unread(target.harness, find_settings(target.path).text):
        yield f"{why} Take that out."


def _incomplete(harness: Harness, scope: Scope, found: tuple[Installed, ...]) -> Iterator[str]:
    counts = Counter(one.event for one in found)
    if missing := [event for event in harness.events if not counts[event]]:
        yield f"Hooks are missing: {', '.join(missing)}. {_again(harness)}"
    if doubled := [event for event, count in counts.items() if count > 1]:
        yield f"Hooks stand there twice: {', '.join(doubled)}. {_uninstall(harness, scope)}"


def _missing_files(found: tuple[Installed, ...]) -> list[str]:
    files = dict.fromkeys(path for one in found for path in (one.interpreter, one.script, one.plugin) if path)
    return [f"It runs {path}, which is not there." for path in files if not Path(path).is_file()]


def _altered(harness: Harness, found: tuple[Installed, ...]) -> list[str]:
    """What is not as this breaker writes it: another one's, or changed by somebody who wants to be unguarded."""
    other = [one.event for one in found if one.narrowed or not is_own(harness, one, Path(sys.executable))]
    if not other:
        return []
    return [f"It is not as this breaker writes it, and was not tried ({', '.join(other)}). {_again(harness)}"]


def _impatient(found: tuple[Installed, ...], ask_timeout: float | None) -> Iterator[str]:
    """A hook must outlast an ask, and its harness the hook; what gives up too soon decides by itself."""
    needed, _ = waiting_seconds(ask_timeout)
    for one in (one for one in found if one.event in BEFORE_A_CALL):
        own = one.option("--timeout")
        patience = float(own) if own.isdigit() else one.seconds
        if one.seconds is None or patience is None or (own and one.seconds <= patience):
            yield f"The harness gives up on the hook {one.event} before the hook itself does. Install again."
        elif patience < needed:
            ask = "for ever" if ask_timeout is None else f"{ask_timeout:g} s"
            yield f"The hook {one.event} waits {patience:g} s, and an ask may wait {ask} (askTimeout). Install again."


def _is_closed(entry: Installed) -> bool:
    """Whether it denies calls without an engine."""
    handler = entry.handler
    blocks = handler.get("onFailure") == "block" or handler.get("onUnreachable") == "deny"
    return blocks or "--fail-closed" in entry.words


def _untrusted(target: Target) -> Iterator[str]:
    if target.harness.name != codex.NAME:
        return
    found = find_settings(target.path)
    config = read_config(target.harness.user_directory())
    if target.scope == "project" and is_distrusted(target.directory, config):
        yield "Codex skips this project's hooks, for you have told it not to trust the folder (config.toml, projects)."
    skipped = untrusted(target.harness, read_settings(found.text), (found.path, found.real), config)
    if skipped:
        yield f"Codex skips these hooks, for you have not approved them: {', '.join(skipped)}. Type /hooks in Codex."


def _has_entries(target: Target) -> bool:
    try:
        return bool(entries(target))
    except SettingsError:
        return False


def _again(harness: Harness) -> str:
    return f"Run: breaker install {harness.name}"


def _uninstall(harness: Harness, scope: Scope) -> str:
    return f"Run: breaker uninstall {harness.name} --{scope}"
