"""``breaker doctor``: what is installed, whether it answers, and everything that keeps it from that."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.harnesses.codex_trust import trust_hash, trust_key
from engine.harnesses.endpoint import load_endpoint
from engine.harnesses.settings import handlers_in
from engine.host import Host
from tests.engine.harnesses.homes import Home, home

__all__ = ["home"]


@pytest.fixture
def engine(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """An engine where this home's hooks look for one."""
    directory = home.root / "run"
    directory.mkdir(mode=0o700)
    monkeypatch.chdir(directory)  # a relative path is short
    monkeypatch.setenv("BREAKER_SOCKET", str(directory / "e.sock"))
    with Host(socket=directory / "e.sock") as host:
        monkeypatch.chdir(home.project)
        yield host


def examine(home: Home, code: int) -> dict[str, Any]:
    """The report as JSON, by harness and scope."""
    report: dict[str, Any] = json.loads(home.breaker("doctor", "--json", code=code).output)
    assert report["ok"] is (code == 0)
    assert bool(report["problems"]) is (code != 0)
    report["by"] = {f"{one['harness']} {one['scope']}": one for one in report["harnesses"]}
    return report


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_nothing_installed(home: Home) -> None:
    report = examine(home, 1)
    assert not any(one["installed"] for one in report["harnesses"])
    assert any("nothing is guarded" in problem for problem in report["problems"])
    assert not report["engine"]["running"]
    assert "breaker install" in home.breaker("doctor", code=1).output


@pytest.mark.parametrize("options", [(), ("--fail-closed",)])
def test_a_guarded_project(home: Home, engine: Host, options: tuple[str, ...]) -> None:
    home.breaker("install", "claude-code", *options)
    report = examine(home, 0)
    found = report["by"]["claude-code project"]
    assert found["installed"]
    assert found["milliseconds"] > 0
    assert found.get("fail_closed", False) is bool(options)
    assert report["engine"] == {"socket": os.environ["BREAKER_SOCKET"], "running": True, "pid": os.getpid()}
    told = home.breaker("doctor").output
    assert "All is well." in told
    assert "no operator" in told
    with contextlib.closing(engine.operator()):
        assert examine(home, 0)["engine"]["attended"]


def test_a_trial_leaves_no_trace(home: Home, engine: Host) -> None:
    home.breaker("install", "gemini-cli")
    home.breaker("doctor")
    assert engine.call(lambda desk: desk.snapshot()).agents == ()


@pytest.mark.parametrize("options", [(), ("--fail-closed",)])
def test_without_an_engine(home: Home, options: tuple[str, ...]) -> None:
    home.breaker("install", "gemini-cli", *options)
    report = examine(home, 1)
    (problem,) = report["by"]["gemini-cli user"]["problems"]
    assert "no engine answers at its socket" in problem
    assert "No engine is running" in report["engine"]["problem"]


