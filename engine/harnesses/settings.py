"""Hooks in a harness's settings, as text: ours put in, ours taken out, everything else left byte for byte.

The three harnesses lay them out alike::

    {"hooks": {EVENT: [{"matcher": "*", "hooks": [HANDLER, ...]}, ...], ...}, ...}
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from engine.harnesses.jsonc import Child, JsoncError, Liberty, Node, Place, append, liberties, parse, remove, style_of

HOOKS = "hooks"
BOM = "\ufeff"

Handler = Mapping[str, Any]
Group = Mapping[str, Any]
IsOurs = Callable[[Handler], bool]


class SettingsError(Exception):
    """Settings that cannot be read or changed; ``str()`` says why and what to do, for a person."""


def read_settings(text: str) -> Mapping[str, Any]:
    """The settings in this text; an empty one has none. Raises SettingsError."""
    root = _root(text.removeprefix(BOM))
    data = root.data if root else {}
    assert isinstance(data, dict)  # noqa: S101 - see _root
    return data


def is_bare(text: str) -> bool:
    """Whether nothing stands in there, not even a comment. Raises SettingsError."""
    return not read_settings(text) and "comments" not in _liberties(text.removeprefix(BOM))


def unread(text: str, allowed: frozenset[Liberty], keys: frozenset[str]) -> str:
    """What keeps a harness from reading these settings, hooks and all; empty when nothing does.

    ``allowed`` are the liberties it grants, ``keys`` the only ones that it bears at the top; empty: any. Raises
    SettingsError for what no harness reads.
    """
    bom, text = _split(text)
    settings = read_settings(text)
    taken: dict[Liberty, int] = {"a byte order mark": 1} if bom else {}
    taken |= _liberties(text)
    for liberty, line in taken.items():
        if liberty not in allowed:
            return f"{liberty} (line {line})"
    strange = next((key for key in settings if keys and key not in keys), None)
    return "" if strange is None else f"{json.dumps(strange)} among them"


def with_hooks(text: str, groups: Mapping[str, Group]) -> str:
    """The text with one more group at the end of each event's. Raises SettingsError where there is no place for it."""
    bom, text = _split(text)
    if not text.strip():
        return bom + json.dumps({HOOKS: {event: [group] for event, group in groups.items()}}, indent=2) + "\n"
    for event, group in groups.items():
        text = _with_group(text, event, group)
    return bom + text


def without_hooks(text: str, is_ours: IsOurs, before: Mapping[str, Any]) -> str:
    """The text without our handlers, and without the lists and tables that are empty by that.

    ``before`` is the settings as they were without us: what is in there stays, empty as it is. Raises SettingsError.
    """
    bom, text = _split(text)
    hooks = before.get(HOOKS)
    kept = frozenset({HOOKS, *hooks}) if isinstance(hooks, dict) else frozenset()
    while (shorter := _without_one(text, is_ours, kept)) is not None:
        text = shorter
    return bom + text


def handlers_in(settings: Mapping[str, Any]) -> Iterator[tuple[str, Group, Handler]]:
    """Every handler in there, ours or not, with its event and its group."""
    hooks = settings.get(HOOKS)
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            handlers = group.get(HOOKS) if isinstance(group, dict) else None
            for handler in handlers if isinstance(handlers, list) else ():
                if isinstance(handler, dict):
                    yield event, group, handler


def _with_group(text: str, event: str, group: Group) -> str:
    root = _root(text)
    assert root is not None  # noqa: S101 - the text is not empty
    style = style_of(text, root)
    hooks = root.member(HOOKS)
    if hooks is None:
        return append(text, Place(root, 0), {event: [group]}, style, HOOKS)
    if hooks.node.kind != "object":
        raise SettingsError(f'"{HOOKS}" is no table in there. Correct that first.')
    groups = hooks.node.member(event)
    if groups is None:
        return append(text, Place(hooks.node, 1), [group], style, event)
    if groups.node.kind != "array":
        raise SettingsError(f'"{HOOKS}.{event}" is no list in there. Correct that first.')
    return append(text, Place(groups.node, 2), group, style)


def _without_one(text: str, is_ours: IsOurs, kept: frozenset[str]) -> str | None:
    """The text without one handler of ours, and what is empty by that; None when there is none in it."""
    root = _root(text)
    hooks = root.member(HOOKS) if root else None
    if root is None or hooks is None or hooks.node.kind != "object":
        return None
    for event in hooks.node.children:
        for group in event.node.children if event.node.kind == "array" else ():
            handlers = group.node.member(HOOKS) if group.node.kind == "object" else None
            for handler in handlers.node.children if handlers and handlers.node.kind == "array" else ():
                if handler.node.kind == "object" and is_ours(handler.node.data):
                    assert handlers is not None  # noqa: S101 - it has this handler
                    nodes = (root, hooks.node, event.node, handlers.node)
                    return _cut(text, nodes, (hooks, event, group, handler), kept)
    return None


def _cut(text: str, containers: tuple[Node, ...], children: tuple[Child, ...], kept: frozenset[str]) -> str:
    """Take out the last of these, each in its container; or the outermost that holds nothing else and is not kept."""
    level = len(containers) - 1
    while level and len(containers[level].children) == 1:
        around = children[level - 1]
        if containers[level - 1].kind == "object" and around.key in kept:
            break
        level -= 1
    container = containers[level]
    index = next(index for index, child in enumerate(container.children) if child.start == children[level].start)
    return remove(text, container, index)


def _root(text: str) -> Node | None:
    """The table that is the whole of the settings; None for an empty text. Raises SettingsError."""
    if not text.strip():
        return None
    try:
        root = parse(text)
    except JsoncError as error:
        raise SettingsError(f"It is no valid JSON: {error}. Correct that first.") from error
    if root.kind != "object":
        raise SettingsError("It is no table of settings: it must begin with a brace. Correct that first.")
    return root


def _liberties(text: str) -> Mapping[Liberty, int]:
    return liberties(text) if text.strip() else {}


def _split(text: str) -> tuple[str, str]:
    return (BOM, text[1:]) if text.startswith(BOM) else ("", text)
