"""The real clients, one class each: how it is prepared, spoken to and interrupted. All of them are driven alike.

They are installed into ``.cache/clients`` (``make test-clients``), or wherever ``$BREAKER_CLIENTS`` says.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pexpect
import pyte

from engine.harnesses.codex_trust import trust_hash, trust_key
from engine.harnesses.settings import handlers_in
from tests.clients.model import Model
from tests.console.terminal import Screen
from tests.engine.sockets import ROOT

CACHE = Path(os.environ.get("BREAKER_CLIENTS") or ROOT / ".cache" / "clients")

PATIENCE = 150.0
"""Seconds; a client takes a while to start on a machine with other things to do."""
EMPTY_INPUT = "Type your message"
"""What stands in Gemini CLI's input line when nothing does."""

Call = tuple[str, Mapping[str, Any]]


def until(holds: Callable[[], Any], what: str) -> Any:
    """What ``holds`` gives once it gives something true; fails when that takes too long for any client."""
    give_up = time.monotonic() + PATIENCE
    while not (found := holds()):
        if time.monotonic() > give_up:
            raise AssertionError(f"never came true: {what}")
        time.sleep(0.02)
    return found


class Home:
    """A user's home, with a project, for one client."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = root / "project"
        self.project.mkdir()

    def environment(self, **more: str) -> dict[str, str]:
        """What a client's process gets to know: nothing of this one's."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.root), "LANG": "C.UTF-8", "TERM": "xterm-256color", **more}

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Session(ABC):
    """One session of a client, from ``with`` to its end, and the human in front of it."""

    def __init__(self, home: Home, model: Model) -> None:
        self.home = home
        self.model = model

    def __enter__(self) -> Session:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def tell(self, word: str) -> None:
        """Write a message with this word to the agent, and wait until the model has come to its script's end."""
        before = self.model.ended(word)
        self.write(f"{word}, please")
        until(lambda: self.model.ended(word) > before, f"the model comes to the end of {word}")

    @abstractmethod
    def start(self) -> None:
        """Start the client."""

    @abstractmethod
    def write(self, text: str) -> None:
        """Write a message to the agent."""

    @abstractmethod
    def interrupt(self) -> None:
        """Do what a human does who wants the agent to stop."""

    @abstractmethod
    def stop(self) -> None:
        """End the client and whatever it started."""


class Client(ABC):
    """A client. ``delegate`` is what its model calls to start a sub-agent that is given ``word``; None: it has none
    that could be told apart."""

    harness: ClassVar[str]
    session: ClassVar[type[Session]]

    @property
    @abstractmethod
    def program(self) -> Path:
        """What is started; it tells whether the client is installed."""

    def prepare(self, home: Home, model: Model) -> None:  # noqa: B027 - some have none
        """Write the client's own settings, before anything is installed."""

    def approve(self, home: Home) -> None:  # noqa: B027 - most need nothing
        """Do by hand what installing leaves to do."""

    @abstractmethod
    def shell(self, command: str, number: int) -> Call:
        """The call that runs this command."""

    def delegate(self, word: str) -> Call | None:
        return None


class Piped(Session):
    """A session over a pipe, a JSON object a line in both directions."""

    def start(self) -> None:
        self.said: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            self.command(),
            cwd=self.home.project,
            env=self.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def command(self) -> list[str]:
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        raise NotImplementedError

    def send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def heard(self, message: dict[str, Any]) -> None:
        """The client has said this."""

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join(PATIENCE)
        assert self._process.stdin
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as stdout:
            for line in stdout:
                with contextlib.suppress(ValueError):
                    self.heard(json.loads(line))


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
        super().start()
        self._thread = ""
        self._turn = ""
        self.send({"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test", "version": "1"}}})
        self.send({"method": "initialized"})
        terms = {"cwd": str(self.home.project), "approvalPolicy": "never", "sandbox": "danger-full-access"}
        self.send({"id": 2, "method": "thread/start", "params": terms})
        until(lambda: self._thread, "a thread is started")

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


# -- Gemini CLI -------------------------------------------------------------------------------------------------


class GeminiSession(Session):
    """The terminal: over the protocol for editors (``--acp``) Gemini CLI runs no hooks before a call."""

    def start(self) -> None:
        environment = self.home.environment(GEMINI_API_KEY="none", GOOGLE_GEMINI_BASE_URL=self.model.url)
        self._terminal = pexpect.spawn(
            str(GeminiCli().program),
            ["--approval-mode", "yolo", "--skip-trust"],
            cwd=str(self.home.project),
            env=environment,
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

    def interrupt(self) -> None:
        """Leave. Escape calls the request off, but neither ends the hook nor lets anything else begin before it."""
        self._terminal.send("\x03")
        self._shows("Press Ctrl+C again")
        self._terminal.send("\x03")

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._terminal.pid, signal.SIGKILL)
        self._reader.join(PATIENCE)
        self._terminal.close(force=True)

    def _shows(self, text: str) -> None:
        until(lambda: any(text in line for line in self._screen.display), f"the terminal shows {text!r}")

    def _draw(self) -> None:
        """Read what is drawn, for a terminal that is not read from holds its program up."""
        with contextlib.suppress(pexpect.EOF, OSError, ValueError):
            while True:
                with contextlib.suppress(pexpect.TIMEOUT):
                    self._drawing.feed(self._terminal.read_nonblocking(1 << 16, timeout=1))


class GeminiCli(Client):
    harness = "gemini-cli"
    session = GeminiSession

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


CLIENTS: tuple[Client, ...] = (ClaudeCode(), Codex(), GeminiCli())
