"""What is written down of each event, what never is, and what becomes of it when the disk has other plans."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.calls import Failure, Measure, Streak
from engine.checkpoint import AgentState, Checkpoint
from engine.events import (
    AskClosed,
    AskOpened,
    CallDecided,
    CallSeen,
    CallSettled,
    Event,
    Notice,
    Refused,
    event_decoder,
)
from engine.journal import RETRY_SECONDS, RETRY_SECONDS_MOST, Journal, Limits
from engine.journal_lines import TEXT_KEPT, decode_checkpoint, encode_checkpoint, event_of, line_of
from engine.journal_parts import finished_runs, lock, parts_in
from engine.journal_reader import Damaged, follow, read
from engine.verdicts import Advisory, Ask, Hit, Refusal
from tests.engine.journal_events import EVENT_TYPES, struct

SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
EMPTY = Checkpoint(at=0.0, window=16)


class Clock:
    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def make(tmp_path: Path, clock: Clock, said: list[str]) -> Iterator[Callable[..., Journal]]:
    made: list[Journal] = []

    def make(directory: Path = tmp_path / "journal", **options: Any) -> Journal:
        given: dict[str, Any] = {"checkpoint": lambda: EMPTY, "on_fault": said.append, "clock": clock}
        made.append(Journal(directory, **{**given, **options}))
        return made[-1]

    yield make
    for journal in made:
        journal.close()


def notice(number: int = 0, text: str = "") -> Notice:
    return Notice(float(number), "info", text or f"number {number}")


def call(args: dict[str, Any], **fields: Any) -> CallSeen:
    given: dict[str, Any] = {"at": 1.0, "id": "c1", "agent": "a", "tool": "bash", "ticket": 1, "turn": 1}
    return CallSeen(**{**given, "verdict": "allow", **fields}, args=args)


def texts(directory: Path) -> list[str]:
    """The texts of the notices in a journal, in order."""
    events = [event for part in parts_in(directory) if part.events.exists() for event in read(part.events)]
    return [event.text for event in events if isinstance(event, Notice)]


# -- lines ----------------------------------------------------------------------------------------------------


def survives(text: str) -> str:
    """How a text comes back: what UTF-8 cannot hold is an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.__name__)
@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_every_event_makes_one_line_that_is_read_back_as_it(kind: type[msgspec.Struct], data: st.DataObject):
    event = data.draw(struct(kind))
    line = line_of(event)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    line.decode("utf-8")
    assert isinstance(json.loads(line), dict)
    back = event_decoder.decode(line)
    assert type(back) is kind
    assert event_of(line) == back
    for name in ("id", "agent", "tool", "ticket", "turn", "verdict", "outcome", "counts", "streaks"):
        if hasattr(event, name):
            was, now = msgspec.to_builtins(getattr(event, name)), msgspec.to_builtins(getattr(back, name))
            if isinstance(was, dict):
                was = {survives(key): value for key, value in was.items()}
            assert now == (survives(was) if isinstance(was, str) else was)
    for name in ("fingerprints", "asks"):
        if hasattr(event, name):
            assert getattr(back, name) == tuple(survives(one) for one in getattr(event, name))
    if isinstance(event, CallSeen | CallDecided):
        assert isinstance(back, CallSeen | CallDecided)
        assert [(hit.fingerprint, hit.count) for hit in back.hits] == [
            (survives(hit.fingerprint), hit.count) for hit in event.hits
        ]


@given(struct(Checkpoint))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_every_checkpoint_is_read_back_as_it_was_written(checkpoint: Checkpoint):
    content = encode_checkpoint(checkpoint)
    content.decode("utf-8")
    back = decode_checkpoint(content)
    assert (back.tickets, back.asks, back.window) == (checkpoint.tickets, checkpoint.asks, checkpoint.window)
    assert [state.agent for state in back.agents] == [survives(state.agent) for state in checkpoint.agents]
    for was, now in zip(checkpoint.agents, back.agents, strict=True):
        assert now.window == tuple(tuple(survives(one) for one in call) for call in was.window)
        assert now.exemptions == tuple(survives(one) for one in was.exemptions)


