"""``breaker install`` and ``breaker uninstall``: what they do to settings files, and what they leave alone."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shlex
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.harnesses.endpoint import load_endpoint
from engine.harnesses.handlers import ENDLESS_SECONDS, HOOK_SCRIPT
from engine.harnesses.known import HARNESSES as KNOWN
from engine.harnesses.known import Scope
from engine.harnesses.settings import handlers_in, read_settings
from engine.harnesses.settings_file import SETTINGS_BYTES
from tests.engine.harnesses.captures import HARNESSES
from tests.engine.harnesses.homes import Home, home
from tests.engine.harnesses.test_settings import BROKEN, KEPT

__all__ = ["home"]

SCOPES: tuple[Scope, ...] = ("user", "project")
EVERY = [(name, scope) for name in HARNESSES for scope in SCOPES]
FIXTURES = KEPT | {
    "empty": "",
    "white space": " \n\n",
    "an empty table": "{}",
    "an empty table, laid out": "{\n\n}\n",
    "only a comment": "// mine\n{ /* nothing */ }",
    "hooks, laid out and empty": '{\n  "hooks": {\n  }\n}\n',
}

COMMENTED = frozenset({"comments", "a comment before the comma", "only a comment"})
"""What Gemini CLI alone reads."""
READ_BY_NONE = frozenset({"a trailing comma", "trailing commas and comments"})
UNREAD = [
    ("claude-code", "comments", "Claude Code does not read settings with comments (line 1)"),
    ("claude-code", "a trailing comma", "trailing commas (line 2)"),
    ("gemini-cli", "a trailing comma", "trailing commas (line 2)"),
    ("gemini-cli", "a byte order mark", "a byte order mark (line 1)"),
    ("codex", "a comment before the comma", "comments (line 2)"),
    ("codex", "trailing commas and comments", "Codex does not read settings with trailing commas (line 2)"),
    ("codex", "a byte order mark", "a byte order mark (line 1)"),
    ("codex", "the same key twice", "the same key twice (line 1)"),
    ("codex", "on one line", 'settings with "a" among them'),
]
"""Settings with which a harness runs no hook at all, most without a word."""


def handlers(path: Path) -> dict[str, dict[str, Any]]:
    """Our handler by event, in settings that hold no others."""
    settings = json.loads(path.read_bytes())
    return {event: groups[-1]["hooks"][0] for event, groups in settings["hooks"].items()}


@pytest.mark.parametrize("name", [name for name in FIXTURES if name not in READ_BY_NONE])
@pytest.mark.parametrize("mode", [0o644, 0o600, 0o440])
def test_install_then_uninstall_leaves_every_byte(home: Home, name: str, mode: int) -> None:
    harness, text = "gemini-cli" if name in COMMENTED else "claude-code", FIXTURES[name]
    path = home.settings(harness, "project")
    home.write(path, text, mode)
    before = home.tree()
    home.breaker("install", harness, "--project")
    assert path.read_bytes() != text.encode()
    assert stat.S_IMODE(path.stat().st_mode) == mode
    home.breaker("uninstall", harness, "--project")
    assert home.tree() == before


@pytest.mark.parametrize(("harness", "name", "said"), UNREAD)
def test_settings_that_their_harness_does_not_read(home: Home, harness: str, name: str, said: str) -> None:
    """It would skip our hooks with the rest."""
    home.write(home.settings(harness), FIXTURES[name])
    before = home.tree()
    for dry_run in ((), ("--dry-run",)):
        told = home.breaker("install", harness, "--user", *dry_run, code=2).stderr
        assert said in told
        assert "no hook in there runs. Take that out first." in told
    assert home.tree() == before


@pytest.mark.parametrize("harness", HARNESSES)
def test_hooks_are_taken_out_of_settings_that_are_not_read(home: Home, harness: str) -> None:
    path = home.settings(harness)
    home.breaker("install", harness, "--user")
    path.write_text(f"// mine\n{path.read_text()}")
    home.breaker("uninstall", harness, "--user")
    assert not list(handlers_in(read_settings(path.read_text())))
    assert path.read_text().startswith("// mine\n")


@pytest.mark.parametrize(("harness", "scope"), EVERY)
def test_settings_that_are_not_there_yet(home: Home, harness: str, scope: Scope) -> None:
    before = home.tree()
    home.breaker("install", harness, f"--{scope}")
    path = home.settings(harness, scope)
    assert set(handlers(path)) == set(KNOWN[harness].events)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    home.breaker("uninstall", harness, f"--{scope}")
    assert home.tree() == before


@pytest.mark.parametrize(("harness", "scope"), EVERY)
def test_installing_again_changes_nothing(home: Home, harness: str, scope: Scope) -> None:
    text = home.write(home.settings(harness, scope), '{\n  "hooks": {\n    "Stop": []\n  }\n}\n')
    home.breaker("install", harness, f"--{scope}")
    once = home.settings(harness, scope).read_bytes()
    told = home.breaker("install", harness, f"--{scope}")
    assert "already" in told.output
    assert home.settings(harness, scope).read_bytes() == once
    home.breaker("install", harness, f"--{scope}", "--fail-closed")
    assert home.settings(harness, scope).read_bytes() != once
    home.breaker("install", harness, f"--{scope}")
    assert home.settings(harness, scope).read_bytes() == once
    home.breaker("uninstall", harness, f"--{scope}")
    assert home.settings(harness, scope).read_bytes() == text


def test_uninstalling_what_was_never_installed(home: Home) -> None:
    home.write(home.settings("codex"), KEPT["comments"])
    before = home.tree()
    for harness in HARNESSES:
        assert "There are no hooks" in home.breaker("uninstall", harness).output
    assert home.tree() == before


def test_a_dry_run_changes_nothing(home: Home) -> None:
    home.write(home.settings("gemini-cli"), KEPT["tabs"])
    before = home.tree()
    shown = home.breaker("install", "gemini-cli", "--dry-run").output
    assert "+\t" in shown or "+␉" in shown or "BeforeTool" in shown
    assert home.tree() == before
    home.breaker("install", "gemini-cli")
    installed = home.tree()
    assert "BeforeTool" in home.breaker("uninstall", "gemini-cli", "--dry-run").output
    assert home.tree() == installed


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_broken_settings_are_refused_and_untouched(home: Home, text: str) -> None:
    home.write(home.settings("gemini-cli"), text)
    before = home.tree()
    for command in ("install", "uninstall"):
        assert "Correct that first" in home.breaker(command, "gemini-cli", code=2).stderr
    assert home.tree() == before


def test_settings_that_are_no_text(home: Home) -> None:
    path = home.settings("codex")
    home.write(path, "")
    path.write_bytes(b'{"a": "\xff"}')
    for command in ("install", "uninstall"):
        assert "is no text in UTF-8 (byte 7)" in home.breaker(command, "codex", code=2).stderr
    assert path.read_bytes() == b'{"a": "\xff"}'


def test_settings_that_may_not_be_read(home: Home) -> None:
    path = home.settings("codex")
    home.write(path, "{}", 0o000)
    with nobody():
        for command in ("install", "uninstall"):
            assert "cannot be read" in home.breaker(command, "codex", code=2).stderr
    path.chmod(0o600)
    assert path.read_bytes() == b"{}"


@contextlib.contextmanager
def nobody() -> Iterator[None]:
    """Not root, who may read everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_settings_that_are_no_file(home: Home) -> None:
    home.settings("codex").mkdir(parents=True)
    fifo = home.settings("gemini-cli")
    fifo.parent.mkdir()
    os.mkfifo(fifo)
    for harness in ("codex", "gemini-cli"):
        for command in ("install", "uninstall"):
            assert "It was left as it is" in home.breaker(command, harness, code=2).stderr


