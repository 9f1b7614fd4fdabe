"""Why two calls collide, or do not: what each is, what they share, and where they part."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec import Struct

from engine.calls import Failure, Identity, Measure, Result, args_of, kind_of, result_of
from engine.config import Config
from engine.failures import failure_of
from engine.fingerprints import Fingerprinter

FINGERPRINTS_TALLIED = 10_000
LINES_NAMED = 8
DIFFERENCE_CHARS = 60
_BEFORE_DIFFERENCE = 12
"""Characters that two texts have in common before they part, shown to say where that is."""


class Explained(Struct, frozen=True):
    """One call, and what it is. ``line`` is where it stands; ``ignored`` names the arguments that were left out."""

    line: int
    tool: str
    args: Mapping[str, Any]
    tracked: bool
    ignored: tuple[str, ...]
    identity: Identity
    failure: Failure | None = None


class Difference(Struct, frozen=True):
    """Where two fingerprints of a kind part: both from shortly before that place, cut."""

    kind: str
    earlier: str
    later: str


class Comparison(Struct, frozen=True):
    """Two calls side by side.

    They collide if they share ``measures``; ``uncapped`` is what they share that nobody counts. ``differences`` has
    the kinds of which each has one of its own, ``only_earlier`` and ``only_later`` those that one alone has.
    """

    measures: tuple[Measure, ...]
    uncapped: tuple[str, ...]
    differences: tuple[Difference, ...]
    only_earlier: tuple[str, ...]
    only_later: tuple[str, ...]


class Repeated(Struct, frozen=True):
    """A measure that several calls carry; ``lines`` are the first ``LINES_NAMED`` of them."""

    measure: Measure
    count: int
    lines: tuple[int, ...]


class NotACallError(ValueError):
    """An object that is no call; ``str()`` says why."""


class Explainer:
    """Says what calls are, under one configuration."""

    def __init__(self, config: Config) -> None:
        self._fingerprinter = Fingerprinter(config)

    def explain(self, line: int, call: Mapping[str, Any]) -> Explained:
        """What the call of a line is: ``{"tool", "args"[, "result"]}``. Raises NotACallError."""
        tool = call.get("tool")
        if not isinstance(tool, str) or not tool:
            raise NotACallError('no "tool"' if tool is None else '"tool" is no name')
        args = args_of(call.get("args"))
        identity = self._fingerprinter.identify(tool, args)
        decoys = self._fingerprinter.decoys_of(tool)
        return Explained(
            line=line,
            tool=tool,
            args=args,
            tracked=self._fingerprinter.tracks(tool),
            ignored=tuple(name for name in args if name in decoys),
            identity=identity,
            failure=_failure(result_of(call["result"]), identity) if "result" in call else None,
        )


def _failure(result: Result, identity: Identity) -> Failure | None:
    return None if result.aborted else failure_of(result, identity)


def as_json(explained: Explained) -> dict[str, Any]:
    """The documented form: ``caps`` has the fingerprints that have one."""
    identity, failure = explained.identity, explained.failure
    return {
        "fingerprints": list(identity.fingerprints),
        "caps": {one.fingerprint: one.cap for one in identity.measures},
        "local": identity.local,
        "failure": {"reason": failure.reason, "detail": failure.detail} if failure else None,
    }


def compare(earlier: Explained, later: Explained) -> Comparison:
    """What two calls share, and where they part."""
    before, after = earlier.identity.fingerprints, later.identity.fingerprints
    shared = set(before).intersection(after)
    measures = tuple(one for one in later.identity.measures if one.fingerprint in shared)
    counted = {one.fingerprint for one in measures}
    ours, theirs = _by_kind(before, shared), _by_kind(after, shared)
    return Comparison(
        measures=measures,
        uncapped=tuple(one for one in after if one in shared and one not in counted),
        differences=tuple(Difference(kind, *_parting(ours[kind], theirs[kind])) for kind in ours if kind in theirs),
        only_earlier=tuple(kind for kind in ours if kind not in theirs),
        only_later=tuple(kind for kind in theirs if kind not in ours),
    )


def _by_kind(fingerprints: Iterable[str], shared: Collection[str]) -> dict[str, str]:
    """The first fingerprint of each kind that is not shared."""
    kinds: dict[str, str] = {}
    for fingerprint in fingerprints:
        if fingerprint not in shared:
            kinds.setdefault(kind_of(fingerprint), fingerprint)
    return kinds


def _parting(one: str, other: str) -> tuple[str, str]:
    pairs = enumerate(zip(one, other, strict=False))
    parted = next((at for at, (mine, yours) in pairs if mine != yours), min(len(one), len(other)))
    start = max(0, parted - _BEFORE_DIFFERENCE)
    return _cut(one, start), _cut(other, start)


def _cut(text: str, start: int) -> str:
    end = start + DIFFERENCE_CHARS
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


class Tally:
    """How often each measure came, over all calls. Bounded: the measure that came longest ago goes first."""

    def __init__(self) -> None:
        self._repeated: dict[str, Repeated] = {}

    def add(self, explained: Explained) -> None:
        for measure in explained.identity.measures if explained.tracked else ():
            before = self._repeated.pop(measure.fingerprint, None)
            lines = before.lines if before else ()
            self._repeated[measure.fingerprint] = Repeated(
                measure=measure,
                count=before.count + 1 if before else 1,
                lines=(*lines, explained.line) if len(lines) < LINES_NAMED else lines,
            )
        while len(self._repeated) > FINGERPRINTS_TALLIED:
            del self._repeated[next(iter(self._repeated))]

    def repeated(self) -> list[Repeated]:
        """The measures that more than one call carries, the most frequent first."""
        several = [one for one in self._repeated.values() if one.count > 1]
        return sorted(several, key=lambda one: -one.count)
