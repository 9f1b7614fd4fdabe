"""DSH: the bridge as a row in the patches of its home directory, which hold for every profile.

Written from DSH 0.1.0-rc.8. The patches are a YAML list. Ours goes to its end, as text, and the rest stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import yaml

from engine.harnesses.mounts import JAVASCRIPT, Mount
from engine.harnesses.settings import BOM, SettingsError

NAME = "dsh"
PLUGIN = JAVASCRIPT / "dsh.mjs"
ROW = "repeat-tool-breaker-bridge"
"""The row's id in DSH's tree of plugins."""

_COMMENT = "# repeat-tool-breaker: `breaker uninstall dsh` takes this out again."
_BLOCK = """\
{comment}
- insert:
    - id: {row}
      name: {plugin}
      config: {settings}
"""


def mounted(text: str, mount: Mount) -> str:
    """The patches with ours after them. Raises SettingsError."""
    root = _root(text)
    if root is not None and root.flow_style:
        changed = _with_item(text, root, mount)
    else:
        changed = _with_lines(text, 0 if root is None else root.start_mark.column, mount)
    if not _is_one_longer(changed, root):
        raise SettingsError("Nothing can be put after what stands at its end. Take a document's end marker out of it.")
    return changed


def unmounted(text: str) -> str:
    """The patches without ours. Raises SettingsError where somebody has put more into ours than that."""
    rest = text
    while (shorter := _without_one(rest)) is not None:
        rest = shorter
    if rest != text and rest.strip() and _root(rest) is None:
        return f"{rest}[]\n"  # comments alone are no list to DSH, and it would not start
    return rest


def mounts(text: str) -> tuple[Mount, ...]:
    """Every row of ours in there. Raises SettingsError."""
    root = _root(text)
    items = root.value if root else ()
    off = any(_scalar(_value(item, "id")) == ROW and _is_off(item) for item in items)
    return tuple(_mount(row, off=off) for item in items for row in _our_rows(item))


# -- reading --------------------------------------------------------------------------------------------------


def _root(text: str) -> yaml.SequenceNode | None:
    """The list of patches; None where there is nothing but comments. Raises SettingsError."""
    try:
        root = yaml.compose(text.removeprefix(BOM), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        where = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise SettingsError(f"It is no valid YAML: {where}{error.problem}. Correct that first.") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise SettingsError(f"It is no valid YAML: {error}. Correct that first.") from error
    if root is not None and not isinstance(root, yaml.SequenceNode):
        raise SettingsError("It is no list of patches, and DSH will not start with it. Correct that first.")
    return root


def _is_one_longer(changed: str, root: yaml.SequenceNode | None) -> bool:
    try:
        after = _root(changed)
        return after is not None and len(after.value) == (len(root.value) if root else 0) + 1 and bool(mounts(changed))
    except SettingsError:
        return False


def _our_rows(item: yaml.Node) -> Iterator[yaml.MappingNode]:
    inserted = _value(item, "insert")
    for row in inserted.value if isinstance(inserted, yaml.SequenceNode) else ():
        if _scalar(_value(row, "id")) == ROW:
            yield row


def _mount(row: yaml.MappingNode, *, off: bool) -> Mount:
    config = _value(row, "config")
    pairs = config.value if isinstance(config, yaml.MappingNode) else ()
    settings: dict[str, Any] = {_scalar(key): _scalar(value) for key, value in pairs}
    return Mount(_scalar(_value(row, "name")), settings, off=off or _is_off(row))


def _is_off(row: yaml.Node) -> bool:
    return _scalar(_value(row, "disabled")) == "true"


def _value(node: yaml.Node | None, name: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for key, value in pairs if _scalar(key) == name), None)


def _scalar(node: yaml.Node | None) -> str:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else ""


# -- changes --------------------------------------------------------------------------------------------------


def _with_lines(text: str, indent: int, mount: Mount) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    block = _BLOCK.format(comment=_COMMENT, row=ROW, plugin=_quoted(mount.plugin), settings=_quoted(mount.settings))
    lines = [" " * indent + line for line in block.splitlines()]
    ended = not text.removeprefix(BOM) or text.endswith("\n")
    return text + ("" if ended else newline) + newline.join(lines) + newline


def _with_item(text: str, root: yaml.SequenceNode, mount: Mount) -> str:
    row = {"id": ROW, "name": mount.plugin, "config": mount.settings}
    closing = root.end_mark.index + _lead(text) - 1
    last = root.value[-1].end_mark.index + _lead(text) if root.value else closing
    comma = ", " if root.value and "," not in _bare(text[last:closing]) else ""
    return text[:closing] + comma + _quoted({"insert": [row]}) + text[closing:]


def _without_one(text: str) -> str | None:
    root = _root(text)
    for index, item in enumerate(root.value if root else ()):
        if not any(_our_rows(item)):
            continue
        rows = _value(item, "insert")
        if len(item.value) != 1 or rows is None or len(rows.value) != 1:
            raise SettingsError(f"More than the row {ROW} stands in its patch now. Take that row out yourself.")
        assert root is not None  # noqa: S101 - it has this item
        return _without_item(text, root, index) if root.flow_style else _without_lines(text, item)
    return None


def _without_item(text: str, root: yaml.SequenceNode, index: int) -> str:
    lead, item = _lead(text), root.value[index]
    start, end = item.start_mark.index + lead, item.end_mark.index + lead
    if index:
        return text[:start].removesuffix(", ") + text[end:]
    rest = text[end:].lstrip()
    return text[:start] + (rest[1:].lstrip() if rest.startswith(",") else text[end:])


def _without_lines(text: str, item: yaml.Node) -> str:
    """Without the item's lines, and the comment of ours above them; what follows may have been commented by others."""
    lead = _lead(text)
    start = text.rfind("\n", 0, text.rindex("-", 0, item.start_mark.index + lead)) + 1
    above = text.rfind("\n", 0, max(start - 1, 0)) + 1
    if text[above:start].strip() == _COMMENT:
        start = above
    end = text.find("\n", _end_of(item) + lead) + 1
    return text[:start] + (text[end:] if end else "")


def _end_of(node: yaml.Node) -> int:
    """Where the node's last value ends. A collection in block style itself ends where the next thing begins."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(node, yaml.MappingNode) else last
    return int(node.end_mark.index)


def _quoted(value: Any) -> str:
    """JSON, which is YAML as long as no character is written as two halves."""
    return json.dumps(value, ensure_ascii=False)


def _lead(text: str) -> int:
    return len(text) - len(text.removeprefix(BOM))


def _bare(text: str) -> str:
    """The text without its comments."""
    return "\n".join(line.partition("#")[0] for line in text.splitlines())
