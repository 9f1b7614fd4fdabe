"""A user's home and project for tests: what a harness and the breaker keep there, and nothing of the real one's."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from console.cli import main
from engine.harnesses.known import HARNESSES, Scope

VARIABLES = (
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "DSH_HOME",
    "GEMINI_CLI_HOME",
    "OPENCODE_CONFIG_DIR",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
)


class Home:
    """A home with a project in it, as the environment of this process says."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root / "home"
        self.project = self.root / "project"
        self.project.mkdir(parents=True)
        for variable in VARIABLES:
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setenv("HOME", str(self.root))
        monkeypatch.setenv("BREAKER_SOCKET", str(root / "engine.sock"))
        monkeypatch.chdir(self.project)

    def settings(self, harness: str, scope: Scope = "user") -> Path:
        """A harness's settings file."""
        return HARNESSES[harness].settings(scope, self.project)

    def write(self, path: Path, text: str, mode: int = 0o644) -> bytes:
        """Put a settings file there."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        path.chmod(mode)
        return text.encode()

    def breaker(self, *arguments: str, code: int = 0) -> Result:
        """Run ``breaker``; it must end with this exit code."""
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == code, result.output
        return result

    def tree(self) -> dict[str, tuple[int, bytes]]:
        """Everything in this home but what the breaker keeps for itself: mode and content."""
        found: dict[str, tuple[int, bytes]] = {}
        for folder, folders, files in os.walk(self.root):
            folders[:] = [name for name in folders if name != "repeat-tool-breaker"]
            for name in (*folders, *files):
                path = Path(folder, name)
                relative = str(path.relative_to(self.root))
                if relative.startswith((".local", "Library")):
                    continue
                about = path.lstat()
                content = path.read_bytes() if stat.S_ISREG(about.st_mode) else b""
                found[relative] = (about.st_mode, content)
        return found


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return Home(tmp_path, monkeypatch)
