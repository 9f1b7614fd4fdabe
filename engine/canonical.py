"""JSON in one spelling: keys sorted at every depth, numbers and strings as JavaScript's ``JSON.stringify`` prints them.

So ``{"q": 1.0, "a": "é"}`` and ``{"a": "\\u00e9", "q": 1}`` are the same text. What a harness sends is almost always
strings, whole numbers and truth values under ASCII keys, which msgspec prints in exactly this way; everything else
takes the slower way below. Whole numbers keep all their digits, where JavaScript would round them: two identifiers
of eighteen digits are two identifiers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

_encode = msgspec.json.Encoder(order="deterministic").encode
_CONTAINERS_CHECKED = 10_000
_LONE_SURROGATE = re.compile(r"([\ud800-\udfff])")
_DIGITS_PRINTED = 4000
"""Python prints no whole number of more than 4,300 digits in decimal."""


def canonical(value: object) -> str:
    """The text of a JSON value. Never raises: what JSON cannot say becomes null or its own text in quotes."""
    text = plainly(value)
    return spelled_out(value) if text is None else text


def plainly(value: object) -> str | None:
    """The text of a value that msgspec prints as JavaScript would, None for others: no two of them have one text."""
    if _is_plain(value):
        try:
            return _encode(value).decode()
        except (ValueError, OverflowError, RecursionError):
            pass  # a lone surrogate, a giant among numbers, or deeper than the encoder goes
    return None


def spelled_out(value: object) -> str:
    """The text of any value, the slower way."""
    return "".join(_pieces(value))


def is_number(value: object) -> bool:
    """Whether this is a number; true and false are none.

    For values of any type: compiled, what ``isinstance(value, int | float)`` lets through is taken for a float.
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_plain(value: object) -> bool:
    """Whether msgspec prints this as JavaScript would."""
    pending: list[Any] = [(value,)]
    for container in pending:
        if type(container) is dict:
            for key in container:
                if type(key) is not str or not key.isascii():
                    return False
            container = container.values()  # noqa: PLW2901 - from here on only what it holds matters
        for item in container:
            kind = type(item)
            if kind is str or kind is int or kind is bool or item is None:
                continue
            if kind is not dict and kind is not list:
                return False
            pending.append(item)
        if len(pending) > _CONTAINERS_CHECKED:
            return False
    return True


class _Written:
    """A piece of the text that is ready. Behind it the ``container`` that it ends, if any, may stand again."""

    __slots__ = ("container", "text")

    def __init__(self, text: str, container: int | None = None) -> None:
        self.text = text
        self.container = container


def _pieces(value: object) -> Iterator[str]:
    """The text in pieces, from a stack of our own: a value may be nested deeper than Python may recurse."""
    stack: list[Any] = [value]
    around: set[int] = set()
    while stack:
        item = stack.pop()
        if isinstance(item, _Written):
            if item.container is not None:
                around.discard(item.container)
            yield item.text
        elif not isinstance(item, Mapping | list | tuple):
            yield _scalar(item)
        elif id(item) in around:
            yield '"[cycle]"'
        else:
            around.add(id(item))
            opening, content, end = (
                ("{", _members(item), "}") if isinstance(item, Mapping) else ("[", _items(item), "]")
            )
            yield opening
            stack += (_Written(end, id(item)), *content)


def _members(mapping: Mapping[Any, Any]) -> list[Any]:
    """What a stack needs to print the members, the last on top."""
    named = [(key if isinstance(key, str) else _text(key), value) for key, value in mapping.items()]
    named.sort(key=_place_of_key, reverse=True)
    stack: list[Any] = []
    for key, value in named:
        stack += (value, _Written(f"{_quoted(key)}:"), _COMMA)
    return stack[:-1]


def _items(items: list[Any] | tuple[Any, ...]) -> list[Any]:
    stack: list[Any] = []
    for item in reversed(items):
        stack += (item, _COMMA)
    return stack[:-1]


_COMMA = _Written(",")


def _place_of_key(member: tuple[str, Any]) -> bytes:
    """JavaScript sorts by UTF-16 code units."""
    return member[0].encode("utf-16-be", "surrogatepass")


def _scalar(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _whole(value)
    if isinstance(value, float):
        return number_text(value)
    return _quoted(_text(value))


def _quoted(text: str) -> str:
    text = str.__str__(text)
    try:
        return _encode(text).decode()
    except ValueError:
        paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return f'"{"".join(_well_formed(part) for part in _LONE_SURROGATE.split(paired))}"'


def _well_formed(part: str) -> str:
    if _LONE_SURROGATE.fullmatch(part):
        return f"\\u{ord(part):04x}"
    return _encode(part).decode()[1:-1]


def _whole(number: int) -> str:
    return str(int(number)) if number.bit_length() < _DIGITS_PRINTED * 3 else f'"{number:#x}"'


def number_text(number: float) -> str:
    """A number as JavaScript prints it: ``1``, ``0.000001``, ``1e-7``, ``1e+21``; null where JSON has no number."""
    if number != number or number in {float("inf"), float("-inf")}:  # noqa: PLR0124 - only NaN is not itself
        return "null"
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return sign + _laid_out(digits, point)


def _laid_out(digits: str, point: int) -> str:
    """Digits with the decimal point after ``point`` of them, by the rules of ECMA-262, Number::toString."""
    if len(digits) <= point <= 21:
        return digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    power = f"e{point - 1:+d}"
    return f"{digits[0]}.{digits[1:]}{power}" if len(digits) > 1 else digits + power


def _text(value: object) -> str:
    """The text of what no JSON holds, for a program that passes its own objects. Its own faults are not ours."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - whatever a stranger's __str__ raises
        return f"<{type(value).__name__}>"
