"""The process that a harness starts at every call, beside a Python that starts and does nothing.

A hook's whole life: start, read the payload, ask a running engine, print its answer, end. Processes alternate, all with
the same payload on standard input; no two payloads are alike, and all of their calls are allowed. The line that
``breaker install`` writes, run by ``sh`` as a harness does, is measured beside them; so is the hook over HTTP, which is
no process.
"""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.findings import Findings, Row, Table, figure, over_rounds
from benchmarks.serving import serve_engine, served
from engine import hook
from engine.client import Client
from engine.config import DEFAULTS
from engine.harnesses.endpoint import make_endpoint
from engine.harnesses.handlers import Wishes, groups
from engine.harnesses.known import HARNESSES

ROUNDS, BATCH = 9, 20
"""Rounds, and how often each is started in one; a round's figure is a median."""
POSTS = 500
TARGET = 1.5
HARNESS, EVENT = "claude-code", "PreToolUse"
SCRIPT = Path(hook.__file__)
SESSION = "00000000-0000-4000-8000-000000000000"
SECONDS = 30


def findings() -> Findings:
    """The hook over a bare start, as a process and as a request."""
    endpoint = make_endpoint()
    with tempfile.TemporaryDirectory(prefix="rtb-", dir="/tmp") as directory:
        path = Path(directory) / "engine.sock"
        with served(serve_engine, path, DEFAULTS, endpoint) as engine:
            medians = _processes(_commands(path), Path(directory) / "payload")
            posted = _posts(endpoint.port, urlsplit(endpoint.url(HARNESS, EVENT)).path)
            processes = int(engine.has_had_children())
            seen, due = _calls_seen(path), 2 * (ROUNDS + 1) * BATCH + POSTS
    if seen != due:
        raise RuntimeError(f"the engine was asked about {seen} calls of {due}: what was measured is not the hook")
    bare = medians["bare"]
    rows = [
        over_rounds("hook process over python -I -S -c pass", _ratios(medians["hook"], bare), target=TARGET),
        over_rounds("the installed line, with its shell, over the same", _ratios(medians["line"], bare)),
        Row(what=f"hook over HTTP: processes started for {POSTS} calls", value=processes, target=0),
    ]
    lines = [(_NAMES[name], *_milliseconds(values)) for name, values in medians.items()]
    lines.append(("a hook over HTTP, on a connection that stays", *_milliseconds(posted)))
    return Findings(tuple(rows), (Table("A hook, ms", ("", "median", "least", "most"), tuple(lines)),))


_NAMES = {
    "bare": "python -I -S -c pass",
    "hook": "python -I -S hook.py",
    "line": "sh -c, the line that is installed",
}


def _commands(path: Path) -> Mapping[str, tuple[str, ...]]:
    wishes = Wishes(Path(sys.executable), SCRIPT, path, DEFAULTS.ask_timeout)
    line = groups(HARNESSES[HARNESS], wishes)[EVENT]["hooks"][0]["command"]
    bare = (sys.executable, "-I", "-S")
    return {
        "bare": (*bare, "-c", "pass"),
        "hook": (*bare, str(SCRIPT), HARNESS, EVENT, "--socket", str(path)),
        "line": ("/bin/sh", "-c", line),
    }


def _processes(commands: Mapping[str, tuple[str, ...]], payload: Path) -> dict[str, list[float]]:
    """Median seconds of each command, round by round."""
    medians: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(-1, ROUNDS):
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(BATCH):
            for name, command in commands.items():
                payload.write_bytes(_payload(f"{name}-{number}-{turn}"))
                taken[name].append(_start(command, payload))
        if number >= 0:
            for name, values in taken.items():
                medians[name].append(statistics.median(values))
    return medians


def _start(command: tuple[str, ...], payload: Path) -> float:
    """Seconds that a process lives."""
    with payload.open("rb") as standard_input:
        began = time.perf_counter()
        done = subprocess.run(command, stdin=standard_input, capture_output=True, timeout=SECONDS, check=True)
        taken = time.perf_counter() - began
    if done.stdout or done.stderr:
        raise RuntimeError(
            f"a call that passes is met with silence, and was met with {done.stdout + done.stderr!r:.300}"
        )
    return taken


def _posts(port: int, target: str) -> list[float]:
    """Seconds of each hook over HTTP, on a connection that stays."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    taken = []
    for number in range(POSTS):
        began = time.perf_counter()
        connection.request("POST", target, _payload(f"http-{number}"), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        taken.append(time.perf_counter() - began)
        if answer.status != 200:
            raise RuntimeError(f"a hook over HTTP was answered with {answer.status}")
    connection.close()
    return taken


def _payload(name: str) -> bytes:
    """What Claude Code writes before a call, as a hook reads it; each call is another."""
    call = {"command": f"python scripts/step.py --only {name} | tail -20", "description": f"Run {name}"}
    told = {
        "session_id": SESSION,
        "transcript_path": f"/home/dev/.claude/projects/-home-dev-project/{SESSION}.jsonl",
        "cwd": "/home/dev/project",
        "permission_mode": "default",
        "hook_event_name": EVENT,
        "tool_name": "Bash",
        "tool_input": call,
        "tool_use_id": f"toolu_{name}",
    }
    return json.dumps(told).encode()


def _calls_seen(path: Path) -> int:
    with Client("bench", socket=path) as client:
        return sum(agent.calls for agent in client.status().agents)


def _ratios(values: list[float], floor: list[float]) -> list[float]:
    return [value / least for value, least in zip(values, floor, strict=True)]


def _milliseconds(values: list[float]) -> tuple[str, ...]:
    return tuple(figure(value * 1000) for value in (statistics.median(values), min(values), max(values)))
