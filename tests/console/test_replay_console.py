"""The replay on the screen: keys, the mouse, and that what is shown is the state at the playhead."""

from __future__ import annotations

import pytest

from console.screens.call import CallScreen
from console.screens.help import HelpScreen
from console.widgets.timeline import HEAD
from tests.console.replays import HOST, ONE, ReplayStage, Session, looping, replaying, seen_of, source_of

SIZES = [(60, 20), (80, 24), (104, 32), (200, 60)]


def line_of(on: ReplayStage, selector: str, text: str) -> tuple[int, int]:
    """Where a text stands in a widget: column and row."""
    for row, line in enumerate(on.text(selector).split("\n")):
        if (column := line.find(text)) >= 0:
            return column, row
    raise AssertionError(f"{text!r} is not in {selector}:\n{on.text(selector)}")


@pytest.mark.parametrize("size", SIZES)
async def test_it_says_what_it_is_and_where_it_stands(size: tuple[int, int]):
    async with replaying(source_of(looping()), size) as on:
        await on.press("d")
        await on.taken_in()
        status = on.text("#status")
        assert "‖ replay paused" in status
        assert f"event {on.place}/{on.app.recording.course.count}" in status
        assert "would have asked" in on.text("#stream")
        assert HOST[:6] in on.text("#timeline")
        assert HEAD in on.text("#timeline")
        assert "top " in on.text("#timeline")
        calls = len(on.app.recording.course.places("call"))
        assert f"/{calls}" in on.text("#transport")
        assert all(len(line) <= size[0] for line in on.text("#transport").split("\n"))
        on.main.agents.focus()
        assert "space Play" in on.text("KeyLine")


@pytest.mark.parametrize("size", [(80, 12), (60, 14), (100, 17)])
async def test_on_a_very_low_screen_the_lists_give_way(size: tuple[int, int]):
    async with replaying(source_of(looping()), size) as on:
        await on.press("d")
        await on.taken_in()
        for selector in ("#status", "#transport", "#timeline", "#stream"):
            region = on.app.screen.query_one(selector).region
            assert region.height > 0
            assert 0 <= region.y < region.bottom <= size[1] - 1, selector
        assert "would have" in on.text("#stream")


async def test_it_plays_by_itself_and_stops_at_the_end():
    async with replaying(source_of(looping()), paused=False) as on:
        assert on.app.head.playing
        await on.press("+", "+", "+", "+", "+", "+", "+")
        assert "max" in on.text("#transport")
        on.pass_time(1)
        await on.until(lambda: not on.app.head.playing, "the end")
        assert on.place == on.app.recording.course.count
        await on.shows("the end")


async def test_each_key_goes_where_it_says():
    async with replaying(source_of(looping())) as on:
        course = on.app.recording.course
        calls, gates, failures, stages = (course.places(kind) for kind in ("call", "gate", "failure", "stage"))
        for key, place in (
            ("0", 0),
            ("right", calls[0]),
            ("full_stop", calls[1]),
            ("left", calls[0]),
            ("comma", 0),
            ("d", gates[0]),
            ("d", gates[1]),
            ("D", gates[0]),
            ("0", 0),
            ("e", failures[0]),
            ("e", failures[1]),
            ("E", failures[0]),
            ("0", 0),
            ("v", stages[0]),
            ("v", stages[1]),
            ("V", stages[0]),
            ("dollar_sign", course.count),
            ("less_than_sign", course.count - round(course.count / 20)),
            ("greater_than_sign", course.count),
            ("ctrl+home", 0),
            ("shift+right", round(course.count / 20)),
            ("shift+left", 0),
            ("ctrl+end", course.count),
        ):
            await on.press(key)
            await on.taken_in()
            assert on.place == place, key
            assert seen_of(on.app.state) == seen_of(on.app.recording.after(place)), key


async def test_every_list_shows_the_state_at_the_playhead():
    async with replaying(source_of(looping()), (104, 32)) as on:
        await on.press("d")
        await on.taken_in()
        later = on.text()
        assert "⊘ DENY" in later
        await on.press("0", "v", "v")
        await on.taken_in()
        assert "⊘ DENY" not in on.text()
        assert "would have asked" not in on.text()
        await on.press("d")
        await on.taken_in()
        assert on.text() == later


async def test_nothing_to_jump_to_is_said():
    async with replaying(source_of(looping())) as on:
        await on.press("D")
        await on.shows("none before")
        await on.press("dollar_sign")
        await on.taken_in()
        assert "none" not in on.text("#transport")


async def test_the_mouse_does_everything():
    async with replaying(source_of(looping()), (120, 34)) as on:
        course = on.app.recording.course
        for text, place in (
            ("◆", course.places("gate")[0]),
            ("⇤", 0),
            ("✗", course.places("failure")[0]),
            ("⇥", course.count),
            ("←", course.places("call")[-1]),
        ):
            await on.pilot.click("#transport", offset=line_of(on, "#transport", text))
            await on.taken_in()
            assert on.place == place, text
        column, row = line_of(on, "#transport", "◆")
        await on.pilot.click("#transport", offset=(column - 1, row))
        await on.taken_in()
        assert on.place == course.places("gate")[-2 if course.places("gate")[-1] == course.places("call")[-1] else -1]
        await on.pilot.click("#transport", offset=line_of(on, "#transport", "+"))
        assert on.app.head.speed == 2
        await on.pilot.click("#transport", offset=line_of(on, "#transport", "play"))
        assert on.app.head.playing


