"""YAML text as plain values, with the line and column of each key and value.

Read by the rules of YAML 1.2's core schema, in which ``on``, ``no`` and ``12:30`` are text and ``1e3`` is a number:
a file means what it seems to say. PyYAML scans and parses; its events are put together here, because its own
composer recurses as deep as the text nests, forgets where things stood, and lets a later key silently win.

The text may be an agent's work: its size, depth and the nodes its aliases stand for are bounded.
"""

from __future__ import annotations

import re
from typing import Any

import yaml
from msgspec import Struct

from engine.configuration.places import Mark, Places, in_words
from engine.configuration.report import Path, printable

FILE_BYTES = 256 * 1024
NODES = 20_000
"""Most values and keys in one file, those that aliases stand for included."""
DEPTH = 16

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEAN = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
"""As in the core schema, but for leading zeros: whether ``010`` is 8 or 10 depends on whom you ask, so it is text."""
_NOT_FINITE = frozenset(
    {sign + word for sign in ("", "-", "+") for word in (".inf", ".Inf", ".INF")} | {".nan", ".NaN", ".NAN"}
)
_INTEGER_DIGITS = 18
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSEEN_LINE_END = re.compile("[\x85\u2028\u2029]")
"""Line ends to PyYAML and to no editor: behind one, a comment could set a limit that nobody sees."""

_QUICK_LOADER: Any = getattr(yaml, "CSafeLoader", None)
"""PyYAML's binding of libyaml, twenty times as fast; a PyYAML that was built without it has none."""
_READ_OTHERWISE = re.compile(r"[\t\ufeff|>?]|:\s*+[\]},]|:\s++#")
"""What libyaml and PyYAML's own parser may read differently: tabs, byte order marks, heads of block texts, ``?``, and
where an empty value in brackets stands."""

_TAG = "tag:yaml.org,2002:"
_TOO_DEEP = f"Lists and mappings are nested more than {DEPTH} deep."
_NO_TAGS = "Tags (!name) are not read here. Does a text that begins with ! need quotes?"


class YamlError(Exception):
    """Text that is not YAML, or not fit to be a configuration: ``str()`` says what, ``mark`` where."""

    def __init__(self, text: str, mark: Mark | None) -> None:
        super().__init__(text)
        self.mark = mark


class Repeated(Struct, frozen=True):
    """A key that stands twice in one mapping."""

    path: Path
    first: Mark
    again: Mark


class Document(Struct, frozen=True):
    """A file's value and where its parts stand. Mapping keys are text as written. Aliased values are shared."""

    value: Any
    keys: dict[Path, Mark]
    values: dict[Path, Mark]
    repeated: tuple[Repeated, ...]


class _Open(Struct):
    """A list or mapping whose end has not come yet. ``key``: the key that waits for its value."""

    value: list[Any] | dict[str, Any]
    path: Path
    anchor: str | None
    nodes_before: int
    key: str | None = None


def compose(text: str) -> Document:
    """Put a YAML text together as plain values; no text at all is null. Raises YamlError."""
    if unseen := _UNSEEN_LINE_END.search(text):
        number = f"U+{ord(unseen[0]):04X}"
        raise YamlError(f"There is an unseen line end ({number}): delete it.", Places(text).mark(unseen.start()))
    return _quickly(text) or _carefully(text)


def _quickly(text: str) -> Document | None:
    """The document by way of libyaml; None when only PyYAML's own parser shall say what this is, or what is wrong."""
    if _QUICK_LOADER is None or _READ_OTHERWISE.search(text):
        return None
    composer = _Composer(text)
    try:
        for event in yaml.parse(text, Loader=_QUICK_LOADER):
            composer.take(event)
    except (yaml.YAMLError, ValueError, OverflowError):
        return None
    return composer.document()


def _carefully(text: str) -> Document:
    composer = _Composer(text)
    try:
        for event in yaml.parse(text, Loader=_Loader):
            composer.take(event)
    except yaml.reader.ReaderError as error:
        raise YamlError(in_words(error.reason), composer.places.mark(error.position)) from error
    except yaml.MarkedYAMLError as error:
        raise YamlError(*composer.places.explain(error)) from error
    except (ValueError, OverflowError) as error:  # PyYAML turns the digits of an escape into a number unchecked
        raise YamlError("There is a number in an escape or a directive that is out of range.", None) from error
    return composer.document()


