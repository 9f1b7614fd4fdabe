"""Gemini CLI, in its terminal and in an editor."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pexpect
import pyte

from tests.clients.install import CACHE
from tests.clients.model import Model
from tests.clients.sessions import PATIENCE, Call, Client, Home, Piped, Session
from tests.console.terminal import Screen

OPTIONS = ("--approval-mode", "yolo", "--skip-trust")
EMPTY_INPUT = "Type your message"
"""What stands in Gemini CLI's input line when nothing does."""


def environment(session: Session) -> dict[str, str]:
    """What leads Gemini CLI to the scripted model."""
    return session.home.environment(GEMINI_API_KEY="none", GOOGLE_GEMINI_BASE_URL=session.model.url)


class GeminiSession(Session):
    """The terminal: over the protocol for editors (``--acp``) Gemini CLI runs no hooks before a call."""

    interrupt_ends_it = True

    def start(self) -> None:
        self._terminal = pexpect.spawn(
            str(GeminiCli().program),
            list(OPTIONS),
            cwd=str(self.home.project),
            env=environment(self),
            dimensions=(40, 120),
            timeout=PATIENCE,
        )
        self._screen = Screen(120, 40, self._terminal.send)
        self._drawing = pyte.ByteStream(self._screen)
        self._reader = threading.Thread(target=self._draw, daemon=True)
        self._reader.start()
        self._shows(EMPTY_INPUT)

    def write(self, text: str) -> None:
        """Type it, and send it once it stands there: what comes in one piece with its return is a paste."""
        self._shows(EMPTY_INPUT)
        self._terminal.send(text)
        self._shows(text)
        self._terminal.send("\r")
        self._shows(EMPTY_INPUT)

    def queue(self, text: str) -> None:
        """Write a message while the agent is at work; Gemini CLI keeps it until it is done."""
        self._terminal.send(text)
        self._shows(text)
        self._terminal.send("\r")
        self._shows("Queued")

    def escape(self) -> None:
        """Call the request off, which neither ends the hook nor lets anything else begin before it."""
        self._terminal.send("\x1b")
        self._shows("Request cancelled")

    def interrupt(self) -> None:
        """Leave: nothing less ends a hook."""
        self._terminal.send("\x03")
        self._shows("Press Ctrl+C again")
        self._terminal.send("\x03")

    def gone(self) -> str:
        if self._terminal.isalive():
            return ""
        screen = "\n".join(line for line in self._screen.display if line.strip())
        return f"the client has ended; its terminal showed:\n{screen}"

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._terminal.pid, signal.SIGKILL)
        self._reader.join(PATIENCE)
        self._terminal.close(force=True)

    def _shows(self, text: str) -> None:
        self.until(lambda: any(text in line for line in self._screen.display), f"the terminal shows {text!r}")

    def _draw(self) -> None:
        """Read what is drawn, for a terminal that is not read from holds its program up."""
        with contextlib.suppress(pexpect.EOF, OSError, ValueError):
            while True:
                with contextlib.suppress(pexpect.TIMEOUT):
                    self._drawing.feed(self._terminal.read_nonblocking(1 << 16, timeout=1))


class GeminiInAnEditor(Piped):
    """Gemini CLI as editors start it."""

    def start(self) -> None:
        self._session = ""
        super().start()
        self._request(1, "initialize", protocolVersion=1, clientCapabilities={})
        self._request(2, "session/new", cwd=str(self.home.project), mcpServers=[])
        self.until(lambda: self._session, "a session is there")

    def command(self) -> list[str]:
        return [str(GeminiCli().program), "--acp", *OPTIONS]

    def environment(self) -> dict[str, str]:
        return environment(self)

    def heard(self, message: dict[str, Any]) -> None:
        self._session = (message.get("result") or {}).get("sessionId") or self._session

    def write(self, text: str) -> None:
        self._request(3, "session/prompt", sessionId=self._session, prompt=[{"type": "text", "text": text}])

    def interrupt(self) -> None:
        notice = {"method": "session/cancel", "params": {"sessionId": self._session}}
        self.send({"jsonrpc": "2.0"} | notice)

    def _request(self, number: int, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


class GeminiCli(Client):
    harness = "gemini-cli"
    session = GeminiSession
    apart = False

    @property
    def program(self) -> Path:
        return CACHE / "gemini-cli" / "node_modules" / ".bin" / "gemini"

    def prepare(self, home: Home, model: Model) -> None:
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "general": {"disableAutoUpdate": True},
            "model": {"disableLoopDetection": True},
        }
        home.write(".gemini/settings.json", "// as its user wrote it\n" + json.dumps(settings, indent=4) + "\n")

    def shell(self, command: str, number: int) -> Call:
        return "run_shell_command", {"command": command, "description": f"attempt {number}"}

    def delegate(self, word: str) -> Call:
        return "invoke_agent", {"agent_name": "generalist", "prompt": f"{word}, please"}
