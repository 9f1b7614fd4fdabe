"""The prompt in lines: whatever the width, what an answer is about is all there or counted."""

from __future__ import annotations

import pytest

from console.question import Question
from console.text import cells
from console.widgets.ask_lines import Line, body
from engine.messages import approval_covers, rejection_means

COVERS = (
    "cmd:curl:curl https://stations.example.org/v1/health?station=5023227&limit=100",
    "net:stations.example.org/v1/health?station=5023227&limit=100",
    "host:stations.example.org",
)
QUESTION = Question(
    who="scout wants to run Bash",
    call=("curl",),
    why=tuple((fingerprint, "5 failures in a row") for fingerprint in COVERS),
    approving=approval_covers("scout", COVERS),
    rejecting=rejection_means("scout", COVERS),
    left="5:00 left",
    hidden=0,
)


def text(line: Line) -> str:
    return "".join(piece for piece, _ in line.pieces)


@pytest.mark.parametrize("width", range(47, 240, 7))
def test_no_measure_that_an_approval_frees_goes_unsaid(width: int) -> None:
    lines = [text(line) for line in body(QUESTION, COVERS, width, 30)]
    said = " ".join(lines[next(at for at, line in enumerate(lines) if line.startswith("approve")) :])
    approving = said[: said.index("reject")]
    assert "host:" in approving
    left_out = sum(f"{kind}:" not in approving for kind in ("cmd", "net", "host"))
    assert not left_out or f"and {left_out} more" in approving
    assert all(cells(line) <= width for line in lines)


def test_where_there_is_room_it_is_said_in_whole_sentences() -> None:
    lines = [text(line) for line in body(QUESTION, COVERS, 200, 30)]
    assert any("until your next message to it" in line for line in lines)
