"""The console at work: what is drawn, what may be pressed, and that only a gesture on a prompt in sight answers."""

from __future__ import annotations

import json

import pytest
from textual.widgets import Input

from console.prompt import ARMING
from console.screens.call import CallScreen
from console.screens.config import ConfigScreen
from console.screens.help import HelpScreen
from console.screens.leave import LeaveScreen
from console.screens.measure import MeasureScreen
from console.screens.rules import RulesScreen
from console.themes import NAMES
from engine.events import ConfigChanged, Notice
from tests.console import scenes
from tests.console.scenes import Scene, page
from tests.console.stage import stage

AGENT = "0192-4c1e-7f3a"
HOST = "host:api.weather.gc.ca"
SIZES = [(60, 20), (80, 24), (104, 32), (200, 60)]


def turns(scene: Scene) -> dict[str, int]:
    return {agent.agent: agent.turn for agent in scene.breaker.snapshot().agents}


# -- answering --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_a_prompt_says_everything_and_two_keys_approve(size: tuple[int, int]):
    async with stage(scenes.asking(), size) as on:
        await on.armed()
        shown = " ".join(on.text("#prompt").split())
        for part in ("ask 1 of 1", "left", "claude-code 7f3a wants to run Bash", "offset=1500", HOST, "16 of 16"):
            assert part in shown
        assert "approve" in shown
        assert "reject" in shown
        await on.press("a", "t")
        await on.settled()
        assert on.scene.answers == [("ask-1", "approved", "")]
        await on.shows("nothing waits for you")


async def test_rejecting_takes_one_key():
    async with stage(scenes.asking()) as on:
        await on.armed()
        await on.press("r")
        await on.settled()
        assert on.scene.answers == [("ask-1", "rejected", "")]
        await on.shows("blocked")


async def test_a_note_goes_to_the_model():
    async with stage(scenes.asking()) as on:
        await on.armed()
        await on.press("R", *"use the bulk file, t", "o", "o", "backspace")
        await on.shows("note     use the bulk file, to")
        await on.press("enter")
        await on.settled()
        assert on.scene.answers == [("ask-1", "rejected", "use the bulk file, to")]


@pytest.mark.parametrize(
    "keys",
    [
        ["enter"],
        ["space"],
        ["y"],
        ["1"],
        ["t"],
        ["t", "a"],
        ["a", "a", "t"],
        ["a", "x", "t"],
        ["a", "escape", "t"],
        ["a", "down", "t"],
        ["a", "enter"],
        ["a", "y"],
        ["r", "x"],
        ["R", "escape"],
    ],
)
async def test_no_other_keys_answer(keys: list[str]):
    async with stage(scenes.asking()) as on:
        await on.armed()
        await on.press(*keys)
        on.pass_time(5)
        await on.pilot.pause(0.3)
        await on.taken_in()
        assert on.scene.answers == []


async def test_nothing_typed_before_it_was_in_sight_or_while_it_arms_answers():
    scene = scenes.climbing()
    async with stage(scene) as on:
        await on.press("a", "t", "r")
        for number in range(12, 16):
            scene.call(AGENT, page(number))
        await on.press("a", "t", "r")
        await on.in_sight()
        await on.press("a", "t")
        for _ in range(20):  # a key held down keeps it from arming
            on.pass_time(ARMING / 2)
            await on.press("r")
        on.pass_time(5)
        await on.pilot.pause(0.3)
        await on.taken_in()
        assert scene.answers == []
        await on.press("r")
        await on.settled()
        assert scene.answers == [("ask-1", "rejected", "")]


async def test_the_second_key_must_come_in_time():
    async with stage(scenes.asking()) as on:
        await on.armed()
        await on.press("a")
        on.pass_time(3.1)
        await on.press("t")
        await on.shows("not approved")
        assert on.scene.answers == []


