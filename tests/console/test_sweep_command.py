"""``breaker sweep`` as a person and a script run it."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from console.sweep_plot import PlotError, check
from tests.console.commands import Ran
from tests.engine.sessions_data import session
from tests.engine.transcripts.recordings import recording


def loop(calls: int) -> bytes:
    """A session of so many calls that are one and the same."""
    return session([{"type": "call", "tool": "lookup", "args": {"path": "/srv/x"}, "result": {}}] * calls)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Sessions that loop for long, for a while, and not at all."""
    for name, calls in (("long", 30), ("short", 8), ("none", 2)):
        (tmp_path / f"{name}.jsonl").write_bytes(loop(calls))
    return tmp_path


def sessions_in(runs: Path) -> list[Path]:
    return sorted(runs.glob("*.jsonl"))


def test_a_table_a_person_reads(runs: Path):
    run = Ran("sweep", *sessions_in(runs), "--limits.exact", "6,12", "--warnAt", "3..4", home=runs)
    assert run.code == 0
    assert run.err == ""
    head, *rows = [line.split("  ") for line in run.out.splitlines()[1:]]
    assert run.out.splitlines()[0] == "3 sessions, 40 calls, 4 combinations"
    assert [cell.strip() for cell in head if cell.strip()] == [
        *("limits.exact", "warnAt"),
        *("advised", "asked", "refused", "calls refused", "earliest gate"),
    ]
    table = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert table == [
        ["6", "3", "2", "2", "2", "28", "call 6"],
        ["6", "4", "2", "2", "2", "28", "call 6"],
        ["12", "3", "2", "1", "1", "19", "call 12"],
        ["12", "4", "2", "1", "1", "19", "call 12"],
    ]


def test_without_a_range_it_judges_as_configured(runs: Path):
    (runs / "strict.yaml").write_text("limits: {exact: 3}\n")
    found = Ran("sweep", *sessions_in(runs), "--config", "strict.yaml", "--json", home=runs).json()["combinations"]
    assert len(found) == 1
    assert (found[0]["values"], found[0]["sessions"], found[0]["refused"]) == ({}, 3, 2)
    assert found[0]["earliest_gate"]["call"] == 3


def test_csv_and_json_say_the_same(runs: Path):
    run = Ran("sweep", *sessions_in(runs), "--failLimit", "3,off", "--json", "--csv", "out.csv", home=runs)
    rows = list(csv.DictReader(io.StringIO((runs / "out.csv").read_text())))
    found = run.json()["combinations"]
    assert [row["failLimit"] for row in rows] == ["3", "off"]
    for row, one in zip(rows, found, strict=True):
        assert one["values"] == {"failLimit": None if row["failLimit"] == "off" else int(row["failLimit"])}
        for name in ("sessions", "advised", "asked", "refused", "calls", "calls_refused"):
            assert int(row[name]) == one[name]
        assert row["earliest_gate_session"].endswith("long.jsonl")
    assert run.err == "written to out.csv\n"


@pytest.mark.parametrize("answers", ["approve", "reject", "unavailable"])
def test_answers(runs: Path, answers: str):
    (one,) = Ran("sweep", *sessions_in(runs), "--answers", answers, "--json", home=runs).json()["combinations"]
    assert one["asked"] == 1
    assert one["refused"] == (0 if answers == "approve" else 1)


def test_transcripts_of_every_harness(tmp_path: Path):
    paths = [path for name in ("claude-code", "codex", "dsh") for path in sorted(recording(name).glob("loop.*"))]
    run = Ran("sweep", *paths, "--failLimit", "3..5", "--json", home=tmp_path)
    assert [one["calls_refused"] for one in run.json()["combinations"]] == [18, 15, 12]
    assert all(one["sessions"] == one["refused"] == 3 for one in run.json()["combinations"])


def test_a_limit_without_an_option(runs: Path):
    calls = [{"type": "call", "tool": "bash", "args": {"command": f"make {number}"}} for number in range(9)]
    (runs / "make.jsonl").write_bytes(session(calls))
    run = Ran("sweep", runs / "make.jsonl", "--vary", "limits.verb:make=4,off", "--json", home=runs)
    assert [one["calls_refused"] for one in run.json()["combinations"]] == [6, 0]


def test_labels_say_what_is_caught_and_which_are_best(runs: Path):
    (runs / "labels.csv").write_text("long,stuck\nshort,good\nnone,good\nnobody,good\n")
    asked = ("--limits.exact", "6,12,off", "--labels", "labels.csv")
    run = Ran("sweep", *sessions_in(runs), *asked, "--json", "--csv", "out.csv", home=runs)
    found = run.json()["combinations"]
    assert [(one["caught"], one["stuck"], one["false_alarms"], one["good"], one["best"]) for one in found] == [
        (1, 1, 1, 2, False),
        (1, 1, 0, 2, True),
        (0, 1, 0, 2, False),
    ]
    assert "no such session: nobody" in run.err
    assert (runs / "out.csv").read_text().splitlines()[2].endswith(",1,1,2,0,1")
    table = Ran("sweep", *sessions_in(runs), *asked, home=runs).out
    first = table.splitlines()[2].split()
    assert first[:4] == ["12", "*", "1/1", "0/2"], "the best come first"


