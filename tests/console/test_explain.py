"""``breaker explain`` as a person and a script run it, and the comparison behind it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.config import DEFAULTS
from engine.explain import Explainer, NotACallError, Tally, compare

ROOT = Path(__file__).parent.parent.parent
PROGRAM = [sys.executable, "-c", "from console.cli import main; main()", "explain"]
ROWS = [json.loads(line) for line in (ROOT / "tests/data/fingerprints.jsonl").read_text("utf-8").splitlines()]


class Run:
    """A finished run: exit code, standard output and error."""

    def __init__(self, given: bytes, *arguments: str, home: Path) -> None:
        environment = {
            **{name: value for name, value in os.environ.items() if name != "BREAKER_CONFIG"},
            "XDG_CONFIG_HOME": str(home),
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        }
        done = subprocess.run(
            [*PROGRAM, *arguments],
            input=given,
            capture_output=True,
            timeout=120,
            check=False,
            env=environment,
            cwd=home,
        )
        self.code = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()


def calls(*lines: Any) -> bytes:
    return b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)


def bash(command: str, **more: Any) -> dict[str, Any]:
    return {"tool": "bash", "args": {"command": command}, **more}


def test_json_says_what_each_call_is(tmp_path: Path):
    run = Run(
        calls(
            bash("curl http://localhost:3000/x > /srv/out", result={"value": {"exitCode": 7}}),
            {"tool": "read", "args": {"file_path": "/srv/é"}, "result": {"isError": False}},
            {"tool": "todo_write"},
        ),
        "--json",
        home=tmp_path,
    )
    assert run.code == 0
    assert run.err == ""
    first, second, third = map(json.loads, run.out.splitlines())
    assert set(first) == {"fingerprints", "caps", "local", "failure"}
    assert first["local"] is True
    assert first["failure"] == {"reason": "exit", "detail": "7"}
    assert first["caps"]["sink:/srv/out"] == 12
    assert "site:localhost" in first["fingerprints"]
    assert "site:localhost" not in first["caps"]
    assert second == {
        "fingerprints": ['exact:read:{"file_path":"/srv/é"}'],
        "caps": {'exact:read:{"file_path":"/srv/é"}': 12},
        "local": False,
        "failure": None,
    }
    assert third["fingerprints"] == ["exact:todo_write:{}"]


def test_recorded_calls_under_their_configuration(tmp_path: Path):
    config = {"includeLocal": True}
    rows = [row for row in ROWS if row.get("config") == config and row["tool"] not in {"bash", "pwsh", "shell"}]
    (tmp_path / "local.yaml").write_text(json.dumps(config))
    run = Run(calls(*rows), "--json", "--config", "local.yaml", home=tmp_path)
    assert run.code == 0
    assert [sorted(json.loads(line)["fingerprints"]) for line in run.out.splitlines()] == [
        sorted(row["expected"]) for row in rows
    ]


def test_an_account_of_why_calls_collide(tmp_path: Path):
    url = "https://api.weather.gc.ca/items?offset="
    run = Run(
        calls(
            {"tool": "bash", "args": {"command": f"curl -s '{url}1500'", "description": "1st"}},
            {"tool": "bash", "args": {"command": f"curl -m 60 '{url}1600'", "description": "2nd"}},
            {"tool": "web_fetch", "args": {"url": "https://files.gc.ca/"}},
            {"tool": "todo_write", "args": {}},
            bash("ls", result={"value": {"exitCode": 2}}),
        ),
        home=tmp_path,
    )
    assert run.code == 0
    accounts = run.out.split("\n\n")
    assert "ignored      description" in accounts[0]
    assert "16 calls     host:api.weather.gc.ca" in accounts[0]
    assert "no cap       site:gc.ca" in accounts[0]
    assert "collides with line 1" in accounts[1]
    assert "  differs in net\n    line 1  …ems?offset=1500\n    line 2  …ems?offset=1600" in accounts[1]
    assert "does not collide with line 2: what they share has no cap\n    no cap       " in accounts[2]
    assert "not counted" in accounts[3]
    assert "failed       exited 2" in accounts[4]
    assert "does not collide with line 4: they share no fingerprint" in accounts[4]
    assert "only line 5 has  cmd, verb" in accounts[4]
    assert "2 calls, gate at 16  host:api.weather.gc.ca\n    lines 1, 2" in accounts[5]


def test_bad_lines_are_named_and_passed_over(tmp_path: Path):
    run = Run(
        calls(
            bash("ls"),
            b"not json\n",
            b"\n",
            b'{"x": 1}\n',
            b'{"tool": 3}\n',
            b"\xff\n",
            b"[]\n",
            b"{",
            b"\n",
            bash("ls"),
        ),
        "--json",
        home=tmp_path,
    )
    assert run.code == 1
    assert len(run.out.splitlines()) == 2
    assert [line.partition(":")[0] for line in run.err.splitlines()] == [
        f"line {number}" for number in (2, 4, 5, 6, 7, 8)
    ]
    assert 'line 4: passed over, no "tool"' in run.err


def test_what_an_agent_wrote_is_shown_and_does_nothing(tmp_path: Path):
    hostile = "\x1b]0;owned\x07\u202e\u200b\x9b31m[red]x[/red]\r\n\udce9"
    lines = calls(
        {"tool": f"t{hostile}", "args": {hostile: hostile}, "result": {"isError": True, "error": {"code": hostile}}},
        bash(f"echo '{hostile}' > '/srv/{hostile}'"),
        b'{"tool": "\x1b[31m"\n',
    )
    for arguments in ((), ("--json",)):
        run = Run(lines, *arguments, home=tmp_path)
        assert run.code == 1
        assert (run.out + run.err).replace("\n", "").isprintable()
        assert "owned" in run.out


def test_a_secret_is_not_shown(tmp_path: Path):
    run = Run(
        calls(bash("curl -u bob:hunter2 https://a.example/"), bash("curl -u bob:hunter2 https://a.example/y")),
        home=tmp_path,
    )
    assert "hunter2" not in run.out
    assert "<secret:" in run.out


def test_a_configuration_that_cannot_be_used(tmp_path: Path):
    (tmp_path / "bad.yaml").write_text("window: 2\n")
    run = Run(b"", "--config", "bad.yaml", home=tmp_path)
    assert run.code == 2
    assert run.out == ""
    assert "window" in run.err


# -- comparison -----------------------------------------------------------------------------------------------

EXPLAINER = Explainer(DEFAULTS)


@pytest.mark.parametrize("call", [{}, {"tool": None}, {"tool": ""}, {"tool": ["bash"]}])
def test_what_is_no_call(call: dict[str, Any]):
    with pytest.raises(NotACallError):
        EXPLAINER.explain(1, call)


def test_arguments_of_any_kind_are_arguments():
    assert EXPLAINER.explain(1, {"tool": "x"}).args == {}
    assert EXPLAINER.explain(1, {"tool": "x", "args": [1]}).args == {"value": [1]}


def test_an_aborted_call_did_not_fail():
    aborted = {"tool": "x", "args": {}, "result": {"isError": True, "error": {"code": "ABORTED"}}}
    assert EXPLAINER.explain(1, aborted).failure is None


def test_equal_calls_differ_in_nothing():
    one, other = (EXPLAINER.explain(line, bash("curl https://a.example/")) for line in (1, 2))
    both = compare(one, other)
    assert both.measures == other.identity.measures
    assert not both.differences
    assert not both.only_earlier
    assert not both.only_later


def test_a_tally_is_bounded_and_keeps_what_repeats():
    tally = Tally()
    for number in range(12_000):
        tally.add(EXPLAINER.explain(number, {"tool": "read", "args": {"offset": number}}))
        if number % 100 == 0:
            tally.add(EXPLAINER.explain(number, {"tool": "read", "args": {}}))
    (repeated,) = tally.repeated()
    assert repeated.count == 120
    assert repeated.lines == tuple(range(0, 800, 100))
