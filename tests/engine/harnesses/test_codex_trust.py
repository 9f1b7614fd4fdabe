"""What Codex's user has approved. The digests are those that Codex 0.171.0 gave itself (app-server, hooks/list)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.harnesses.codex_trust import CodexConfig, read_config, trust_hash, trust_key, untrusted
from engine.harnesses.handlers import Wishes, groups
from engine.harnesses.known import HARNESSES

CODEX = HARNESSES["codex"]
FILE = Path("/home/dev/.codex/hooks.json")


def command(text: str, timeout: int) -> dict[str, Any]:
    return {"type": "command", "command": text, "timeout": timeout}


@pytest.mark.parametrize(
    ("event", "matcher", "handler", "digest"),
    json.loads((Path(__file__).parents[2] / "data" / "codex_hashes.json").read_text()),
)
def test_digests_are_codex_s_own(event: str, matcher: str | None, handler: dict[str, Any], digest: str) -> None:
    group = {} if matcher is None else {"matcher": matcher}
    assert trust_hash(event, group, handler) == digest


def test_a_key_names_the_place() -> None:
    assert trust_key(FILE, "UserPromptSubmit", 2, 1) == f"{FILE}:user_prompt_submit:2:1"


def approved(settings: dict[str, Any], **changed: Any) -> CodexConfig:
    trust = {}
    for event, places in settings["hooks"].items():
        for index, group in enumerate(places):
            for number, handler in enumerate(group["hooks"]):
                word = {"trusted_hash": trust_hash(event, group, handler)} | changed
                trust[trust_key(FILE, event, index, number)] = word
    return CodexConfig(trust)


def test_what_is_approved_is_run() -> None:
    wishes = Wishes(Path("/usr/bin/python3"), Path("/opt/engine/hook.py"), Path("/run/e.sock"), 300)
    ours = groups(CODEX, wishes)
    settings: dict[str, Any] = {
        "hooks": {event: [{"hooks": [command("mine", 5)]}, group] for event, group in ours.items()}
    }
    config = approved(settings)
    assert untrusted(CODEX, settings, (FILE,), config) == []
    assert untrusted(CODEX, settings, (Path("/other/hooks.json"), FILE), config) == []
    assert untrusted(CODEX, settings, (Path("/other/hooks.json"),), config) == list(ours)
    assert untrusted(CODEX, settings, (FILE,), CodexConfig()) == list(ours)
    assert untrusted(CODEX, settings, (FILE,), approved(settings, enabled=False)) == list(ours)
    settings["hooks"]["PreToolUse"].reverse()
    assert untrusted(CODEX, settings, (FILE,), config) == ["PreToolUse"]


@pytest.mark.parametrize(
    "settings", [{}, {"hooks": []}, {"hooks": {"A": 1, "B": [1, {}, {"hooks": 7}, {"hooks": [None]}]}}]
)
def test_settings_of_any_form(settings: dict[str, Any]) -> None:
    assert untrusted(CODEX, settings, (FILE,), CodexConfig()) == []


def test_codex_s_own_configuration(tmp_path: Path) -> None:
    assert read_config(tmp_path) == CodexConfig()
    file = tmp_path / "config.toml"
    file.write_text("[features\n")
    assert "cannot be read" in read_config(tmp_path).fault
    file.write_text('[features]\nhooks = false\n[hooks.state]\nx = 1\n[hooks.state."k"]\ntrusted_hash = "h"\n')
    assert read_config(tmp_path) == CodexConfig({"k": {"trusted_hash": "h"}}, hooks_off=True)
    file.write_bytes(b"\xff")
    assert "cannot be read" in read_config(tmp_path).fault
    file.write_text("features = 1\nhooks = 2\n")
    assert read_config(tmp_path) == CodexConfig()