@pytest.mark.parametrize("size", SIZES)
async def test_a_click_on_the_timeline_goes_there_and_dragging_follows(size: tuple[int, int]):
    async with replaying(source_of(looping()), size) as on:
        timeline, count = on.main.timeline, on.app.recording.course.count
        head = line_of(on, "#timeline", HEAD)[0]
        start = head - timeline.column_of(on.place)
        middle = start + (size[0] - start) // 2
        await on.pilot.click("#timeline", offset=(middle, 0))
        await on.taken_in()
        assert count * 0.4 < on.place < count * 0.6
        assert line_of(on, "#timeline", HEAD)[0] == middle
        await on.pilot.mouse_down("#timeline", offset=(middle, 0))
        await on.pilot.hover("#timeline", offset=(size[0] - 2, 0))
        await on.pilot.mouse_up("#timeline", offset=(size[0] - 2, 0))
        await on.taken_in()
        assert on.place == count
        await on.pilot.hover("#timeline", offset=(middle, 0))
        assert on.place == count, "the button is up: nothing is dragged"
        await on.pilot.click("#timeline", offset=(start, 0))
        await on.taken_in()
        assert on.place == 0
        await on.pilot.click("#timeline", offset=(2, 0))
        assert on.place == 0, "a label is no place"


async def test_keys_are_letters_while_a_filter_is_typed():
    async with replaying(source_of(looping())) as on:
        await on.press("dollar_sign", "slash", *"veda", "left", "space", "full_stop", "enter")
        await on.taken_in()
        assert on.main.filter_line.value == "ved .a"
        assert on.place == on.app.recording.course.count
        assert not on.app.head.playing
        await on.press("escape", "d")
        assert on.place == on.app.recording.course.places("gate")[0] or on.app.head.said


async def test_a_filter_and_an_agent_stay_chosen_over_a_seek():
    async with replaying(source_of(looping()), (104, 32)) as on:
        await on.press("dollar_sign")
        await on.taken_in()
        on.main.select_agent(ONE)
        on.main.filter_with("kind:refused")
        await on.taken_in()
        shown = len(on.main.stream.view)
        await on.press("0", "d", "d")
        await on.taken_in()
        assert on.main.agents.selected == ONE
        assert 0 < len(on.main.stream.view) < shown
        assert "would have" in on.text("#stream")


async def test_a_call_can_be_read_in_full_however_far_back_it_is():
    session = Session()
    for number in range(40):
        session.call(ONE, f"echo {number}")
    async with replaying(source_of(session.lines)) as on:
        await on.press("dollar_sign")
        await on.taken_in()
        await on.press("home", "down", "enter")
        await on.taken_in()
        assert isinstance(on.app.screen, CallScreen)
        await on.shows("echo 0")
        assert "too far back" not in on.text()


async def test_the_help_has_the_keys_of_the_replay_and_no_others():
    async with replaying(source_of(looping()), (100, 40)) as on:
        await on.press("question_mark")
        await on.taken_in()
        assert isinstance(on.app.screen, HelpScreen)
        text = on.text()
        assert "the next gate" in text
        assert "when an agent asks" not in text
        await on.press("escape")
        await on.taken_in()
        titles = [command.title for command in on.app.get_system_commands(on.app.screen)]
        assert "Replay: next gate" in titles


async def test_nothing_can_be_answered_and_quitting_asks_nothing():
    async with replaying(source_of(looping())) as on:
        await on.press("d", "a", "t", "r", "R")
        await on.taken_in()
        assert on.app.asking.prompt.shown is None
        assert not on.main.panel.display
        await on.press("q")
        await on.pilot.pause()
        assert on.app.return_code == 0


async def test_hostile_text_is_shown_and_obeyed_nowhere():
    session = Session()
    evil = "\x1b]0;owned\x07\u202e\ud800[@click=app.quit]x[/]"
    for _ in range(14):
        session.call(evil, f"curl -s https://h.example.org/\x1b[2J{evil}")
    async with replaying(source_of(session.lines), (160, 48)) as on:
        await on.press("dollar_sign")
        await on.taken_in()
        text = on.text()
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "\u202e" not in text
        assert "\ud800" not in text
        assert "[@click=app.quit]" in text.replace(" ", "")


async def test_an_empty_recording_is_a_screen_too():
    async with replaying(source_of([])) as on:
        await on.press("right", "left", "d", "v", "e", "dollar_sign", "0", "space", "space")
        await on.pilot.click("#timeline", offset=(60, 0))
        await on.taken_in()
        assert on.place == 0
        assert "call 0/0" in on.text("#transport")


async def test_a_session_without_times_has_none_on_the_screen():
    async with replaying(source_of(looping(at=0.0))) as on:
        await on.press("d")
        await on.taken_in()
        assert ":" not in on.text("#status").partition("event")[2]
        assert "00:00" not in on.text("#stream")


async def test_playing_and_seeking_show_the_same():
    source = source_of(looping())
    async with replaying(source, paused=False) as on:
        for _ in range(200):
            on.pass_time(0.9)
            on.app.pulse()
            if on.place > 60:
                break
        await on.press("space")
        assert seen_of(on.app.state) == seen_of(on.app.recording.after(on.place))
        assert seen_of(on.app.state)["rows"]
