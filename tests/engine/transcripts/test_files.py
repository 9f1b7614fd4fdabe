"""Sessions on disk: what belongs together, and what was written last."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from engine.session_items import CallLine
from engine.transcripts import files
from engine.transcripts.files import NoneFoundError, newest, read_session_file, sessions_of, size_of, sub_agents_of
from tests.engine.transcripts.recordings import items, recording, told

SESSION = recording("claude-code/sub-agent.jsonl")
SUB_AGENT = next(recording("claude-code/sub-agent/subagents").glob("*.jsonl"))


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the harnesses keep their transcripts."""
    for variable, name in (("CLAUDE_CONFIG_DIR", "claude"), ("CODEX_HOME", "codex"), ("DSH_HOME", "dsh")):
        monkeypatch.setenv(variable, str(tmp_path / name))
    return tmp_path


def put(source: Path, to: Path, at: int) -> Path:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, to)
    os.utime(to, (at, at))
    return to


def test_a_sub_agents_file_belongs_to_its_session():
    assert sub_agents_of(SESSION) == [SUB_AGENT]
    assert sessions_of([SUB_AGENT, SESSION]) == [SESSION]
    assert sessions_of([SUB_AGENT]) == [SUB_AGENT]
    assert size_of(SESSION) == SESSION.stat().st_size + SUB_AGENT.stat().st_size


def test_more_sub_agents_than_can_be_read_side_by_side(monkeypatch: pytest.MonkeyPatch):
    """The order between agents is another then; within each it is the same."""
    side_by_side = items(SESSION)
    monkeypatch.setattr(files, "SIDE_BY_SIDE", 0)
    one_by_one = items(SESSION)
    assert sorted(told(one_by_one)) == sorted(told(side_by_side))
    for agent in {item.agent for item in side_by_side if isinstance(item, CallLine)}:
        assert [item for item in one_by_one if getattr(item, "agent", "") == agent] == [
            item for item in side_by_side if getattr(item, "agent", "") == agent
        ]


def test_what_was_taken_is_told():
    taken: list[int] = []
    list(read_session_file(SESSION, taken.append))
    assert sum(taken) == size_of(SESSION)


def test_the_newest_of_each_harness_and_of_any(homes: Path):
    claude = put(SESSION, homes / "claude/projects/-home-dev/7c69.jsonl", 3000)
    put(SUB_AGENT, homes / "claude/projects/-home-dev/7c69/subagents/agent-a6.jsonl", 9000)
    put(SESSION, homes / "claude/projects/-home-dev/older.jsonl", 1000)
    codex = put(recording("codex/loop.jsonl"), homes / "codex/sessions/2026/01/31/rollout-x.jsonl", 2000)
    dsh = put(recording("dsh/loop.jsonl.zstd"), homes / "dsh/sessions/--home--/s1/session.jsonl.zstd", 4000)
    assert newest("claude-code") == claude
    assert newest("codex") == codex
    assert newest("dsh") == dsh
    assert newest() == dsh


def test_nothing_there_is_told_with_the_place(homes: Path):
    with pytest.raises(NoneFoundError, match=str(homes / "codex" / "sessions")):
        newest("codex")
