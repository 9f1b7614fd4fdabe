"""A breaker that was lost is found again in what it wrote down."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from engine.agents import IDLE_SECONDS
from engine.breaker import Breaker
from engine.calls import Call, Result
from engine.checkpoint import Checkpoint
from engine.config import DEFAULTS, Config
from engine.events import AskOpened, CallSeen, CallSettled, Event, TurnStarted
from engine.journal import Journal, Limits
from engine.journal_lines import decode_checkpoint, encode_checkpoint, event_of, line_of
from engine.journal_parts import parts_in
from engine.journal_reader import recover
from engine.recovery import advance
from engine.session_items import CallLine, Damaged, ResultLine, TurnLine, Unknown
from engine.sessions import read_session
from engine.verdicts import Verdict, Waiting
from tests.engine.journal_events import struct
from tests.engine.sessions_at_random import sessions
from tests.engine.steps import TIGHT, Step, comparable, take, with_window

OK = Result(value={"exitCode": 0}, text="fine")
BAD = Result(value={"exitCode": 1}, text="broken")


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


class Engine:
    """A breaker and its journal, as an engine has them."""

    def __init__(self, directory: Path, clock: Clock, config: Config = TIGHT, **limits: Any) -> None:
        self.said: list[str] = []
        self.past = recover(directory, config)
        self.journal: Journal | None = None
        self.breaker = Breaker(config, attended=True, clock=clock, listener=self._heard)
        self.breaker.restore(self.past.checkpoint)
        self.journal = Journal(
            directory,
            checkpoint=self.breaker.checkpoint,
            on_fault=self.said.append,
            clock=clock,
            limits=Limits(**limits),
        )

    def _heard(self, event: Event) -> None:
        if self.journal:
            self.journal(event)

    def stop(self) -> None:
        """As far as the files show, a crash and an orderly end are the same."""
        assert self.journal
        self.journal.close()
        self.journal = None

    def run(self, steps: list[Step]) -> None:
        for step in steps:
            take(self.breaker, step)

    def state(self, *, waiting: bool = False) -> Any:
        return comparable(self.breaker.checkpoint(), waiting=waiting)


@pytest.fixture
def start(tmp_path: Path, clock: Clock) -> Iterator[Callable[..., Engine]]:
    started: list[Engine] = []

    def start(directory: Path = tmp_path / "journal", config: Config = TIGHT, **limits: Any) -> Engine:
        for engine in started:
            if engine.journal:
                engine.stop()
        started.append(Engine(directory, clock, config, **limits))
        return started[-1]

    yield start
    for engine in started:
        if engine.journal:
            engine.stop()


def calls(breaker: Breaker, times: int, command: str = "ls", agent: str = "a", result: Result | None = OK) -> list[str]:
    """Calls, all of them allowed, each settled unless there is no result."""
    made = []
    for number in range(times):
        call_id = f"{breaker.checkpoint().tickets}-{number}"
        verdict = breaker.decide(Call(call_id, agent, "bash", {"command": command}))
        assert isinstance(verdict, Verdict)
        assert verdict.decision == "allow"
        if result:
            breaker.settle(agent, call_id, result)
        made.append(call_id)
    return made


def blocked(breaker: Breaker, command: str = "ls", agent: str = "a") -> Verdict | Waiting:
    answer = breaker.decide(Call("x", agent, "bash", {"command": command}))
    assert isinstance(answer, Waiting) or answer.decision == "deny"
    return answer


# -- any session ----------------------------------------------------------------------------------------------


@given(session=sessions(), attended=st.booleans())
@example(session=[["decide", "a", f"c{number}", "bash", "ls"] for number in range(6)], attended=True)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_after_any_event_of_any_session_its_lines_say_where_the_breaker_stands(session: list[Step], attended: bool):
    clock = Clock()
    lines: list[bytes] = []
    stood: list[Checkpoint] = []

    def heard(event: Event) -> None:
        lines.append(line_of(event))
        stood.append(breaker.checkpoint())

    breaker = Breaker(TIGHT, attended=attended, clock=clock, listener=heard)
    empty = breaker.checkpoint()
    for step in session:
        clock.now += 1
        take(breaker, step)
    events = [event_of(line) for line in lines]
    found = empty
    for event, truth in zip(events, stood, strict=True):
        found = advance(found, [event], TIGHT)
        assert comparable(found) == comparable(truth)
    assert comparable(advance(empty, events, TIGHT)) == comparable(breaker.checkpoint())


@given(session=sessions())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_restored_breaker_shows_and_answers_what_the_first_did(session: list[Step]):
    clock = Clock()
    first = Breaker(TIGHT, attended=True, clock=clock, listener=lambda _: None)
    for step in session:
        take(first, step)
    second = Breaker(first.config, attended=first.attended, clock=clock)
    second.restore(decode_checkpoint(encode_checkpoint(first.checkpoint())))
    one, two = first.snapshot(), second.snapshot()
    assert two.asks == two.waiting == ()
    assert sorted(two.agents, key=lambda agent: agent.agent) == sorted(one.agents, key=lambda agent: agent.agent)
    for agent in one.agents:
        for command in ("ls", "make > /tmp/out.log", "curl https://api.example.org/v2"):
            call = Call("next", agent.agent, "bash", {"command": command})
            assert second.hits_of(call) == first.hits_of(call)


@given(session=sessions(), again=sessions(), part_bytes=st.sampled_from([1, 2000, 10**6]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_session_is_found_again_in_the_files(
    tmp_path_factory: pytest.TempPathFactory, session: list[Step], again: list[Step], part_bytes: int
):
    directory = tmp_path_factory.mktemp("journal")
    clock = Clock()
    first = Engine(directory, clock, part_bytes=part_bytes)
    first.run(session)
    first.stop()
    second = Engine(directory, clock, first.breaker.config, part_bytes=part_bytes)
    assert second.past.warnings == ()
    assert second.state() == first.state()
    second.run(again)
    second.stop()
    third = Engine(directory, clock, second.breaker.config)
    third.stop()
    assert third.past.warnings == ()
    assert third.state() == second.state()


@given(session=sessions(), cut=st.integers(0, 5000))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_file_that_ends_anywhere_gives_what_was_true_at_that_line(
    tmp_path_factory: pytest.TempPathFactory, session: list[Step], cut: int
):
    directory = tmp_path_factory.mktemp("journal")
    engine = Engine(directory, Clock())
    stood: list[Any] = [comparable(engine.breaker.checkpoint(), waiting=False)]
    write = engine.journal

    def heard(event: Event) -> None:
        assert write
        write(event)
        stood.append(comparable(engine.breaker.checkpoint(), waiting=False))

    engine.journal = heard  # type: ignore[assignment]
    engine.run(session)
    engine.journal = write
    engine.stop()
    for part in parts_in(directory):
        content = part.events.read_bytes()
        cut %= len(content) + 1
        part.events.write_bytes(content[:cut])
        found = recover(directory, TIGHT)
        # The first event is in the checkpoint that was written before it.
        assert comparable(found.checkpoint, waiting=False) == stood[max(1, content[:cut].count(b"\n"))]
        assert len(found.warnings) == (content[:cut] != b"" and not content[:cut].endswith(b"\n"))


@given(session=sessions())
@settings(max_examples=40, deadline=None)
def test_a_journal_is_a_session(tmp_path_factory: pytest.TempPathFactory, session: list[Step]):
    directory = tmp_path_factory.mktemp("journal")
    engine = Engine(directory, Clock())
    engine.run(session)
    engine.stop()
    for part in parts_in(directory):
        events = [event_of(line) for line in part.events.read_bytes().splitlines()]
        with part.events.open("rb") as file:
            lines = list(read_session(file))
        assert not any(isinstance(line, Damaged | Unknown) for line in lines)
        for kind, form in ((CallSeen, CallLine), (CallSettled, ResultLine), (TurnStarted, TurnLine)):
            told = [event for event in events if isinstance(event, kind)]
            found = [line for line in lines if isinstance(line, form)]
            assert [event.agent for event in told] == [line.agent for line in found]


# -- what comes back ------------------------------------------------------------------------------------------


def test_nothing_comes_from_nothing(tmp_path: Path):
    for directory in (tmp_path / "not there", tmp_path):
        past = recover(directory, DEFAULTS)
        assert past.checkpoint == Checkpoint(at=0.0, window=16)
        assert past.warnings == ()
    (tmp_path / "file").write_text("")
    past = recover(tmp_path / "file", DEFAULTS)
    assert past.checkpoint.agents == ()
    assert len(past.warnings) == 1


def test_counts_and_streaks_go_on_where_they_stood(start: Callable[..., Engine]):
    engine = start()
    calls(engine.breaker, 2, "ls")
    calls(engine.breaker, 2, "make", result=BAD)
    engine = start()
    calls(engine.breaker, 1, "ls")
    assert isinstance(blocked(engine.breaker, "ls"), Waiting)
    calls(engine.breaker, 1, "make", result=BAD)
    blocked(engine.breaker, "make")
    tracks = {hit.track for hit in engine.breaker.asks()[-1].hits}
    assert tracks == {"failure", "repeat"}


def test_what_the_operator_said_stands(start: Callable[..., Engine]):
    engine = start()
    for agent, outcome in (("a", "approved"), ("b", "rejected")):
        calls(engine.breaker, 3, agent=agent)
        waiting = blocked(engine.breaker, agent=agent)
        assert isinstance(waiting, Waiting)
        engine.breaker.answer(waiting.asks[0], outcome, "use the cache" if outcome == "rejected" else "")
    engine = start()
    calls(engine.breaker, 5, agent="a")
    verdict = blocked(engine.breaker, agent="b")
    assert isinstance(verdict, Verdict)
    assert "use the cache" in verdict.reason
    engine.breaker.start_turn("b")
    engine = start()
    calls(engine.breaker, 3, agent="b")


def test_the_refusal_after_a_restart_quotes_the_result_before_it(start: Callable[..., Engine]):
    engine = start(config=msgspec.structs.replace(TIGHT, on_limit="deny"))
    calls(engine.breaker, 3, result=Result(text="exactly three files"))
    engine = start(config=msgspec.structs.replace(TIGHT, on_limit="deny"))
    verdict = blocked(engine.breaker)
    assert isinstance(verdict, Verdict)
    assert "exactly three files" in verdict.reason


def test_a_result_that_comes_after_the_restart_counts(start: Callable[..., Engine]):
    engine = start()
    calls(engine.breaker, 2, "make", result=BAD)
    (late,) = calls(engine.breaker, 1, "make", result=None)
    engine = start()
    settlement = engine.breaker.settle("a", late, BAD)
    assert settlement.known
    assert settlement.failure
    (agent,) = engine.breaker.snapshot().agents
    assert set(agent.streaks.values()) == {3}
    assert not engine.breaker.settle("a", late, BAD).known


def test_advice_that_was_owed_is_still_given(start: Callable[..., Engine]):
    engine = start()
    *_, late = calls(engine.breaker, 2, result=None)
    engine = start()
    settlement = engine.breaker.settle("a", late, OK)
    assert [advisory.stage for advisory in settlement.advisories] == ["warn"]
    assert settlement.advisories[0].text.startswith("CONVERGENCE_CHECK")


def test_a_call_of_an_earlier_turn_touches_no_streak_after_a_restart_either(start: Callable[..., Engine]):
    engine = start()
    (late,) = calls(engine.breaker, 1, "make", result=None)
    engine.breaker.start_turn("a")
    engine = start()
    assert engine.breaker.settle("a", late, BAD).known
    assert engine.breaker.snapshot().agents[0].streaks == {}


def test_what_waited_is_gone_and_its_number_is_not_given_again(start: Callable[..., Engine]):
    engine = start()
    calls(engine.breaker, 3)
    waiting = blocked(engine.breaker)
    assert isinstance(waiting, Waiting)
    before = waiting.asks[0]
    engine = start()
    assert engine.breaker.asks() == ()
    assert engine.breaker.snapshot().waiting == ()
    with pytest.raises(KeyError):
        engine.breaker.answer(before, "approved")
    again = blocked(engine.breaker)
    assert isinstance(again, Waiting)
    assert again.ticket == waiting.ticket + 1
    assert again.asks != waiting.asks
    assert before not in again.asks


def test_a_call_that_waited_across_parts_is_decided_and_counted(start: Callable[..., Engine]):
    engine = start(part_bytes=1)
    calls(engine.breaker, 3)
    waiting = blocked(engine.breaker)
    assert isinstance(waiting, Waiting)
    engine.breaker.answer(waiting.asks[0], "approved")
    stood = engine.state()
    engine = start()
    assert engine.state() == stood
    assert engine.breaker.settle("a", "x", OK).known


def test_the_ended_and_the_long_idle_do_not_come_back(start: Callable[..., Engine], clock: Clock):
    engine = start()
    for agent in ("ended", "idle", "busy"):
        calls(engine.breaker, 1, agent=agent)
    engine.breaker.start_agent("child", parent="ended")
    engine.breaker.end_agent("ended")
    clock.now += IDLE_SECONDS - 10
    calls(engine.breaker, 1, agent="busy")
    clock.now += 20
    engine = start()
    assert [agent.agent for agent in engine.breaker.snapshot().agents] == ["busy"]
    calls(engine.breaker, 1, agent="idle")
    (idle,) = [agent for agent in engine.breaker.snapshot().agents if agent.agent == "idle"]
    assert set(idle.counts.values()) == {1}


def test_an_agent_that_was_left_behind_and_came_back_is_not_given_its_old_counts(
    start: Callable[..., Engine], clock: Clock
):
    engine = start()
    calls(engine.breaker, 3)
    clock.now += IDLE_SECONDS + 1
    engine = start()
    calls(engine.breaker, 1)
    engine = start()
    (agent,) = engine.breaker.snapshot().agents
    assert set(agent.counts.values()) == {1}
    assert agent.calls == 1


def test_a_clock_set_back_makes_nobody_idle(start: Callable[..., Engine], clock: Clock):
    engine = start()
    calls(engine.breaker, 1)
    clock.now -= 100_000
    engine = start()
    calls(engine.breaker, 1)
    (agent,) = engine.breaker.snapshot().agents
    assert set(agent.counts.values()) == {2}
    assert agent.last_seen == clock.now


def test_parents_and_names_come_back(start: Callable[..., Engine]):
    engine = start()
    engine.breaker.start_agent("main", harness="claude-code", name="fix the build")
    engine.breaker.start_agent("sub", parent="main", harness="claude-code", name="explore")
    engine = start()
    main, sub = engine.breaker.snapshot().agents
    assert (main.harness, main.name) == ("claude-code", "fix the build")
    assert sub.parent == "main"
    engine.breaker.end_agent("main")
    assert engine.breaker.snapshot().agents == ()


def test_the_configuration_of_now_is_in_force(start: Callable[..., Engine]):
    engine = start(config=with_window(TIGHT, 6))
    for number in range(6):
        calls(engine.breaker, 1, f"echo {number}")
    engine = start(config=with_window(TIGHT, 4))
    (agent,) = engine.breaker.snapshot().agents
    assert sum(fingerprint.startswith("exact:") for fingerprint in agent.counts) == 4
    assert not engine.breaker.hits_of(Call("x", "a", "bash", {"command": "echo 5"}))
    engine = start(config=msgspec.structs.replace(TIGHT, limits={"exact": 2.0}))
    assert engine.breaker.hits_of(Call("x", "a", "bash", {"command": "echo 5"}))


def test_a_masked_secret_still_counts(start: Callable[..., Engine], tmp_path: Path):
    command = "curl -H 'Authorization: Bearer ghp_0123456789abcdefghijABCDEFGHIJ012345' https://api.example.org/x"
    engine = start()
    calls(engine.breaker, 3, command)
    engine = start()
    assert isinstance(blocked(engine.breaker, command), Waiting)
    for path in (tmp_path / "journal").iterdir():
        assert b"ghp_" not in path.read_bytes()


# -- what may have happened to the files ----------------------------------------------------------------------


def test_events_that_a_full_disk_lost_are_in_the_next_checkpoint(
    start: Callable[..., Engine], clock: Clock, tmp_path: Path
):
    engine = start()
    calls(engine.breaker, 1)
    shutil.rmtree(tmp_path / "journal")
    (tmp_path / "journal").write_text("no directory")
    clock.now += 5
    calls(engine.breaker, 1)
    assert len(engine.said) == 1
    (tmp_path / "journal").unlink()
    clock.now += 500
    calls(engine.breaker, 1, "make", result=BAD)
    assert len(engine.said) == 2
    stood = engine.state()
    engine = start()
    assert engine.state() == stood


def test_old_parts_may_be_deleted(start: Callable[..., Engine], tmp_path: Path):
    engine = start(part_bytes=2000, keep_bytes=2000)
    calls(engine.breaker, 3)
    waiting = blocked(engine.breaker)
    assert isinstance(waiting, Waiting)
    engine.breaker.answer(waiting.asks[0], "approved")
    calls(engine.breaker, 50)
    assert len(parts_in(tmp_path / "journal")) == 1
    stood = engine.state()
    engine = start()
    assert engine.state() == stood
    assert engine.breaker.snapshot().agents[0].exemptions


def test_a_damaged_checkpoint_is_made_good_from_the_part_before(start: Callable[..., Engine], tmp_path: Path):
    engine = start(part_bytes=3000)
    for number in range(12):
        calls(engine.breaker, 1, f"echo {number % 5}")
    stood = engine.state()
    engine.stop()
    parts = parts_in(tmp_path / "journal")
    assert len(parts) > 2
    content = parts[-1].checkpoint.read_bytes()
    for damaged in (content[: len(content) // 2], b"", b"null", b"\xff"):
        parts[-1].checkpoint.write_bytes(damaged)
        past = recover(tmp_path / "journal", TIGHT)
        assert comparable(past.checkpoint) == stood
        assert len(past.warnings) == 1
    for part in parts:
        part.checkpoint.unlink()
    assert comparable(recover(tmp_path / "journal", TIGHT).checkpoint) == stood


def test_a_kill_between_checkpoint_and_first_event_loses_nothing(start: Callable[..., Engine], tmp_path: Path):
    engine = start()
    calls(engine.breaker, 3)
    stood = engine.state()
    engine.stop()
    (part,) = parts_in(tmp_path / "journal")
    following = part.following
    following.checkpoint.write_bytes(encode_checkpoint(engine.breaker.checkpoint()))
    assert comparable(recover(tmp_path / "journal", TIGHT).checkpoint) == stood


def test_damaged_lines_are_named_and_the_rest_counts(start: Callable[..., Engine], tmp_path: Path):
    engine = start()
    calls(engine.breaker, 3)
    engine.stop()
    (part,) = parts_in(tmp_path / "journal")
    lines = part.events.read_bytes().splitlines(keepends=True)
    kinds = [type(event_of(line)) for line in lines]
    second = [number for number, kind in enumerate(kinds) if kind is CallSeen][1]
    lines[second] = b"\x00\x00 not a line\n"
    lines.insert(4, b"[]\n")
    part.events.write_bytes(b"".join(lines))
    past = recover(tmp_path / "journal", TIGHT)
    (state,) = past.checkpoint.agents
    assert len(state.window) == 2
    assert len(past.warnings) == 1
    assert f"{part.events}:" in past.warnings[0]
    assert "1 more" in past.warnings[0]


def test_events_without_their_beginning_are_made_the_best_of():
    lines: list[bytes] = []
    breaker = Breaker(TIGHT, attended=True, listener=lambda event: lines.append(line_of(event)))
    for step in (["decide", "a", f"c{number}", "bash", "ls"] for number in range(4)):
        take(breaker, step)
    breaker.start_turn("a")
    for step in (["decide", "a", f"c{number}", "bash", "ls"] for number in range(4)):
        take(breaker, step)
    events = [event_of(line) for line in lines]
    opened = [number for number, event in enumerate(events) if isinstance(event, AskOpened)]
    found = advance(Checkpoint(0.0, 6), events[opened[-1] - 1 :], TIGHT)
    (state,) = found.agents
    assert (state.agent, state.turn) == ("a", 2)
    assert found.tickets == breaker.checkpoint().tickets
    assert found.asks == 2


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_events_in_any_order_and_number_are_borne(data: st.DataObject):
    lines: list[bytes] = []
    breaker = Breaker(TIGHT, attended=True, listener=lambda event: lines.append(line_of(event)))
    for step in data.draw(sessions()):
        take(breaker, step)
    events = [event_of(line) for line in data.draw(st.permutations(lines))]
    found = advance(Checkpoint(0.0, 6), events[: data.draw(st.integers(0, len(events)))], TIGHT)
    again = Breaker(TIGHT)
    again.restore(found)
    again.snapshot()


@given(checkpoint=struct(Checkpoint), session=sessions())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_any_checkpoint_can_be_gone_on_from(checkpoint: Checkpoint, session: list[Step]):
    lines: list[bytes] = []
    breaker = Breaker(TIGHT, attended=True, clock=Clock(), listener=lambda event: lines.append(line_of(event)))
    breaker.restore(checkpoint)
    for step in session:
        take(breaker, step)
    advance(checkpoint, [event_of(line) for line in lines], TIGHT)


@given(st.binary(max_size=200), st.binary(max_size=200))
@settings(max_examples=60, deadline=None)
def test_any_files_can_be_recovered_from(tmp_path_factory: pytest.TempPathFactory, events: bytes, checkpoint: bytes):
    directory = tmp_path_factory.mktemp("journal")
    (directory / "20270115T080000Z-1.jsonl").write_bytes(events)
    (directory / "20270115T080000Z-1.checkpoint").write_bytes(checkpoint)
    (directory / "20270115T080000Z-1.1.checkpoint").mkdir()
    (directory / "20270115T080000Z-1.2.jsonl").symlink_to("/nowhere")
    past = recover(directory, TIGHT)
    assert past.checkpoint.agents == ()
    assert past.warnings
