"""HTML put together so that no text can become markup: what is not ``Markup`` is made visible and escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable

from console.text import visible

TEXT_CHARS = 2000
VOID = frozenset({"meta"})
"""Elements that hold nothing."""


class Markup(str):
    """HTML of our own making."""

    __slots__ = ()


Child = str | Iterable[Markup] | None
"""Text, Markup, several pieces of it, or nothing."""


def tag(name: str, /, *children: Child, **attributes: str | float) -> Markup:
    """An element. An attribute's ``_`` is written ``-``, one at its end left out: ``class_``, ``aria_label``."""
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"' for key, value in attributes.items())
    if name in VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{''.join(_inner(child) for child in children)}</{name}>")


def escaped(text: str | float) -> str:
    """Text as it may stand in HTML, in an attribute too: nothing hidden, nothing that is markup."""
    return html.escape(visible(text, TEXT_CHARS) if isinstance(text, str) else f"{text:g}")


def _inner(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return escaped(child)
    return "".join(_inner(one) for one in child)
