"""JSON with comments, read with the place of everything in it, so that it can be changed and otherwise left as it is.

Comments and trailing commas are what harnesses allow in their settings; everything else is JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

DEPTH = 100
"""How deep a document may be nested; no settings file comes near it."""

_GAP = re.compile(r"(?>[ \t\r\n]++|//[^\r\n]*+|/\*(?>[^*]|\*(?!/))*+\*/)*+")
_STRING = re.compile(r'"(?>[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true\b|false\b|null\b")
_BLOCKS = r"(?>[ \t]*+/\*(?>[^*\r\n]|\*(?!/))*+\*/)*+"
_SAME_LINE = re.compile(_BLOCKS + r"(?:[ \t]*+//[^\r\n]*+)?")
_WITHIN_LINE = re.compile(_BLOCKS)
"""Comments that follow a value on its line; within a line that goes on, those that end before the line does."""

Kind = Literal["object", "array", "value"]
Liberty = Literal["comments", "trailing commas", "the same key twice", "a byte order mark"]
"""What is no plain JSON, or not plainly JSON, and read by some all the same. A byte order mark is not read here."""


class JsoncError(ValueError):
    """The text is no JSON with comments; ``str()`` says where and why."""


class Node(Struct, frozen=True):
    """A value and where it stands: ``text[start:end]``. ``children`` are its members or items, in order."""

    kind: Kind
    start: int
    end: int
    value: Any = None
    children: tuple[Child, ...] = ()

    def member(self, key: str) -> Child | None:
        """The member of this name; of several the last, which is the one that counts."""
        return next((child for child in reversed(self.children) if child.key == key), None)

    @property
    def data(self) -> Any:
        """The plain value."""
        if self.kind == "object":
            return {child.key: child.node.data for child in self.children}
        if self.kind == "array":
            return [child.node.data for child in self.children]
        return self.value


class Child(Struct, frozen=True):
    """A member or an item: from its key, or its value, to the end of its value. ``comma`` is where its comma stands."""

    start: int
    node: Node
    key: str = ""
    comma: int | None = None

    @property
    def end(self) -> int:
        return self.node.end


def parse(text: str) -> Node:
    """Read a document. Raises JsoncError."""
    return _Parser(text).document()


def liberties(text: str) -> Mapping[Liberty, int]:
    """The liberties that a document takes, each with the line of the first. Raises JsoncError."""
    parser = _Parser(text)
    parser.document()
    return {liberty: parser.line(at) for liberty, at in parser.taken.items()}


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.taken: dict[Liberty, int] = {}

    def line(self, at: int) -> int:
        return self._text.count("\n", 0, at) + 1

    def document(self) -> Node:
        self._gap()
        node = self._node(0)
        self._gap()
        if self._at < len(self._text):
            raise self._fault("more text after the end of the value")
        return node

    def _node(self, depth: int) -> Node:
        if depth > DEPTH:
            raise self._fault(f"nested more than {DEPTH} deep")
        sign = self._text[self._at : self._at + 1]
        if sign == "{":
            return self._container("object", "}", depth)
        if sign == "[":
            return self._container("array", "]", depth)
        start = self._at
        value = self._scalar(_STRING if sign == '"' else _SCALAR)
        return Node("value", start, self._at, value)

    def _container(self, kind: Kind, closing: str, depth: int) -> Node:
        start = self._at
        self._at += 1
        children: list[Child] = []
        keys: set[str] = set()
        while True:
            self._gap()
            if self._take(closing):
                if children and (trailing := children[-1].comma) is not None:
                    self.taken.setdefault("trailing commas", trailing)
                return Node(kind, start, self._at, children=tuple(children))
            if children and children[-1].comma is None:
                raise self._fault(f"a comma or {closing} is missing")
            child = self._child(kind, depth)
            if kind == "object" and child.key in keys:
                self.taken.setdefault("the same key twice", child.start)
            keys.add(child.key)
            self._gap()
            comma = self._at - 1 if self._take(",") else None
            children.append(Child(child.start, child.node, child.key, comma))

    def _child(self, kind: Kind, depth: int) -> Child:
        start, key = self._at, ""
        if kind == "object":
            key = self._scalar(_STRING)
            self._gap()
            if not self._take(":"):
                raise self._fault("a colon is missing")
            self._gap()
        return Child(start, self._node(depth + 1), key)

    def _scalar(self, pattern: re.Pattern[str]) -> Any:
        found = pattern.match(self._text, self._at)
        if not found:
            raise self._fault("a value is missing" if pattern is _SCALAR else "a text in double quotes is missing")
        try:
            value = json.loads(found[0])
        except ValueError as error:  # more digits than Python reads
            raise self._fault("a number that cannot be read") from error
        self._at = found.end()
        return value

    def _gap(self) -> None:
        found = _GAP.match(self._text, self._at)
        end = found.end() if found else self._at
        comment = self._text.find("/", self._at, end)
        if comment >= 0:
            self.taken.setdefault("comments", comment)
        self._at = end

    def _take(self, sign: str) -> bool:
        if not self._text.startswith(sign, self._at):
            return False
        self._at += 1
        return True

    def _fault(self, what: str) -> JsoncError:
        column = self._at - (self._text.rfind("\n", 0, self._at) + 1) + 1
        return JsoncError(f"line {self.line(self._at)}, column {column}: {what}")


# -- changes --------------------------------------------------------------------------------------------------


class Style(Struct, frozen=True):
    """How a document is laid out. ``indent`` is one step; empty, everything stands on one line."""

    newline: str
    indent: str


def style_of(text: str, root: Node) -> Style:
    """The layout of a document whose root is an object."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if not root.children:
        return Style(newline, "  ")
    lead = _line_lead(text, root.children[0].start)
    return Style(newline, "" if lead is None else lead or "  ")


