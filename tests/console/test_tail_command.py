"""``breaker tail`` on what harnesses write: nobody is asked, and everything says "would have"."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.plain_lines import Lines
from console.sources import TranscriptSource
from console.state import State, reduce
from engine.config import DEFAULTS
from engine.configuration.file import from_mapping
from engine.events import CallSeen, Event, Notice, Snapshot
from engine.replay import replay_events
from engine.session_items import Damaged, Unknown
from tests.console.commands import PROGRAM, ROOT, Ran
from tests.engine.transcripts.recordings import items, recording

SECONDS = 60
LOOP = recording("claude-code/loop.jsonl")


def events_of(path: Path) -> list[Event | Snapshot]:
    found = replay_events(items(path), attended=False)
    return [event for event in found if not isinstance(event, Damaged | Unknown)]


# -- what is on the screen ----------------------------------------------------------------------------------------


def test_the_screen_says_what_a_breaker_would_have_done():
    state = State()
    reduce(state, events_of(LOOP))
    rows = [row for row in state.stream.since(0, 1000) if row.kind == "call"]
    words = [row.status.partition(" · ")[0] for row in rows]
    assert words == [*["failed"] * 5, "would have asked", *["would have refused"] * 3]
    assert [row.brief for row in rows][5:7] == ["would have asked", "would have refused"]
    assert all(row.phase == "refused" for row in rows[5:]), "a filter finds them as it finds refused calls"
    (agent,) = list(state.agents)
    assert not agent.blocked, "nobody stopped it"
    assert not state.asks


def test_counters_and_stages_are_those_of_a_live_engine():
    events = events_of(LOOP)
    watched, live = State(), State()
    reduce(watched, events)
    reduce(live, [event for event in events if not isinstance(event, Snapshot)])

    def measures(state: State) -> dict[str, tuple[int, int, str]]:
        (agent,) = list(state.agents)
        return {name: (one.count, one.streak, one.stage(state.thresholds)) for name, one in agent.measures.items()}

    assert measures(watched) == measures(live)
    assert max(count for count, _, _ in measures(watched).values()) == 9


def test_the_line_mode_says_so_too():
    lines = Lines(answers=False)
    said = "\n".join(lines.told(events_of(LOOP), 0.0))
    assert "would have asked" in said
    assert "until your next message" not in said
    assert " refused" not in said.replace("would have refused", "")


# -- a source -----------------------------------------------------------------------------------------------------


class Watched:
    """A source, drained until something is there."""

    def __init__(self, source: TranscriptSource) -> None:
        self.source = source
        self.events: list[Event | Snapshot] = []
        source.start()

    def until(self, calls: int) -> list[CallSeen]:
        end = time.monotonic() + SECONDS
        while True:
            self.events += self.source.drain()
            seen = [event for event in self.events if isinstance(event, CallSeen)]
            if len(seen) >= calls:
                return seen
            assert time.monotonic() < end
            time.sleep(0.01)


@pytest.fixture
def sources() -> Iterator[list[TranscriptSource]]:
    begun: list[TranscriptSource] = []
    yield begun
    for one in begun:
        one.close()


def test_a_transcript_being_written_is_watched(tmp_path: Path, sources: list[TranscriptSource]):
    path = tmp_path / "s.jsonl"
    lines = LOOP.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:30]))
    source = TranscriptSource(path, lambda: from_mapping({"failLimit": 3}))
    sources.append(source)
    watched = Watched(source)
    assert isinstance(watched.until(1)[0], CallSeen)
    with path.open("ab") as out:
        out.write(b"half a line\n" + b'{"type":"hologram","sessionId":"s"}\n' * 3 + b"".join(lines[30:]))
    calls = watched.until(9)
    assert [call.verdict for call in calls] == ["allow"] * 3 + ["deny"] * 6
    assert source.observes
    assert source.operator is None
    told = [event.text for event in watched.events if isinstance(event, Notice)]
    assert len(told) == 2
    assert "line 31: passed over, not JSON" in told[0]
    assert "'hologram'" in told[1]


def test_a_source_that_can_show_nothing_says_why(tmp_path: Path, sources: list[TranscriptSource]):
    path = tmp_path / "notes"
    path.write_text("words\n" * 300)
    source = TranscriptSource(path, lambda: DEFAULTS)
    sources.append(source)
    source.start()
    with pytest.raises(ConnectionError, match="plain text"):
        drain_for_ever(source)


def drain_for_ever(source: TranscriptSource) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        source.drain()
        time.sleep(0.01)


# -- the command --------------------------------------------------------------------------------------------------


class Tail:
    """``breaker tail --plain`` in a process of its own; what it printed so far, line by line."""

    def __init__(self, home: Path, *arguments: str | Path, **variables: str) -> None:
        environment = {**os.environ, "XDG_CONFIG_HOME": str(home), "XDG_STATE_HOME": str(home), "HOME": str(home)}
        self.process = subprocess.Popen(
            [*PROGRAM, "tail", *map(str, arguments), "--plain"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=home,
            env={**environment, "PYTHONPATH": str(ROOT), **variables},
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def until(self, words: str) -> None:
        end = time.monotonic() + SECONDS
        while not any(words in line for line in self.lines):
            assert time.monotonic() < end, self.lines
            assert self.process.poll() is None or any(words in line for line in self.lines), self.lines
            time.sleep(0.02)

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        return code


def test_a_path_of_any_format(tmp_path: Path):
    tail = Tail(tmp_path, recording("dsh/loop.jsonl.zstd"))
    tail.until("only watching")
    tail.until("would have asked")
    assert tail.end() == 128 + signal.SIGTERM


@pytest.mark.parametrize(("which", "words"), [(["--latest"], "codex"), (["--latest", "claude-code"], "claude-code")])
def test_the_latest(which: list[str], words: str, tmp_path: Path):
    claude = tmp_path / "claude" / "projects" / "-p" / "s.jsonl"
    codex = tmp_path / "codex" / "sessions" / "2026" / "01" / "31" / "rollout-1.jsonl"
    for source, to, at in ((LOOP, claude, 1000), (recording("codex/loop.jsonl"), codex, 2000)):
        to.parent.mkdir(parents=True)
        shutil.copyfile(source, to)
        os.utime(to, (at, at))
    homes = {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
        "CODEX_HOME": str(tmp_path / "codex"),
        "DSH_HOME": str(tmp_path),
    }
    tail = Tail(tmp_path, *which, **homes)
    tail.until("would have asked")
    assert any(f" {words} " in line for line in tail.lines)
    tail.end()


def test_what_cannot_be_watched_is_told_before_anything_is_shown(tmp_path: Path):
    (tmp_path / "notes.md").write_text("# Notes\n\nwords\n")
    run = Ran("tail", "notes.md", "--plain", home=tmp_path)
    assert (run.code, run.out) == (2, "")
    assert "it looks like a Markdown document" in run.err
    run = Ran("tail", "--latest", "codex", home=tmp_path)
    assert run.code == 2
    assert "no transcript of codex in" in run.err
    assert Ran("tail", "notes.md", "--latest", home=tmp_path).code == 2


def test_the_harnesses_that_can_be_named_are_those_that_are_known():
    from console.commands.tail import ANY, HARNESSES  # noqa: PLC0415 - the command's own list, kept without imports
    from engine.transcripts.files import HARNESSES as KNOWN  # noqa: PLC0415 - as above

    assert set(HARNESSES) == {ANY, *KNOWN}
    assert sys.version_info >= (3, 11)
