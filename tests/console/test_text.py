"""Untrusted text: what may come out of ``console.text``, and what stands for what may not."""

from __future__ import annotations

import unicodedata
from typing import Literal, SupportsIndex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from console.text import (
    MARKS_PER_LETTER,
    as_json,
    cells,
    fit,
    safe,
    visible,
    visible_lines,
    visible_value,
)

UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202e\u2060\u2066\u2069"
    "\u2800\u3164\ufe0f\ufeff\uffa0\ufff9\U000e0001\U000e0041\U000e0101\ud800\udfff\ue000\x85\x9b\x9d\x90\xa0"
)
Cut = Literal["end", "middle"]
anything = st.text(st.characters(exclude_categories=()))
"""Lone surrogates, controls and unassigned code points included."""
nasty = st.text(st.sampled_from("a \x1b[]0;\x07\n\r\t\x7f\u0301\u0308日한\u1161\U000e0068‹›…" + UNSEEN))
hostile = anything | nasty
CUTS: st.SearchStrategy[Cut] = st.sampled_from(["end", "middle"])


def assert_safe(text: str) -> None:
    """Nothing in it moves a cursor, starts a sequence, hides, reorders, or leaves its own cell."""
    assert text.isprintable(), ascii(text)
    assert not set(UNSEEN) & set(text), ascii(text)
    marks = 0
    before = " "
    for char in text:
        if unicodedata.category(char) in ("Mn", "Me", "Mc"):
            marks += 1
            assert marks <= MARKS_PER_LETTER
            assert before != " ", "a mark on nothing of the text's own"
        else:
            marks = 0
            before = char


@given(hostile)
@example("\u0301")
@example(" \u0301")
@example("\x1b\u0301")
@example("\U000e0041\u0301")
def test_only_safe_text_comes_out(text: str) -> None:
    shown = visible(text)
    assert_safe(shown)
    assert visible(shown) == shown, "what is safe is left as it is"


@given(hostile, st.integers(0, 20))
def test_a_limit_bounds_what_is_shown_and_says_what_it_cut(text: str, limit: int) -> None:
    shown = visible(text, limit)
    assert_safe(shown)
    if len(text) <= limit:
        assert shown == visible(text)
    else:
        assert shown == f"{visible(text[:limit])}…‹+{len(text) - limit}›"


@given(hostile, st.integers(0, 40), CUTS, st.booleans())
def test_fitted_text_is_safe_and_within_its_cells(text: str, width: int, at: Cut, pad: bool) -> None:
    shown = fit(text, width, at, pad=pad)
    assert_safe(shown)
    assert cells(shown) <= width
    if pad:
        assert cells(shown) == width
    elif cells(visible(text)) <= width:
        assert shown == visible(text)
    else:
        assert shown.count("…") >= 1 or width == 0


@given(hostile, st.integers(0, 20), st.integers(1, 5))
def test_lines_are_safe_and_bounded(text: str, limit: int, max_lines: int) -> None:
    lines = visible_lines(text, limit, max_lines)
    assert 1 <= len(lines) <= max_lines + 1
    for line in lines:
        assert_safe(line)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | hostile,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(hostile, inner, max_size=4),
        max_leaves=10,
    )
)
def test_a_value_of_any_type_is_one_safe_line(value: object) -> None:
    assert_safe(visible_value(value))


@pytest.mark.parametrize(
    ("text", "shown", "hidden"),
    [
        ("curl -s https://example.org", "curl -s https://example.org", 0),
        ("one\ntwo\tthree\r\nfour", "one⏎two⇥three⏎four", 0),
        ("over\rwritten", "over␍written", 1),
        ("\x1b[2J\x1b]0;title\x07", "␛[2J␛]0;title␇", 3),
        ("\x00\x08\x7f", "␀␈␡", 3),
        ("\x9b31m \x9d8;;x\x9c", "‹U+009B›31m ‹U+009D›8;;x‹U+009C›", 3),
        ("user\u202egpj.exe", "user‹U+202E›gpj.exe", 1),
        ("rm\u00a0-rf", "rm‹U+00A0›-rf", 1),
        ("a" + "\u200b" * 5000, "a‹U+200B×5000›", 5000),
        ("hi\U000e0067\U000e006f\U000e0020\U000e006f\U000e006e", 'hi‹tags "go on"›', 5),
        ("\ud800", "‹U+D800›", 1),
        ("⚠\ufe0f", "⚠‹U+FE0F›", 1),
        ("e\u0301té", "e\u0301té", 0),
        ("a" + "\u0301" * 20, "a" + "\u0301" * 3 + "‹marks×17›", 17),
        ("\u0301a", "‹marks×1›a", 1),
        ("日本語 한글 ไทยกี่", "日本語 한글 ไทยกี่", 0),
        ("[@click=app.quit]x[/]", "[@click=app.quit]x[/]", 0),
        ("", "", 0),
    ],
)
def test_what_stands_for_what(text: str, shown: str, hidden: int) -> None:
    result = safe(text)
    assert (result.text, result.hidden) == (shown, hidden)


@pytest.mark.parametrize(
    ("text", "width", "at", "shown"),
    [
        ("short", 10, "end", "short"),
        ("longer than it", 6, "end", "longe…"),
        ("https://example.org/items?offset=1500", 20, "middle", "https://e…ffset=1500"),
        ("日本語", 5, "end", "日本…"),
        ("日本語", 4, "end", "日…"),
        ("e\u0301e\u0301e\u0301", 2, "end", "e\u0301…"),
        ("anything", 1, "end", "…"),
        ("anything", 0, "end", ""),
    ],
)
def test_cutting_to_cells(text: str, width: int, at: Cut, shown: str) -> None:
    assert fit(text, width, at) == shown


def test_lines_beyond_the_last_are_counted() -> None:
    assert visible_lines("a\r\nb\n\nc\nd", max_lines=3) == ("a", "b", "", "…‹+2 lines›")
    assert visible_lines("a\nb\n", max_lines=2) == ("a", "b")
    assert visible_lines("") == ("",)


def test_a_value_that_nests_too_deep_for_json_is_named() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert "list" in as_json(deep)


@pytest.mark.parametrize("unit", ["\x1b", "a\u200b", "\u200b\u200c", "a" + "\u0301" * 9, "\ud800x", "\U000e0041\u0301"])
def test_a_line_of_a_megabyte_is_shown_whole(unit: str) -> None:
    """Anything but linear time would not come back from this one."""
    text = unit * (1_000_000 // len(unit))
    assert safe(text).hidden >= len(text) // len(unit)
    assert visible(text, 40) == f"{visible(text[:40])}…‹+{len(text) - 40}›"


def test_fitting_does_not_read_a_long_line() -> None:
    reads: list[int] = []

    class Line(str):
        __slots__ = ()

        def __getitem__(self, key: SupportsIndex | slice) -> str:
            part = super().__getitem__(key)
            reads.append(len(part))
            return part

    assert cells(fit(Line("\u200bx" * 500_000), 80)) <= 80
    assert sum(reads) < 2_000
