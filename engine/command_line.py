"""What a command line is made of, and what it comes to: the words that its readers pass on to each other."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Quoted(str):
    """The value of a word of which some part was quoted. Plain words are plain strings."""

    __slots__ = ("live", "spelling")
    spelling: str
    """The word as a canonical command line spells it: quoted only where it must be, always in the same way."""
    live: bool
    """The shell puts something in: a variable, a substitution."""


class Redirect(Struct, frozen=True, gc=False):
    """``operator`` has its file descriptor in front, if one was written. Of a here-document ``target`` is the body."""

    operator: str
    target: str


class Command(Struct, frozen=True, gc=False):
    """A simple command, and the operator that ends it (empty at the end of the text)."""

    words: list[str]
    redirects: Sequence[Redirect] = ()
    ending: str = ""
    quoted: bool = False
    """Some of the words are ``Quoted``."""


class Nested(Struct, frozen=True, gc=False):
    """A construct that was taken out. ``content`` may hold the placeholders of constructs with smaller numbers."""

    opening: str
    content: str
    closing: str
    program: bool = False
    """``content`` is a command line that runs (a substitution), not an expression or a document."""


class Script(Struct, frozen=True, gc=False):
    """A command line as a flat ``text``, which holds placeholders for what is ``nested`` in it."""

    text: str
    nested: list[Nested]


class RequestUrl(Struct, frozen=True, gc=False):
    """A URL as it was found. ``request`` is what else makes it another resource: method and body, else empty."""

    url: str
    request: str = ""


class CommandLine(Struct, frozen=True, gc=False):
    """What a command line is, once spelling, wrappers and volatile flags are taken away."""

    verb: str = ""
    """The first word that is no wrapper, without its folder and in lower case; empty when there is none."""
    text: str = ""
    """The command for ``cmd:``."""
    urls: tuple[RequestUrl, ...] = ()
    sinks: tuple[str, ...] = ()
    """Where it writes; generic targets are left out."""
    fetches: bool = False
    """It runs an HTTP client."""
    reads_only: bool = False
    """It is made of pure readers."""
    asks_http_code: bool = False
    """It has curl print the response code."""
