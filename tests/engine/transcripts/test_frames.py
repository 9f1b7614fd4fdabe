"""Zstd frames, many in one file: whole, damaged, cut off, growing, and larger than they look."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.session_lines import LINE_BYTES
from engine.transcripts.frames import DAMAGED_MOST, MAGIC, Frames
from tests.engine.transcripts.recordings import items_in, recording, told

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHECKED = {zstd.CompressionParameter.checksum_flag: 1}


def frame(content: bytes) -> bytes:
    return zstd.compress(content, options=CHECKED)


def unpacked(content: bytes) -> tuple[bytes, list[str]]:
    frames = Frames(io.BytesIO(content))
    return frames.read(), frames.faults


@given(st.lists(st.binary(max_size=400)))
def test_what_was_packed_comes_out(pieces: list[bytes]):
    assert unpacked(b"".join(frame(piece) for piece in pieces)) == (b"".join(pieces), [])


def test_a_damaged_frame_is_told_and_the_next_one_read():
    first, second, third = frame(b"one\n"), bytearray(frame(b"two\n" * 100)), frame(b"three\n")
    second[-6] ^= 0xFF
    content, faults = unpacked(first + bytes(second) + third)
    assert content.startswith(b"one\n")
    assert content.endswith(b"\nthree\n")
    assert len(faults) == 1


@given(st.data())
def test_any_damage_leaves_the_frames_before_it(data: st.DataObject):
    packed = bytearray(b"".join(frame(b"line %d\n" % number) for number in range(8)))
    start = len(frame(b"line 0\n")) * 4
    place = data.draw(st.integers(start, len(packed) - 1))
    packed[place] ^= data.draw(st.integers(1, 255))
    content, _ = unpacked(bytes(packed))
    assert content.startswith(b"line 0\nline 1\nline 2\nline 3\n")


@given(st.binary(max_size=300))
def test_no_bytes_raise(rest: bytes):
    unpacked(MAGIC + rest)


def test_nothing_but_damage_is_given_up():
    content, faults = unpacked(MAGIC * 200_000)
    assert not content.strip()
    assert len(faults) == DAMAGED_MOST + 1


def test_a_file_cut_off_in_a_frame_is_told_with_what_could_be_read():
    whole = recording("dsh/loop.jsonl.zstd").read_bytes()
    everything = told(items_in(whole))
    found = told(items_in(whole[: len(whole) * 2 // 3]))
    assert found[-1] == "damaged the file ends in the middle of a zstd frame"
    assert found[:-1] == everything[: len(found) - 1]


def test_what_unpacks_to_a_giant_line_costs_a_line():
    giant = zstd.compress(b'{"type":"session","version":0,"id":"s","createdAt":1}\n' + b"x" * (20 * LINE_BYTES) + b"\n")
    assert len(giant) < 100_000
    assert told(items_in(giant)) == [f"damaged longer than {LINE_BYTES // 2**20} MiB"]


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_a_growing_file_is_read_as_it_grows(step: int, tmp_path: Path):
    path = tmp_path / "log"
    packed = b"".join(frame(b"line %d\n" % number) for number in range(30))
    content = b""
    with path.open("wb") as out, path.open("rb", buffering=0) as file:
        frames = Frames(io.BufferedReader(file))
        for start in range(0, len(packed), step):
            out.write(packed[start : start + step])
            out.flush()
            content += frames.read() or b""
    assert content == b"".join(b"line %d\n" % number for number in range(30))
    assert not frames.within_frame
