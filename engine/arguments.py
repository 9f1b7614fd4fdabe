"""What a call's arguments hold, whatever a harness names it: the command line, the URLs, the rest of the request."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from engine.canonical import canonical
from engine.urls import find_urls

COMMAND_KEYS = ("command", "cmd", "script", "commandLine", "command_line")
"""Where such a tool finds its command line: text, or a list of words. The first that is one of these counts."""

URL_KEYS = ("url", "href", "uri")
TEXT_WITH_URLS = "prompt"
"""Where a tool without a URL argument has them in a sentence: Gemini CLI's ``web_fetch``."""
METHOD_KEY = "method"
REQUEST_KEYS = frozenset(
    {
        *("body", "data", "json", "payload", "form", "params", "query", "variables"),
        *("page", "offset", "skip", "start", "start_index", "startIndex"),
        *("cursor", "after", "before", "pageToken", "page_token"),
    }
)
"""Arguments that make a URL another resource, however a tool passes a page or a body."""


def command_of(args: Mapping[str, Any]) -> str:
    """The command line of a shell call; empty when it has none."""
    for key in COMMAND_KEYS:
        command = args.get(key)
        if isinstance(command, str):
            return command
        if isinstance(command, list | tuple) and command:
            return _line_of(command)
    action = args.get("action")  # OpenAI's local_shell: {"action": {"type": "exec", "command": [...]}}
    command = action.get("command") if isinstance(action, Mapping) else None
    return _line_of(command) if isinstance(command, list | tuple) else ""


def _line_of(words: Iterable[Any]) -> str:
    """A command line that reads as these words. One word alone is a line of its own."""
    texts = [word for word in words if isinstance(word, str)]
    return texts[0] if len(texts) == 1 else shlex.join(texts)


def urls_of(args: Mapping[str, Any]) -> list[str]:
    """The URLs that a tool is asked for. A bare host is one if it has a dot."""
    for key in URL_KEYS:
        value = args.get(key)
        if isinstance(value, str):
            return [value] if _is_url(value) else []
    prompt = args.get(TEXT_WITH_URLS)
    return find_urls(prompt) if isinstance(prompt, str) else []


_PLACE_ENDS = re.compile(r"[/?#]")


def _is_url(text: str) -> bool:
    return "://" in text or "." in _PLACE_ENDS.split(text, 1)[0]


def request_of(args: Mapping[str, Any]) -> str:
    """Method and body, when they make the URL another resource."""
    method = args.get(METHOD_KEY)
    verb = method.strip().upper() if isinstance(method, str) else ""
    body = "" if REQUEST_KEYS.isdisjoint(args) else _body_of(args)
    return " ".join(part for part in ("" if verb == "GET" else verb, body) if part)


def _body_of(args: Mapping[str, Any]) -> str:
    body = {key: value for key, value in args.items() if key in REQUEST_KEYS and value not in (None, "", {}, [])}
    return canonical(body) if body else ""
