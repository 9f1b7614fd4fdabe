"""Exit codes from Codex's transcripts, and transcripts that are traps."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from engine.calls import Result
from engine.harnesses import rollout
from engine.harnesses.rollout import ending_of, find_ending


def line(kind: str, payload: dict[str, Any]) -> str:
    return json.dumps({"timestamp": "2026-11-30T23:22:27.481Z", "type": kind, "payload": payload})


def finished(call: str, code: object, **more: Any) -> str:
    item = {"type": "CommandExecution", "id": call, "status": "failed", "aggregated_output": "x\n", "exit_code": code}
    return line("event_msg", {"type": "item_completed", "item": item | more})


def output(call: str, text: str) -> str:
    return line("response_item", {"type": "function_call_output", "call_id": call, "output": text})


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return tmp_path / "rollout.jsonl"


def ending(transcript: Path, *lines: str, call: str = "call_7") -> Result | None:
    transcript.write_text("\n".join(lines) + "\n")
    return find_ending(str(transcript), call)


@pytest.mark.parametrize(
    ("written", "result"),
    [
        (finished("call_7", 3), Result(value={"exitCode": 3})),
        (finished("call_7", 0, status="completed"), Result(value={"exitCode": 0})),
        (finished("call_7", None), Result(is_error=True)),
        (finished("call_7", None, status="completed"), Result()),
        (finished("call_7", None, status="declined"), Result(is_error=True, error_code="ABORTED")),
        (output("call_7", "Chunk ID: f8\nWall time: 0.0 seconds\nProcess exited with code 4\nOutput:\nhi"),
         Result(value={"exitCode": 4})),
        (output("call_7", "Exit code: 5\nWall time: 0.1 seconds\nOutput:\n"), Result(value={"exitCode": 5})),
        (line("event_msg", {"type": "exec_command_end", "call_id": "call_7", "exit_code": 6}),
         Result(value={"exitCode": 6})),
        (finished("call_71", 3), None),
        (output("call_7", "it said: Process exited with code 9"), None),
        (finished("call_7", "3", status=None), None),
        (finished("call_7", True, status={}), None),
        (line("response_item", {"type": "function_call", "call_id": "call_7"}), None),
    ],
)  # fmt: skip
def test_what_a_line_says_of_a_call(transcript: Path, written: str, result: Result | None) -> None:
    assert ending(transcript, finished("call_1", 9), written, finished("call_2", 8)) == result


def test_lines_that_are_none_are_passed_over(transcript: Path) -> None:
    broken = ['{"call_7', '["call_7"]', '"call_7"', "{" * 5000 + "call_7", '{"payload": "call_7"}']
    assert ending(transcript, *broken, finished("call_7", 3), *broken) == Result(value={"exitCode": 3})


def test_a_call_before_a_long_output(transcript: Path) -> None:
    noise = finished("call_8", 0, aggregated_output="y" * (rollout.TAILS[0] + 1000))
    assert ending(transcript, finished("call_7", 3), noise) == Result(value={"exitCode": 3})


def test_only_the_end_of_a_transcript_is_read(transcript: Path) -> None:
    noise = finished("call_8", 0, aggregated_output="y" * rollout.TAILS[-1])
    assert ending(transcript, finished("call_7", 3), noise) is None


async def test_a_line_that_is_on_its_way(transcript: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    real = find_ending

    def look(path: str, call: str) -> Result | None:
        looks.append(call)
        if len(looks) == 2:
            transcript.write_text(finished("call_7", 3) + "\n")
        return real(path, call)

    monkeypatch.setattr(rollout, "find_ending", look)
    assert await ending_of(str(transcript), "call_7") == Result(value={"exitCode": 3})
    assert len(looks) == 2
    assert await ending_of(str(transcript), "call_8") is None
    assert len(looks) == 2 + len(rollout.LOOKS)


def test_a_path_that_is_no_file_of_ours(tmp_path: Path, transcript: Path) -> None:
    transcript.write_text(finished("call_7", 3) + "\n")
    link = tmp_path / "link"
    link.symlink_to(transcript)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (link, fifo, tmp_path, Path("/dev/zero"), Path("/dev/tty"), Path("/proc/self/mem"), tmp_path / "none"):
        assert find_ending(str(path), "call_7") is None


def test_a_file_of_another_user(transcript: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transcript.write_text(finished("call_7", 3) + "\n")
    assert find_ending(str(transcript), "call_7")
    if os.geteuid() == 0:
        os.chown(transcript, 12345, 12345)
    else:  # only root can give a file away: then it is the reader who is another
        monkeypatch.setattr("os.geteuid", lambda: 12345)
    assert find_ending(str(transcript), "call_7") is None


async def test_paths_and_ids_that_are_none() -> None:
    for path, call in (("", "c"), ("/etc/passwd", ""), ("/etc/pass\0wd", "c"), ("x" * 5000, "c"), ("\ud800", "c")):
        assert await ending_of(path, call) is None
