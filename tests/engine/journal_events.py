"""Events of every type, as a hostile agent, a fuzzer or a bad day would make them."""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from engine.events import Event

HOSTILE = (
    *("", "\x00", "\n", '"', "\\", "\u2028", "\ud800", "a\udfffb", "\ud83d\ude00", "\x1b]0;x\x07", "\u202e"),
    *('{"type":"call"}', "… ", "\ufeff", "\x85", "</tool_call>", "[/red]"),
)

text = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(categories=["L", "N", "P", "S", "Z", "C"]), max_size=40),
    st.text(st.characters(categories=["L", "N", "P", "S", "Z", "C"]), max_size=3).map(lambda part: part * 2000),
)
numbers = st.one_of(
    st.integers(),
    st.floats(),
    st.sampled_from([0, 2**63, -(2**64), 10**400, float("nan"), float("inf"), float("-inf"), -0.0]),
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, text, st.just(b"bytes"), st.just({1, 2})),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(text, st.none(), st.integers(), st.binary(max_size=3)), inner, max_size=4),
    ),
    max_leaves=12,
)


def of_type(annotation: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type. Numbers of the engine's own (times, counts, caps) are finite, as they are there."""
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return json_values
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return struct(annotation)
    if origin is Literal:
        return st.sampled_from(args)
    if origin in (Union, UnionType):
        return st.one_of(*(of_type(arg) for arg in args))
    if origin is tuple:
        return st.lists(of_type(args[0]), max_size=3).map(tuple)
    if origin is Mapping:
        return st.dictionaries(of_type(args[0]), of_type(args[1]), max_size=3)
    return {
        str: text,
        bool: st.booleans(),
        int: st.integers(-(2**63), 2**63 - 1),
        float: st.floats(allow_nan=False, allow_infinity=False),
        type(None): st.none(),
    }[annotation]


def struct(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    return st.builds(kind, **{name: of_type(hint) for name, hint in get_type_hints(kind).items()})


EVENT_TYPES: tuple[type[msgspec.Struct], ...] = get_args(Event)
