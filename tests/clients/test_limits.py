"""What a client does not let its hooks do, as the README says. What fails here has been mended, and can be guarded."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from engine.events import AskClosed, AskOpened, CallSeen, TurnStarted
from engine.harnesses.jsonc import Liberty
from engine.harnesses.known import HARNESSES
from tests.clients.gemini import GeminiCli, GeminiInAnEditor, GeminiSession
from tests.clients.hooked import ClaudeCode, Codex
from tests.clients.model import Step
from tests.clients.scenes import SAME, again, scene, without_engine
from tests.clients.sessions import Client, until

pytestmark = pytest.mark.clients

only_gemini_cli = pytest.mark.parametrize("client", [GeminiCli()], indirect=True, ids=["gemini-cli"])
SETTINGS = {"claude-code": "project/.claude/settings.local.json", "codex": ".codex/hooks.json"}
LIBERTIES: Mapping[Liberty, Callable[[str], str]] = {
    "comments": lambda text: f"// mine\n{text}",
    "trailing commas": lambda text: f"{text.rstrip().removesuffix('}')},}}",
    "the same key twice": lambda text: text.replace("{", '{"hooks": {},', 1),
    "a byte order mark": lambda text: f"\ufeff{text}",
}


@only_gemini_cli
def test_gemini_cli_runs_no_hooks_around_tools_in_an_editor(client: Client, root: Path) -> None:
    with scene(client, root, {"WORK": again(client, SAME, 13)}) as found:
        with GeminiInAnEditor(found.home, found.model) as session:
            session.tell("WORK")
        assert found.ran == 13
        assert found.of(TurnStarted)
        assert not found.of(CallSeen)


@only_gemini_cli
def test_gemini_cli_lets_a_hook_go_on_after_escape(client: Client, root: Path) -> None:
    """What is approved after that does not run."""
    scripts = {"WORK": again(client, SAME, 13), "MORE": again(client, SAME, 1)}
    with scene(client, root, scripts) as found, found.session() as session:
        assert found.host
        assert isinstance(session, GeminiSession)
        with contextlib.closing(found.host.operator()) as operator:
            session.write("WORK, please")
            (opened,) = session.until(lambda: found.of(AskOpened), "the operator is asked")
            session.escape()
            session.queue("MORE, please")
            assert not found.of(AskClosed)
            operator.answer(opened.ask.id, "approved")
            session.until(lambda: found.model.ended("MORE"), "the message that waited is answered")
            assert [closed.outcome for closed in found.of(AskClosed)] == ["approved"]
        assert found.ran == 12


@only_gemini_cli
def test_gemini_cli_counts_a_sub_agent_with_the_main_agent(client: Client, root: Path) -> None:
    scripts = {"WORK": [*again(client, SAME, 6), Step(client.delegate("PART"))], "PART": again(client, SAME, 6, 20)}
    with scene(client, root, scripts) as found, found.session() as session:
        session.write("WORK, please")
        until(lambda: found.model.ended("PART"), "the sub-agent comes to its end")
        assert found.ran == 11
        assert len({call.agent for call in found.of(CallSeen)}) == 1


@pytest.mark.parametrize("client", [ClaudeCode(), Codex()], indirect=True, ids=["claude-code", "codex"])
@pytest.mark.parametrize("liberty", [*LIBERTIES, ""])
def test_settings_are_skipped_for_the_liberties_they_take(client: Client, root: Path, liberty: Liberty) -> None:
    """Without a word, so installing and the doctor must say it. Gemini CLI does not start with such settings."""
    harness = HARNESSES[client.harness]
    with without_engine(client, root, 1, "--fail-closed") as found:
        path = root / SETTINGS[client.harness]
        path.write_text(LIBERTIES[liberty](path.read_text()) if liberty else path.read_text())
        with found.session() as session:
            session.tell("WORK")
        assert found.ran == (0 if not liberty or liberty in harness.liberties else 1)
