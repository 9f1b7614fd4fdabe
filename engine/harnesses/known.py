"""The harnesses that can be guarded: where each keeps its settings, and which hooks or plugin it is given."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from engine.harnesses import claude_code, codex, dsh, gemini_cli, opencode
from engine.harnesses.bridges import BRIDGES, PLUGIN, Bridge
from engine.harnesses.jsonc import Liberty

Scope = Literal["user", "project"]

BEFORE_A_CALL = ("PreToolUse", "BeforeTool")
"""The hooks that wait for the operator, and can refuse."""
LAST_WORDS = "SessionEnd"
"""No harness waits long for this one."""


class Harness(Struct, frozen=True):
    """A harness that keeps its hooks in a file of JSON, or has a ``bridge``.

    ``events`` are the hooks it is given, those of tools with a matcher. ``second`` is a second in its unit of time.
    Without a ``project_file``, its projects have no settings of their own. ``can_block``: a handler may say that a call
    must not run when its hook breaks. ``liberties`` are those with JSON that it bears in its settings, ``keys`` the
    only ones that it bears at their top (none: any); with others it skips all of them, or does not start.

    ``by_hand`` is what its user still has to do, ``in_project`` the same for a project's settings, and ``to_know`` what
    no hook can mend.
    """

    name: str
    title: str
    user_directory: Callable[[], Path]
    user_file: str
    project_file: str
    default_scope: Scope
    events: tuple[str, ...]
    second: int = 1
    can_block: bool = False
    handler_name: bool = False
    liberties: frozenset[Liberty] = frozenset()
    keys: frozenset[str] = frozenset()
    by_hand: tuple[str, ...] = ()
    in_project: tuple[str, ...] = ()
    to_know: tuple[str, ...] = ()
    bridge: Bridge | None = None

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Whose settings there are."""
        return ("user", "project") if self.project_file else ("user",)

    def settings(self, scope: Scope, directory: Path) -> Path:
        """The settings that are edited: the user's, or those of the project in this directory."""
        return self.user_directory() / self.user_file if scope == "user" else directory / self.project_file


def _directory(variable: str, name: str, *, beneath: bool = False) -> Callable[[], Path]:
    """The directory that the variable names (or, ``beneath`` it, ``name``), else ``name`` in the user's home."""

    def directory() -> Path:
        named = os.environ.get(variable, "")
        if named and not beneath:
            return Path(named).expanduser()
        return (Path(named).expanduser() if named else Path.home()) / name

    return directory


def _opencode_directory() -> Path:
    named = os.environ.get("OPENCODE_CONFIG_DIR", "")
    return Path(named).expanduser() if named else _directory("XDG_CONFIG_HOME", ".config")() / "opencode"


_TOOLS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "BeforeTool", "AfterTool")

HARNESSES: Mapping[str, Harness] = {
    one.name: one
    for one in (
        Harness(
            claude_code.NAME,
            "Claude Code",
            _directory("CLAUDE_CONFIG_DIR", ".claude"),
            "settings.json",
            ".claude/settings.local.json",
            "project",
            (
                *("PreToolUse", "PostToolUse", "PostToolUseFailure"),
                *("UserPromptSubmit", "SubagentStart", "SubagentStop", "SessionEnd"),
            ),
            can_block=True,
            liberties=frozenset({"a byte order mark", "the same key twice"}),
            to_know=(
                "Claude Code skips a whole settings file in which one value is not valid, and says so only in its "
                "terminal. Type /hooks there to see these.",
            ),
        ),
        Harness(
            codex.NAME,
            "Codex",
            _directory("CODEX_HOME", ".codex"),
            "hooks.json",
            ".codex/hooks.json",
            "user",
            ("PreToolUse", "PostToolUse", "UserPromptSubmit", "SubagentStart", "SubagentStop", "SessionEnd"),
            keys=frozenset({"description", "hooks"}),
            by_hand=(
                "Start codex, type /hooks and approve the hooks of repeat-tool-breaker. Until then Codex skips them "
                "without a word. Each change of them must be approved again.",
            ),
            in_project=("Let Codex trust this folder: it skips the hooks of one that you have told it not to trust.",),
        ),
        Harness(
            gemini_cli.NAME,
            "Gemini CLI",
            _directory("GEMINI_CLI_HOME", ".gemini", beneath=True),
            "settings.json",
            ".gemini/settings.json",
            "user",
            ("BeforeTool", "AfterTool", "BeforeAgent", "SessionEnd"),
            second=1000,
            handler_name=True,
            liberties=frozenset({"comments", "the same key twice"}),
            in_project=("Trust this folder in Gemini CLI; elsewhere it skips a project's hooks.",),
            to_know=(
                "Inside an editor (gemini --acp) Gemini CLI runs no hooks around tools: calls there are not guarded.",
                "Escape does not end a hook: a call that waits for you stays open until you answer or leave.",
                "Its sub-agents cannot be told from the main agent: they share one count.",
            ),
        ),
        Harness(
            opencode.NAME,
            "opencode",
            _opencode_directory,
            "plugins/repeat-tool-breaker.js",
            ".opencode/plugins/repeat-tool-breaker.js",
            "project",
            (PLUGIN,),
            to_know=(
                "At its next start opencode fetches @opencode-ai/plugin from npm into the directory above plugins, as "
                "it does wherever there are plugins. What it puts there stays when this is uninstalled.",
            ),
            bridge=BRIDGES[opencode.NAME],
        ),
        Harness(
            dsh.NAME,
            "DSH",
            _directory("DSH_HOME", ".dsh"),
            "cordis.patch.yml",
            "",
            "user",
            (PLUGIN,),
            bridge=BRIDGES[dsh.NAME],
        ),
    )
}


def has_matcher(event: str) -> bool:
    """Whether this event's hooks are chosen by tool."""
    return event in _TOOLS
