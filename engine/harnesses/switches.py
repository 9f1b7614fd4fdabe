"""Settings of a harness that turn its hooks off, or lead them elsewhere; an agent that can write them knows, too."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.harnesses import claude_code, codex, gemini_cli
from engine.harnesses.codex_trust import read_config
from engine.harnesses.known import Harness
from engine.harnesses.settings import SettingsError, read_settings
from engine.harnesses.settings_file import find_settings
from engine.paths import APP, SOCKET_VARIABLE

CLAUDE_MANAGED = Path(
    "/Library/Application Support/ClaudeCode/managed-settings.json"
    if sys.platform == "darwin"
    else "/etc/claude-code/managed-settings.json"
)
GEMINI_SYSTEM = Path(
    "/Library/Application Support/GeminiCli/settings.json"
    if sys.platform == "darwin"
    else "/etc/gemini-cli/settings.json"
)


def turned_off(harness: Harness, directory: Path) -> Iterator[str]:
    """What keeps this harness's hooks from running in this directory, a line each."""
    if harness.name == claude_code.NAME:
        yield from _claude(harness, directory)
    elif harness.name == gemini_cli.NAME:
        yield from _gemini(harness, directory)
    elif harness.name == codex.NAME:
        config = read_config(harness.user_directory())
        if config.fault:
            yield config.fault
        if config.hooks_off:
            yield f"{harness.user_directory() / 'config.toml'} turns hooks off (features.hooks = false)"


def _claude(harness: Harness, directory: Path) -> Iterator[str]:
    files = (
        CLAUDE_MANAGED,
        harness.settings("user", directory),
        directory / ".claude" / "settings.json",
        harness.settings("project", directory),
    )
    for file, settings in _read(files):
        if settings.get("disableAllHooks") is True:
            yield f"{file} turns all hooks off (disableAllHooks)"
        if settings.get("allowManagedHooksOnly") is True and file == CLAUDE_MANAGED:
            yield f"{file} allows no hooks but its own (allowManagedHooksOnly)"
        environment = settings.get("env")
        if isinstance(environment, dict) and SOCKET_VARIABLE in environment:
            yield f"{file} leads the hooks to another socket (env.{SOCKET_VARIABLE})"


def _gemini(harness: Harness, directory: Path) -> Iterator[str]:
    files = (GEMINI_SYSTEM, harness.settings("user", directory), harness.settings("project", directory))
    for file, settings in _read(files):
        hooks = settings.get("hooksConfig")
        tools = settings.get("tools")
        if isinstance(hooks, dict) and hooks.get("enabled") is False:
            yield f"{file} turns hooks off (hooksConfig.enabled)"
        if isinstance(hooks, dict) and isinstance(hooks.get("disabled"), list) and APP in hooks["disabled"]:
            yield f"{file} turns the breaker's hooks off (hooksConfig.disabled)"
        if isinstance(tools, dict) and tools.get("enableHooks") is False:
            yield f"{file} turns hooks off (tools.enableHooks)"


def _read(files: tuple[Path, ...]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The settings that can be read; each file once."""
    for file in dict.fromkeys(files):
        try:
            yield file, read_settings(find_settings(file).text)
        except SettingsError:
            continue  # what the harness cannot read, either, turns nothing off


def redirected() -> str:
    """Where this shell's environment leads every hook, whatever was installed; empty when it does not."""
    return os.environ.get(SOCKET_VARIABLE, "")
