"""``breaker serve`` and ``breaker status`` as their users start them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.operator_client import connect
from engine.paths import operator_socket_path
from tests.console.terminal import Terminal
from tests.engine.sockets import BREAKER, DEADLINE, ROOT, Wire, gate_open, printed, served, short_directory, until


def status(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [*BREAKER, "status", "--socket", str(path), *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=DEADLINE, check=False)


def run(*options: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """``breaker serve`` where it is expected to give up."""
    environment = {**os.environ, "XDG_CONFIG_HOME": str(directory), "PYTHONPATH": str(ROOT)}
    command = [*BREAKER, "serve", *options]
    return subprocess.run(
        command, env=environment, cwd=directory, capture_output=True, text=True, timeout=DEADLINE, check=False
    )


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_says_where_it_listens_and_stops_cleanly(how: signal.Signals) -> None:
    heeding = {"preexec_fn": lambda: signal.signal(how, signal.SIG_DFL)}  # whatever the tests themselves ignore
    with short_directory() as directory, served("--no-journal", directory=directory, **heeding) as (process, path):
        with Wire(path, "a") as wire:
            gate_open(wire)
            assert wire.decide("refused", command="make")["outcome"] == "unattended"
            out = printed(process, "Agents:")
            process.send_signal(how)
            more, err = process.communicate(timeout=DEADLINE)
            out += more
        assert (process.returncode, err) == (0, "")
        assert f"Agents: {path}" in out
        assert out.endswith("Stopped.\n")
        assert not path.exists()
        assert not path.with_name("e.sock.lock").exists()


def test_a_hang_up_that_is_ignored_stays_ignored() -> None:
    """As under nohup."""
    ignoring = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
    with short_directory() as directory, served("--no-journal", directory=directory, **ignoring) as (process, path):
        printed(process, "Agents:")
        process.send_signal(signal.SIGHUP)
        with Wire(path, "a") as wire:
            assert wire.decide("c", command="ls") == {"decision": "allow"}
        assert process.poll() is None


def test_a_harness_is_served() -> None:
    with short_directory() as directory, served("--no-journal", directory=directory) as (_, path), Wire(path) as wire:
        wire.ask("initialize", protocol=1)
        payload = json.loads((ROOT / "tests/data/captures/claude-code/PreToolUse.Bash.json").read_text())
        answers = [wire.ask("harness/hook", harness="claude-code", payload=payload)["result"] for _ in range(12)]
        assert answers[0] == {"stdout": "", "exit": 0}
        assert "REPEAT_TOOL_BLOCKED" in answers[11]["stdout"]


def test_it_prints_what_happens_and_no_escape_sequence_of_an_agents() -> None:
    with short_directory() as directory, served("--no-journal", directory=directory) as (process, path):
        with Wire(path, "evil\x1b]0;owned\x07") as wire:
            gate_open(wire, "make \x1b[2J")
            wire.decide("refused", command="make \x1b[2J")
        out = printed(process, "refusal 1")
        assert "SUMMARIZE" in out
        assert "\x1b" not in out


def test_a_journal_is_recovered_from() -> None:
    with short_directory() as directory:
        journal = ("--journal", str(directory / "journal"))
        with served(*journal, directory=directory) as (process, path), Wire(path, "a") as wire:
            gate_open(wire)
            process.kill()
            process.wait()
        with served(*journal, directory=directory) as (_, path), Wire(path, "a") as wire:
            assert wire.decide("twelfth", command="make")["decision"] == "deny"


def test_the_configuration_is_reloaded_and_the_command_line_stands_above_it() -> None:
    with short_directory() as directory:
        file = directory / "breaker.yaml"
        file.write_text("askTimeout: 10\n")
        options = ("--no-journal", "--config", str(file), "--ask-timeout", "77")
        with served(*options, directory=directory) as (_, path), Wire(path) as wire:
            timeout = wire.ask("initialize", protocol=1)["result"]["limits"]["askTimeout"]
            assert timeout == 77
            file.write_text("askTimeout: 20\nlimits: {exact: 3}\n")

            def denied() -> bool:
                wire.ask("turn/start", agent="a")
                calls = [wire.ask("call/decide", agent="a", id=str(n), tool="t", args={})["result"] for n in range(3)]
                return calls[-1]["decision"] == "deny"

            until(denied, "the new limit holds")
            assert wire.ask("initialize", protocol=1)["result"]["limits"]["askTimeout"] == 77


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--config", "missing.yaml"], "missing.yaml"),
        (["--config", "broken.yaml"], "windo"),
        (["--socket", "/tmp/" + "x" * 120], "107"),
        (["--socket", "broken.yaml", "--no-journal"], "no socket"),
        (["--journal", "broken.yaml"], "--journal names another place"),
        (["--ask-timeout", "nan", "--no-journal"], "no number"),
        (["--ask-timeout", "inf", "--no-journal"], "not in the range"),
    ],
)
def test_what_keeps_it_from_starting_is_said_in_one_go(options: list[str], said: str) -> None:
    with short_directory() as directory:
        (directory / "broken.yaml").write_text("windo: 3\n")
        found = run(*options, directory=directory)
        assert found.returncode == 2
        assert said in found.stderr
        assert "Traceback" not in found.stderr


def test_a_second_one_names_the_first() -> None:
    with short_directory() as directory, served("--no-journal", directory=directory) as (process, path):
        found = run("--socket", str(path), "--no-journal", directory=directory)
        assert found.returncode == 2
        assert f"process {process.pid}" in found.stderr


def test_an_operator_attaches_with_the_token_and_answers() -> None:
    with short_directory() as directory:
        path = directory / "e.sock"
        environment = {"XDG_CONFIG_HOME": str(directory), "PYTHONPATH": str(ROOT)}
        command = [*BREAKER, "serve", "--socket", str(path), "--no-journal"]
        with Terminal(command, environment=environment) as terminal:
            terminal.wait_for("breaker attach")
            token = terminal.screen().split("breaker attach): ")[1].split()[0]
            operator = connect(operator_socket_path(path), token)
            with Wire(path, "a") as wire:
                gate_open(wire)
                wire.send("call/decide", id="asks", tool="bash", args={"command": "make"})
                found = until(lambda: one if (one := json.loads(status(path, "--json").stdout))["asks"] else None)
                shown = status(path).stdout
                assert "1 open ask" in shown
                assert "waiting for the operator" in shown
                operator.answer(found["asks"][0]["id"], "approved")
                assert wire.read()["result"]["decision"] == "allow"
            operator.close()
            terminal.send("\x03")
            terminal.wait_for("Stopped")


def test_the_status_of_no_engine_is_one_line_and_an_exit_code() -> None:
    with short_directory() as directory:
        for options in ([], ["--json"]):
            found = status(directory / "e.sock", *options)
            assert (found.returncode, found.stdout) == (1, "")
            assert "no engine" in found.stderr
            assert found.stderr.count("\n") == 1


def test_the_status_at_a_path_that_cannot_be_is_told_from_no_engine() -> None:
    with short_directory() as directory:
        found = status(directory / ("x" * 120))
        assert (found.returncode, found.stdout) == (2, "")
        assert "this platform allows" in found.stderr
        assert "breaker serve" not in found.stderr


def test_a_journal_that_others_may_write_to_is_not_recovered_from() -> None:
    with short_directory() as directory:
        (directory / "journal").mkdir()
        (directory / "journal").chmod(0o777)
        found = run("--socket", str(directory / "e.sock"), "--journal", str(directory / "journal"), directory=directory)
        assert found.returncode == 2
        assert "is everybody's" in found.stderr


def test_the_status_is_safe_to_print_and_the_looker_is_no_agent() -> None:
    with short_directory() as directory, served("--no-journal", directory=directory) as (_, path):
        with Wire(path, "evil\x1b[31m\x9b31m") as wire:
            wire.ask("agent/start", parent="\u202eroot", harness="\x07bell")
            gate_open(wire)
        shown = status(path)
        assert shown.returncode == 0
        assert not any(sign in shown.stdout for sign in "\x1b\x07\x9b\u202e")
        assert "1 agent\n" in shown.stdout
        assert "11/12  cmd:make:make" in shown.stdout
        written = status(path, "--json").stdout
        assert written.isascii()
        found: dict[str, Any] = json.loads(written)
        assert [agent["agent"] for agent in found["agents"]] == ["evil\x1b[31m\x9b31m"]


NETCAT = """
import os, socket, sys, threading
connected = socket.socket(socket.AF_UNIX)
connected.connect(sys.argv[-1].removeprefix("UNIX-CONNECT:"))
def received():
    while data := connected.recv(65536):
        os.write(1, data)
