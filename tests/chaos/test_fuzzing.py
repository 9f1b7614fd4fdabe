"""A short run of every fuzzer: ``make fuzz`` is the long one. ``FUZZ_SEED`` damages other things."""

from __future__ import annotations

import os

import pytest

from fuzz.pumped import Pumped, taken
from fuzz.seeded import run
from fuzz.targets import TARGETS
from fuzz.wire import run as send

SEED = os.environ.get("FUZZ_SEED", "1")
INPUTS = 400
FRAMES = 6000


@pytest.mark.parametrize("target", TARGETS)
def test_damaged_inputs_are_read_as_well_as_they_can_be(target: str):
    fed, findings = run(target, SEED, inputs=INPUTS)
    assert not findings, "\n".join(map(str, findings))
    assert fed == INPUTS


def test_damaged_frames_are_each_answered_once_and_harm_nobody():
    told = send(FRAMES, SEED)
    assert told.faults == []
    assert told.frames >= FRAMES
    assert told.answers >= FRAMES * 0.9


def test_a_finding_is_found():
    """The fuzzers would notice: an input of which something does not hold is a finding, with its input."""
    _, findings = run("command", SEED, inputs=3, check=_fails)
    assert {finding.data for finding in findings}
    assert all("no luck" in str(finding) for finding in findings)


def _fails(data: bytes) -> None:
    raise ValueError("no luck", len(data))


def test_an_input_can_be_pumped_to_any_length():
    one = Pumped(b"curl ", b"-o a ", b"https://e.com")
    assert len(one.of(10_000)) == pytest.approx(10_000, abs=20)
    assert taken("command", one.of(10_000)) >= 0