async def test_the_mouse_answers_in_two_places():
    async with stage(scenes.asking()) as on:
        await on.armed()
        panel = on.app.main.panel
        row = next(y for y, line in enumerate(panel.lines_shown) if "approve…" in line)
        await on.pilot.click(panel, offset=(3, row), times=2)
        await on.shows("t approves; any other key cancels")
        assert on.scene.answers == []
        await on.pilot.click(panel, offset=(panel.lines_shown[row].index(" t "), row))
        await on.settled()
        assert on.scene.answers == [("ask-1", "approved", "")]


async def test_a_page_covers_the_prompt_and_afterwards_it_arms_again():
    async with stage(scenes.asking()) as on:
        await on.armed()
        await on.press("question_mark")
        await on.shows("when an agent asks")
        on.pass_time(2)
        await on.press("a", "t", "r")
        await on.shows("1 waits for you · esc: back to it")
        await on.press("escape", "a", "t")
        on.pass_time(0.3)
        await on.taken_in()
        assert on.scene.answers == []
        await on.armed()
        await on.press("a", "t")
        await on.settled()
        assert on.scene.answers == [("ask-1", "approved", "")]


@pytest.mark.parametrize("opens", ["ctrl+p", "q", "question_mark"])
async def test_what_stands_before_an_ask_takes_it_out_of_sight(opens: str):
    async with stage(scenes.asking()) as on:
        await on.armed()
        await on.press(opens)
        await on.until(lambda: on.app.asking.prompt.painted_at is None, "the ask out of sight")
        on.pass_time(5)
        await on.press("a", "t", "r", "escape", "escape")
        assert on.scene.answers == []


async def test_words_typed_into_the_filter_answer_nothing():
    async with stage(scenes.asking()) as on:
        await on.armed()
        await on.press("slash", *"at r")
        assert on.app.main.query_one(Input).value == "at r"
        on.pass_time(1)
        await on.pilot.pause(0.3)
        assert on.scene.answers == []


async def test_an_ask_left_open_is_shown_again_on_request():
    async with stage(scenes.asking()) as on:
        await on.armed()
        await on.press("escape")
        await on.shows("1 waits for you · s shows")
        assert not on.app.main.panel.display
        await on.press("s")
        await on.armed()
        await on.press("r")
        await on.settled()
        assert on.scene.answers == [("ask-1", "rejected", "")]


async def test_asks_queue_oldest_first_and_are_gone_through():
    async with stage(scenes.many(12, 3), (120, 40)) as on:
        await on.armed()
        await on.shows("ask 1 of 3")
        await on.press("n")
        await on.shows("ask 2 of 3")
        await on.armed()
        await on.press("r")
        await on.settled()
        assert [answer[0] for answer in on.scene.answers] == ["ask-2"]
        await on.shows("ask 1 of 2")


async def test_an_ask_that_was_answered_elsewhere_says_so():
    async with stage(scenes.asking()) as on:
        await on.armed()
        on.scene.breaker.answer("ask-1", "rejected")
        await on.press("a", "t")
        await on.settled()
        assert on.scene.answers == []
        await on.shows("nothing waits for you")


async def test_a_fault_on_the_way_to_the_engine_leaves_the_ask_to_be_answered_again():
    async with stage(scenes.asking()) as on:
        await on.armed()
        on.source.operator = None
        await on.press("r")
        await on.settled()
        await on.shows("there is no engine to answer to")
        on.source.operator = on.scene
        await on.armed()
        await on.press("r")
        await on.settled()
        assert on.scene.answers == [("ask-1", "rejected", "")]


async def test_the_whole_call_can_be_read_and_scrolled():
    scene = Scene()
    scene.agent(AGENT)
    command = "python - <<'E'\n" + "\n".join(f"print({number})" for number in range(200)) + "\nE"
    for _ in range(12):
        scene.call(AGENT, command)
    async with stage(scene, (80, 24)) as on:
        await on.armed()
        assert "print(199)" not in on.text("#prompt")
        await on.press("w")
        await on.shows("print(15)")
        for _ in range(30):
            await on.press("pagedown")
        await on.shows("print(199)")
        await on.press("w")
        await on.armed()
        await on.press("a", "t")
        await on.settled()
        assert on.scene.answers == [("ask-1", "approved", "")]