def test_settings_that_are_too_large(home: Home) -> None:
    path = home.settings("gemini-cli")
    home.write(path, json.dumps({"a": "x" * SETTINGS_BYTES}))
    before = home.tree()
    for command in ("install", "uninstall"):
        assert "larger than any settings" in home.breaker(command, "gemini-cli", code=2).stderr
    assert home.tree() == before


def test_large_settings(home: Home) -> None:
    path = home.settings("gemini-cli")
    before = home.write(path, json.dumps({"a": [{"b": number} for number in range(10_000)]}, indent=1))
    home.breaker("install", "gemini-cli")
    assert set(json.loads(path.read_bytes())["hooks"]) == set(KNOWN["gemini-cli"].events)
    home.breaker("uninstall", "gemini-cli")
    assert path.read_bytes() == before


@pytest.mark.parametrize("harness", ["codex", "dsh", "opencode"])
@pytest.mark.parametrize("text", [None, ""])
def test_settings_that_may_not_be_written(
    home: Home, monkeypatch: pytest.MonkeyPatch, harness: str, text: str | None
) -> None:
    """Half of it was done by then: a file beside it, and the directories that it needs."""
    path = home.settings(harness)
    if text is not None:
        home.write(path, text)
    before = home.tree()
    with monkeypatch.context() as patch:
        patch.setattr("engine.harnesses.settings_file.os.replace", refuse)
        told = home.breaker("install", harness, "--user", code=2)
    assert f"{path} cannot be written: Read-only file system" in told.stderr
    assert home.tree() == before
    home.breaker("install", harness, "--user")
    home.breaker("uninstall", harness, "--user")
    assert home.tree() == before