threading.Thread(target=received, daemon=True).start()
while data := os.read(0, 65536):
    connected.sendall(data)
"""


def test_the_shell_example_loops_until_it_is_refused() -> None:
    """With the machine's own nc or socat if it has one that fits, else with the few lines above in its place."""
    with short_directory() as directory, served("--no-journal", directory=directory) as (_, path):
        if not shutil.which("socat"):
            (directory / "nc").write_text(f"#!{sys.executable}\n{NETCAT}")
            (directory / "nc").chmod(0o755)
        environment = {"PATH": f"{directory}:{os.environ['PATH']}", "BREAKER_SOCKET": str(path)}
        command = ["sh", str(ROOT / "examples" / "loop.sh"), "ls '/no\\where'; echo \"$HOME é\""]
        found = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=DEADLINE, check=False, errors="replace"
        )
        lines = found.stdout.splitlines()
        heads = [line for line in lines if not line.startswith(" ")]
        assert heads == [
            *(f"{n}: ran, exit code 0" for n in range(1, 12)),
            *(f"{n}: refused" for n in range(12, 15)),
        ], found
        assert sum("CONVERGENCE_CHECK" in line for line in lines) == 2
        assert sum("REPEAT_TOOL_BLOCKED" in line for line in lines) == 3
        assert (found.returncode, found.stderr) == (0, "")


def test_the_shell_example_says_that_there_is_no_engine() -> None:
    """Also where nc is gone before anything is written to it."""
    with short_directory() as directory:
        for name in ("nc", "socat"):
            (directory / name).write_text("#!/bin/sh\nexec <&-\n")
            (directory / name).chmod(0o755)
        environment = {"PATH": f"{directory}:{os.environ['PATH']}", "BREAKER_SOCKET": str(directory / "e.sock")}
        command = ["sh", str(ROOT / "examples" / "loop.sh"), "true"]
        for _ in range(10):
            found = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=DEADLINE, check=False
            )
            assert (found.returncode, found.stdout) == (1, "")
            assert "no engine at" in found.stderr