async def test_a_terminal_too_small_for_the_prompt_takes_no_answer():
    async with stage(scenes.asking(), (60, 9)) as on:
        on.pass_time(5)
        await on.taken_in()
        assert on.app.asking.prompt.painted_at is None
        await on.press("r")
        on.pass_time(5)
        await on.pilot.pause(0.3)
        assert on.scene.answers == []


async def test_a_window_that_became_too_small_takes_no_answer():
    async with stage(scenes.asking(), (80, 24)) as on:
        await on.armed()
        await on.pilot.resize_terminal(80, 8)
        await on.until(lambda: on.app.asking.prompt.painted_at is None, "the ask out of sight")
        on.pass_time(5)
        await on.press("r")
        on.pass_time(5)
        await on.pilot.pause(0.4)
        await on.taken_in()
        assert on.scene.answers == []
        await on.pilot.resize_terminal(80, 24)
        await on.armed()
        await on.press("r")
        await on.settled()
        assert on.scene.answers == [("ask-1", "rejected", "")]


# -- the lists --------------------------------------------------------------------------------------------------------


async def test_an_ask_moves_no_list_and_takes_no_focus():
    scene = scenes.climbing()
    async with stage(scene) as on:
        main = on.app.main
        await on.press("up", "up", "up", "up")
        before = [(lines.cursor, lines.scroll_offset) for lines in (main.agents, main.measures, main.stream)]
        focused = on.app.focused
        under = main.row()
        for number in range(12, 16):
            scene.call(AGENT, page(number))
        await on.in_sight()
        assert [(lines.cursor, lines.scroll_offset) for lines in (main.agents, main.measures, main.stream)] == before
        assert on.app.focused is focused
        assert main.row() is under


async def test_the_newest_line_stays_in_sight_above_the_prompt():
    async with stage(scenes.asking(), (100, 30)) as on:
        await on.in_sight()
        await on.taken_in()
        stream, panel = on.app.main.stream, on.app.main.panel
        last = len(stream.view) - 1 - stream.scroll_offset.y
        assert stream.region.y + last < panel.region.y
        assert "asks you about" in on.text("#stream")


async def test_scrolling_ends_following_and_end_begins_it_again():
    scene = scenes.climbing()
    async with stage(scene) as on:
        stream = on.app.main.stream
        await on.shows("following")
        await on.press("pageup")
        under, top = on.app.main.row(), stream.scroll_offset.y
        for number in range(5):
            scene.call("ses_19c2", f"echo {number}")
        await on.taken_in()
        await on.shows("5 new · End follows")
        assert on.app.main.row() is under
        assert stream.scroll_offset.y == top
        await on.press("end")
        await on.shows("following")
        assert "echo 4" in on.text("#stream")


async def test_scrolled_rows_stay_in_place_when_old_ones_leave(monkeypatch: pytest.MonkeyPatch):
    scene = scenes.climbing()
    async with stage(scene) as on:
        stream = on.app.state.stream
        stream.most = 30
        await on.press("pageup")
        under = on.app.main.row()
        assert under is not None
        line = under.number - stream.first - on.app.main.stream.scroll_offset.y
        monkeypatch.setattr("console.state.stream.ROWS_DROPPED_AT_ONCE", 3)
        for number in range(12):
            scene.call("ses_19c2", f"echo {number}")
        await on.taken_in()
        assert stream.first > 0
        assert on.app.main.row() is under
        assert under.number - stream.first - on.app.main.stream.scroll_offset.y == line


async def test_pausing_freezes_the_view_and_collects_on():
    scene = scenes.climbing()
    async with stage(scene) as on:
        await on.press("p")
        await on.shows("view paused")
        before = on.text("#stream")
        events = on.app.state.events
        scene.call(AGENT, "echo while paused")
        await on.taken_in()
        assert on.text("#stream") == before
        assert on.app.state.events > events
        await on.shows("paused · 1 new")
        for number in range(12, 16):
            scene.call(AGENT, page(number))
        await on.in_sight()
        await on.press("p")
        await on.taken_in()
        assert on.app.main.stream.view[-1] == on.app.state.stream.end - 1


