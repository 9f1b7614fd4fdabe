"""URLs in any text, and what a URL is once its spelling is taken away."""

from __future__ import annotations

import re

_URL = re.compile(
    r"""
    [hH][tT][tT][pP][sS]?://
    (?: [^\s"'`<>\\\x00-\x1f\x7f\ufeff]++     # what may stand in a URL that is written out
      | \\++[./:?&=+\-_~%#(){}\[\]*^$|,;@!]   # and what a pattern puts a backslash before
    )++
    """,
    re.VERBOSE,
)
"""Possessive throughout: no input makes it look at a character twice."""

_AFTER_URL = ".,;:!?'\"\\$…。，、；：！？”’»"
"""Punctuation that ends the sentence or the pattern around a URL, not the URL."""
_BRACKETS = {")": "(", "]": "[", "}": "{", "）": "（", "】": "【", "」": "「", "』": "『", "》": "《"}
"""A closing bracket at the end belongs to the URL only if it was opened in it (``http://[::1]``, ``/wiki/A_(b)``)."""


def find_urls(text: str) -> list[str]:
    """The distinct http(s) URLs in a text, as they are spelled there, in order of appearance.

    A URL written as a pattern (``http://127\\.0\\.0\\.1:3080/``) comes whole, with its backslashes.
    """
    if "://" not in text:
        return []
    found = (_without_trailing_punctuation(match[0]) for match in _URL.finditer(text))
    return list(dict.fromkeys(url for url in found if not url.endswith("://")))


def _without_trailing_punctuation(url: str) -> str:
    surplus: dict[str, int] = {}
    end = len(url)
    while end:
        last = url[end - 1]
        if last in _BRACKETS:
            if last not in surplus:
                surplus[last] = url.count(last) - url.count(_BRACKETS[last])
            if surplus[last] <= 0:
                break
            surplus[last] -= 1
        elif last not in _AFTER_URL:
            break
        end -= 1
    return url[:end]
