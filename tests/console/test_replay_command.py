"""``breaker replay`` as a person and a script run it: a real process each time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.console.terminal import Terminal
from tests.engine.sessions_data import rows, session, verdict_of

ROOT = Path(__file__).parent.parent.parent
PROGRAM = [sys.executable, "-c", "from console.cli import main; main()", "replay"]

LOOP = [
    {"type": "call", "id": f"c{number}", "agent": "a1", "tool": "lookup", "args": {"path": "/srv/x"}, "result": {}}
    for number in range(1, 14)
]


class Run:
    """A finished run: exit code, standard output and error."""

    def __init__(self, *arguments: str | Path, given: bytes = b"", home: Path) -> None:
        environment = {
            **{name: value for name, value in os.environ.items() if name != "BREAKER_CONFIG"},
            "XDG_CONFIG_HOME": str(home),
            "COLUMNS": "100",
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        }
        command = [*PROGRAM, *map(str, arguments)]
        done = subprocess.run(
            command, input=given, capture_output=True, timeout=120, check=False, env=environment, cwd=home
        )
        self.code = done.returncode
        self.raw = done.stdout
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()

    def json(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


def written(directory: Path, name: str, content: bytes | dict[str, Any]) -> Path:
    """A file with this content; a configuration is written as JSON, which is YAML."""
    path = directory / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def test_a_table_a_person_reads(tmp_path: Path):
    run = Run(written(tmp_path, "loop.jsonl", session(LOOP)), home=tmp_path)
    assert run.code == 3
    assert run.err == ""
    lines = run.out.splitlines()
    assert lines[0].split() == ["call", "id", "agent", "tool,", "argument", "verdict"]
    assert lines[1].split() == ["1", "c1", "a1", "lookup", "/srv/x", "allowed"]
    seventh = next(index for index, line in enumerate(lines) if line.split()[:2] == ["7", "c7"])
    assert lines[seventh + 1].split()[:4] == ["advised", "warn", "at", "7"]
    twelfth = next(index for index, line in enumerate(lines) if line.split()[:2] == ["12", "c12"])
    assert lines[twelfth].endswith("REFUSED")
    assert lines[twelfth + 1].split()[:3] == ["hit", "12/12", "calls"]
    assert lines[twelfth + 2].split(maxsplit=1) == ["asked", "nobody was there to answer"]
    assert "13 calls by 1 agent: 11 allowed, 2 refused, 1 asked about." in lines
    assert lines[-1] == "First refused: call 12 (c12), line 12."
    assert all(len(line) <= 100 for line in lines)


def test_the_documented_json(tmp_path: Path):
    run = Run("-", "--json", given=session(LOOP), home=tmp_path)
    assert run.code == 3
    calls = run.json()
    assert len(calls) == 13
    assert calls[11] == {
        "id": "c12",
        "agent": "a1",
        "verdict": "deny",
        "asked": True,
        "outcome": "unattended",
        "hits": [{"track": "repeat", "fp": calls[11]["hits"][0]["fp"], "count": 12, "cap": 12}],
        "advisories": [],
    }
    assert calls[6]["advisories"] == [{"stage": "warn", "fp": calls[11]["hits"][0]["fp"], "count": 7}]


@pytest.mark.parametrize(("answer", "code"), [("approve", 0), ("reject", 3), ("unavailable", 3)])
def test_answers_from_the_command_line(answer: str, code: int, tmp_path: Path):
    run = Run("-", "--json", "--answers", answer, given=session(LOOP), home=tmp_path)
    assert run.code == code
    assert run.json()[11]["outcome"] == {"approve": "approved", "reject": "rejected"}.get(answer, "unattended")


def test_a_quiet_session_ends_well(tmp_path: Path):
    run = Run("-", given=session(LOOP[:3]), home=tmp_path)
    assert run.code == 0
    assert "3 calls by 1 agent: 3 allowed, 0 refused, 0 asked about." in run.out


def test_the_configuration_named_is_the_one_that_judges(tmp_path: Path):
    config = written(tmp_path, "breaker.yaml", b"onLimit: deny\nlimits:\n  exact: 3\n")
    run = Run("-", "--json", "--config", config, given=session(LOOP), home=tmp_path)
    assert [call["verdict"] for call in run.json()] == ["allow"] * 2 + ["deny"] * 11


@pytest.mark.parametrize(
    ("config", "words"),
    [(b"limits:\n  exact: 1\n", "limits.exact"), (b"windw: 4\n", "windw"), (None, "no-such-file")],
)
def test_a_configuration_that_cannot_be_used(config: bytes | None, words: str, tmp_path: Path):
    path = tmp_path / "no-such-file.yaml" if config is None else written(tmp_path, "breaker.yaml", config)
    run = Run("-", "--config", path, given=session(LOOP), home=tmp_path)
    assert run.code == 2
    assert words in run.err
    assert "Traceback" not in run.err


def test_damaged_lines_are_named_and_the_rest_is_replayed(tmp_path: Path):
    content = session(LOOP[:2]) + b"\xff\xfe\n{\n" + b'{"type":"comment"}\n' + session(LOOP[2:3]) + b'{"type":"ca'
    path = written(tmp_path, "torn.jsonl", content)
    run = Run(path, "--json", home=tmp_path)
    assert run.code == 0
    assert [call["id"] for call in run.json()] == ["c1", "c2", "c3"]
    assert run.err.splitlines() == [
        f"{path}, line 3: passed over, not UTF-8: byte 0xff at column 1",
        f"{path}, line 4: passed over, not JSON: expecting property name enclosed in double quotes at column 2",
        f"{path}, line 7: passed over, the file ends in the middle of this line",
        "1 line of an unknown type passed over: comment (1)",
    ]


def test_many_damaged_lines_are_counted(tmp_path: Path):
    run = Run("-", "--json", given=session(LOOP[:1]) + b"{\n" * 500, home=tmp_path)
    assert run.code == 0
    assert len(run.err.splitlines()) == 101
    assert run.err.endswith("and 400 more damaged lines\n")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "an empty file"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 100, "a PNG image"),
        (b"id,name\n1,ls\n", "comma-separated values"),
        (b"# Read me\n\nWords.\n", "a Markdown document"),
        (b'{"type":"user"}\n', "JSON lines of another kind"),
    ],
)
def test_a_file_that_is_no_session_is_one_clear_error(content: bytes, words: str, tmp_path: Path):
    for run in (Run(written(tmp_path, "file", content), home=tmp_path), Run("-", given=content, home=tmp_path)):
        assert run.code == 2
        assert run.out == ""
        assert words in run.err.splitlines()[-1]
        assert "Traceback" not in run.err


def test_a_file_that_cannot_be_read(tmp_path: Path):
    for path in (tmp_path / "missing.jsonl", tmp_path):
        run = Run(path, home=tmp_path)
        assert run.code == 2
        assert run.err.startswith(f"breaker replay: cannot read {path}: ")


def test_help_says_how(tmp_path: Path):
    run = Run("--help", home=tmp_path)
    assert run.code == 0
    assert "breaker replay session.jsonl" in run.out
    assert "Exits with 3" in run.out


HOSTILE = [
    {
        "type": "call",
        "id": "\x1b]0;owned\x07",
        "agent": "\u202eagent\ud800",
        "tool": "ba\x9bsh\x7f",
        "args": {"command": "\x1b[2J\x1b[31m\r\n\u200b[bold]x[/bold]"},
        "result": {"isError": True, "error": {"code": "\x1b[5m"}},
    }
    for _ in range(13)
]
CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_nothing_an_agent_wrote_reaches_the_terminal_raw(option: tuple[str, ...], tmp_path: Path):
    given = session(HOSTILE) + b'{"type":"\\u001b[31mred"}\n{"type":"call","tool":"x","answer":"\\u001b[2J"}\n'
    run = Run("-", *option, given=given, home=tmp_path)
    assert run.code == 3
    assert not CONTROLS.search(run.out)
    assert not CONTROLS.search(run.err)


def test_a_real_terminal_is_left_as_it_was(tmp_path: Path):
    path = written(tmp_path, "hostile.jsonl", session(HOSTILE))
    environment = {
        "PYTHONPATH": str(ROOT) + os.pathsep + os.environ.get("PYTHONPATH", ""),
        "XDG_CONFIG_HOME": str(tmp_path),
    }
    with Terminal([*PROGRAM, str(path)], columns=80, rows=60, environment=environment) as terminal:
        assert terminal.wait_for_exit() == 3
        assert terminal.titles == []
        assert terminal.bells == 0
        assert "\x1b" not in terminal.written
        assert "REFUSED" in terminal.screen()


def test_a_reader_that_goes_away_is_no_fault(tmp_path: Path):
    path = written(tmp_path, "long.jsonl", session(LOOP * 500))
    command = " ".join(f"'{part}'" for part in [*PROGRAM, str(path)]) + " | head -1"
    environment = {**os.environ, "PYTHONPATH": str(ROOT) + os.pathsep + os.environ.get("PYTHONPATH", "")}
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert len(done.stdout.splitlines()) == 1
    assert "Traceback" not in done.stderr


TRACES = [row for row in rows("traces.jsonl") if isinstance(row["answers"], str)][::12]


@pytest.mark.parametrize("trace", TRACES, ids=[row["name"] for row in TRACES])
def test_traces_through_the_command(trace: dict[str, Any], tmp_path: Path):
    config = written(tmp_path, "config.yaml", trace["config"])
    answers = "unavailable" if trace["answers"] == "none" else trace["answers"]
    run = Run("-", "--json", "--config", config, "--answers", answers, given=session(trace["events"]), home=tmp_path)
    expected = trace["expected"]
    assert run.code == (3 if any(call["verdict"] == "deny" for call in expected) else 0)
    assert [verdict_of(call, like) for call, like in zip(run.json(), expected, strict=True)] == [
        verdict_of(like, like) for like in expected
    ]


def test_a_case_whose_configuration_is_refused(tmp_path: Path):
    (case,) = [row for row in rows("cases.jsonl") if row["expected"]["first_block"] == "config_error"]
    config = written(tmp_path, "config.yaml", case["config"])
    run = Run("-", "--config", config, given=session(case["events"]), home=tmp_path)
    assert run.code == 2
    assert "limits.exact" in run.err