async def test_filtering_the_stream():
    async with stage(scenes.climbing()) as on:
        await on.press("slash", *"kind:failed", "enter")
        await on.taken_in()
        assert len(on.app.main.stream.view) == 3
        await on.shows("3 of ")
        await on.press("slash", *",nonsense")
        await on.until(lambda: on.app.main.filter_line.has_class("-wrong"), "a complaint")
        await on.press("escape")
        await on.taken_in()
        assert not on.app.main.filter_line.display
        assert len(on.app.main.stream.view) == len(on.app.state.stream)


async def test_an_agent_is_selected_and_its_measures_shown():
    async with stage(scenes.climbing()) as on:
        main = on.app.main
        main.agents.focus()
        await on.press("down", "down")
        await on.shows("measures · explore a67e")
        assert "host:stations.example.org" in on.text("#measures")
        assert "api.weather" not in on.text("#measures")
        await on.press("home")
        await on.shows("measures · all agents")


async def test_the_cursor_stays_on_its_measure_when_another_overtakes_it():
    scene = scenes.calm()
    async with stage(scene) as on:
        measures = on.app.main.measures
        measures.focus()
        await on.press("down", "down")
        under = measures.selected()
        for _ in range(4):
            scene.call(AGENT, "make everything")
        await on.taken_in()
        now = measures.selected()
        assert under is not None
        assert now is not None
        assert now[1].fingerprint == under[1].fingerprint


# -- pages ------------------------------------------------------------------------------------------------------------


async def test_a_call_in_full_and_its_copy():
    async with stage(scenes.climbing()) as on:
        await on.press("enter")
        await on.until(lambda: isinstance(on.app.screen, CallScreen), "the call")
        await on.taken_in()
        for part in ("stations.example.org", "host:stations.example.org", "allowed", "exit 22", "HTTP 503"):
            assert part in on.text("#page")
        await on.press("c")
        copied = json.loads(on.app.clipboard)
        assert copied["args"] == {"command": "curl -sf https://stations.example.org/v1/list"}
        await on.press("escape")
        assert on.app.screen is on.app.main


async def test_a_measure_in_full():
    async with stage(scenes.asking(), (120, 50)) as on:
        on.app.main.measures.focus()
        await on.press("enter")
        await on.until(lambda: isinstance(on.app.screen, MeasureScreen), "the measure")
        await on.taken_in()
        await on.shows("calls in its window · 15")
        assert HOST in on.text("#page")
        assert "at the gate" in on.text("#page")
        await on.press(*["down"] * 7, "enter")
        await on.until(lambda: isinstance(on.app.screen, CallScreen), "a call of it")


async def test_an_exemption_is_revoked_with_two_keys():
    scene = scenes.asking()
    scene.answer("ask-1", "approved")
    async with stage(scene) as on:
        await on.press("x")
        await on.until(lambda: isinstance(on.app.screen, RulesScreen), "the rules")
        await on.taken_in()
        await on.shows(f"∅ exempt   {HOST}")
        await on.press("down", "u", "down", "enter")
        await on.taken_in()
        assert any(HOST in agent.exemptions for agent in scene.breaker.snapshot().agents)
        await on.press("up", "u")
        await on.shows("enter: count it again")
        await on.press("enter")
        await on.until(lambda: not any(agent.exemptions for agent in scene.breaker.snapshot().agents), "no exemption")


async def test_a_refusal_is_lifted_and_a_turn_reset_with_two_keys():
    scene = scenes.asking()
    scene.answer("ask-1", "rejected", "use the bulk file")
    async with stage(scene) as on:
        await on.press("x")
        await on.shows("⊘ refused  ")
        await on.press("down", "u", "enter")
        await on.until(lambda: not any(agent.refusals for agent in scene.breaker.snapshot().agents), "no refusal")
        await on.taken_in()
        await on.press("z")
        await on.shows("enter: clear its counts")
        await on.press("enter")
        await on.until(lambda: turns(scene) == {AGENT: 2, "0192-4c1e-a67e": 1, "ses_19c2": 1}, "a new turn")


