"""The approval prompt: what can answer an ask, and everything that cannot."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.acts import (
    KEY_OF_PLACE,
    KEYS,
    Answer,
    Click,
    Covered,
    Effect,
    Elsewhere,
    Failed,
    Input,
    Key,
    Painted,
    Paste,
    Place,
    Show,
    ShowWholeCall,
    Tick,
)
from console.prompt import (
    ARMING,
    CONFIRM_WITHIN,
    NOTE_CHARS,
    SETTLING,
    Noting,
    Prompt,
    arms_in,
    next_change,
    phase,
    step,
)
from engine.events import AskClosed, AskOpened, Snapshot
from engine.verdicts import Ask, Hit, Outcome


def ask(number: int, opened: float = 0.0) -> Ask:
    fingerprint = f"host:{number}.example.org"
    hit = Hit("repeat", fingerprint, 16, 16)
    return Ask(f"ask-{number}", "agent", f"c{number}", "bash", (fingerprint,), (hit,), opened or float(number), None)


class Desk:
    """A prompt with a clock, as an application would drive it."""

    def __init__(self, *asks: Ask) -> None:
        self.now = 1000.0
        self.prompt = Prompt()
        self.effects: list[Effect] = []
        for one in asks:
            self.does(AskOpened(0.0, one))

    def does(self, happened: Input) -> bool:
        result = step(self.prompt, happened, self.now)
        self.prompt = result.prompt
        if result.effect:
            self.effects.append(result.effect)
        return result.taken

    def waits(self, seconds: float) -> None:
        """Time goes by; the ticks that are owed are delivered on time."""
        end = self.now + seconds
        while (due := next_change(self.prompt, self.now)) is not None and self.now + due <= end:
            self.now += max(due, 0.001)
            self.does(Tick())
        self.now = max(self.now, end)
        self.does(Tick())

    def types(self, keys: Iterable[str], gap: float = 0.0) -> None:
        for key in keys:
            self.does(Key(key))
            self.waits(gap)

    def paints(self) -> None:
        assert self.prompt.shown is not None
        self.does(Painted(self.prompt.shown.id))

    def arms(self) -> None:
        self.paints()
        self.waits(ARMING + 0.001)
        assert self.phase == "armed"

    @property
    def phase(self) -> str:
        return phase(self.prompt, self.now)

    @property
    def answers(self) -> list[Answer]:
        return [effect for effect in self.effects if isinstance(effect, Answer)]


# -- what answers ---------------------------------------------------------------------------------------------------


def test_a_then_t_approves_the_ask_shown() -> None:
    desk = Desk(ask(1))
    desk.arms()
    desk.types("a", gap=1)
    assert desk.phase == "confirming"
    desk.types("t")
    assert desk.phase == "settling"
    assert not desk.effects
    desk.waits(SETTLING)
    assert desk.effects == [Answer("ask-1", "approved")]
    assert desk.phase == "none"


def test_r_rejects() -> None:
    desk = Desk(ask(1))
    desk.arms()
    desk.types("r", gap=1)
    assert desk.effects == [Answer("ask-1", "rejected")]


def test_a_note_goes_with_a_rejection() -> None:
    desk = Desk(ask(1))
    desk.arms()
    desk.types(["R", *"use the cacheX", "backspace", *" r a t"], gap=0.05)
    desk.does(Paste("please\nnow"))
    assert desk.phase == "noting"
    desk.types(["enter"])
    assert desk.effects == [Answer("ask-1", "rejected", "use the cache r a tplease now")]


def test_an_empty_note_is_a_plain_rejection() -> None:
    desk = Desk(ask(1))
    desk.arms()
    desk.types(["R", *"x", "ctrl+u", " ", "enter"])
    assert desk.effects == [Answer("ask-1", "rejected", "")]


def test_escape_drops_the_note_and_leaves_the_ask() -> None:
    desk = Desk(ask(1))
    desk.arms()
    desk.types(["R", *"hello", "escape"], gap=0.1)
    assert not desk.effects
    assert desk.phase == "arming"
    assert "nothing sent" in desk.prompt.message


def test_a_note_is_bounded() -> None:
    desk = Desk(ask(1))
    desk.arms()
    desk.types("R")
    desk.does(Paste("x" * 1_000_000))
    desk.types("yyy")
    assert desk.prompt.gesture == Noting("x" * NOTE_CHARS)


def test_the_mouse_needs_two_places_as_the_keyboard_needs_two_keys() -> None:
    desk = Desk(ask(1))
    desk.arms()
    desk.does(Click("approve"))
    desk.waits(0.1)
    desk.does(Click("this-turn"))
    desk.waits(SETTLING)
    assert desk.effects == [Answer("ask-1", "approved")]


def test_a_double_click_approves_nothing() -> None:
    desk = Desk(ask(1))
    desk.arms()
    for _ in range(5):
        desk.does(Click("approve"))
        desk.waits(0.05)
    desk.waits(1)
    assert not desk.effects


def test_a_click_within_the_arming_does_nothing() -> None:
    desk = Desk(ask(1))
    desk.paints()
    desk.waits(ARMING / 2)
    desk.does(Click("approve"))
    desk.does(Click("this-turn"))
    desk.waits(1)
    assert not desk.effects


@pytest.mark.parametrize(("place", "sent"), [("send-note", [Answer("ask-1", "rejected", "no")]), ("drop-note", [])])
def test_a_note_can_be_sent_or_dropped_with_the_mouse(place: Place, sent: list[Effect]) -> None:
    desk = Desk(ask(1))
    desk.arms()
    desk.does(Click("reject-with-note"))
    desk.types("no")
    desk.does(Click("next"))
    desk.does(Click(place))
    desk.waits(1)
    assert desk.effects == sent


# -- what does not --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["enter", "space", " ", "y", "Y", "1", "2", "0", "A", "T", "t", "tab", "f1", "ctrl+a"])
def test_keys_that_never_approve(key: str) -> None:
    for first in ("", "a"):
        desk = Desk(ask(1))
        desk.arms()
        desk.types([one for one in (first, key) if one], gap=0.1)
        desk.waits(5)
        if (first, key) != ("a", "t"):
            assert not desk.answers


def test_t_after_three_seconds_is_too_late() -> None:
    desk = Desk(ask(1))
    desk.arms()
    desk.types("a")
    desk.now += CONFIRM_WITHIN + 0.01  # not even a tick came
    desk.types("t", gap=1)
    assert not desk.effects
    assert "3 s" in desk.prompt.message


def test_anything_between_the_two_keys_cancels() -> None:
    between: list[Input] = [Key("x"), Key("a"), Key("down"), Paste("t"), Elsewhere(), Click("approve"), Covered()]
    for happened in between:
        desk = Desk(ask(1))
        desk.arms()
        desk.types("a", gap=0.1)
        desk.does(happened)
        desk.paints()
        desk.types("t", gap=1)
        assert not desk.effects, happened


@pytest.mark.parametrize("word", ["attach", "at once", "run", "R2", "rat", "art", "at\t"])
def test_a_word_meant_for_another_window_answers_nothing(word: str) -> None:
    desk = Desk(ask(1))
    desk.arms()
    desk.types(word, gap=0.15)
    desk.waits(1)
    assert not desk.effects


def test_a_key_held_down_keeps_it_disarmed() -> None:
    for key in sorted(KEYS):
        desk = Desk(ask(1), ask(2))
        desk.paints()
        for _ in range(200):
            desk.types([key], gap=0.03)
            if desk.prompt.shown and desk.prompt.painted_at is None:
                desk.paints()
        assert not desk.answers
        assert desk.phase == "arming"


def test_a_held_r_answers_one_ask_and_not_the_next() -> None:
    desk = Desk(ask(1), ask(2))
    desk.arms()
    desk.types("r", gap=0.4)  # a keyboard repeats after about so long
    desk.paints()
    desk.types("r" * 100, gap=0.03)
    assert desk.effects == [Answer("ask-1", "rejected")]


def test_one_answer_per_ask() -> None:
    desk = Desk(ask(1))
    desk.arms()
    desk.types("r", gap=1)
    assert desk.phase == "none"
    desk.does(Painted("ask-1"))
    desk.waits(1)
    desk.types("r", gap=1)
    assert desk.effects == [Answer("ask-1", "rejected")]


def test_a_paste_never_answers() -> None:
    desk = Desk(ask(1))
    desk.arms()
    for text in ("at", "a", "t", "r", "R\n", "rejected\n"):
        assert not desk.does(Paste(text))
        desk.waits(1)
    assert not desk.effects


def test_what_is_not_in_sight_is_not_answered() -> None:
    desk = Desk(ask(1))
    desk.waits(10)
    assert desk.phase == "unpainted"
    desk.types("at", gap=0.1)
    desk.types("r", gap=1)
    desk.does(Painted("ask-2"))
    desk.waits(1)
    desk.types("r", gap=1)
    assert not desk.effects


def test_a_dialogue_over_the_prompt_takes_back_an_answer_under_way() -> None:
    desk = Desk(ask(1))
    desk.arms()
    desk.types("at")
    desk.does(Covered())
    desk.waits(5)
    assert not desk.effects
    desk.paints()
    assert desk.phase == "arming"


# -- the rules, over all that can be typed --------------------------------------------------------------------------

keys = st.sampled_from([*sorted(KEYS), "enter", "space", "y", "1", "x", "up", "backspace"])
places = st.sampled_from(sorted(KEY_OF_PLACE))
acts: st.SearchStrategy[Input] = (
    st.builds(Key, keys) | st.builds(Click, places) | st.builds(Paste, st.sampled_from(["at", "r\n", "a"]))
)
gaps = st.floats(0, 4).map(lambda gap: round(gap, 3))
short_gaps = st.floats(0, ARMING - 0.01).map(lambda gap: round(gap, 3))


@given(before=st.lists(st.tuples(acts, gaps), max_size=12), after=st.lists(st.tuples(acts, short_gaps), max_size=12))
def test_nothing_typed_before_it_was_painted_and_quiet_answers(
    before: list[tuple[Input, float]], after: list[tuple[Input, float]]
) -> None:
    """However fast or slow it is typed before the paint, and in any rhythm without a pause after it."""
    desk = Desk(ask(1), ask(2))
    for act, gap in before:
        desk.does(act)
        desk.waits(gap)
    if desk.prompt.shown is None:
        return
    desk.paints()
    for act, gap in after:
        desk.does(act)
        desk.waits(gap)
        if desk.prompt.shown and desk.prompt.painted_at is None:
            desk.paints()
    desk.waits(10)
    assert not desk.answers


@given(acts, st.lists(gaps, min_size=1, max_size=8))
def test_no_one_act_approves_however_often(act: Input, rhythm: list[float]) -> None:
    desk = Desk(ask(1), ask(2), ask(3))
    for gap in rhythm:
        if desk.prompt.shown and desk.prompt.painted_at is None:
            desk.paints()
        desk.waits(ARMING + 0.01)
        desk.does(act)
        desk.waits(gap)
    assert all(answer.decision == "rejected" for answer in desk.answers)


others: list[Input] = [Covered(), Show(), Elsewhere(), Tick(), Failed("ask-1", "gone", gone=True)]
happenings: st.SearchStrategy[Input] = (
    acts
    | st.builds(AskOpened, st.just(0.0), st.builds(ask, st.integers(1, 4), st.sampled_from([1.0, 2.0])))
    | st.builds(
        AskClosed, st.just(0.0), st.sampled_from(["ask-1", "ask-2"]), st.just(""), st.just("rejected"), st.just(1)
    )
    | st.builds(Painted, st.sampled_from(["ask-1", "ask-2", "ask-3", "ask-4"]))
    | st.sampled_from(others)
    | st.just(Failed("ask-2", "the engine is gone", gone=False))
)


@given(st.lists(st.tuples(happenings, st.sampled_from([0.0, 0.1, 0.3, 0.7, 3.5])), max_size=40))
def test_whatever_happens_only_an_open_painted_ask_is_answered_and_once(happened: list[tuple[Input, float]]) -> None:
    now, prompt = 0.0, Prompt()
    painted: set[str] = set()
    answered: set[str] = set()
    for what, gap in happened:
        before = prompt
        result = step(prompt, what, now)
        prompt = result.prompt
        if isinstance(what, AskOpened | Failed):
            answered.discard(what.ask.id if isinstance(what, AskOpened) else what.ask)
        if isinstance(what, Painted):
            painted.add(what.ask)
        if isinstance(result.effect, Answer):
            name = result.effect.ask
            assert name in painted
            assert name in {one.id for one in before.asks}
            assert before.shown is not None
            assert before.shown.id == name
            assert name not in answered
            answered.add(name)
        assert prompt.shown is None or prompt.shown in prompt.waiting
        assert phase(prompt, now)
        assert 0 <= prompt.position[0] <= prompt.position[1] == len(prompt.waiting)
        due = next_change(prompt, now)
        assert due is None or due >= 0
        now += gap


# -- the queue ------------------------------------------------------------------------------------------------------


def test_the_oldest_is_shown_and_n_goes_round() -> None:
    desk = Desk(ask(1), ask(2), ask(3))
    seen = []
    for _ in range(4):
        assert desk.prompt.shown is not None
        seen.append((desk.prompt.shown.id, desk.prompt.position))
        desk.arms()
        assert desk.does(Key("n"))
        assert desk.phase == "unpainted"
    assert seen == [("ask-1", (1, 3)), ("ask-2", (2, 3)), ("ask-3", (3, 3)), ("ask-1", (1, 3))]


def test_n_with_one_ask_changes_nothing_but_the_arming() -> None:
    desk = Desk(ask(1))
    desk.arms()
    desk.types("n")
    assert desk.phase == "arming"


def test_an_answer_brings_the_next_ask_which_arms_anew() -> None:
    desk = Desk(ask(1), ask(2))
    desk.arms()
    desk.types("at")
    desk.waits(SETTLING)
    assert desk.prompt.shown == ask(2)
    assert desk.phase == "unpainted"
    desk.does(AskClosed(0.0, "ask-1", "agent", "approved", 1))
    assert desk.prompt.message == ""
    assert desk.prompt.position == (1, 1)


def test_a_new_ask_neither_replaces_nor_disarms_the_one_shown() -> None:
    desk = Desk(ask(1))
    desk.arms()
    desk.types("a", gap=0.1)
    desk.does(AskOpened(0.0, ask(2)))
    desk.types("t")
    desk.waits(SETTLING)
    assert desk.answers == [Answer("ask-1", "approved")]


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("approved", "approved elsewhere"),
        ("rejected", "rejected elsewhere"),
        ("timed_out", "timed out"),
        ("cancelled", "withdrawn"),
        ("unattended", "no operator"),
    ],
)
def test_an_ask_that_closes_by_itself_says_why_and_takes_its_gesture_along(outcome: Outcome, words: str) -> None:
    desk = Desk(ask(1), ask(2))
    desk.arms()
    desk.types("a", gap=0.1)
    desk.does(AskClosed(0.0, "ask-1", "agent", outcome, 1))
    assert words in desk.prompt.message
    desk.paints()
    desk.types("t", gap=1)
    assert not desk.effects


def test_another_ask_that_closes_is_no_news() -> None:
    desk = Desk(ask(1), ask(2))
    desk.arms()
    desk.does(AskClosed(0.0, "ask-2", "agent", "timed_out", 1))
    assert desk.prompt.message == ""
    assert desk.phase == "armed"


def test_escape_leaves_all_open_until_shown_again_or_a_new_one_comes() -> None:
    desk = Desk(ask(1), ask(2))
    desk.arms()
    assert desk.does(Key("escape"))
    assert desk.phase == "hidden"
    assert desk.prompt.position == (0, 2)
    assert not desk.does(Key("a"))
    desk.does(AskOpened(0.0, ask(3)))
    assert desk.prompt.shown == ask(3)
    desk.arms()
    desk.types(["escape"])
    desk.does(Show())
    assert desk.prompt.shown == ask(1)
    assert not desk.effects


def test_escape_typed_ahead_does_not_hide_what_nobody_saw() -> None:
    desk = Desk(ask(1))
    desk.paints()
    desk.types(["escape"])
    assert desk.prompt.shown == ask(1)


def test_a_snapshot_after_a_gap_keeps_what_is_the_same_and_drops_what_is_gone() -> None:
    desk = Desk(ask(1), ask(2))
    desk.arms()
    desk.does(snapshot(ask(2), ask(1)))
    assert desk.phase == "armed"
    assert [one.id for one in desk.prompt.asks] == ["ask-1", "ask-2"]
    desk.does(snapshot(ask(2)))
    assert desk.prompt.shown == ask(2)
    assert desk.phase == "unpainted"


def test_an_ask_of_the_same_name_from_another_engine_arms_anew() -> None:
    desk = Desk(ask(1))
    desk.arms()
    desk.does(snapshot(ask(1, opened=99.0)))
    assert desk.phase == "unpainted"


def test_an_answer_that_failed_can_be_given_again_and_one_that_came_late_cannot() -> None:
    desk = Desk(ask(1))
    desk.arms()
    desk.types("r", gap=1)
    desk.does(Failed("ask-1", "the engine is gone", gone=False))
    assert desk.prompt.message == "the engine is gone"
    desk.arms()
    desk.types("r", gap=1)
    assert len(desk.answers) == 2
    desk.does(Failed("ask-1", "it was answered before", gone=True))
    assert desk.phase == "none"
    assert desk.prompt.message == "it was answered before"


# -- keys of the screen ---------------------------------------------------------------------------------------------


def test_the_prompt_takes_its_own_keys_and_no_others() -> None:
    for key in sorted(KEYS):
        desk = Desk(ask(1), ask(2))
        assert desk.does(Key(key)), "also while it is not armed: nothing else may happen on them"
    for key in ("enter", "down", "tab", "q", "?", "/", "T"):
        desk = Desk(ask(1))
        desk.arms()
        assert not desk.does(Key(key))
        assert desk.phase == "arming"


def test_without_an_ask_it_takes_no_key() -> None:
    desk = Desk()
    for key in sorted(KEYS):
        assert not desk.does(Key(key))


def test_w_shows_the_whole_call_also_before_it_is_armed() -> None:
    desk = Desk(ask(1))
    assert desk.does(Key("w"))
    assert desk.effects == [ShowWholeCall("ask-1")]


def test_a_tick_is_owed_when_time_alone_changes_it() -> None:
    desk = Desk(ask(1))
    assert next_change(desk.prompt, desk.now) is None
    desk.paints()
    assert next_change(desk.prompt, desk.now) == pytest.approx(ARMING)
    assert arms_in(desk.prompt, desk.now) == pytest.approx(ARMING)
    desk.waits(ARMING)
    desk.types("a")
    assert next_change(desk.prompt, desk.now) == pytest.approx(CONFIRM_WITHIN)
    desk.types("t")
    assert next_change(desk.prompt, desk.now) == pytest.approx(SETTLING)
    desk.waits(SETTLING)
    assert next_change(desk.prompt, desk.now) is None


def snapshot(*asks: Ask) -> Snapshot:
    return Snapshot(0.0, (), asks, (), attended=True, config={}, config_source="")
