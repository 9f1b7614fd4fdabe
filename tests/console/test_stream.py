"""The stream's ring, its filters and its frozen views."""

from __future__ import annotations

import gc
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.state import State, reduce
from console.state.stream import (
    ROWS_DROPPED_AT_ONCE,
    Filter,
    Kind,
    Phase,
    Row,
    Stream,
    View,
    duration,
    parse_filter,
)
from tests.console.scenes import Scene, failed, load


def row(stream: Stream, text: str = "ls", kind: Kind = "call", phase: Phase = "ran", tool: str = "Bash") -> Row:
    made = Row(stream.end, 1.0, kind, "agent-7f3a", "claude-code 7f3a", tool, text, phase)
    stream.append(made)
    return made


def shown(view: View) -> list[int]:
    while not view.complete:
        view.update()
    view.update()
    return list(view)


def test_the_oldest_rows_leave_and_numbers_stay():
    stream = Stream(most=100)
    for number in range(100 + ROWS_DROPPED_AT_ONCE):
        row(stream, str(number))
    assert stream.first == ROWS_DROPPED_AT_ONCE
    assert len(stream) == 100
    assert stream.get(0) is None
    assert stream.get(ROWS_DROPPED_AT_ONCE).text == str(ROWS_DROPPED_AT_ONCE)
    assert stream.get(stream.end) is None


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("LS", True),
        ("ls Bash", True),
        ("ls grep", False),
        ("agent:7f3a", True),
        ("agent:CLAUDE", True),
        ("agent:codex", False),
        ("tool:bash", True),
        ("tool:read", False),
        ("kind:call", True),
        ("kind:calls,asks", True),
        ("kind:ran", True),
        ("kind:failed,refused", False),
        ("kind:failed ls", False),
        ("ran", True),
        ("https://x", False),
        ("other:word", False),
    ],
)
def test_a_filter_lets_through_what_matches_all_of_it(text: str, matches: bool):
    assert parse_filter(text).matches(row(Stream())) is matches


def test_a_filter_that_names_no_kind_says_which_there_are():
    with pytest.raises(ValueError, match=r"no kind 'nonsense'.*refused"):
        parse_filter("kind:nonsense")


def test_a_filter_takes_the_words_it_is_made_of_literally():
    stream = Stream()
    row(stream, "a.b")
    row(stream, "a+b [x](")
    assert shown(View(stream, parse_filter("a.b"))) == [0]
    assert shown(View(stream, parse_filter("[x]("))) == [1]


changes = st.lists(
    st.tuples(st.sampled_from(["append", "change", "update"]), st.integers(0, 400), st.sampled_from(["ran", "failed"])),
    max_size=400,
)


@settings(max_examples=100, deadline=None)
@given(changes)
def test_a_filtered_view_shows_what_filtering_everything_would(steps: list[tuple[str, int, Phase]]):
    stream = Stream(most=50)
    view = View(stream, Filter(kinds=frozenset({"failed"})))
    for what, number, phase in steps:
        known = stream.get(number)
        if what == "append":
            for _ in range(number):
                row(stream, phase=phase)
        elif what == "change" and known is not None:
            known.phase = phase
            stream.touch(known)
        else:
            view.update()
    expected = [one.number for one in stream.since(0, 10**9) if one.phase == "failed"]
    assert shown(view) == expected
    for number in expected[:5]:
        assert view[view.index_of(number)] == number


@pytest.mark.parametrize("only", [Filter(), Filter(tool="bash")])
def test_a_frozen_view_shows_nothing_newer_while_rows_come_and_go(only: Filter):
    stream = Stream(most=100)
    for _ in range(ROWS_DROPPED_AT_ONCE + 150):
        row(stream)
    view = View(stream, only)
    view.limit = stream.end - 30
    assert shown(view)[-1] == view.limit - 1
    for _ in range(ROWS_DROPPED_AT_ONCE - 60):
        row(stream)
    assert shown(view) == list(range(stream.first, view.limit))
    view.limit = None
    assert shown(view)[-1] == stream.end - 1


def test_a_row_costs_so_little_that_a_hundred_thousand_fit_in_sixty_megabytes():
    scene, source = Scene(), load()
    for _ in range(1000):
        agent, command = next(source)
        scene.call(agent, command, failed(7, "curl: (7) Failed to connect to host after 2 ms: no route"))
    events = scene.drain()
    state = State()
    while state.stream.end < 10_000:  # by now as many calls are kept in full as ever will be
        reduce(state, events)
    gc.collect()
    tracemalloc.start()
    try:
        before = state.stream.end
        while state.stream.end < 20_000:
            reduce(state, events)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used / (state.stream.end - before) < 500


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (0.84, "0.8 s"), (9.94, "9.9 s"), (42.3, "42 s"), (185, "3:05"), (7300, "2 h"), (200_000, "2 d")],
)
def test_durations(seconds: float, text: str):
    assert duration(seconds) == text