def test_a_hook_that_looks_elsewhere(home: Home, engine: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    home.breaker("install", "gemini-cli", "--socket", str(home.root / "elsewhere.sock"))
    told = home.breaker("doctor").output
    assert "leads this shell's hooks to" in told
    where = os.environ["BREAKER_SOCKET"]
    monkeypatch.delenv("BREAKER_SOCKET")
    report = json.loads(home.breaker("doctor", "--json", "--socket", where, code=1).output)
    assert any("no engine answers at its socket" in problem for problem in report["problems"])


def test_over_http(home: Home, engine: Host) -> None:
    home.breaker("install", "claude-code", "--http")
    (problem,) = examine(home, 1)["by"]["claude-code project"]["problems"]
    assert "nothing listens at 127.0.0.1:" in problem
    assert "Start the engine, anew if one is running" in problem
    engine.stop()
    with Host(socket=Path(os.environ["BREAKER_SOCKET"]), http=load_endpoint()):
        found = examine(home, 0)["by"]["claude-code project"]
        assert found["over_http"]
        assert found["milliseconds"] > 0


# -- Codex ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("folder", "skipped"), [(".", True), ("..", True), ("other", False)])
def test_a_project_that_codex_was_told_not_to_trust(home: Home, engine: Host, folder: str, skipped: bool) -> None:
    home.breaker("install", "codex", "--project")
    directory = json.dumps(str((home.project / folder).resolve()))
    home.write(home.settings("codex").with_name("config.toml"), f'[projects.{directory}]\ntrust_level = "untrusted"\n')
    problems = examine(home, 1)["by"]["codex project"]["problems"]
    assert any("told it not to trust the folder" in problem for problem in problems) is skipped


def test_codex_before_and_after_its_user_has_approved(home: Home, engine: Host) -> None:
    home.breaker("install", "codex")
    (problem,) = examine(home, 1)["by"]["codex user"]["problems"]
    assert "you have not approved them: PreToolUse, PostToolUse" in problem
    file = home.settings("codex")
    config = file.with_name("config.toml")
    for event, group, handler in handlers_in(json.loads(file.read_text())):
        with config.open("a") as out:
            key = json.dumps(trust_key(file, event, 0, 0))
            out.write(f'[hooks.state.{key}]\ntrusted_hash = "{trust_hash(event, group, handler)}"\n')
    assert examine(home, 0)["by"]["codex user"]["installed"]
    home.breaker("install", "codex", "--fail-closed")
    (problem,) = examine(home, 1)["by"]["codex user"]["problems"]
    assert problem.endswith("you have not approved them: PreToolUse. Type /hooks in Codex.")


def test_codex_with_its_hooks_off(home: Home, engine: Host) -> None:
    home.breaker("install", "codex")
    home.write(home.settings("codex").with_name("config.toml"), "[features]\nhooks = false\n")
    assert any("turns hooks off" in problem for problem in examine(home, 1)["problems"])


# -- what stands in the way -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("harness", "file", "text", "problem"),
    [
        ("claude-code", ".claude/settings.json", '{"disableAllHooks": true}', "disableAllHooks"),
        ("claude-code", "project/.claude/settings.json", '{"disableAllHooks": true}', "disableAllHooks"),
        ("claude-code", "project/.claude/settings.json", '{"env": {"BREAKER_SOCKET": "/x"}}', "env.BREAKER_SOCKET"),
        ("gemini-cli", "project/.gemini/settings.json", '{"hooksConfig": {"enabled": false}}', "hooksConfig.enabled"),
        (
            "gemini-cli",
            "project/.gemini/settings.json",
            '{"hooksConfig": {"disabled": ["repeat-tool-breaker"]}}',
            "hooksConfig.disabled",
        ),
        ("gemini-cli", "project/.gemini/settings.json", '{"tools": {"enableHooks": false}}', "tools.enableHooks"),
    ],
)
def test_settings_that_turn_hooks_off(
    home: Home, engine: Host, harness: str, file: str, text: str, problem: str
) -> None:
    home.breaker("install", harness)
    examine(home, 0)
    home.write(home.root / file, text)
    assert any(problem in one for one in examine(home, 1)["problems"])


def test_hooks_that_are_missing_and_hooks_that_are_double(home: Home, engine: Host) -> None:
    home.breaker("install", "gemini-cli")
    path = home.settings("gemini-cli")
    settings = json.loads(path.read_text())
    del settings["hooks"]["AfterTool"]
    settings["hooks"]["BeforeTool"] *= 2
    path.write_text(json.dumps(settings))
    missing, doubled = examine(home, 1)["by"]["gemini-cli user"]["problems"]
    assert "Hooks are missing: AfterTool" in missing
    assert "Hooks stand there twice: BeforeTool" in doubled


def test_both_scopes(home: Home, engine: Host) -> None:
    home.breaker("install", "claude-code")
    home.write(home.settings("claude-code", "user"), home.settings("claude-code", "project").read_text())
    assert any("counted twice" in problem for problem in examine(home, 1)["problems"])


