"""Where things stand in a YAML text, and what PyYAML says is wrong there, told to a person."""

from __future__ import annotations

import re
from bisect import bisect_right

import yaml
from msgspec import Struct

from engine.configuration.report import printable

_WORDS: tuple[tuple[str, str], ...] = (
    (r"found character '\\t' that cannot start", "There is a tab where the line is indented: YAML allows only spaces."),
    (
        r"mapping values are not allowed",
        "There is a colon where no key can be. Is the line indented more than the one "
        "above, or does a text with a colon need quotes?",
    ),
    (r"could not find expected ':'", "There is text that is neither a key with a colon nor an item of a list."),
    (r"found character .[@`%].", "A text that begins with @, ` or % needs quotes."),
    (r"expected alphabetic or numeric character", "A text that begins with * or & needs quotes, so: '*'."),
    (
        r"expected <block end>, but found '(?:<block mapping start>|<scalar>|\?)'",
        "This is indented differently from the lines it belongs with, or a quote is closed too early.",
    ),
    (
        r"expected <block end>, but found '-'",
        "There is an item of a list where none belongs: is it indented like its neighbours?",
    ),
    (r"expected <block end>", "This is indented differently from the lines it belongs with, or a bracket is too many."),
    (r"expected ',' or '\]'", "A list in brackets is not closed, or a comma is missing."),
    (r"expected ',' or '\}'", "A mapping in braces is not closed, or a comma is missing."),
    (r"unexpected end of stream|found unexpected document separator", "A text in quotes is not closed."),
    (
        r"unknown escape character|expected escape sequence",
        "There is an unknown \\ escape in a text in double quotes. In single quotes \\ means itself.",
    ),
    (r"sequence entries are not allowed", "An item of a list cannot stand on its key's line: begin a new one."),
    (r"expected the node content", "A value is missing here, or a comma or bracket needs quotes."),
    (r"special characters are not allowed", "There is a character that no YAML file may contain."),
)
"""What PyYAML says, and what that means to a person. The first that matches is used."""


class Mark(Struct, frozen=True):
    """A place in a file, both from 1."""

    line: int
    column: int


class Places:
    """Lines and columns of a text, by offset; a lone carriage return ends a line, as in PyYAML."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", text))]

    def mark(self, index: int) -> Mark:
        """Where the character at this offset stands."""
        line = bisect_right(self._starts, index)
        return Mark(line, index - self._starts[line - 1] + 1)

    def explain(self, error: yaml.MarkedYAMLError) -> tuple[str, Mark | None]:
        """What is wrong in a person's words, and where."""
        text = in_words(f"{error.context or 'it'}: {error.problem or 'not readable'}")
        begun = self.mark(error.context_mark.index) if error.context_mark else None
        found = self.mark(error.problem_mark.index) if error.problem_mark else None
        if begun and found and begun.line != found.line:
            text += f" It belongs to what begins in line {begun.line}."
        return text, found or begun


def in_words(said: str) -> str:
    """What PyYAML said, as a person would say it."""
    return next(
        (words for pattern, words in _WORDS if re.search(pattern, said)), f"This is no YAML: {printable(said)}."
    )