def events_that_hold(secret: str) -> Iterator[Event]:
    """One event for each place in which a tool's, a model's or an operator's text can stand."""
    text = f"Authorization: Bearer {secret}"
    failure = Failure("error", text)
    hit = Hit("failure", "host:x", 5, 5, failure, text)
    ask = Ask("ask-1", "a", "c1", "bash", ("host:x",), (hit,), 1.0, None)
    advisory = Advisory("fail-warn", "host:x", 3, text)
    result = {"isError": True, "value": {"exitCode": 1, "signal": text}, "content": [{"type": "text", "text": text}]}
    yield call({"command": f"curl -H '{text}' https://x", "deep": [{"password": secret}]})
    yield call({}, verdict="deny", hits=(hit,), reason=text)
    yield call({}, advisories=(advisory,))
    yield CallDecided(1.0, "c1", "a", 1, "deny", "rejected", (hit,), (advisory,), reason=text)
    yield CallSettled(1.0, "c1", "a", 1, result, failure, advisories=(advisory,))
    yield AskOpened(1.0, ask)
    yield AskClosed(1.0, "ask-1", "a", "rejected", 1, text)
    yield Refused(1.0, "a", (Refusal("host:x", "rejected", text),))
    yield Notice(1.0, "error", f"The breaker failed while judging a call: ValueError({text!r})")


@pytest.mark.parametrize("event", events_that_hold(SECRET), ids=lambda event: type(event).__name__)
def test_no_secret_reaches_the_disk(event: Event):
    line = line_of(event)
    assert b"ghp_" not in line
    assert b"<secret:" in line


def test_no_secret_reaches_a_checkpoint():
    state = AgentState(
        agent="a",
        turn=1,
        last_seen=1.0,
        streaks={"host:x": Streak(3, Failure("error", f"token={SECRET}"))},
        refusals=(Refusal("host:x", "rejected", f"not with {SECRET}"),),
        results={"host:x": f"Authorization: Bearer {SECRET}"},
    )
    content = encode_checkpoint(Checkpoint(1.0, 16, agents=(state,)))
    assert b"ghp_" not in content
    assert content.count(b"<secret:") == 3


@pytest.mark.parametrize("before", range(TEXT_KEPT - 45, TEXT_KEPT + 5))
def test_a_secret_at_the_cut_leaves_nothing_of_itself(before: int):
    text = "x" * (before - 1) + " " + SECRET + " and more" * 1000
    for event in (call({"command": text}), AskClosed(1.0, "ask-1", "a", "rejected", 1, text)):
        line = line_of(event)
        assert b"ghp_" not in line
        assert b"\xe2\x80\xa6" in line


def test_large_arguments_are_cut_and_the_cut_is_seen():
    args = {"content": "word " * 200_000, "many": list(range(100_000)), "deep": [[[[[[[[[[[[["deep"]]]]]]]]]]]]]}
    line = line_of(call(args))
    assert len(line) < 10_000
    back = event_of(line)
    assert isinstance(back, CallSeen)
    assert back.args["content"].startswith("word word")
    assert back.args["content"].endswith("…")


def test_an_identity_survives_whatever_its_arguments_become():
    measures = (Measure("exact:bash:x", 12), Measure("host:example.org", 16.5))
    event = call({"command": "y" * 100_000}, fingerprints=("exact:bash:x", "host:example.org"), measures=measures)
    event = msgspec.structs.replace(event, shell=True, reads_only=True, asks_http_code=True, local=True)
    back = event_of(line_of(event))
    assert msgspec.structs.replace(back, args={}) == msgspec.structs.replace(event, args={})


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"[]", b"null", b'{"type":"call"}', b'{"type":"nonsense","at":1}', b"\xff\xfe", b"{" * 100_000]
)
def test_what_is_no_event_is_one_clear_error(line: bytes):
    with pytest.raises(ValueError, match=r"\w"):
        event_of(line)


