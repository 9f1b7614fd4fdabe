"""Hooks put into settings and taken out again, as text: what is not ours stays to the letter."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.harnesses.jsonc import DEPTH, JsoncError, parse
from engine.harnesses.settings import SettingsError, handlers_in, read_settings, with_hooks, without_hooks

OURS = {"matcher": "*", "hooks": [{"type": "command", "command": "ours", "timeout": 5}]}
GROUPS = {"PreToolUse": OURS, "SessionEnd": {"hooks": OURS["hooks"]}}


def is_ours(handler: Mapping[str, Any]) -> bool:
    return handler.get("command") == "ours"


def there_and_back(text: str) -> str:
    return without_hooks(with_hooks(text, GROUPS), is_ours, read_settings(text))


KEPT = {
    "on one line": '{"a": 1, "b": [2]}',
    "nothing around it": '{"a":1}',
    "spaces inside": '{ "a": 1 }\n',
    "two spaces": '{\n  "a": 1\n}\n',
    "four spaces, no newline at the end": '{\n    "a": {\n        "b": 1\n    }\n}',
    "tabs": '{\n\t"a": [\n\t\t1\n\t]\n}\n',
    "windows": '{\r\n  "a": 1,\r\n  "b": 2\r\n}\r\n',
    "a byte order mark": '\ufeff{\n  "a": 1\n}\n',
    "comments": '// top\n{\n  "a": 1, // one\n  /* two */ "b": 2 // last\n  // end\n}\n// bottom\n',
    "a comment before the comma": '{\n  "a": 1 /* c */, // d\n  "b": 2 /* e */ // f\n}\n',
    "a trailing comma": '{\n  "a": 1,\n}\n',
    "trailing commas and comments": '{\n  "a": [1, 2,], // x\n  "b": {"c": 1,}, // y\n}\n',
    "other hooks": '{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"command": "mine"}]}]}}',
    "other hooks, laid out": json.dumps({"hooks": {"Stop": [{"hooks": []}], "PreToolUse": [{"hooks": []}]}}, indent=2),
    "hooks without events": '{"hooks": {}}',
    "an event without hooks": '{"hooks": {"PreToolUse": []}}',
    "an empty event, laid out": '{\n  "hooks": {\n    "PreToolUse": []\n  }\n}\n',
    "escapes": '{"a\\u0022\\\\": "\\ud83d\\ude00 \\" // no comment", "hooks": {"x": [null, true, -1.5e+3]}}',
    "the same key twice": '{"hooks": 1, "hooks": {"PreToolUse": [1]}}',
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT.keys())
def test_there_and_back_to_the_letter(text: str) -> None:
    changed = with_hooks(text, GROUPS)
    assert there_and_back(text) == text
    events = [event for event, _, handler in handlers_in(read_settings(changed)) if is_ours(handler)]
    assert events == list(GROUPS) or sorted(events) == sorted(GROUPS)
    assert without_hooks(changed, is_ours, {}).startswith("\ufeff") is text.startswith("\ufeff")


def test_twice_is_once() -> None:
    text = KEPT["comments"]
    once = with_hooks(text, GROUPS)
    assert with_hooks(without_hooks(once, is_ours, read_settings(text)), GROUPS) == once


def test_a_layout_is_kept() -> None:
    assert with_hooks('{\n\t"a": 1 // one\n}\n', {"Stop": {"hooks": []}}) == (
        '{\n\t"a": 1, // one\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{\n\t\t\t\t"hooks": []\n\t\t\t}\n\t\t]\n\t}\n}\n'
    )
    assert with_hooks('{"a": 1}', {"Stop": {"hooks": []}}) == '{"a": 1, "hooks": {"Stop": [{"hooks": []}]}}'


def test_windows_lines_stay_windows_lines() -> None:
    assert "\n" not in with_hooks('{\r\n  "a": 1\r\n}', GROUPS).replace("\r\n", "")


@pytest.mark.parametrize("text", ["", "  \n", "\ufeff"])
def test_settings_that_are_empty(text: str) -> None:
    changed = with_hooks(text, GROUPS)
    assert len(list(handlers_in(read_settings(changed)))) == 2
    assert read_settings(without_hooks(changed, is_ours, {})) == {}


def test_what_was_added_since_stays() -> None:
    text = with_hooks('{\n  "a": 1 // one\n}\n', GROUPS)
    mine = '{"hooks": [{"type": "command", "command": "mine"}]}'
    edited = text.replace('"a": 1', '"a": 2').replace('"PreToolUse": [', f'"PreToolUse": [\n      {mine},')
    edited = edited.replace('"SessionEnd"', '"Stop": [], // more\n    "SessionEnd"')
    assert without_hooks(edited, is_ours, {}) == (
        '{\n  "a": 2, // one\n  "hooks": {\n    "PreToolUse": [\n      '
        f'{mine}\n    ],\n    "Stop": [] // more\n  }}\n}}\n'
    )


def test_a_handler_that_was_put_into_our_group_stays() -> None:
    settings = {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [*OURS["hooks"], {"command": "mine"}]}]}}
    left = without_hooks(json.dumps(settings), is_ours, {})
    assert json.loads(left) == {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"command": "mine"}]}]}}


def test_a_comment_is_not_swallowed_by_what_follows() -> None:
    text = '{"hooks": {"PreToolUse": [ // why\n {"hooks": [{"command": "ours"}]} ]}, "b": 1}'
    left = without_hooks(text, is_ours, {"hooks": {"PreToolUse": []}})
    assert "// why" in left
    assert read_settings(left) == {"hooks": {"PreToolUse": []}, "b": 1}


BROKEN = {
    "cut off": '{"a": 1',
    "no comma": '{"a": 1 "b": 2}',
    "two commas": '{"a": 1,, "b": 2}',
    "no quotes": "{a: 1}",
    "single quotes": "{'a': 1}",
    "a list": "[]",
    "a text": '"x"',
    "more after it": "{} {}",
    "a control character": '{"a": "\x01"}',
    "an open comment": "{ /* }",
    "a number like no other": '{"a": 01}',
    "a number without end": f'{{"a": {"9" * 5000}}}',
    "too deep": "[" * (DEPTH + 2),
    "endlessly deep": '{"a":' * 100_000,
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_what_is_broken_is_refused(text: str) -> None:
    for change in (
        lambda: with_hooks(text, GROUPS),
        lambda: without_hooks(text, is_ours, {}),
        lambda: read_settings(text),
    ):
        with pytest.raises(SettingsError, match="Correct that first"):
            change()


@pytest.mark.parametrize("text", ['{"hooks": []}', '{"hooks": {"PreToolUse": {}}}', '{"hooks": "x"}'])
def test_hooks_of_another_form_are_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"is no (table|list) in there"):
        with_hooks(text, GROUPS)
    assert without_hooks(text, is_ours, {}) == text


def test_an_error_says_where() -> None:
    with pytest.raises(JsoncError, match="line 3, column 3: a comma or } is missing"):
        parse('{\n  "a": 1\n  "b": 2\n}')


def test_time_is_linear() -> None:
    for text in (
        "/" * 200_000,
        '{"a": "' + "\\" * 200_001,
        "/*" + "*" * 200_000,
        "{" + " " * 200_000,
        "// x\n" * 50_000,
    ):
        with pytest.raises(SettingsError):
            with_hooks(text, GROUPS)


# -- any document -----------------------------------------------------------------------------------------------

gaps = st.lists(st.sampled_from([" ", "\n", "\t", "  \n", "/* c */", "// c\n", "/**/", " /* \n */ "]), max_size=3).map(
    "".join
)
scalars = (st.none() | st.booleans() | st.integers(-999, 999) | st.text(max_size=6)).map(json.dumps)


@st.composite
def containers(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    is_object = draw(st.booleans())
    items = draw(st.lists(inner, max_size=3))
    parts = [f"{draw(gaps)}{_key(draw) if is_object else ''}{item}{draw(gaps)}" for item in items]
    comma = "," if items and draw(st.booleans()) else ""
    inside = ",".join(parts) + comma + draw(gaps)
    return f"{{{inside}}}" if is_object else f"[{inside}]"


def _key(draw: st.DrawFn) -> str:
    key = draw(st.sampled_from(["a", "b", "hooks", "PreToolUse", "SessionEnd"]) | st.text(max_size=4))
    return f"{json.dumps(key)}{draw(gaps)}:{draw(gaps)}"


documents = st.builds("{}{}{}".format, gaps, st.recursive(scalars, containers, max_leaves=12), gaps)


@given(documents)
def test_any_document_comes_back_to_the_letter(text: str) -> None:
    try:
        changed = with_hooks(text, GROUPS)
    except SettingsError:
        assume(False)
    before = read_settings(text)
    after = read_settings(changed)
    assert {key: value for key, value in after.items() if key != "hooks"} == {
        key: value for key, value in before.items() if key != "hooks"
    }
    assert sum(is_ours(handler) for _, _, handler in handlers_in(after)) == 2
    back = without_hooks(changed, is_ours, before)
    assert read_settings(back) == before
    if not _has_empty_container(before):
        assert back == text


def _has_empty_container(settings: Mapping[str, Any]) -> bool:
    """White space in a container that was empty is not kept by the text alone; a record of what it was keeps it."""
    hooks = settings.get("hooks")
    return not settings or (isinstance(hooks, dict) and (not hooks or any(hooks.get(event) == [] for event in GROUPS)))
