"""YAML put together: values mean what they seem to say, everything has its place, nothing hangs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.configuration.places import Mark
from engine.configuration.yaml import FILE_BYTES, YamlError, compose


def complaint(text: str) -> tuple[str, Mark | None]:
    with pytest.raises(YamlError) as raised:
        compose(text)
    return str(raised.value), raised.value.mark


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *[
            (word, word)
            for word in ("on", "off", "yes", "no", "y", "12:30", "1_000", "010", "0o7", "0x1F", "2026-10-07")
        ],
        ("true", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("7", 7),
        ("-7", -7),
        ("1e3", 1000.0),
        ("2.5", 2.5),
        (".5", 0.5),
        ("'7'", "7"),
        ('"true"', "true"),
        ("!!str 7", "7"),
        ("[a, 1]", ["a", 1]),
        ("{a: 1}", {"a": 1}),
        ("9" * 5000, float("inf")),
    ],
)
def test_a_plain_scalar_means_what_it_seems_to_say(written: str, meant: Any):
    value = compose(f"key: {written}\n").value["key"]
    assert value == meant
    assert type(value) is type(meant)


def test_a_pair_of_escapes_is_one_character_and_half_a_pair_is_none():
    assert compose(r'{"\ud83d\ude00": "\ud83d\ude00"}').value == {"😀": "😀"}
    for text in (r'"\ud83d"', r'a: {"\ude00\ud83d": 1}', r'- "\ud83d \ude00"'):
        said, mark = complaint(text)
        assert "half a character" in said
        assert mark is not None


def test_keys_are_text_as_written():
    assert list(compose("on: 1\n1: 2\nnull: 3\n~: 4\n'*': 5").value) == ["on", "1", "null", "~", "*"]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "\ufeff# with a mark"])
def test_no_value_is_null(text: str):
    assert compose(text).value is None


def test_everything_has_its_place():
    document = compose("window: 5\nlimits:\n  exact: 4 # here\nexclude: [a,\n  b]\r\nonLimit: ask\n")
    assert document.keys["limits", "exact"] == Mark(3, 3)
    assert document.values["limits", "exact"] == Mark(3, 10)
    assert document.values["exclude", 1] == Mark(5, 3)
    assert document.keys[("onLimit",)] == Mark(6, 1)


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029"])
def test_a_comment_cannot_hide_a_setting_behind_an_unseen_line_end(end: str):
    words, mark = complaint(f"window: 5\n# fine{end}limits: {{exact: null}}\n")
    assert f"U+{ord(end):04X}" in words
    assert mark == Mark(2, 7)


def test_a_key_that_stands_twice_is_noted():
    repeated = compose("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n").repeated
    assert [(one.path, one.first.line, one.again.line) for one in repeated] == [(("b", "c"), 3, 4), (("a",), 1, 5)]


def test_aliases_are_read():
    assert compose("a: &x [1, 2]\nb: *x\nc: &k d\n*k : e").value == {"a": [1, 2], "b": [1, 2], "c": "d", "d": "e"}


@pytest.mark.parametrize(
    ("text", "said", "line"),
    [
        ("a:\n\tb: 1", "There is a tab", 2),
        ("a: b: c", "a colon where no key can be", 1),
        ("a\nb: 1", "a colon where no key can be", 2),
        ("a:\n    b: 1\n  c: 2", "indented differently", 3),
        ("a: [1, 2\nb: 3", "not closed", 2),
        ("a: {b: 1", "not closed", 1),
        ("a: 'x\nb: 1", "A text in quotes is not closed. It belongs to what begins in line 1.", 2),
        ('a: "\\q"', "unknown \\ escape", 1),
        ("exclude: [*_write]", "needs quotes: '*_write'", 1),
        ("*: [x]", "needs quotes, so: '*'", 1),
        ("a: @x", "needs quotes", 1),
        ("a: !!python/object:os.system ls", "Tags (!name) are not read here", 1),
        ("a: !secret x", "Tags (!name) are not read here", 1),
        ("a: 1\n---\nb: 1", "second document", 2),
        ("? [a]\n: b", "A key must be text", 1),
        ("a: \x00", "no YAML file may contain", 1),
        ("- a\nb: 1", "indented differently", 2),
        ("a: - b", "begin a new one", 1),
        ("a: ,", "A value is missing", 1),
        ("a: &a [*a]", "*a is read as an alias", 1),
        ("&k a: &m {}\n*m : 1", "stands for something else", 2),
        ("%YAML 3.0\n---\na: 1", "This is no YAML", 1),
        ("a: 1\n]", "a bracket is too many", 2),
    ],
)
def test_what_is_no_yaml_is_told_in_words(text: str, said: str, line: int):
    words, mark = complaint(text)
    assert said in words
    assert mark is not None
    assert mark.line == line


@pytest.mark.parametrize(
    "text",
    [
        "[" * FILE_BYTES,
        "- " * (FILE_BYTES // 2),
        "? " * (FILE_BYTES // 2),
        "{a: " * (FILE_BYTES // 4),
        "[" + "a," * (FILE_BYTES // 2),
        "k: v\n" * (FILE_BYTES // 5),
        "a: &x1 [1,1,1,1,1,1,1,1,1]\n"
        + "".join(f"b{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]\n" for n in range(2, 30)),
        "%YAML " + "9" * FILE_BYTES,
        '"\\UFFFFFFFF"',
        '"\\U00110000"',
    ],
    ids=["brackets", "dashes", "questions", "braces", "commas", "keys", "laughs", "version", "escape", "beyond"],
)
def test_hostile_text_is_refused(text: str):
    complaint(text)


@given(st.text(alphabet=st.sampled_from(list(" \n\t:-[]{},&*!|>'\"%@`?#ab1~<\\x\u2028\x85\ufeff\x00")), max_size=60))
def test_no_text_raises_anything_else(text: str):
    try:
        compose(text)
    except YamlError as error:
        assert str(error).isprintable()  # noqa: PT017 - both ends are right


letters = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=6)
PIECES = [
    *(
        "a",
        "é",
        "😀",
        "1e3",
        "limits:\n",
        "  exact: 12\n",
        "b: ",
        "- ",
        ": ",
        ":",
        "-",
        ",",
        " ",
        "[",
        "]",
        "{",
        "}",
        "[ ]",
    ),
    *("\n", "\n  ", "\n    ", "\r\n", "\r", "#", "# x", "'", '"', "&a ", "*a", "!t ", "---\n", "...\n", "%YAML 1.1\n"),
    *("[ ]", "@", "`", "~", "\\n", "\\x41", "<<: ", "|", ">", "?", "\t", "\ufeff"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_libyaml_or_not_makes_no_difference(text: str):
    def read() -> object:
        try:
            return compose(text)
        except YamlError as error:
            return str(error), error.mark

    quickly = read()
    with pytest.MonkeyPatch.context() as without:
        without.setattr("engine.configuration.yaml._QUICK_LOADER", None)
        assert read() == quickly


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.floats(-1e9, 1e9) | letters,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(letters, inner, max_size=3),
    max_leaves=10,
)


@given(plain)
def test_json_is_read_as_json(value: Any):
    assert compose(json.dumps(value)).value == value