# -- files ----------------------------------------------------------------------------------------------------


def test_nothing_is_made_before_the_first_event(make: Callable[..., Journal], tmp_path: Path):
    journal = make()
    assert journal.path is None
    assert not (tmp_path / "journal").exists()


def test_a_run_has_one_private_file_named_by_its_start_and_its_process(make: Callable[..., Journal], tmp_path: Path):
    journal = make(tmp_path / "deep" / "journal")
    former = os.umask(0)
    try:
        journal(notice(1))
    finally:
        os.umask(former)
    journal(notice(2))
    assert journal.path is not None
    assert journal.path.name == f"20270115T080000Z-{os.getpid()}.jsonl"
    assert list(read(journal.path)) == [notice(1), notice(2)]
    assert stat.S_IMODE(journal.path.parent.stat().st_mode) == 0o700
    for path in journal.path.parent.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_each_line_is_in_the_file_before_the_call_returns(make: Callable[..., Journal]):
    journal = make()
    for number in range(1, 20):
        journal(notice(number))
        assert journal.path is not None
        assert len(journal.path.read_bytes().splitlines()) == number


def test_a_new_run_sorts_last_whatever_the_clock_did(make: Callable[..., Journal], clock: Clock, tmp_path: Path):
    for number, now in enumerate([1_800_000_000.0, 1_800_000_000.0, 1_000.0, 1_700_000_000.0]):
        clock.now = now
        journal = make()
        journal(notice(number))
        journal.close()
    assert texts(tmp_path / "journal") == [f"number {number}" for number in range(4)]
    assert len(parts_in(tmp_path / "journal")) == 4


def test_a_full_part_is_followed_by_another_and_none_is_larger(make: Callable[..., Journal], tmp_path: Path):
    journal = make(limits=Limits(part_bytes=1000))
    for number in range(100):
        journal(notice(number))
    parts = parts_in(tmp_path / "journal")
    assert len(parts) > 3
    assert [part.index for part in parts] == list(range(len(parts)))
    assert all(part.events.stat().st_size <= 1000 for part in parts)
    assert all(part.checkpoint.exists() for part in parts)
    assert texts(tmp_path / "journal") == [f"number {number}" for number in range(100)]


def test_a_large_checkpoint_is_not_written_for_every_few_events(make: Callable[..., Journal], tmp_path: Path):
    state = AgentState(agent="a" * 4000, turn=1, last_seen=1.0)
    journal = make(checkpoint=lambda: Checkpoint(1.0, 16, agents=(state,)), limits=Limits(part_bytes=1000))
    for number in range(300):
        journal(notice(number))
    first, *_ = parts_in(tmp_path / "journal")
    assert first.events.stat().st_size > 1.9 * first.checkpoint.stat().st_size > 4000


def test_a_line_larger_than_a_part_has_a_part_of_its_own(make: Callable[..., Journal], tmp_path: Path):
    journal = make(limits=Limits(part_bytes=1000))
    journal(notice(1))
    journal(notice(2, "x" * 5000))
    journal(notice(3))
    assert [len(list(read(part.events))) for part in parts_in(tmp_path / "journal")] == [1, 1, 1]


def test_what_is_too_old_goes_and_then_the_oldest_beyond_the_size(
    make: Callable[..., Journal], clock: Clock, tmp_path: Path
):
    clock.now = time.time()
    limits = Limits(part_bytes=2000, keep_bytes=12_000, keep_seconds=3600)
    for number in range(3):
        journal = make(limits=limits)
        journal(notice(number))
        journal.close()
    old = parts_in(tmp_path / "journal")[:2]
    for part in old:
        os.utime(part.events, (clock.now - 7200, clock.now - 7200))
        os.utime(part.checkpoint, (clock.now - 7200, clock.now - 7200))
    journal = make(limits=limits)
    journal(notice(3))
    assert texts(tmp_path / "journal") == ["number 2", "number 3"]
    assert not any(part.checkpoint.exists() for part in old)
    for number in range(4, 300):
        journal(notice(number))
    assert sum(path.stat().st_size for path in (tmp_path / "journal").iterdir()) <= 12_000
    kept = texts(tmp_path / "journal")
    assert kept == [f"number {number}" for number in range(300 - len(kept), 300)]
    assert len(kept) > 30


