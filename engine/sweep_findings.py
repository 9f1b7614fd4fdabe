"""What a sweep found, combination by combination; with labels also what it caught, and which combinations are best."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from engine.sweep import SessionTallies
from engine.sweep_judging import Tally
from engine.swept_thresholds import Combination, Value

Label = Literal["good", "stuck"]
LABELS: Mapping[str, Label] = {"good": "good", "stuck": "stuck"}
LABELS_BYTES = 16 * 1024 * 1024


class LabelsError(ValueError):
    """Labels that cannot be used; ``str()`` says why, for a person."""


class Gate(Struct, frozen=True):
    """Where the gate came first of all: in which session, at which of its calls."""

    session: str
    call: int


class Finding(Struct, frozen=True):
    """One combination. Counted are sessions, and calls where it says so.

    A session is caught, or is a false alarm, when one of its calls came to the gate: was asked about or refused.
    """

    values: Mapping[str, Value]
    sessions: int
    advised: int
    asked: int
    refused: int
    calls: int
    calls_refused: int
    earliest_gate: Gate | None
    stuck: int | None = None
    caught: int | None = None
    good: int | None = None
    false_alarms: int | None = None
    best: bool | None = None
    """On the Pareto front: no combination catches more with no more false alarms, or as much with fewer."""


def findings_of(
    combinations: Sequence[Combination], sessions: Sequence[SessionTallies], labels: Mapping[Path, Label] | None = None
) -> list[Finding]:
    """The findings of each combination, in order. Sessions that could not be read are not counted."""
    read = [one for one in sessions if not one.problem]
    found = [
        _finding(combination, [(one, one.tallies[index]) for one in read], labels)
        for index, combination in enumerate(combinations)
    ]
    return _with_best(found) if labels is not None else found


def _finding(
    combination: Combination, tallies: Sequence[tuple[SessionTallies, Tally]], labels: Mapping[Path, Label] | None
) -> Finding:
    gates = [Gate(str(one.path), tally.first_gate) for one, tally in tallies if tally.first_gate is not None]
    stuck = caught = good = false_alarms = None
    if labels is not None:
        gated = {one.path for one, tally in tallies if tally.first_gate is not None}
        of = {label: [one.path for one, _ in tallies if labels.get(one.path) == label] for label in LABELS}
        stuck, good = len(of["stuck"]), len(of["good"])
        caught, false_alarms = (sum(path in gated for path in of[label]) for label in ("stuck", "good"))
    return Finding(
        values=combination.values,
        sessions=len(tallies),
        advised=sum(tally.advised > 0 for _, tally in tallies),
        asked=sum(tally.asked > 0 for _, tally in tallies),
        refused=sum(tally.refused > 0 for _, tally in tallies),
        calls=sum(tally.calls for _, tally in tallies),
        calls_refused=sum(tally.refused for _, tally in tallies),
        earliest_gate=min(gates, key=lambda gate: gate.call, default=None),
        stuck=stuck,
        caught=caught,
        good=good,
        false_alarms=false_alarms,
    )


def _with_best(findings: Sequence[Finding]) -> list[Finding]:
    front: set[tuple[int, int]] = set()
    most = -1
    for false_alarms, missed in sorted({(one.false_alarms or 0, -(one.caught or 0)) for one in findings}):
        if -missed > most:
            most = -missed
            front.add((most, false_alarms))
    return [structs.replace(one, best=(one.caught or 0, one.false_alarms or 0) in front) for one in findings]


# -- labels -------------------------------------------------------------------------------------------------------


def labels_for(paths: Iterable[Path], labels: Mapping[str, Label]) -> tuple[dict[Path, Label], list[str]]:
    """The label of each session, and the labels of none. A session is named by its path, its file's name, with or
    without the ending, or its directory's, where it has one of its own.

    Raises LabelsError when a name is that of several sessions.
    """
    by_name: dict[str, list[Path]] = {}
    for path in paths:
        for name in {str(path), str(path.absolute()), path.name, path.name.partition(".")[0], path.parent.name}:
            by_name.setdefault(name, []).append(path)
    found: dict[Path, Label] = {}
    unknown: list[str] = []
    for name, label in labels.items():
        named = by_name.get(name, [])
        if len(named) > 1:
            raise LabelsError(
                f"{name!r} is the name of {len(named)} sessions: write the path, as the command was given it"
            )
        if named:
            found[named[0]] = label
        else:
            unknown.append(name)
    return found, unknown


def read_labels(path: Path) -> dict[str, Label]:
    """Labels from a file: ``SESSION,good`` and ``SESSION,stuck``, a line each, or a JSON object. Raises LabelsError."""
    try:
        with path.open("rb") as file:
            data = file.read(LABELS_BYTES + 1)
    except OSError as error:
        raise LabelsError(f"cannot be read: {error.strerror or error}") from None
    if len(data) > LABELS_BYTES:
        raise LabelsError(f"is larger than {LABELS_BYTES // 2**20} MiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise LabelsError("is no UTF-8 text") from None
    rows = _json_rows(text) if text.lstrip().startswith("{") else _csv_rows(text)
    labels: dict[str, Label] = {}
    for where, session, label in rows:
        if label not in LABELS:
            raise LabelsError(f"{where} has the label {label[:40]!r}; a label is good or stuck")
        labels[session] = LABELS[label]
    return labels


def _csv_rows(text: str) -> Iterable[tuple[str, str, str]]:
    rows = enumerate(csv.reader(io.StringIO(text)), 1)
    try:
        for number, row in rows:
            cells = [cell.strip() for cell in row]
            if not any(cells) or cells[0].startswith("#") or (number == 1 and cells[-1] == "label"):
                continue
            if len(cells) != 2:
                raise LabelsError(f"line {number} has {len(cells)} values; it must be SESSION,good or SESSION,stuck")
            yield f"line {number}", cells[0], cells[1].lower()
    except csv.Error as error:
        raise LabelsError(f"is no list of comma-separated values: {error}") from None


def _json_rows(text: str) -> Iterable[tuple[str, str, str]]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LabelsError(f"is not JSON: {error}") from None
    for session, label in found.items():
        yield repr(session[:80]), session, str(label).strip().lower()
