"""``breaker replay --console`` as a person runs it: a real process in a real terminal, and what it refuses."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.console.commands import ROOT, Ran
from tests.console.replays import looping
from tests.console.terminal import Terminal
from tests.engine.sessions_data import session
from tests.engine.transcripts.recordings import recording

BREAKER = [sys.executable, "-m", "console"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own: no configuration of whoever runs the tests."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("TZ", "UTC")
    for name in ("BREAKER_CONFIG", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def replaying(*words: str | Path, **options: Any) -> Terminal:
    command = [*BREAKER, "replay", "--console", *map(str, words)]
    return Terminal(command, directory=ROOT, **({"columns": 104, "rows": 32} | options))


def test_from_the_start_to_the_end_and_out(home: Path):
    file = home / "run.jsonl"
    file.write_bytes(session(looping()) + b"half a li")
    with replaying(file) as terminal:
        terminal.wait_for("▶ replay 1×")
        terminal.wait_for("src/station.py")
        terminal.send(" ")
        terminal.wait_for("‖ replay paused")
        terminal.wait_for("! 1 damaged")
        terminal.send("0")
        terminal.wait_for("call 0/")
        terminal.send("\x1b[C")
        terminal.wait_for("call 1/")
        terminal.send("..")
        terminal.wait_for("call 3/")
        terminal.send("\x1b[D")
        terminal.wait_for("call 2/")
        terminal.send("d")
        terminal.wait_for("would have asked")
        terminal.wait_for("◆ gate 1/3")
        terminal.send("d")
        terminal.wait_for("would have refused")
        terminal.send("D")
        terminal.wait_for_absence("would have refused")
        terminal.send("0e")
        terminal.wait_for("✗ failure 1/")
        terminal.send("v")
        terminal.wait_for("△ WARN")
        terminal.send("$")
        terminal.wait_for("passed over")
        terminal.click("⇤")
        terminal.wait_for("call 0/")
        terminal.send("+++++++ ")
        terminal.wait_for("the end")
        terminal.send("q")
        assert terminal.wait_for_exit() == 0
        assert terminal.bells == 0


@pytest.mark.parametrize("name", ["claude-code/loop.jsonl", "codex/loop.jsonl", "dsh/loop.jsonl.zstd"])
def test_what_harnesses_write_is_replayed(name: str):
    with replaying(recording(name), columns=80, rows=24) as terminal:
        terminal.wait_for("‹◆")
        terminal.send(" d")
        terminal.wait_for("would have asked")
        terminal.send("$q")
        assert terminal.wait_for_exit() == 0


def test_a_pipe_is_read_like_a_file(home: Path):
    file = home / "run.jsonl"
    file.write_bytes(session(looping()))
    command = f"{shlex.join(BREAKER)} replay --console <(cat {shlex.quote(str(file))})"
    with Terminal(["bash", "-c", command], directory=ROOT, columns=104, rows=32) as terminal:
        terminal.wait_for("▶ replay")
        terminal.send(" $")
        terminal.wait_for("call 42/42")
        terminal.send("q")
        assert terminal.wait_for_exit() == 0


def test_answers_and_a_configuration_are_taken(home: Path):
    file, config = home / "run.jsonl", home / "strict.yaml"
    file.write_bytes(session(looping()))
    config.write_text("limits: {host: 5}\n")
    with replaying(file, "--answers", "approve", "--config", config) as terminal:
        terminal.wait_for("▶ replay")
        terminal.send(" d")
        terminal.wait_for("approved: host:api.weather.gc.ca")
        terminal.wait_for("∅")
        terminal.send("q")
        assert terminal.wait_for_exit() == 0


def test_without_colour_nothing_is_lost(home: Path):
    file = home / "run.jsonl"
    file.write_bytes(session(looping()))
    with replaying(file, environment={"NO_COLOR": "1"}) as terminal:
        terminal.wait_for("▶ replay")
        terminal.send(" d")
        terminal.wait_for("would have asked")
        timeline = [line for line in terminal.lines() if "top 3 of" in line or "host:api" in line]
        assert any("▼" in line for line in timeline)
        assert any("▂△" in line and "△▲" in line and "▲◆" in line for line in timeline)
        terminal.send("q")
        assert terminal.wait_for_exit() == 0


# -- what is refused before the screen opens ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gone.jsonl"], "cannot read gone.jsonl: No such file or directory"),
        (["notes.md"], "notes.md: not a session: it looks like a Markdown document"),
        (["empty.jsonl"], "empty.jsonl: not a session"),
        (["."], "cannot read .: Is a directory"),
        (["-"], "needs standard input for the keyboard"),
        (["run.jsonl", "--json"], "--json prints, --console draws"),
        (["run.jsonl", "--config", "broken.yaml"], "window"),
        (["run.jsonl", "--answers", "maybe"], "'maybe' is not one of"),
    ],
)
def test_what_cannot_be_replayed_is_told_and_nothing_is_drawn(words: list[str], said: str, home: Path):
    (home / "notes.md").write_text("# Notes\n\nwords\n")
    (home / "empty.jsonl").write_text("")
    (home / "run.jsonl").write_bytes(session(looping()))
    (home / "broken.yaml").write_text("window: 2\n")
    environment = {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [*BREAKER, "replay", "--console", *words]
    with Terminal(command, directory=home, environment=environment, columns=160) as terminal:
        assert terminal.wait_for_exit() == 2
        assert said in " ".join(terminal.screen().split())
        assert "\x1b[?1049h" not in terminal.written, "the screen was never opened"


def test_without_a_terminal_it_says_that_it_needs_one(home: Path):
    (home / "run.jsonl").write_bytes(session(looping()))
    run = Ran("replay", "--console", "run.jsonl", home=home)
    assert (run.code, run.out) == (2, "")
    assert "needs a terminal" in run.err
    run = Ran("replay", "run.jsonl", "--theme", "light", home=home)
    assert run.code == 2
    assert "--theme is for --console" in run.err


def test_the_help_says_how(home: Path):
    run = Ran("replay", "--help", home=home)
    assert "breaker replay --console session.jsonl" in run.out
    assert "jump to the next" in " ".join(run.out.split())


def test_the_table_still_needs_no_toolkit(home: Path):
    file = home / "run.jsonl"
    file.write_bytes(session(looping()))
    script = (
        "import sys\nfrom console.cli import main\n"
        f"try: main(['replay', {str(file)!r}], prog_name='breaker')\n"
        "finally: sys.stderr.write(repr({'textual', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr.endswith("set()")


def test_sub_agents_are_read_along(home: Path):
    shutil.copytree(recording("claude-code/sub-agent"), home / "sub-agent")
    shutil.copyfile(recording("claude-code/sub-agent.jsonl"), home / "sub-agent.jsonl")
    lines = [json.loads(line) for line in (home / "sub-agent.jsonl").read_text().splitlines()]
    assert lines
    with replaying(home / "sub-agent.jsonl") as terminal:
        terminal.wait_for("event ")  # playing, or at its end already: it is that short
        terminal.send("$")
        terminal.wait_for("agents · 2")
        terminal.send("q")
        assert terminal.wait_for_exit() == 0
