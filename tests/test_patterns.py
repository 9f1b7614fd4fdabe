"""A rule for every regular expression in the code.

CPython before 3.11.5 (Debian 12 has 3.11.2) does not step back when the body of a group that is repeated possessively
fails half-way: ``(?:a+b)*+`` swallows an ``a`` that no ``b`` follows. An atomic body does step back.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator
from re import _constants, _parser  # type: ignore[attr-defined] - there is no public way to read a pattern
from typing import Any

import pytest

import console
import engine

_SINGLE = {_constants.LITERAL, _constants.NOT_LITERAL, _constants.IN, _constants.ANY}
_OF_EXTRAS = ("engine.integrations",)


def patterns() -> Iterator[tuple[str, re.Pattern[Any]]]:
    for package in (engine, console):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.startswith(_OF_EXTRAS) and not module.name.endswith("__main__"):
                for name, value in vars(importlib.import_module(module.name)).items():
                    yield from ((f"{module.name}.{name}", one) for one in _in(value))


def _in(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _in(one)


def unsafe(pattern: re.Pattern[Any]) -> Iterator[str]:
    """What is repeated possessively though it may fail half-way."""
    return _unsafe(_parser.parse(pattern.pattern, pattern.flags))


def _unsafe(items: Iterable[tuple[Any, Any]]) -> Iterator[str]:
    for operation, argument in items:
        if operation is _constants.POSSESSIVE_REPEAT:
            body = argument[2]
            if len(body) != 1 or body[0][0] not in {*_SINGLE, _constants.ATOMIC_GROUP}:
                yield str(body)
        yield from _unsafe_inside(argument)


def _unsafe_inside(argument: Any) -> Iterator[str]:
    if isinstance(argument, _parser.SubPattern):
        yield from _unsafe(argument)
    elif isinstance(argument, list | tuple):
        for one in argument:
            yield from _unsafe_inside(one)


def test_the_rule_sees_what_it_is_for() -> None:
    assert list(unsafe(re.compile(r"x(?:a+b)*+")))
    assert list(unsafe(re.compile(r"(y|(?=(?:a|bc)++))")))
    assert not list(unsafe(re.compile(r"x(?>a+b)*+[a-z]++.?+")))


def test_there_are_patterns() -> None:
    assert len(list(patterns())) > 100


@pytest.mark.parametrize(("name", "pattern"), sorted(set(patterns()), key=str))
def test_what_repeats_possessively_is_atomic(name: str, pattern: re.Pattern[Any]) -> None:
    assert list(unsafe(pattern)) == [], name
