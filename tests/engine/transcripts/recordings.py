"""Transcripts as the real clients wrote them, with paths and long texts taken out, and how tests read them."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

from engine.session_items import AgentLine, CallLine, Damaged, Line, ResultLine, TurnLine, Unknown
from engine.transcripts.files import read_session_file
from engine.transcripts.recognise import AnyReader, read

RECORDINGS = Path(__file__).parent.parent.parent / "data" / "transcripts"
ALL = sorted(path for path in RECORDINGS.rglob("*.jsonl*") if ".hooks." not in path.name)
NAMES = [str(path.relative_to(RECORDINGS)) for path in ALL]


def recording(name: str) -> Path:
    return RECORDINGS / name


def items(path: Path) -> list[Line]:
    return list(read_session_file(path))


def items_in(content: bytes, reader: AnyReader | None = None) -> list[Line]:
    return list(read(io.BytesIO(content), reader))


def told(lines: Iterable[Line]) -> list[str]:
    """The items in brief: what a reader of a test wants to see."""
    return [brief for line in lines if (brief := _brief(line))]


def _brief(line: Line) -> str:
    match line:
        case CallLine():
            argument = next((value for value in line.args.values() if isinstance(value, str)), "")
            return f"call {line.tool} {argument[:24]}".rstrip()
        case ResultLine():
            return f"result {_ending(line)}"
        case TurnLine():
            return "turn" if line.human else "message"
        case AgentLine():
            return f"agent {line.name}".rstrip() if line.parent else "agent"
        case Damaged():
            return f"damaged {line.problem}"
        case Unknown():
            return f"unknown {line.type}"
    return ""


def _ending(line: ResultLine) -> str:
    result = line.result
    if result.aborted:
        return "never ran"
    if result.is_error:
        return f"error {result.error_code}".rstrip()
    value = result.value
    for key in ("timedOut", "signal", "exitCode", "kind"):
        if key in value:
            return f"{key} {value[key]}"
    return "ok"