async def test_configuration_and_messages():
    async with stage(scenes.calm(), (100, 60)) as on:
        scene = on.scene
        scene.told(ConfigChanged(scene.at, "a.yaml", error="window: 2 is too small [b]x[/b]"))
        scene.told(Notice(scene.at, "error", "the journal \x1b[31mcannot be written"))
        await on.taken_in()
        await on.press("o")
        await on.until(lambda: isinstance(on.app.screen, ConfigScreen), "the configuration")
        await on.taken_in()
        text = on.text("#page")
        for part in ("warnAt: 7", "host: 16", "window: 2 is too small [b]x[/b]", "the journal ␛[31mcannot be written"):
            assert part in text


async def test_help_lists_every_key_of_the_prompt():
    async with stage(scenes.calm(), (100, 50)) as on:
        await on.press("question_mark")
        await on.until(lambda: isinstance(on.app.screen, HelpScreen), "help")
        await on.taken_in()
        for key in ("a, then t", "r ", "R ", "w ", "n ", "esc", "s ", "GATE", "SUMMARIZE", "WARN", "EXEMPT", "REFUSED"):
            assert key in on.text("#page")


async def test_quitting_says_what_becomes_of_open_asks():
    async with stage(scenes.asking()) as on:
        await on.armed()
        await on.press("q")
        await on.until(lambda: isinstance(on.app.screen, LeaveScreen), "the question")
        await on.shows("Quit? 1 ask is open.")
        await on.shows("Calls that wait for you are refused.")
        await on.press("escape")
        assert on.app.screen is on.app.main
        await on.press("ctrl+q", "enter")
        await on.until(lambda: not on.app.is_running, "the end")
        assert on.scene.answers == []


async def test_an_ask_whose_answer_is_under_way_is_not_called_open():
    async with stage(scenes.asking()) as on:
        await on.armed()
        on.source.silent = True
        await on.press("a", "t")
        await on.settled()
        await on.press("q")
        await on.shows("Quit? No ask is open.")


async def test_what_quitting_changes_is_told_as_it_changes():
    async with stage(scenes.asking()) as on:
        await on.armed()
        await on.press("q")
        await on.shows("Quit? 1 ask is open.")
        on.scene.answer("ask-1", "rejected")
        await on.shows("Quit? No ask is open.")


async def test_with_nothing_at_stake_it_quits_at_once():
    async with stage(Scene()) as on:
        await on.press("q")
        await on.until(lambda: not on.app.is_running, "the end")


# -- where it comes from ----------------------------------------------------------------------------------------------


async def test_an_engine_that_has_gone_leaves_the_screen_to_be_read():
    async with stage(scenes.asking()) as on:
        await on.armed()
        on.source.gone = "The engine has \x1bstopped."
        await on.taken_in()
        await on.shows("disconnected: The engine has ␛stopped.")
        assert not on.app.main.panel.display
        assert "page15.json" in on.text("#stream")
        await on.press("q")
        await on.until(lambda: not on.app.is_running, "the end")


async def test_who_only_watches_has_nothing_to_answer():
    async with stage(scenes.asking(), observes=True) as on:
        await on.shows("1 open ask")
        assert not on.app.main.panel.display
        on.pass_time(5)
        await on.press("a", "t", "r")
        on.pass_time(5)
        await on.pilot.pause(0.3)
        assert on.scene.answers == []
        await on.press("x")
        await on.shows("watching only: nothing can be undone")
        await on.press("down", "z", "enter")
        assert set(turns(on.scene).values()) == {1}


