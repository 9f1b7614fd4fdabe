"""A session followed while it is written: by a thread that appends to real files."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.events import CallSeen, Event, Snapshot
from engine.sessions import NotASessionError
from engine.transcripts.follow import follow_session
from engine.transcripts.watch import watch_session
from tests.engine.transcripts.recordings import items, recording, told
from tests.engine.transcripts.test_frames import frame

SECONDS = 60


class Following:
    """What a follower has found so far, in a thread of its own; ends with the test."""

    def __init__(self, follow: Callable[[threading.Event], Iterator[object]]) -> None:
        self.found: list[object] = []
        self.failed: BaseException | None = None
        self._stop = threading.Event()
        self._follow = follow
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for item in self._follow(self._stop):
                self.found.append(item)
        except (NotASessionError, OSError) as error:
            self.failed = error

    def until(self, ready: Callable[[list[object]], bool]) -> list[object]:
        end = time.monotonic() + SECONDS
        while not ready(self.found):
            assert time.monotonic() < end, f"not within {SECONDS} s: {self.found}"
            assert self.failed is None, self.failed
            time.sleep(0.01)
        return list(self.found)

    def end(self) -> None:
        self._stop.set()
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()


@pytest.fixture
def following() -> Iterator[Callable[[Callable[[threading.Event], Iterator[object]]], Following]]:
    begun: list[Following] = []

    def begin(follow: Callable[[threading.Event], Iterator[object]]) -> Following:
        begun.append(Following(follow))
        return begun[-1]

    yield begin
    for one in begun:
        one.end()


def briefs(found: list[object]) -> list[str]:
    return told(found)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["claude-code/two-turns.jsonl", "codex/two-turns.jsonl", "dsh/two-turns.jsonl.zstd"])
@pytest.mark.parametrize("piece", [1_000, 40_000])
def test_a_transcript_that_grows_by_any_pieces_reads_like_the_whole(
    name: str, piece: int, tmp_path: Path, following: Callable[..., Following]
):
    content, whole = recording(name).read_bytes(), told(items(recording(name)))
    path = tmp_path / "it"
    follower = following(lambda stop: follow_session(path, stop))
    with path.open("ab") as out:
        for start in range(0, len(content), piece):
            out.write(content[start : start + piece])
            out.flush()
    assert briefs(follower.until(lambda found: len(briefs(found)) >= len(whole))) == whole


def test_a_line_is_taken_when_it_is_whole(tmp_path: Path, following: Callable[..., Following]):
    path = tmp_path / "it.jsonl"
    lines = recording("codex/loop.jsonl").read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:10]))
    before = len(told(items(path)))
    follower = following(lambda stop: follow_session(path, stop))
    follower.until(lambda found: len(briefs(found)) == before)
    with path.open("ab") as out:
        out.write(lines[10][:50])
        out.flush()
        out.write(lines[10][50:] + b"".join(lines[11:]))
    found = follower.until(lambda found: len(briefs(found)) == len(told(items(path))))
    assert not [brief for brief in briefs(found) if brief.startswith("damaged")]


def test_a_sub_agent_that_begins_meanwhile_is_followed_too(tmp_path: Path, following: Callable[..., Following]):
    path = tmp_path / "s.jsonl"
    path.write_bytes(recording("claude-code/sub-agent.jsonl").read_bytes())
    follower = following(lambda stop: follow_session(path, stop))
    follower.until(lambda found: "call Bash echo main again" in briefs(found))
    beside = tmp_path / "s" / "subagents"
    beside.mkdir(parents=True)
    source = next(recording("claude-code/sub-agent/subagents").glob("*.jsonl"))
    (beside / source.name).write_bytes(source.read_bytes())
    follower.until(lambda found: "call Bash echo from-sub" in briefs(found))


def test_a_frame_that_is_not_whole_yet_waits(tmp_path: Path, following: Callable[..., Following]):
    path = tmp_path / "session.jsonl.zstd"
    head = frame(b'{"type":"session","version":0,"id":"s","createdAt":1}\n')
    call = frame(b'{"type":"tool/call","seq":1,"time":1,"data":{"callId":"c1","name":"bash","arguments":"{}"}}\n')
    path.write_bytes(head + call[:20])
    follower = following(lambda stop: follow_session(path, stop))
    with path.open("ab") as out:
        out.write(call[20:])
    follower.until(lambda found: "call bash" in briefs(found))


def test_another_session_in_its_place_begins_anew(tmp_path: Path, following: Callable[..., Following]):
    path = tmp_path / "it.jsonl"
    path.write_bytes(recording("codex/two-turns.jsonl").read_bytes())
    follower = following(lambda stop: watch_session(path, stop))
    follower.until(lambda found: any(isinstance(one, CallSeen) for one in found))
    elsewhere = tmp_path / "other"
    elsewhere.write_bytes(recording("codex/loop.jsonl").read_bytes())
    elsewhere.replace(path)
    found = follower.until(lambda found: sum(isinstance(one, Snapshot) for one in found) == 2)
    again = next(number for number, one in enumerate(found) if isinstance(one, Snapshot) and number)
    after = follower.until(lambda found: any(isinstance(one, CallSeen) for one in found[again:]))[again:]
    assert {one.agent for one in after if isinstance(one, CallSeen)} == {"01a22ece-7212-7751-b058-cc548243f5af"}


def test_what_a_breaker_would_have_done_is_told_at_once(tmp_path: Path, following: Callable[..., Following]):
    path = tmp_path / "it.jsonl"
    path.write_bytes(recording("claude-code/loop.jsonl").read_bytes())
    follower = following(lambda stop: watch_session(path, stop))

    def refused(found: list[object]) -> list[Event]:
        return [one for one in found if isinstance(one, CallSeen) and one.verdict == "deny"]

    found = follower.until(lambda found: len(refused(found)) == 4)
    snapshot = found[0]
    assert isinstance(snapshot, Snapshot)
    assert snapshot.supposed
    assert [(one.asked, one.outcome) for one in refused(found) if isinstance(one, CallSeen)] == [
        (True, "unattended"),
        *[(False, None)] * 3,
    ]


def test_a_wrong_file_is_told(tmp_path: Path, following: Callable[..., Following]):
    path = tmp_path / "notes"
    path.write_bytes(b"words\n" * 200)
    follower = following(lambda stop: follow_session(path, stop))
    end = time.monotonic() + SECONDS
    while follower.failed is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert "plain text" in str(follower.failed)