class _Loader(yaml.SafeLoader):
    """PyYAML's own, stopped where the text nests too deeply: it would go on for 1,024 characters, at a cost that grows
    with their square, before it said so."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._text = text

    def fetch_flow_collection_start(self, kind: type[yaml.Token]) -> None:
        if self.flow_level >= DEPTH:
            raise YamlError(_TOO_DEEP, Places(self._text).mark(self.index))
        super().fetch_flow_collection_start(kind)


class _Composer:
    """Takes the parser's events in order."""

    def __init__(self, text: str) -> None:
        self.places = Places(text)
        self.root: Any = None
        self.keys: dict[Path, Mark] = {}
        self.values: dict[Path, Mark] = {}
        self.repeated: list[Repeated] = []
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._nodes = 0
        self._documents = 0

    def document(self) -> Document:
        """What was put together, when all events were taken."""
        return Document(self.root, self.keys, self.values, tuple(self.repeated))

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._start(event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                closed = self._open.pop()
                self._anchor(closed.anchor, closed.value, self._nodes - closed.nodes_before)
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise self._error("There is a second document (---) in the file; only one is read.", event)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        if event.tag not in {None, "!", _TAG + "str"}:
            raise self._error(_NO_TAGS, event)
        plain = event.tag is None and event.implicit[0]
        self._count(1, event)
        text = self._whole(event)
        if self._awaits_key():
            self._key(text, event)
            return
        value = resolve(text) if plain else text
        self._place(value, event)
        self._anchor(event.anchor, value, 1)

    def _whole(self, event: yaml.ScalarEvent) -> str:
        r"""A scalar's text, its pairs of ``\ud83d\ude00`` joined as JSON has them. Half a pair is no text."""
        text: str = event.value
        if not _SURROGATE.search(text):
            return text
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise self._error("There is half a character (a single \\ud800 to \\udfff) in a text.", event) from None

    def _start(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        mapping = isinstance(event, yaml.MappingStartEvent)
        if event.tag not in {None, "!", _TAG + ("map" if mapping else "seq")}:
            raise self._error(_NO_TAGS, event)
        if self._awaits_key():
            raise self._error(
                "A key must be text, not a list or a mapping. Does a text with brackets need quotes?", event
            )
        if len(self._open) == DEPTH:
            raise self._error(_TOO_DEEP, event)
        value: list[Any] | dict[str, Any] = {} if mapping else []
        before = self._nodes
        self._count(1, event)
        self._open.append(_Open(value, self._place(value, event), event.anchor, before))

    def _alias(self, event: yaml.AliasEvent) -> None:
        anchor = event.anchor or ""
        name = printable(anchor)
        if anchor not in self._anchors:
            hint = f"*{name} is read as an alias, and there is no anchor &{name} above it. A text that begins with * "
            raise self._error(f"{hint}needs quotes: '*{name}'.", event)
        value, nodes = self._anchors[anchor]
        self._count(nodes, event)
        if not self._awaits_key():
            self._place(value, event)
        elif isinstance(value, str):
            self._key(value, event)
        else:
            raise self._error(f"A key must be text, and the alias *{name} stands for something else.", event)

    def _awaits_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].value, dict) and self._open[-1].key is None

    def _key(self, key: str, event: yaml.Event) -> None:
        within = self._open[-1]
        within.key = key
        path, mark = (*within.path, key), self._mark(event)
        if key in within.value:
            self.repeated.append(Repeated(path, self.keys[path], mark))
        self.keys[path] = mark

    def _place(self, value: Any, event: yaml.Event) -> Path:
        """Put a value where it belongs. Returns its path."""
        path: Path = ()
        if not self._open:
            self.root = value
        else:
            within = self._open[-1]
            if isinstance(within.value, list):
                path = (*within.path, len(within.value))
                within.value.append(value)
            else:
                assert within.key is not None  # noqa: S101 - the parser sends a mapping's key before its value
                path = (*within.path, within.key)
                within.value[within.key] = value
                within.key = None
        self.values[path] = self._mark(event)
        return path

    def _anchor(self, name: str | None, value: Any, nodes: int) -> None:
        """Make a whole value known by its anchor; one that is not whole yet is no target, so nothing holds itself."""
        if name is not None:
            self._anchors[name] = (value, nodes)

    def _count(self, nodes: int, event: yaml.Event) -> None:
        self._nodes += nodes
        if self._nodes > NODES:
            raise self._error(f"There are more than {NODES} values in the file, aliases counted in full.", event)

    def _mark(self, event: yaml.Event) -> Mark:
        return self.places.mark(event.start_mark.index if event.start_mark else 0)

    def _error(self, text: str, event: yaml.Event) -> YamlError:
        return YamlError(text, self._mark(event))


def resolve(text: str) -> Any:
    """What a plain scalar means: null, a truth value, a number, or the text itself."""
    if text in _NULL:
        return None
    if text in _BOOLEAN:
        return _BOOLEAN[text]
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= _INTEGER_DIGITS else float(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if text in _NOT_FINITE:
        return float(text.replace(".", ""))
    return text