class Place(Struct, frozen=True):
    """A container, and how deep it is nested."""

    container: Node
    depth: int


def append(text: str, place: Place, value: Any, style: Style, key: str = "") -> str:
    """The text with one more member (with ``key``) or item at the end of this container.

    What stands on the line of the last child, a comment for instance, stays there.
    """
    container, depth = place.container, place.depth
    piece = (f"{json.dumps(key, ensure_ascii=False)}: " if key else "") + _dumped(value, style, depth + 1)
    last = container.children[-1] if container.children else None
    after = container.start + 1 if last is None else last.end if last.comma is None else last.comma + 1
    same_line = (_SAME_LINE if style.indent else _WITHIN_LINE).match(text, after)
    here = same_line.end() if same_line else after
    lead = " " if last else ""
    if style.indent:
        own_line = _line_lead(text, last.start) if last else None
        lead = style.newline + (style.indent * (depth + 1) if own_line is None else own_line)
        if last is None and "\n" not in text[here : container.end]:
            piece += style.newline + style.indent * depth
    if last is None:
        return text[:here] + lead + piece + text[here:]
    if last.comma is not None:
        return text[:here] + lead + piece + "," + text[here:]
    return text[:after] + "," + text[after:here] + lead + piece + text[here:]


def remove(text: str, container: Node, index: int) -> str:
    """The text without the child of this index, as it was before ``append``. Comments stay."""
    child = container.children[index]
    start = child.start
    while text[start - 1] in " \t\r\n":
        start -= 1
    shortened = _without(text, container, index, start)
    try:
        parse(shortened)
    except JsoncError:  # the line break that went ended a comment
        return _without(text, container, index, child.start)
    return shortened


def _without(text: str, container: Node, index: int, start: int) -> str:
    child, last = container.children[index], container.end - 1
    if child.comma is not None:
        return text[:start] + text[child.end : child.comma] + text[child.comma + 1 :]
    if index:
        before = container.children[index - 1].comma
        assert before is not None  # noqa: S101 - there is a child after it
        return text[:before] + text[before + 1 : start] + text[child.end :]
    alone = start == container.start + 1 and not text[child.end : last].strip()
    return text[:start] + text[last if alone else child.end :]


def _dumped(value: Any, style: Style, depth: int) -> str:
    if not style.indent:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=style.indent).split("\n")
    return (style.newline + style.indent * depth).join(lines)


def _line_lead(text: str, at: int) -> str | None:
    """The white space before this place, if nothing else stands before it on its line."""
    start = text.rfind("\n", 0, at) + 1
    lead = text[start:at]
    return lead if start and not lead.strip(" \t") else None