def test_a_living_run_is_neither_recovered_from_nor_deleted(make: Callable[..., Journal], tmp_path: Path):
    limits = Limits(part_bytes=500, keep_bytes=1000)
    living = make(limits=limits)
    living(notice(1))
    mine = living.path
    other = make(limits=limits)
    for number in range(50):
        other(notice(number))
    assert mine is not None
    assert mine.exists()
    parts = parts_in(tmp_path / "journal")
    assert finished_runs(parts) == []
    other.close()
    assert {part.run for part in finished_runs(parts)} == {parts[-1].run}
    living.close()
    assert finished_runs(parts) == parts


def test_a_run_lives_while_it_goes_on_to_its_next_part(
    make: Callable[..., Journal], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    directory = tmp_path / "journal"
    living = make(limits=Limits(part_bytes=500, keep_bytes=100_000))
    over: list[object] = []

    def look_then_lock(handle: int) -> None:
        if len(parts_in(directory)) > 1:
            over.append(finished_runs(parts_in(directory)))
        lock(handle)

    living(notice(0))
    seen_before = parts_in(directory)
    monkeypatch.setattr("engine.journal.lock", look_then_lock)
    for number in range(1, 50):
        living(notice(number))
        over += (finished_runs(parts_in(directory)), finished_runs(seen_before))
    assert len(parts_in(directory)) > 3
    assert over == [[]] * len(over)


def test_one_who_looks_whether_a_run_lives_does_not_keep_it_from_saying_so(
    make: Callable[..., Journal], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "part").touch()
    looking, writing = (os.open(tmp_path / "part", os.O_RDWR) for _ in range(2))
    fcntl.flock(looking, fcntl.LOCK_SH)
    looked = SimpleNamespace(sleep=lambda _: fcntl.flock(looking, fcntl.LOCK_UN))
    monkeypatch.setattr("engine.journal_parts.time", looked)
    lock(writing)
    with pytest.raises(BlockingIOError):
        fcntl.flock(looking, fcntl.LOCK_SH | fcntl.LOCK_NB)
    os.close(looking)
    os.close(writing)


def test_files_of_others_are_left_alone(make: Callable[..., Journal], clock: Clock, tmp_path: Path):
    directory = tmp_path / "journal"
    directory.mkdir()
    foreign = ["notes.txt", "20200101T000000Z.jsonl", "20200101T000000Z-1.jsonl.bak", "２0200101T000000Z-1.jsonl"]
    for name in foreign:
        (directory / name).write_text("mine")
        os.utime(directory / name, (1, 1))
    make(limits=Limits(keep_bytes=0))(notice())
    assert all((directory / name).read_text() == "mine" for name in foreign)


# -- faults ---------------------------------------------------------------------------------------------------


def test_a_directory_that_cannot_be_made_is_said_once_and_tried_again(
    make: Callable[..., Journal], clock: Clock, said: list[str], tmp_path: Path
):
    (tmp_path / "journal").write_text("a file stands here")
    journal = make()
    for number in range(5):
        journal(notice(number))
        clock.now += RETRY_SECONDS_MOST * 2
    assert len(said) == 1
    assert str(tmp_path / "journal") in said[0]
    assert journal.path is None
    (tmp_path / "journal").unlink()
    journal(notice(5))
    assert len(said) == 2
    assert "5 events were not recorded" in said[1]
    journal(notice(6))
    assert texts(tmp_path / "journal") == ["number 5", "number 6"]
    assert len(said) == 2


def test_a_fault_is_not_tried_again_with_every_event(
    make: Callable[..., Journal], clock: Clock, said: list[str], tmp_path: Path
):
    (tmp_path / "journal").write_text("")
    tries: list[float] = []

    def checkpoint() -> Checkpoint:
        tries.append(clock.now)
        return EMPTY

    journal = make(tmp_path / "journal" / "under", checkpoint=checkpoint)
    begin = clock.now
    for _ in range(4000):
        journal(notice())
        clock.now += 0.1
    (tmp_path / "journal").unlink()
    while not tries:
        journal(notice())
        clock.now += 0.1
    assert clock.now - begin <= 400 + RETRY_SECONDS_MOST + 1
    clock.now -= 10_000
    journal(notice())
    assert len(said) == 2


def test_a_clock_set_back_does_not_silence_a_journal(
    make: Callable[..., Journal], clock: Clock, said: list[str], tmp_path: Path
):
    (tmp_path / "journal").write_text("")
    journal = make()
    journal(notice(1))
    (tmp_path / "journal").unlink()
    clock.now -= 100_000
    journal(notice(2))
    assert texts(tmp_path / "journal") == ["number 2"]
    assert len(said) == 2


def test_what_is_said_may_be_written_to_the_same_journal(clock: Clock, tmp_path: Path):
    (tmp_path / "journal").write_text("")
    journal = Journal(
        tmp_path / "journal",
        checkpoint=lambda: EMPTY,
        on_fault=lambda text: journal(Notice(clock.now, "warning", text)),
        clock=clock,
    )
    journal(notice(1))
    (tmp_path / "journal").unlink()
    clock.now += RETRY_SECONDS * 2
    journal(notice(2))
    first, second = texts(tmp_path / "journal")
    assert first == "number 2"
    assert "1 event was not recorded" in second
    journal.close()


def test_a_journal_whose_directory_is_removed_begins_again(
    make: Callable[..., Journal], clock: Clock, said: list[str], tmp_path: Path
):
    journal = make()
    journal(notice(1))
    shutil.rmtree(tmp_path / "journal")
    clock.now += 2
    journal(notice(2))
    assert texts(tmp_path / "journal") == ["number 2"]
    assert said == []


FULL_DISK = """
import resource, sys
from pathlib import Path
from engine.checkpoint import Checkpoint
from engine.events import Notice
from engine.journal import Journal

clock = [1.8e9]
said = []
journal = Journal(
    Path(sys.argv[1]), checkpoint=lambda: Checkpoint(0.0, 16), on_fault=said.append, clock=lambda: clock[0]
)
def write(numbers):
    for number in numbers:
        journal(Notice(0.0, "info", f"number {number} " + "x" * (100 + number % 7)))
"""


def run(script: str, *args: object, prefix: tuple[str, ...] = ()) -> str:
    command = [*prefix, sys.executable, "-c", FULL_DISK + script, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_half_a_line_spoils_no_other(tmp_path: Path):
    """The kernel writes what fits under the limit and refuses the rest, as a full disk does."""
    said = run(
        """
most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, most))
write(range(60))
clock[0] += 10
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
write(range(60, 80))
print(*said, sep="\\n")
""",
        tmp_path,
    )
    events = [event for part in parts_in(tmp_path) for event in read(part.events)]
    numbers = [int(event.text.split()[1]) for event in events if isinstance(event, Notice)]
    assert not any(isinstance(event, Damaged) for event in events)
    assert numbers == [*range(len(numbers) - 20), *range(60, 80)]
    assert 10 < len(numbers) - 20 < 60
    first, second = said.splitlines()
    assert "File too large" in first
    assert f"{60 - (len(numbers) - 20)} events were not recorded" in second


def a_small_disk(tmp_path: Path) -> tuple[str, ...]:
    """How to run a command with a disk of 64 KiB at ``tmp_path/disk``; skips where nobody may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f'mount -t tmpfs -o size=64k tmpfs "{disk}" && exec "$@"'
    prefix = ("unshare", "--mount", "--map-root-user", "sh", "-c", mount, "sh")
    if not shutil.which("unshare") or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a disk of its own needs mount namespaces, which this system has not or forbids")
    return prefix


def test_a_full_disk_stops_no_decision_and_is_written_again_when_there_is_room(tmp_path: Path):
    prefix = a_small_disk(tmp_path)
    script = """
from engine.journal_parts import parts_in
from engine.journal_reader import read
disk = Path(sys.argv[1])
write(range(1000))
assert len(said) == 1 and "No space left" in said[0], said
clock[0] += 100
write([1000])
assert len(said) == 1
kept = parts_in(disk)[0].events
written = [event.text.split()[1] for event in read(kept)]
kept.unlink()
clock[0] += 100
write(range(1001, 1010))
assert len(said) == 2, said
again = [event.text.split()[1] for event in read(journal.path)]
assert again == [str(number) for number in range(1001, 1010)], again
assert written == [str(number) for number in range(len(written))] and len(written) > 100, written
assert f"{1001 - len(written)} events were" in said[1], said
print("done")
"""
    assert run(script, tmp_path / "disk", prefix=prefix) == "done\n"


def test_a_read_only_disk_is_a_fault_like_any_other(tmp_path: Path):
    prefix = a_small_disk(tmp_path)
    script = """
import subprocess
write(range(3))
journal.close()
subprocess.run(["mount", "-o", "remount,ro", sys.argv[1]], check=True)
write(range(3, 6))
assert len(said) == 1 and "Read-only" in said[0], said
subprocess.run(["mount", "-o", "remount,rw", sys.argv[1]], check=True)
clock[0] += 100
write(range(6, 9))
assert len(said) == 2 and "3 events were" in said[1], said
print("done")
"""
    assert run(script, tmp_path / "disk", prefix=prefix) == "done\n"


# -- reading --------------------------------------------------------------------------------------------------


def test_damage_is_named_and_the_rest_is_read(tmp_path: Path):
    path = tmp_path / "journal.jsonl"
    good = line_of(notice(1))
    path.write_bytes(good + b"junk\n" + b"\n" + b"\x00" * 50 + b"\n" + good + good[:20])
    first, junk, zeros, second, torn = read(path)
    assert first == second == notice(1)
    assert isinstance(junk, Damaged)
    assert isinstance(zeros, Damaged)
    assert isinstance(torn, Damaged)
    assert (junk.line, zeros.line, torn.line) == (2, 4, 6)
    assert (junk.torn, zeros.torn, torn.torn) == (False, False, True)
    assert str(junk).startswith(f"{path}:2: skipped: ")


@given(st.binary(max_size=300))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_can_be_read(tmp_path: Path, content: bytes):
    path = tmp_path / "any"
    path.write_bytes(content)
    for event in read(path):
        assert isinstance(event, Damaged | Event)


def test_a_line_without_an_end_is_not_read_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("engine.session_lines.LINE_BYTES", 1000)
    monkeypatch.setattr("engine.journal_reader.LINE_BYTES", 1000)
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"x" * 5000 + b"\n" + line_of(notice(1)) + b"y" * 5000)
    long, good, last = read(path)
    assert isinstance(long, Damaged)
    assert good == notice(1)
    assert isinstance(last, Damaged)


class Follower:
    """Follows in a thread of its own, as ``breaker tail`` does in its process."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.seen: list[Event | Damaged] = []
        self._stop = threading.Event()
        events = follow(path, stop=self._stop, **options)
        self._thread = threading.Thread(target=self.seen.extend, args=(events,), daemon=True)
        self._thread.start()

    def wait(self, count: int) -> list[Event | Damaged]:
        deadline = time.monotonic() + 20
        while len(self.seen) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        return list(self.seen)

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(20)
        assert not self._thread.is_alive()


@pytest.fixture
def followed() -> Iterator[Callable[..., Follower]]:
    made: list[Follower] = []

    def followed(path: Path, **options: Any) -> Follower:
        made.append(Follower(path, **options))
        return made[-1]

    yield followed
    for follower in made:
        follower.stop()


def test_events_are_followed_from_before_the_first_through_every_part_and_run(
    make: Callable[..., Journal], followed: Callable[..., Follower], tmp_path: Path
):
    follower = followed(tmp_path / "not yet" / "journal")
    for run_number in range(3):
        journal = make(tmp_path / "not yet" / "journal", limits=Limits(part_bytes=400))
        for number in range(20):
            journal(notice(100 * run_number + number))
        journal.close()
        wanted = [notice(100 * run + number) for run in range(run_number + 1) for number in range(20)]
        assert follower.wait(len(wanted)) == wanted


def test_what_was_there_before_may_be_left_out(
    make: Callable[..., Journal], followed: Callable[..., Follower], tmp_path: Path
):
    journal = make()
    journal(notice(1))
    whole = followed(tmp_path / "journal")
    news = followed(tmp_path / "journal", backlog=False)
    journal(notice(2))
    assert whole.wait(2) == [notice(1), notice(2)]
    assert news.wait(1) == [notice(2)]


def test_half_a_line_is_waited_for(followed: Callable[..., Follower], tmp_path: Path):
    path = tmp_path / "one.jsonl"
    follower = followed(path)
    line = line_of(notice(1))
    with path.open("wb", buffering=0) as file:
        for byte in range(0, len(line), 20):
            file.write(line[byte : byte + 20])
            time.sleep(0.03)
        file.write(line_of(notice(2)))
        assert follower.wait(2) == [notice(1), notice(2)]


def test_a_file_that_is_cut_or_replaced_is_read_from_its_new_beginning(
    followed: Callable[..., Follower], tmp_path: Path
):
    path = tmp_path / "one.jsonl"
    path.write_bytes(line_of(notice(1)) + line_of(notice(2)))
    follower = followed(path)
    assert follower.wait(2) == [notice(1), notice(2)]
    with path.open("wb") as file:
        file.write(line_of(notice(3)))
    assert follower.wait(3)[2:] == [notice(3)]
    (tmp_path / "new").write_bytes(line_of(notice(4)) * 5)
    (tmp_path / "new").rename(path)
    assert follower.wait(8)[3:] == [notice(4)] * 5
    path.unlink()
    path.write_bytes(line_of(notice(5)) * 20)
    assert follower.wait(28)[8:] == [notice(5)] * 20


def test_a_run_that_was_killed_in_the_middle_of_a_line_is_followed_by_the_next(
    make: Callable[..., Journal], followed: Callable[..., Follower], tmp_path: Path
):
    journal = make()
    journal(notice(1))
    assert journal.path is not None
    with journal.path.open("ab") as file:
        file.write(b'{"type":"noti')
    journal.close()
    follower = followed(tmp_path / "journal")
    make()(notice(2))
    one, torn, two = follower.wait(3)
    assert (one, two) == (notice(1), notice(2))
    assert isinstance(torn, Damaged)
    assert torn.torn


def test_following_goes_on_without_the_platforms_help(
    make: Callable[..., Journal],
    followed: Callable[..., Follower],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    def watch(*_args: object, **_options: object) -> Iterator[None]:
        raise OSError("OS file watch limit reached")
        yield

    monkeypatch.setattr("watchfiles.watch", watch)
    journal = make()
    journal(notice(1))
    follower = followed(tmp_path / "journal")
    follower.wait(1)
    journal(notice(2))
    assert follower.wait(2) == [notice(1), notice(2)]


def test_a_line_that_was_taken_back_is_not_seen_and_no_other_is_seen_twice(
    followed: Callable[..., Follower], tmp_path: Path
):
    path = tmp_path / "one.jsonl"
    whole = line_of(notice(1))
    with path.open("wb", buffering=0) as file:
        file.write(whole + b'{"type":"notice"')
        follower = followed(path)
        assert follower.wait(1) == [notice(1)]
        file.truncate(len(whole))
        file.seek(len(whole))
        file.write(line_of(notice(2)))
        assert follower.wait(2) == [notice(1), notice(2)]
