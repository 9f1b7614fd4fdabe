"""What a command line means: its verb, its canonical text, the URLs it requests, where it writes."""

from __future__ import annotations

from msgspec import Struct

from engine.shell import Quoted, parse
from engine.urls import find_urls

HTTP_CLIENTS = frozenset({"curl", "wget", "http", "https", "httpie", "xh", "xhs"})


class RequestUrl(Struct, frozen=True):
    """A URL as it was found. ``request`` is what else makes it another resource: method and body, else empty."""

    url: str
    request: str = ""


class CommandLine(Struct, frozen=True):
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


def read_command(command: str) -> CommandLine:
    """Read any text as a command line. Never raises."""
    script = parse(command)
    words = [word for part in script.commands for word in part.words]
    verb = words[0].rpartition("/")[2].lower() if words else ""
    return CommandLine(
        verb=verb,
        text=" ".join(word.spelling if isinstance(word, Quoted) else word for word in words),
        urls=tuple(RequestUrl(url) for word in words for url in find_urls(word)),
        sinks=tuple(to.target for part in script.commands for to in part.redirects if to.operator in {">", ">>"}),
        fetches=verb in HTTP_CLIENTS,
    )
