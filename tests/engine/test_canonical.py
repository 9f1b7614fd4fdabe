"""JSON in one spelling, that of JavaScript's ``JSON.stringify`` over sorted keys."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.canonical import canonical, number_text

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.text("\ud83d\ude00\ud800a\ue000😀"),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=4), children, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (-1.5, "-1.5"),
        (0.1, "0.1"),
        (100.0, "100"),
        (1e16, "10000000000000000"),
        (123456789012345680000.0, "123456789012345680000"),
        (2.0**64, "18446744073709552000"),
        (999999999999999900000.0, "999999999999999900000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (0.000001, "0.000001"),
        (1e-7, "1e-7"),
        (1.234e-7, "1.234e-7"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (math.nan, "null"),
        (math.inf, "null"),
        (-math.inf, "null"),
    ],
)
def test_numbers_as_javascript_prints_them(number: float, text: str):
    assert number_text(number) == text
    assert canonical({"n": number}) == f'{{"n":{text}}}'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            {"b": 1, "a": {"d": [3, {"z": None, "y": True}], "c": "é"}},
            '{"a":{"c":"é","d":[3,{"y":true,"z":null}]},"b":1}',
        ),
        ({"a": '"\\/\b\f\n\r\t\x00\x1f\x7f\u2028'}, '{"a":"\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\u2028"}'),
        ({"\ue000": 1, "😀": 2, "a": 3}, '{"a":3,"😀":2,"\ue000":1}'),
        ({"x": "\ud800a"}, '{"x":"\\ud800a"}'),
        ({"x": "\ud83d\ude00"}, '{"x":"😀"}'),
        ({"\udc00": []}, '{"\\udc00":[]}'),
        ([1, 1.0, 2.5], "[1,1,2.5]"),
        ({}, "{}"),
        ("text", '"text"'),
        (None, "null"),
        (900719925474099312345, "900719925474099312345"),
    ],
)
def test_text_of_a_value(value: Any, text: str):
    assert canonical(value) == text


def test_values_that_only_a_program_passes():
    assert canonical({"path": PurePosixPath("/a"), "pair": (1, 2)}) == '{"pair":[1,2],"path":"/a"}'
    assert canonical({2: "b", "1": "a"}) == '{"1":"a","2":"b"}'
    assert canonical(OrderedDict(b=1, a=2)) == '{"a":2,"b":1}'

    class Broken:
        def __str__(self) -> str:
            raise RuntimeError

    assert canonical([Broken()]) == '["<Broken>"]'


def test_a_value_within_itself_ends():
    cycle: dict[str, Any] = {"a": 1}
    cycle["self"] = [cycle]
    assert canonical(cycle) == '{"a":1,"self":["[cycle]"]}'
    shared = [1]
    assert canonical([shared, shared]) == "[[1],[1]]"


@pytest.mark.parametrize("depth", [100, 100_000])
def test_any_depth(depth: int):
    value: Any = []
    for _ in range(depth):
        value = {"k": value}
    assert canonical(value) == '{"k":' * depth + "[]" + "}" * depth


def test_numbers_of_any_length():
    assert canonical([10**3000]) == f"[{10**3000}]"
    assert canonical([10**100_000]) != canonical([10**100_000 + 1])


@given(values)
def test_it_is_json_and_says_the_same(value: Any):
    text = canonical(value)
    text.encode()
    assert canonical(json.loads(text)) == text


@given(values, st.randoms(use_true_random=False))
def test_the_order_of_keys_changes_nothing(value: Any, random: Any):
    assert canonical(_shuffled(value, random)) == canonical(value)


@given(values, st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_in_it_changes_how_it_is_made_and_nothing_else(value: Any, number: float):
    """One float anywhere takes the slower way: both ways agree."""
    assert canonical([value, number]) == f"[{canonical(value)},{number_text(number)}]"


def _shuffled(value: Any, random: Any) -> Any:
    if isinstance(value, list):
        return [_shuffled(item, random) for item in value]
    if isinstance(value, dict):
        items = [(key, _shuffled(item, random)) for key, item in value.items()]
        random.shuffle(items)
        return dict(items)
    return value
