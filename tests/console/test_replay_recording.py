"""A recording: at any place it gives exactly the state that playing up to there gives, and it knows what is where."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.replaying.course import LONGEST_WAIT, UNTIMED_CALL_SECONDS, Course
from console.replaying.heat import LEVELS, Track
from console.replaying.rows import RowHistory
from console.replaying.source import DAMAGES_TOLD, Progress
from console.replaying.store import CHUNK, EventStore
from console.state import State
from console.state.records import ARGUMENTS_KEPT, size_of
from console.state.stream import ROWS_DROPPED_AT_ONCE, ROWS_KEPT, Row, Stream, first_kept
from engine.configuration.file import from_mapping
from engine.events import CallSeen, CallSettled, Notice, Snapshot
from engine.replay import replay, replay_events
from engine.session_items import Damaged, Unknown
from tests.console.replays import (
    HOST,
    ONE,
    Session,
    looping,
    played,
    recorded,
    recording_of,
    seen_of,
    source_of,
)
from tests.console.scenes import OK, Scene, failed
from tests.engine.sessions_data import lines
from tests.engine.transcripts.recordings import NAMES, items, recording

# -- any place is as if played --------------------------------------------------------------------------------------

AGENTS = ("a-0001", "a-0002", "sub-0003")
COMMANDS = ("curl -s https://h.example.org/1", "curl -s https://h.example.org/2", "make test", "ls")
TIGHT = from_mapping(
    {"window": 4, "warnAt": 2, "summarizeAt": 3, "failWarnAt": 2, "failLimit": 3, "limits": {"host": 3}}
)


@dataclasses.dataclass
class Act:
    """One thing that happens in a scene."""

    what: str
    agent: str
    command: str
    code: int
    seconds: float


acts = st.lists(
    st.builds(
        Act,
        what=st.sampled_from(
            ["call"] * 8
            + ["reject"] * 3
            + ["approve"] * 3
            + ["run", "turn", "revoke", "lift", "end", "leave", "told", "sub"]
        ),
        agent=st.sampled_from(AGENTS[:1] * 3 + AGENTS),
        command=st.sampled_from(COMMANDS[:1] * 2 + COMMANDS),
        code=st.sampled_from([0, 0, 1]),
        seconds=st.sampled_from([0.0, 0.5, 40.0]),
    ),
    min_size=20,
    max_size=60,
)


def happen(scene: Scene, act: Act) -> None:
    """Let an act happen, if it can."""
    scene.at += act.seconds
    asks = [ask.id for ask in scene.breaker.asks()]
    other: dict[str, Callable[[], object]] = {
        "call": lambda: scene.call(act.agent, act.command, failed(act.code, "no") if act.code else OK),
        "run": lambda: scene.call(act.agent, act.command, None),
        "turn": lambda: scene.breaker.start_turn(act.agent),
        "approve": lambda: asks and scene.answer(asks[0], "approved"),
        "reject": lambda: asks and scene.answer(asks[-1], "rejected", "no\x1b[2J"),
        "revoke": lambda: scene.revoke(act.agent, "host:h.example.org"),
        "lift": lambda: scene.lift(act.agent, "host:h.example.org"),
        "end": lambda: scene.breaker.end_agent(act.agent),
        "leave": lambda: (scene.breaker.leave(), scene.breaker.attend()),
        "told": lambda: scene.told(Notice(scene.at, "warning", "words")),
        "sub": lambda: scene.agent("sub-0003", parent="a-0001", name="explore"),
    }
    other[act.what]()


@settings(max_examples=100, deadline=None)
@given(acts, st.data())
def test_to_seek_is_to_play_from_the_start(happened: list[Act], data: st.DataObject):
    scene = Scene(TIGHT)
    for act in happened:
        happen(scene, act)
    snapshot, *events = scene.drain()
    assert isinstance(snapshot, Snapshot)
    known = [event for event in events if not isinstance(event, Snapshot)]
    recording, _ = recording_of([snapshot, *known], 3)
    places = data.draw(st.lists(st.integers(0, len(known)), min_size=1, max_size=6))
    for place in [*places, len(known)]:
        assert seen_of(recording.after(place)) == seen_of(played(snapshot, known[:place]))


@settings(max_examples=25, deadline=None)
@given(acts, st.data())
def test_a_state_that_was_sought_plays_on(happened: list[Act], data: st.DataObject):
    scene = Scene(TIGHT)
    for act in happened:
        happen(scene, act)
    snapshot, *events = scene.drain()
    recording, _ = recording_of([snapshot, *events])
    start = data.draw(st.integers(0, len(events)))
    stop = data.draw(st.integers(start, len(events)))
    state = recording.after(start)
    recording.advance(state, start, stop)
    assert seen_of(state) == seen_of(recording.after(stop))
    again = recording.after(start)
    assert seen_of(again) == seen_of(played(snapshot, events[:start])), "playing on changes nothing that was recorded"  # type: ignore[arg-type,type-var]


@pytest.mark.parametrize("name", NAMES)
def test_a_real_transcript_at_every_place(name: str):
    known = [event for event in replay_events(items(recording(name))) if not isinstance(event, Damaged | Unknown)]
    made, snapshot = recording_of(known)
    events = known[1:]
    for place in range(0, len(events) + 1, max(len(events) // 40, 1)):
        assert seen_of(made.after(place)) == seen_of(played(snapshot, events[:place]))  # type: ignore[arg-type]


def test_what_is_read_meanwhile_does_not_reach_a_state():
    source = source_of(looping())
    told = [event for event in replay_events(lines(looping())) if not isinstance(event, Damaged | Unknown)]
    snapshot, *events = told
    assert isinstance(snapshot, Snapshot)
    made = source.recording
    for event in events[:20]:
        made.append(event)  # type: ignore[arg-type]
    state = made.after(20)
    before = seen_of(state)
    for event in events[20:]:
        made.append(event)  # type: ignore[arg-type]
    assert seen_of(state) == before
    assert seen_of(made.after(20)) == before


def test_rows_leave_as_they_do_in_a_stream():
    stream = Stream()
    row = Row(0, 0.0, "notice", "", "", "", "")
    for end in range(1, ROWS_KEPT + 3 * ROWS_DROPPED_AT_ONCE):
        stream.append(row)
        if end % 997 == 0 or (end > ROWS_KEPT and end % 499 in (0, 1)):
            assert first_kept(end) == stream.first


def test_a_row_has_every_form_it_had():
    rows = RowHistory()
    rows.add(Row(0, 1.0, "call", "a", "a", "Bash", "ls", "waiting"), 3)
    rows.add(Row(1, 1.0, "notice", "", "", "", "words"), 4)
    rows.change(Row(0, 1.0, "call", "a", "a", "Bash", "ls", "running"), 6)
    rows.change(Row(0, 1.0, "call", "a", "a", "Bash", "ls", "ran"), 9)
    assert [[row.phase for row in rows.after(events)] for events in (3, 4, 6, 7, 9, 10)] == [
        [],
        ["waiting"],
        ["waiting", ""],
        ["running", ""],
        ["running", ""],
        ["ran", ""],
    ]


# -- the events -----------------------------------------------------------------------------------------------------


def test_events_come_back_as_they_were():
    told = [event for event in replay_events(lines(looping())) if not isinstance(event, Snapshot | Damaged | Unknown)]
    store = EventStore()
    for number in range(3 * CHUNK + 5):
        store.append(told[number % len(told)])
    assert [store[number] for number in range(len(store))] == [told[n % len(told)] for n in range(len(store))]
    assert list(store.between(CHUNK - 2, CHUNK + 2)) == [store[n] for n in range(CHUNK - 2, CHUNK + 2)]
    with pytest.raises(IndexError):
        store[len(store)]


@pytest.mark.parametrize("odd", ["\ud800", 1 << 70, float("inf"), [[]] * 3, {"": None}])
def test_arguments_that_cannot_be_packed_come_back_too(odd: Any):
    store = EventStore()
    event = CallSeen(1.0, "c", "a", "t", {"odd": odd}, 1, 1, "allow")
    for _ in range(CHUNK + 1):
        store.append(event)
    assert store[0] == store[CHUNK] == event


def test_a_huge_argument_is_cut():
    session = Session()
    session.call(ONE, "x" * (ARGUMENTS_KEPT * 3))
    made = recorded(source_of(session.lines))
    record = made.after(made.course.count).records.get(1)
    assert record is not None
    assert size_of(record.seen.args) <= ARGUMENTS_KEPT + 20  # and a mark that something is missing
    assert list(record.seen.args) == ["command"]


# -- where things are -----------------------------------------------------------------------------------------------


def test_what_happened_is_found():
    made = recorded(source_of(looping()))
    course = made.course
    verdicts = list(replay(lines(looping())))
    assert len(course.places("call")) == len(verdicts)
    assert len(course.places("gate")) == sum(one.verdict == "deny" or one.asked for one in verdicts)
    assert len(course.places("failure")) == sum(one.failure is not None for one in verdicts)
    first = course.next("gate", 0)
    assert first is not None
    rows = list(made.after(first).stream.since(0, 1000))
    assert [row.status.partition(" · ")[0] for row in rows if row.kind == "call"][-1] == "would have asked"
    assert course.previous("gate", first) is None
    assert course.next("gate", course.places("gate")[-1]) is None
    assert course.number("gate", first) == 1
    for place in course.places("failure"):
        state = made.after(place)
        assert any(row.phase == "failed" for row in list(state.stream.since(0, 1000))[-3:])


def test_an_ask_that_stayed_open_is_found_open():
    scene = Scene(TIGHT)
    for _ in range(3):
        scene.call("a", "curl -s https://h.example.org/1")
    scene.at += 30
    scene.answer("ask-1", "approved")
    made, _ = recording_of(scene.drain())
    place = made.course.next("gate", 0)
    assert place is not None
    assert list(made.after(place).asks) == ["ask-1"]


def test_a_night_takes_no_longer_than_a_moment():
    course = recorded(source_of(looping())).course
    gaps = [course.comes(place + 1) - course.comes(place) for place in range(course.count)]
    assert max(gaps) == LONGEST_WAIT
    assert course.comes(course.count) < 200
    assert course.time(course.count) - course.time(1) > 8 * 3600
    assert all(course.place_after(course.comes(place)) >= place for place in range(course.count + 1))


def test_a_session_without_times_goes_call_by_call():
    course = recorded(source_of(looping(at=0.0))).course
    calls = course.places("call")
    steps = {round(course.comes(after) - course.comes(before), 6) for before, after in pairwise(calls)}
    assert steps == {UNTIMED_CALL_SECONDS}
    assert course.time(course.count) == 0.0


def test_an_empty_course_has_nothing():
    course = Course()
    assert (course.next("call", 0), course.previous("call", 0), course.comes(0), course.place_after(9.0)) == (
        None,
        None,
        0.0,
        0,
    )


# -- heat -----------------------------------------------------------------------------------------------------------


def test_the_hottest_measures_of_the_session():
    heat = recorded(source_of(looping())).heat
    shown = heat.to_show(3)
    assert shown[0].label == HOST
    assert LEVELS[shown[0].peak[0]] == "GATE"
    assert len({track.label for track in shown}) == 3
    assert not any(one.moves_with(other) for one in shown for other in shown if one is not other)
    assert len(heat) > 3


def test_columns_carry_a_level_on_until_it_changes():
    track = Track("a", "a", "host:x")
    for event, level in ((2, 1), (4, 7), (5, 9), (6, 0), (9, 3)):
        track.moved(event, level)
    assert track.columns(range(13)) == [0, 0, 1, 1, 7, 9, 0, 0, 0, 3, 3, 3]
    assert track.columns([0, 3, 6, 9, 12]) == [1, 9, 0, 3]
    assert track.columns([0, 0, 6, 6, 6, 12]) == [0, 9, 9, 9, 3]


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), max_size=20),
    st.lists(st.integers(0, 45), min_size=2, max_size=12).map(sorted),
)
def test_columns_are_the_maxima_of_what_was(changes: list[tuple[int, int]], edges: list[int]):
    track = Track("a", "a", "host:x")
    levels = [0] * 50
    for event, level in sorted(changes):
        track.moved(event, level)
        levels[event:] = [level] * (50 - event)
    before = [0, *levels]
    expected = [max(levels[start:stop]) if stop > start else before[start] for start, stop in pairwise(edges)]
    assert track.columns(edges) == expected


def test_a_new_turn_cools_everything_down():
    made = recorded(source_of(looping()))
    track = made.heat.to_show(1)[0]
    assert track.level == 0


# -- reading --------------------------------------------------------------------------------------------------------


def test_verdicts_are_those_of_breaker_replay():
    for answers in ("as recorded", "approve", "reject", "unavailable"):
        for attended in {True, answers not in ("as recorded", "unavailable")}:
            made = recorded(source_of(looping(), answers, attended=attended))  # type: ignore[arg-type]
            expected = [one.verdict for one in replay(lines(looping()), answers=answers)]  # type: ignore[arg-type]
            assert verdicts_of(made.after(made.course.count)) == expected


def verdicts_of(state: State) -> list[str]:
    rows = [row for row in state.stream.since(0, 10_000) if row.kind == "call"]
    return ["deny" if row.phase == "refused" else "allow" for row in rows]


def test_damaged_lines_are_counted_and_shown():
    damaged = [Damaged(number, "not JSON\x1b[2J") for number in range(1, DAMAGES_TOLD + 51)]
    unknown = [Unknown(900, "hologram"), Unknown(901, "hologram")]
    source = source_of([*damaged, *unknown, *lines(looping())])
    made = recorded(source)
    reading = source.reading()
    assert (reading.damaged, reading.unknown, reading.trouble, reading.complete) == (DAMAGES_TOLD + 50, 2, "", True)
    rows = list(made.after(made.course.count).stream.since(0, 10_000))
    texts = [row.text for row in rows if row.kind == "notice"]
    assert len(texts) == DAMAGES_TOLD + 1
    assert "passed over, not JSON␛[2J" in texts[0]
    assert "only counted" in texts[DAMAGES_TOLD - 1]
    assert "'hologram'" in texts[-1]


def test_a_file_that_cannot_be_read_on_keeps_what_was_read():
    def broken() -> Any:
        yield from list(lines(looping()))[:10]
        raise OSError(5, "Input/output error")

    source = source_of(broken())
    made = recorded(source)
    assert made.course.count > 5
    assert source.reading().trouble == "reading stopped: Input/output error"


def test_progress():
    progress = Progress(200)
    progress.take(50)
    assert progress.part == 0.25
    progress.take(500)
    assert progress.part == 1.0
    assert Progress().part is None


def test_closing_ends_the_reading():
    def endless() -> Any:
        while True:
            yield from lines(looping())

    source = source_of(endless())
    source.start()
    source.close()
    assert source.recording.course.complete


def test_the_scenes_of_the_property_reach_everything():
    """The acts above are not all alike: one run of each reaches asks, answers, rules and failures."""
    scene = Scene(TIGHT)
    for what in ("call", "call", "call", "approve", "call", "revoke", "call", "reject", "call", "lift", "call"):
        happen(scene, Act(what, AGENTS[0], COMMANDS[0], 0, 0.5))
    happen(scene, Act("call", AGENTS[1], COMMANDS[2], 1, 0.5))
    events = scene.drain()
    found = {type(event).__name__ for event in events}
    assert {"AskOpened", "AskClosed", "Exempted", "ExemptionRevoked", "Refused", "RefusalLifted"} <= found
    assert any(isinstance(event, CallSettled) and event.failure for event in events)
