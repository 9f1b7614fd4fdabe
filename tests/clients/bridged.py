"""The real clients that run a plugin of ours in their own process."""

from __future__ import annotations

import json
import re
import sys
import urllib.request
from pathlib import Path
from typing import Any

from tests.clients.install import CACHE, MACHINE, NODE
from tests.clients.model import Model
from tests.clients.sessions import PATIENCE, Call, Client, Home, Piped, Spawned

CONSOLE = Path(__file__).with_name("dsh_console.mjs")


# -- opencode ---------------------------------------------------------------------------------------------------


class OpencodeSession(Spawned):
    """Its server, which its own terminal speaks to as well."""

    def start(self) -> None:
        self._url = ""
        super().start()
        self.until(lambda: self._url, "the server listens")
        self._session = self._post("/session", {})["id"]

    def command(self) -> list[str]:
        return [str(Opencode().program), "serve", "--hostname", "127.0.0.1", "--port", "0"]

    def environment(self) -> dict[str, str]:
        return self.home.environment(
            OPENCODE_DISABLE_AUTOUPDATE="1",
            OPENCODE_DISABLE_MODELS_FETCH="1",
            OPENCODE_DISABLE_LSP_DOWNLOAD="1",
            OPENCODE_DISABLE_DEFAULT_PLUGINS="1",
        )

    def said(self, line: str) -> None:
        if found := re.search(r"http://\S+", line):
            self._url = found[0]

    def write(self, text: str) -> None:
        self._post(f"/session/{self._session}/prompt_async", {"parts": [{"type": "text", "text": text}]})

    def interrupt(self) -> None:
        self._post(f"/session/{self._session}/abort", {})

    def _post(self, path: str, body: Any) -> Any:
        request = urllib.request.Request(
            self._url + path, json.dumps(body).encode(), {"content-type": "application/json"}, method="POST"
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return json.loads(response.read() or b"null")


class Opencode(Client):
    harness = "opencode"
    session = OpencodeSession

    @property
    def program(self) -> Path:
        # The package's own launcher is put into its place by an install script.
        return CACHE / "opencode" / "node_modules" / f"opencode-{sys.platform}-{MACHINE}" / "bin" / "opencode"

    def prepare(self, home: Home, model: Model) -> None:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{model.url}/v1", "apiKey": "none"},
            "models": {"scripted": {"name": "scripted", "tool_call": True}},
        }
        settings = {
            "model": "scripted/scripted",
            "small_model": "scripted/scripted",
            "share": "disabled",
            "permission": {"*": "allow", "doom_loop": "allow"},
            "provider": {"scripted": provider},
        }
        home.write(".config/opencode/opencode.json", json.dumps(settings, indent=2))
        self._furnish(home.root / ".config" / "opencode")

    def approve(self, home: Home) -> None:
        self._furnish(home.project / ".opencode")

    @staticmethod
    def _furnish(directory: Path) -> None:
        """What opencode itself gets from npm, at its first start, for every directory that may have plugins.

        Ours needs none of it, and nothing here is to go over the network.
        """
        (directory / "node_modules").mkdir()
        lock = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
        (directory / "package-lock.json").write_text(json.dumps(lock))

    def shell(self, command: str, number: int) -> Call:
        return "bash", {"command": command, "description": f"attempt {number}"}

    def delegate(self, word: str) -> Call:
        return "task", {"description": "part", "prompt": f"{word}, please", "subagent_type": "general"}


# -- DSH --------------------------------------------------------------------------------------------------------


class DshSession(Piped):
    """Its headless profile, but for the runner, which writes to the agent only once."""

    def start(self) -> None:
        self._ready = False
        super().start()
        self.until(lambda: self._ready, "DSH has started")

    def command(self) -> list[str]:
        client = Dsh()
        console = {"id": "test-console", "name": str(CONSOLE), "config": {"modules": str(client.modules)}}
        patches = [{"id": "headless-runner", "disabled": True}, {"insert": [console]}]
        overlay = self.home.root / "overlay.yml"
        overlay.write_text(json.dumps(patches))
        options = ["--profile", "headless", "--patch", str(overlay), "no task"]
        return [str(NODE), str(client.program), *options]

    def environment(self) -> dict[str, str]:
        return self.home.environment(
            DEEPSEEK_API_KEY="none",
            DEEPSEEK_BASE_URL=self.model.url,
            DSH_PERMISSION_MODE="danger-full-access",
        )

    def heard(self, message: dict[str, Any]) -> None:
        self._ready = self._ready or "ready" in message

    def write(self, text: str) -> None:
        self.send({"write": text})

    def interrupt(self) -> None:
        self.send({"interrupt": True})


class Dsh(Client):
    harness = "dsh"
    session = DshSession

    @property
    def modules(self) -> Path:
        return CACHE / "dsh" / "node_modules"

    @property
    def program(self) -> Path:
        return self.modules / "@deepseek-ai" / "dsh" / "lib" / "bin.js"

    def shell(self, command: str, number: int) -> Call:
        return "bash", {"command": command, "description": f"attempt {number}"}

    def delegate(self, word: str) -> Call:
        return "subagent", {"description": "part", "prompt": f"{word}, please", "run_in_background": False}