@pytest.mark.parametrize("labelled", [False, True])
def test_plots(runs: Path, labelled: bool):
    (runs / "labels.csv").write_text("long,stuck\nshort,good\nnone,good\n")
    labels = ("--labels", "labels.csv") if labelled else ()
    ranges = ("--limits.exact", "6,12,off", "--warnAt", "3..5", "--vary", "limits.verb:$x=3,4")
    for name in ("out.png", "out.svg"):
        run = Ran("sweep", *sessions_in(runs), *ranges, *labels, "--plot", name, home=runs)
        assert run.code == 0, run.err
    assert (runs / "out.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    drawn = ET.fromstring((runs / "out.svg").read_text())
    texts = " ".join(text for element in drawn.iter() if (text := (element.text or "").strip()))
    assert ("stuck sessions" in texts) is labelled
    assert ("warnAt" in texts) is True
    assert ("off" in texts) is not labelled


def test_a_plot_of_no_ranges(runs: Path):
    assert Ran("sweep", *sessions_in(runs), "--plot", "out.png", home=runs).code == 0


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr("console.sweep_plot.find_spec", lambda _: None)
    with pytest.raises(PlotError, match=r"pip install 'repeat-tool-breaker\[plot\]'"):
        check(tmp_path / "out.png")


def test_nobody_who_draws_nothing_imports_matplotlib(runs: Path):
    script = "import sys; from console.cli import main\ntry: main()\nfinally: assert 'matplotlib' not in sys.modules"
    import subprocess  # noqa: PLC0415 - only here

    done = subprocess.run(
        [sys.executable, "-c", script, "sweep", *map(str, sessions_in(runs)), "--json"],
        capture_output=True,
        cwd=Path(__file__).parent.parent.parent,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--warnAt", "x"], "no range"),
        (["--warnAt", "9..3"], "empty range"),
        (["--limits.exact", "1"], "limits.exact"),
        (["--vary", "limits.exakt=3"], "exakt"),
        (["--vary", "nothing"], "KEY=RANGE"),
        (["--plot", "out.pdf"], ".png or .svg"),
        (["--plot", "nowhere/out.png"], "no directory"),
        (["--labels", "gone.csv"], "cannot be read"),
        (["--csv", "nowhere/out.csv"], "no directory"),
        (["--config", "gone.yaml"], "gone.yaml"),
    ],
)
def test_what_cannot_be_used_is_told(runs: Path, options: list[str], words: str):
    run = Ran("sweep", *sessions_in(runs), *options, home=runs)
    assert run.code == 2
    assert words in run.err
    assert run.out == ""


def test_files_that_cannot_be_read_are_told_and_the_others_judged(runs: Path):
    (runs / "notes.md").write_text("# Notes\n\nwords\n")
    (runs / "torn.jsonl").write_bytes(loop(14) + b'{"type":"call","to')
    run = Ran("sweep", *sessions_in(runs), runs / "notes.md", runs / "gone.jsonl", "--json", home=runs)
    assert run.code == 0
    assert run.json()["combinations"][0]["sessions"] == 4
    assert "notes.md: not a session: it looks like a Markdown document" in run.err
    assert "gone.jsonl: cannot be read: No such file or directory" in run.err
    assert "passed over: 1 damaged line, 0 lines of an unknown type" in run.err


def test_nothing_that_can_be_read_is_a_failure(runs: Path):
    (runs / "notes.md").write_text("# Notes\n\nwords\n")
    run = Ran("sweep", runs / "notes.md", home=runs)
    assert run.code == 2
    assert run.out == ""


def test_hostile_names_reach_no_terminal(runs: Path):
    evil = runs / "a\x1b]0;owned\x07.jsonl"
    shutil.copyfile(runs / "long.jsonl", evil)
    formula = runs / "=cmd|calc.jsonl"
    shutil.copyfile(runs / "long.jsonl", formula)
    run = Ran("sweep", evil, "=cmd|calc.jsonl", runs / "gone\x1b[2J", "--json", "--csv", "out.csv", home=runs)
    assert b"\x1b" not in run.raw
    assert "\x1b" not in run.err
    assert json.loads(run.out)["combinations"][0]["earliest_gate"]["session"] == str(evil)
    assert "\x1b" not in (runs / "out.csv").read_text()
    run = Ran("sweep", "=cmd|calc.jsonl", "--csv", "out.csv", home=runs)
    assert "'=cmd|calc.jsonl" in (runs / "out.csv").read_text()


def test_the_sub_agents_of_a_session_are_not_counted_twice(tmp_path: Path):
    main = recording("claude-code/sub-agent.jsonl")
    beside = next(recording("claude-code/sub-agent/subagents").glob("*.jsonl"))
    (one,) = Ran("sweep", main, beside, "--json", home=tmp_path).json()["combinations"]
    assert (one["sessions"], one["calls"]) == (1, 5)
