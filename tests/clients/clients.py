"""The real clients, all of which are driven alike.

They are installed into ``.cache/clients`` (``make test-clients``), or wherever ``$BREAKER_CLIENTS`` says.
"""

from __future__ import annotations

from tests.clients.bridged import Dsh, Opencode
from tests.clients.gemini import GeminiCli
from tests.clients.hooked import ClaudeCode, Codex
from tests.clients.sessions import Client

CLIENTS: tuple[Client, ...] = (ClaudeCode(), Codex(), GeminiCli(), Opencode(), Dsh())