def test_an_ask_that_outlasts_its_hook(home: Home, engine: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    home.breaker("install", "gemini-cli")
    home.write(home.root / "config.yaml", "askTimeout: 900\n")
    monkeypatch.setenv("BREAKER_CONFIG", str(home.root / "config.yaml"))
    (problem,) = examine(home, 1)["problems"]
    assert "waits 331 s, and an ask may wait 900 s" in problem
    home.breaker("install", "gemini-cli")
    examine(home, 0)


def test_a_harness_that_gives_up_first(home: Home, engine: Host) -> None:
    home.breaker("install", "gemini-cli")
    change(home.settings("gemini-cli"), '"timeout": 361000', '"timeout": 361')
    (problem,) = examine(home, 1)["problems"]
    assert "gives up on the hook BeforeTool before the hook itself does" in problem


def test_an_interpreter_that_is_gone(home: Home, engine: Host) -> None:
    home.breaker("install", "gemini-cli")
    change(home.settings("gemini-cli"), sys.executable, "/nowhere/bin/python3")
    (problem,) = examine(home, 1)["problems"]
    assert "/nowhere/bin/python3, which is not there" in problem


def test_a_script_that_is_gone(home: Home, engine: Host) -> None:
    home.breaker("install", "gemini-cli")
    change(home.settings("gemini-cli"), "/engine/hook.py", "/nowhere/engine/hook.py")
    assert any("which is not there" in problem for problem in examine(home, 1)["problems"])


def test_settings_that_their_harness_skips(home: Home, engine: Host) -> None:
    home.breaker("install", "claude-code")
    path = home.settings("claude-code", "project")
    path.write_text(f"// mine\n{path.read_text()}")
    (problem,) = examine(home, 1)["by"]["claude-code project"]["problems"]
    assert problem == (
        "Claude Code does not read settings with comments (line 1), so no hook in there runs. Take that out."
    )


@pytest.mark.parametrize("option", ["--http", "--fail-closed"])
def test_a_hook_that_no_longer_denies_when_it_breaks(home: Home, engine: Host, option: str) -> None:
    home.breaker("install", "claude-code", option)
    change(home.settings("claude-code", "project"), '"onFailure": "block"', '"onFailure": "ignore"')
    assert any("not as this breaker writes it" in problem for problem in examine(home, 1)["problems"])


def test_a_line_that_somebody_else_wrote_is_never_run(home: Home, engine: Host) -> None:
    """Settings of a project may be an agent's, and the doctor runs outside of the agent's sandbox."""
    home.breaker("install", "claude-code")
    path = home.settings("claude-code", "project")
    trap = home.root / "trap"
    for old, new in (
        ("[ -x", f"touch {trap}; [ -x"),
        ("; exec ", f"; touch {trap}; exec "),
        (" --socket", f" $(touch {trap}) --socket"),
    ):
        before = path.read_text()
        change(path, old, new)
        report = examine(home, 1)
        assert any("It is not as this breaker writes it" in problem for problem in report["problems"])
        assert not trap.exists()
        path.write_text(before)
    examine(home, 0)


def test_a_hook_that_was_narrowed_to_some_tools(home: Home, engine: Host) -> None:
    home.breaker("install", "claude-code")
    change(home.settings("claude-code", "project"), '"matcher": "*"', '"matcher": "Read"')
    (problem,) = examine(home, 1)["problems"]
    assert "(PreToolUse, PostToolUse, PostToolUseFailure)" in problem


def test_settings_that_cannot_be_read(home: Home, engine: Host) -> None:
    home.breaker("install", "claude-code")
    home.write(home.settings("claude-code", "user"), "{")
    assert any("It is no valid JSON" in problem for problem in examine(home, 1)["problems"])


def test_thresholds_that_never_fire(home: Home, engine: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    home.breaker("install", "gemini-cli")
    home.write(home.root / "config.yaml", "warnAt: 40\n")
    monkeypatch.setenv("BREAKER_CONFIG", str(home.root / "config.yaml"))
    assert any("warnAt (40) is never reached" in never for never in examine(home, 0)["configuration"]["never"])
    assert "warnAt (40) is never reached" in home.breaker("doctor").output
    home.write(home.root / "config.yaml", "warnAt: soon\n")
    assert any("warnAt" in problem for problem in examine(home, 1)["problems"])


def test_hostile_names_cannot_write_to_the_terminal(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = home.root / "\x1b]0;owned\x07\u202e"
    bad.mkdir()
    monkeypatch.chdir(bad)
    home.write(bad / ".claude" / "settings.local.json", "{\x1b[2J")
    told = home.breaker("doctor", code=1).output
    assert not set(told) & set("\x1b\x07\u202e")