# -- everywhere -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_fifty_agents_and_ten_asks(size: tuple[int, int]):
    async with stage(scenes.many(), size) as on:
        await on.armed()
        await on.shows("ask 1 of 10")
        await on.press("r")
        await on.settled()
        assert [answer[0] for answer in on.scene.answers] == ["ask-1"]


@pytest.mark.parametrize("theme", [*NAMES, "nord", "textual-light", "ansi-light"])
async def test_any_theme(theme: str):
    async with stage(scenes.asking()) as on:
        on.app.theme = theme
        await on.in_sight()
        await on.shows("ask 1 of 1")


async def test_the_themes_go_round():
    async with stage(scenes.calm()) as on:
        seen = []
        for _ in NAMES:
            seen.append(on.app.theme)
            await on.press("ctrl+t")
        assert sorted(seen) == sorted(NAMES)


async def test_the_palette_knows_what_can_be_done():
    async with stage(scenes.climbing()) as on:
        await on.press("ctrl+p", *"failed calls")
        await on.shows("Filter: failed calls")
        await on.press("down", "enter")
        await on.until(lambda: len(on.app.main.stream.view) == 3, "the filter")


async def test_the_palette_finds_agents_whatever_they_call_themselves():
    scene = scenes.calm()
    scene.agent("x1", harness="", name="[@click=app.quit]x[/] [/nothing] [bold")
    async with stage(scene) as on:
        await on.press("ctrl+p", *"explo")
        await on.shows("Agent: explore a67e")
        await on.press(*["backspace"] * 5)
        await on.press(*"click=app")
        await on.shows("Agent: [@click=app.quit]x[/] [/nothing] [bold x1")
        await on.press("down", "enter")
        await on.shows("measures · [@click=app.quit]x[/] [/nothing] [b")


async def test_the_footer_shows_what_works_now():
    async with stage(scenes.asking()) as on:
        await on.armed()
        assert "Show asks" not in on.text("KeyLine")
        await on.press("escape")
        await on.until(lambda: "Show asks" in on.text("KeyLine"), "Show asks")
        assert "Follow" not in on.text("KeyLine")
        await on.press("up")
        await on.until(lambda: "Follow" in on.text("KeyLine"), "Follow")


@pytest.mark.parametrize("width", [50, 60, 73, 80, 81, 100])
async def test_the_footer_shows_whole_keys_and_all_for_which_there_is_room(width: int):
    keys = ["⏎ Open", "? Help", "q Quit", "/ Filter", "p Pause", "c Copy", "x Rules", "o Config"]
    async with stage(scenes.calm(), size=(width, 24)) as on:
        await on.until(lambda: "Help" in on.text("KeyLine"), "Help")
        line = on.text("KeyLine")
        shown = [key for key in keys if key in line]
        assert " ".join(line.split()) == " ".join(shown) == " ".join(keys[: len(shown)])
        assert shown == keys or len(line) + 2 + len(keys[len(shown)]) > width


async def test_what_the_footer_shows_can_be_clicked():
    async with stage(scenes.calm()) as on:
        await on.until(lambda: "Help" in on.text("KeyLine"), "Help")
        await on.pilot.click("KeyLine", offset=(on.text("KeyLine").index("Help"), 0))
        await on.shows("esc Back")
        await on.pilot.click("KeyLine", offset=(on.text("KeyLine").index("esc"), 0))
        await on.until(lambda: "Help" in on.text("KeyLine"), "Help")
        await on.pilot.click("KeyLine", offset=(on.text("KeyLine").index("Pause") - 3, 0))
        await on.pilot.click("KeyLine", offset=(95, 0))
        assert not on.app.screen.paused
        await on.pilot.click("KeyLine", offset=(on.text("KeyLine").index("Pause"), 0))
        assert on.app.screen.paused


async def test_a_page_is_written_when_it_opens_so_that_the_next_key_finds_its_lines():
    async with stage(scenes.answered()) as on:
        for timer in list(on.app._timers):  # nothing but the key may draw
            timer.pause()
        await on.pilot.press("x", "down", "u")
        await on.shows("enter: count it again")
