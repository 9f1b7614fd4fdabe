"""The playhead: where keys and time lead, without a screen or a clock."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.replaying.course import KINDS, LONGEST_WAIT, Course, Kind
from console.replaying.playhead import (
    AT_ONCE,
    LONGEST_TICK,
    SPEEDS,
    Edge,
    Input,
    Leap,
    Playhead,
    Seek,
    Speed,
    Step,
    Tick,
    Toggle,
    step,
)
from engine.events import Snapshot
from engine.replay import replay_events
from engine.session_items import Damaged, Unknown
from tests.console.replays import looping, recorded, source_of
from tests.engine.sessions_data import lines

COURSE = recorded(source_of(looping())).course
END = COURSE.count


def after(*happened: Input, head: Playhead | None = None, course: Course = COURSE) -> Playhead:
    """The playhead after this, all at once."""
    head = head or Playhead(playing=False)
    for one in happened:
        head = step(head, one, course, 0.0)
    return head


def test_time_plays_at_the_speed_that_is_set():
    head = step(Playhead(), Tick(), COURSE, 100.0)
    assert head.place == COURSE.place_after(0.0)
    for now in (100.5, 101.4, 102.0):
        head = step(head, Tick(), COURSE, now)
        assert head.place == COURSE.place_after(now - 100)
    assert head.place > 3


def test_a_machine_that_slept_goes_on_where_it_was():
    head = step(Playhead(), Tick(), COURSE, 100.0)
    head = step(head, Tick(), COURSE, 9000.0)
    assert head.clock <= LONGEST_TICK


def test_ten_times_as_fast_takes_a_tenth_of_the_time():
    def seconds(speed: float) -> float:
        head, now = Playhead(speed=speed), 0.0
        while head.playing:
            head = step(head, Tick(), COURSE, now)
            now += 0.01
        return now

    assert seconds(100.0) == pytest.approx(COURSE.comes(END) / 100, rel=0.2)
    assert seconds(10.0) == pytest.approx(COURSE.comes(END) / 10, rel=0.2)
    assert seconds(inf) < 0.1


def test_the_end_stops_it_and_playing_again_begins_anew():
    head = step(after(Edge(end=True), Toggle()), Tick(), COURSE, 1.0)
    assert head.place < END, "played again from the start"
    head = Playhead(place=END, clock=COURSE.comes(END))
    head = step(head, Tick(), COURSE, 2.0)
    assert (head.playing, head.said) == (False, "the end")


def test_what_is_still_being_read_is_waited_for():
    course = Course()
    head = step(Playhead(), Tick(), course, 1.0)
    assert head.playing
    course.complete = True
    assert not step(head, Tick(), course, 2.0).playing


def test_pausing_holds_the_time():
    head = step(step(Playhead(), Tick(), COURSE, 0.0), Tick(), COURSE, 0.5)
    paused = step(head, Toggle(), COURSE, 0.6)
    assert not paused.playing
    assert step(paused, Tick(), COURSE, 1000.0).place == head.place
    on = step(paused, Toggle(), COURSE, 1000.0)
    assert step(on, Tick(), COURSE, 1000.0).place <= head.place + 1


@pytest.mark.parametrize("kind", KINDS)
def test_stepping_goes_through_all_of_a_kind_and_back(kind: Kind):
    places = list(COURSE.places(kind))
    head = Playhead(playing=True)
    for place in places:
        head = step(head, Step(1, kind), COURSE, 0.0)
        assert (head.place, head.playing) == (place, False)
    last = step(head, Step(1, kind), COURSE, 0.0)
    assert (last.place, last.said) == ((END, "") if kind == "call" else (head.place, "none after"))
    for place in reversed(places[:-1]):
        head = step(head, Step(-1, kind), COURSE, 0.0)
        assert head.place == place
    first = step(head, Step(-1, kind), COURSE, 0.0)
    assert (first.place, first.said) == ((0, "") if kind == "call" else (head.place, "none before"))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_read_yet_is_gone_to_when_it_is(kind: Kind):
    told = [event for event in replay_events(lines(looping())) if not isinstance(event, Snapshot | Damaged | Unknown)]
    course = Course()
    head = after(Step(1, kind), course=course)
    assert (head.place, head.said, head.playing) == (0, "looking …", False)
    for event in told:
        course.append(event)
        head = step(head, Tick(), course, 1.0)
    assert (head.place, head.said, head.sought) == (course.places(kind)[0], "", None)
    away = after(Seek(0), head=after(Edge(end=True), Step(1, kind), course=course), course=course)
    assert away.sought is None, "another key ends the looking"
    head = after(Edge(end=True), Step(1, kind), course=course)
    course.complete = True
    head = step(head, Tick(), course, 1.0)
    assert (head.sought, head.said) == (None, "" if kind == "call" else "none after")


def test_the_end_is_followed_while_it_is_read():
    course = Course()
    head = after(Edge(end=True), course=course)
    for event in replay_events(lines(looping())):
        if not isinstance(event, Snapshot | Damaged | Unknown):
            course.append(event)
            head = step(head, Tick(), course, 1.0)
            assert (head.place, head.said) == (course.count, "reading …")
    course.complete = True
    head = step(head, Tick(), course, 1.0)
    assert (head.sought, head.said, head.playing) == (None, "", False)


def test_leaps_edges_and_places():
    assert after(Edge(end=True)).place == END
    assert after(Edge(end=True), Edge(end=False)).place == 0
    assert after(Leap(1)).place == round(END * 0.05)
    assert after(Leap(-1)).place == 0
    assert after(*[Leap(1)] * 30).place == END
    assert after(Seek(7)).place == 7
    assert after(Seek(END + 99)).place == END
    assert after(Seek(-1)).place == 0


def test_seeking_goes_on_playing_from_there():
    head = step(Playhead(playing=True), Seek(20), COURSE, 5.0)
    assert head.playing
    head = step(head, Tick(), COURSE, 5.0)
    assert head.place == pytest.approx(20, abs=2)
    assert step(head, Tick(), COURSE, 5.0 + LONGEST_WAIT).place > head.place


def test_speeds_go_by_steps_and_no_further():
    head = after(*[Speed(1)] * 20)
    assert head.speed == inf
    assert after(*[Speed(-1)] * 20, head=head).speed == SPEEDS[0]


@given(
    st.lists(
        st.one_of(
            st.just(Toggle()),
            st.builds(Step, st.sampled_from([1, -1]), st.sampled_from(KINDS)),
            st.builds(Leap, st.sampled_from([1, -1])),
            st.builds(Seek, st.integers(-5, END + 5)),
            st.builds(Edge, st.booleans()),
            st.builds(Speed, st.sampled_from([1, -1])),
            st.just(Tick()),
        ),
        max_size=30,
    )
)
def test_whatever_is_pressed_it_stands_somewhere(happened: list[Input]):
    head, now = Playhead(), 0.0
    for one in happened:
        now += 0.1
        before = head
        head = step(head, one, COURSE, now)
        assert 0 <= head.place <= END
        assert head.speed in SPEEDS
        if isinstance(one, Tick):
            assert before.place <= head.place <= before.place + AT_ONCE
        assert COURSE.comes(head.place) <= head.clock + 1e-9