def refuse(*_arguments: object, **_options: object) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def test_settings_that_change_meanwhile(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home.settings("gemini-cli")
    home.write(path, "{}")

    def edit(*_arguments: object) -> None:
        path.write_text('{"mine": 1}')

    monkeypatch.setattr("engine.harnesses.settings_file.os.fsync", edit)
    assert "changed by somebody else just now" in home.breaker("install", "gemini-cli", code=2).stderr
    assert path.read_text() == '{"mine": 1}'
    assert list(path.parent.iterdir()) == [path]


def test_what_was_edited_in_between_stays(home: Home) -> None:
    path = home.settings("gemini-cli")
    home.write(path, '{\n  "model": "a", // mine\n  "hooks": {\n    "Stop": []\n  }\n}\n')
    home.breaker("install", "gemini-cli")
    text = path.read_text().replace('"model": "a"', '"model": "b"')
    text = text.replace('"BeforeTool": [', '"BeforeTool": [\n      {"hooks": [{"command": "mine"}]},')
    path.write_text(text)
    home.breaker("uninstall", "gemini-cli")
    assert path.read_text() == (
        '{\n  "model": "b", // mine\n  "hooks": {\n    "Stop": [],\n    "BeforeTool": [\n      '
        '{"hooks": [{"command": "mine"}]}\n    ]\n  }\n}\n'
    )


def test_an_edit_that_was_taken_back_leaves_what_was_there(home: Home) -> None:
    """Without the file as it was installed, what was empty before stays, and what was not there goes."""
    path = home.settings("claude-code", "project")
    home.write(path, '{"hooks": {"PreToolUse": []}}')
    home.breaker("install", "claude-code")
    path.write_text(path.read_text() + "\n")
    home.breaker("uninstall", "claude-code")
    assert path.read_text() == '{"hooks": {"PreToolUse": []}}\n'


@pytest.mark.parametrize("text", [None, "", "  \n"])
def test_settings_of_ours_that_were_only_laid_out_anew(home: Home, text: str | None) -> None:
    path = home.settings("codex")
    if text is not None:
        home.write(path, text)
    home.breaker("install", "codex")
    path.write_text(json.dumps(json.loads(path.read_text()), indent=7))
    home.breaker("uninstall", "codex")
    assert (path.read_text() if path.exists() else None) == text


def test_a_lost_backup_does_no_harm(home: Home) -> None:
    path = home.settings("codex")
    before = home.write(path, '{\n  "hooks": {\n    "Stop": []\n  }\n}\n')
    home.breaker("install", "codex")
    for file in home.root.rglob("installed/*"):
        file.unlink()
    home.breaker("uninstall", "codex")
    assert path.read_bytes() == before


def test_the_file_as_it_was_is_kept(home: Home) -> None:
    before = home.write(home.settings("gemini-cli"), KEPT["comments"])
    told = home.breaker("install", "gemini-cli").output
    (backup,) = [Path(line.split(None, 3)[-1]) for line in told.splitlines() if "as it was" in line]
    assert backup.read_bytes() == before
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    home.breaker("uninstall", "gemini-cli")
    assert not backup.exists()


# -- links ------------------------------------------------------------------------------------------------------


def test_a_user_s_link_is_written_through(home: Home) -> None:
    real = home.root / "dotfiles" / "claude.json"
    before = home.write(real, '{"a": 1}', 0o640)
    link = home.settings("claude-code", "user")
    link.parent.mkdir()
    link.symlink_to(real)
    told = home.breaker("install", "claude-code", "--user")
    assert "a link to" in told.output
    assert link.is_symlink()
    assert "PreToolUse" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    home.breaker("uninstall", "claude-code", "--user")
    assert link.is_symlink()
    assert real.read_bytes() == before


@pytest.mark.parametrize("directory", [True, False])
def test_a_link_out_of_the_project_is_not_followed(home: Home, directory: bool) -> None:
    victim = home.root / "elsewhere" / "settings.local.json"
    before = home.write(victim, "{}")
    link = home.settings("claude-code", "project")
    if directory:
        link.parent.symlink_to(victim.parent)
    else:
        link.parent.mkdir()
        link.symlink_to(victim)
    for command in ("install", "uninstall"):
        assert "leads out of the project" in home.breaker(command, "claude-code", code=2).stderr
    assert victim.read_bytes() == before


def test_a_link_within_the_project_is_followed_with_a_word(home: Home) -> None:
    real = home.project / "shared.json"
    home.write(real, "{}")
    link = home.settings("claude-code", "project")
    link.parent.mkdir()
    link.symlink_to(real)
    assert "a link to" in home.breaker("install", "claude-code").output
    assert link.is_symlink()
    assert "PreToolUse" in real.read_text()


def test_a_link_to_nowhere(home: Home) -> None:
    link = home.settings("codex")
    link.parent.mkdir()
    link.symlink_to(home.root / "none" / "hooks.json")
    home.breaker("install", "codex")
    assert "PreToolUse" in (home.root / "none" / "hooks.json").read_text()
    home.breaker("uninstall", "codex")
    assert not (home.root / "none").exists()


def test_a_ring_of_links(home: Home) -> None:
    link = home.settings("codex")
    link.parent.mkdir()
    link.symlink_to(link)
    assert "hooks.json" in home.breaker("install", "codex", code=2).stderr


# -- what is installed ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("harness", HARNESSES)
def test_the_command_is_for_any_shell_and_any_path(home: Home, harness: str) -> None:
    with tempfile.TemporaryDirectory(prefix="brk-", dir="/tmp") as short:
        strange = Path(short, 'it\'s a $(touch x) "dir"')
        strange.mkdir()
        home.breaker("install", harness, "--user", "--socket", str(strange / "e.sock"))
    for event, handler in handlers(home.settings(harness)).items():
        words = shlex.split(handler["command"].partition("; exec ")[2])
        assert words[:6] == [sys.executable, "-I", "-S", str(HOOK_SCRIPT), harness, event]
        assert words[6:8] == ["--socket", str(strange / "e.sock")]


@pytest.mark.parametrize(("harness", "unit"), [("claude-code", 1), ("codex", 1), ("gemini-cli", 1000)])
@pytest.mark.parametrize(("asked", "seconds"), [("300", 301), ("0.5", 1), ("null", ENDLESS_SECONDS)])
def test_each_outlasts_the_one_it_waits_for(home: Home, harness: str, unit: int, asked: str, seconds: int) -> None:
    config = home.root / "config.yaml"
    config.write_text(f"askTimeout: {asked}\n")
    os.environ["BREAKER_CONFIG"] = str(config)
    try:
        home.breaker("install", harness, "--user")
    finally:
        del os.environ["BREAKER_CONFIG"]
    for event, handler in handlers(home.settings(harness)).items():
        own = int(shlex.split(handler["command"])[-1])
        assert handler["timeout"] > own * unit
        assert handler["timeout"] <= 2**31 / (1 if unit == 1000 else 1000)
        if event in ("PreToolUse", "BeforeTool"):
            assert own > seconds


def test_fail_closed(home: Home) -> None:
    for harness in HARNESSES:
        home.breaker("install", harness, "--user", "--fail-closed")
        for event, handler in handlers(home.settings(harness)).items():
            before = event in ("PreToolUse", "BeforeTool")
            assert handler["command"].endswith("--fail-closed") is before
            assert (handler.get("onFailure") == "block") is (before and harness == "claude-code")


def test_what_is_left_to_do_is_said(home: Home) -> None:
    assert "/hooks" in home.breaker("install", "codex").output
    assert "version control" in home.breaker("install", "claude-code").output
    assert "Trust this folder" in home.breaker("install", "gemini-cli", "--project").output
    assert "calls there are not guarded" in home.breaker("install", "gemini-cli", "--project").output


def test_two_in_one_place_are_refused(home: Home) -> None:
    home.breaker("install", "claude-code", "--user")
    told = home.breaker("install", "claude-code", "--project", code=2)
    assert "breaker uninstall claude-code --user" in told.stderr
    assert not home.settings("claude-code", "project").exists()
    assert "breaker uninstall claude-code --user" in home.breaker("uninstall", "claude-code").output


def test_a_broken_configuration_is_told(home: Home) -> None:
    config = home.root / "config.yaml"
    config.write_text("askTimeout: soon\n")
    os.environ["BREAKER_CONFIG"] = str(config)
    try:
        assert "askTimeout" in home.breaker("install", "codex", code=2).stderr
    finally:
        del os.environ["BREAKER_CONFIG"]
    assert not home.settings("codex").exists()


def test_hostile_settings_cannot_write_to_the_terminal(home: Home) -> None:
    path = home.settings("gemini-cli")
    home.write(path, '{\n  "a": "\u202e\u200b\U000e0041", // \x1b]0;owned\x07\x1b[2J\r\n  "b": 1\n}\n')
    told = home.breaker("install", "gemini-cli").output
    assert not set(told) & set("\x1b\x07\u202e\u200b\U000e0041\r")


# -- over HTTP --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [(), ("--fail-closed",)])
def test_hooks_over_http(home: Home, more: tuple[str, ...]) -> None:
    before = home.tree()
    assert "Without one every call is denied" in home.breaker("install", "claude-code", "--http", *more).output
    endpoint = load_endpoint()
    assert endpoint is not None
    for event, handler in handlers(home.settings("claude-code", "project")).items():
        assert handler["type"] == "http"
        assert handler["url"] == endpoint.url("claude-code", event)
        assert (handler.get("onFailure") == "block") is (event == "PreToolUse")
    (kept,) = home.root.rglob("http-hook.json")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    home.breaker("install", "claude-code", "--http", *more)
    assert load_endpoint() == endpoint
    home.breaker("uninstall", "claude-code")
    assert load_endpoint() is None
    assert home.tree() == before


def test_the_endpoint_stays_as_long_as_somebody_needs_it(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.breaker("install", "claude-code", "--http")
    other = home.root / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    home.breaker("install", "claude-code", "--http")
    home.breaker("uninstall", "claude-code")
    assert load_endpoint() is not None
    monkeypatch.chdir(home.project)
    home.breaker("install", "claude-code")
    assert load_endpoint() is None


def test_settings_that_others_can_read_are_told(home: Home) -> None:
    home.write(home.settings("claude-code", "project"), "{}", 0o644)
    assert "chmod 600" in home.breaker("install", "claude-code", "--http").output


def test_only_claude_code_has_hooks_over_http(home: Home) -> None:
    assert "Leave --http out" in home.breaker("install", "codex", "--http", code=2).stderr
