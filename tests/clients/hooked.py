"""The real clients that start our hook at every call, and are spoken to over a pipe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.harnesses.codex_trust import trust_hash, trust_key
from engine.harnesses.settings import handlers_in
from tests.clients.install import CACHE
from tests.clients.model import Model
from tests.clients.sessions import Call, Client, Home, Piped

# -- Claude Code ------------------------------------------------------------------------------------------------


class ClaudeSession(Piped):
    def command(self) -> list[str]:
        options = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        return [str(ClaudeCode().program), *options, "--allowedTools", "Bash Agent"]

    def environment(self) -> dict[str, str]:
        return self.home.environment(
            ANTHROPIC_BASE_URL=self.model.url,
            ANTHROPIC_API_KEY="none",
            IS_SANDBOX="1",
            DISABLE_AUTOUPDATER="1",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        )

    def write(self, text: str) -> None:
        self.send({"type": "user", "message": {"role": "user", "content": text}})

    def interrupt(self) -> None:
        self.send({"type": "control_request", "request_id": "stop", "request": {"subtype": "interrupt"}})


class ClaudeCode(Client):
    harness = "claude-code"
    session = ClaudeSession

    @property
    def program(self) -> Path:
        return CACHE / "claude-code" / "node_modules" / ".bin" / "claude"

    def shell(self, command: str, number: int) -> Call:
        return "Bash", {"command": command, "description": f"attempt {number}"}

    def delegate(self, word: str) -> Call:
        return "Agent", {"description": "part", "prompt": f"{word}, please", "subagent_type": "general-purpose"}


# -- Codex ------------------------------------------------------------------------------------------------------


class CodexSession(Piped):
    """The app server, which editors speak to. Unlike ``codex exec`` it is written to more than once."""

    def start(self) -> None:
        self._thread = ""
        self._turn = ""
        super().start()
        self.send({"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test", "version": "1"}}})
        self.send({"method": "initialized"})
        terms = {"cwd": str(self.home.project), "approvalPolicy": "never", "sandbox": "danger-full-access"}
        self.send({"id": 2, "method": "thread/start", "params": terms})
        self.until(lambda: self._thread, "a thread is started")

    def command(self) -> list[str]:
        return [str(Codex().program), "app-server"]

    def environment(self) -> dict[str, str]:
        return self.home.environment(CODEX_HOME=str(self.home.root / ".codex"), NO_KEY="none")

    def heard(self, message: dict[str, Any]) -> None:
        result = message.get("result") or {}
        self._thread = result.get("thread", {}).get("id") or self._thread
        self._turn = result.get("turn", {}).get("id") or self._turn

    def write(self, text: str) -> None:
        given = {"threadId": self._thread, "input": [{"type": "text", "text": text}]}
        self.send({"id": 3, "method": "turn/start", "params": given})

    def interrupt(self) -> None:
        self.send({"id": 4, "method": "turn/interrupt", "params": {"threadId": self._thread, "turnId": self._turn}})


class Codex(Client):
    harness = "codex"
    session = CodexSession

    @property
    def program(self) -> Path:
        return CACHE / "codex" / "node_modules" / ".bin" / "codex"

    def prepare(self, home: Home, model: Model) -> None:
        home.write(
            ".codex/config.toml",
            f'model = "gpt-5.2-codex"\nmodel_provider = "scripted"\n\n[model_providers.scripted]\nname = "scripted"\n'
            f'base_url = "{model.url}/v1"\nwire_api = "responses"\nenv_key = "NO_KEY"\n',
        )

    def approve(self, home: Home) -> None:
        """What ``/hooks`` writes when its user approves each hook."""
        file = home.root / ".codex" / "hooks.json"
        with (home.root / ".codex" / "config.toml").open("a") as config:
            for event, group, handler in handlers_in(json.loads(file.read_text())):
                key = json.dumps(trust_key(file, event, 0, 0))
                config.write(f'\n[hooks.state.{key}]\ntrusted_hash = "{trust_hash(event, group, handler)}"\n')

    def shell(self, command: str, number: int) -> Call:
        return "exec_command", {"cmd": command}

    def delegate(self, word: str) -> Call:
        return "multi_agent_v1.spawn_agent", {"message": f"{word}, please"}
