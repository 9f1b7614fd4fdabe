"""The findings of a sweep drawn with matplotlib, which is not installed with the breaker: ``[plot]`` is."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from engine.sweep_findings import Finding
from engine.swept_thresholds import spelled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".png", ".svg")
NAMED = 12
"""So many points of the front are named."""
_LINES = (("advised", "#9a6700", "o"), ("asked", "#0969da", "s"), ("refused", "#a40e26", "^"))
"""Counts of sessions: colours that are told apart without seeing colours, and marks too."""


class PlotError(Exception):
    """It cannot be drawn; ``str()`` says why and what to do."""


def check(path: Path) -> None:
    """Raise PlotError when a plot could not be written there: before hours of judging, not after."""
    if path.suffix.lower() not in FORMATS:
        raise PlotError(f"a plot is written as {' or '.join(FORMATS)}, and not as {path.name}")
    if find_spec("matplotlib") is None:
        raise PlotError("--plot needs matplotlib: pip install 'repeat-tool-breaker[plot]'")


def plot(findings: Sequence[Finding], path: Path) -> None:
    """Write the plot: with labels what is caught against false alarms, without them each threshold's effect.

    Raises OSError when the file cannot be written.
    """
    from matplotlib import rc_context  # noqa: PLC0415 - as above
    from matplotlib.figure import Figure  # noqa: PLC0415 - as above

    with rc_context({"svg.hashsalt": "breaker", "svg.fonttype": "none", "font.size": 9}):
        swept = [key for key in findings[0].values if len({one.values[key] for one in findings}) > 1]
        panels = max(len(swept), 1)
        labelled = findings[0].caught is not None
        figure = Figure(figsize=(7, 5) if labelled else (4 * panels, 3.6), layout="constrained")
        if labelled:
            _front(figure.subplots(), findings)
        else:
            axes = figure.subplots(1, panels, squeeze=False, sharey=True)[0]
            for axis, key in zip(axes, swept or [""], strict=True):
                _effect(axis, findings, key)
            axes[0].set_ylabel(f"sessions of {findings[0].sessions}")
            axes[0].legend(frameon=False)
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix.lower() == ".svg" else {})


def _front(axis: Axes, findings: Sequence[Finding]) -> None:
    """What is caught against false alarms. Of combinations that come to the same, that is named which refuses least."""
    others = [_place(one) for one in findings if not one.best]
    best = sorted((one for one in findings if one.best), key=lambda one: -one.calls_refused)
    front = sorted({_place(one): one for one in best}.items())
    axis.scatter([alarms for alarms, _ in others], [caught for _, caught in others], c="#8c959f", s=18)
    axis.plot([place[0] for place, _ in front], [place[1] for place, _ in front], "o-", c="#a40e26", ms=6)
    for place, one in front[:NAMED]:
        name = "\n".join(f"{_plain(key)} {spelled(value)}" for key, value in one.values.items())
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
        axis.annotate(name, place, xytext=(8, -4), textcoords="offset points", fontsize=7, va="top", bbox=box)
    axis.set_xlabel(f"false alarms, of {findings[0].good} good sessions")
    axis.set_ylabel(f"caught, of {findings[0].stuck} stuck sessions")
    axis.set_xlim(-0.5, (findings[0].good or 0) + 0.5)
    axis.set_ylim(-0.5, (findings[0].stuck or 0) + 0.5)
    axis.locator_params(integer=True)
    axis.grid(alpha=0.3)


def _place(one: Finding) -> tuple[int, int]:
    return one.false_alarms or 0, one.caught or 0


def _effect(axis: Axes, findings: Sequence[Finding], key: str) -> None:
    """Each count by one threshold: the mean over the others as a line, from least to most as a band."""
    values = sorted({one.values.get(key) for one in findings}, key=lambda value: (value is None, value or 0))
    places = range(len(values))
    for name, colour, mark in _LINES:
        counts = [[getattr(one, name) for one in findings if one.values.get(key) == value] for value in values]
        axis.fill_between(places, [min(one) for one in counts], [max(one) for one in counts], color=colour, alpha=0.12)
        axis.plot(places, [sum(one) / len(one) for one in counts], color=colour, marker=mark, ms=4, label=name)
    axis.set_xticks(list(places), [spelled(value) if key else "as configured" for value in values])
    axis.set_xlabel(_plain(key))
    axis.set_ylim(bottom=0)
    axis.locator_params(axis="y", integer=True)
    axis.grid(alpha=0.3)


def _plain(key: str) -> str:
    """A key as no formula: a limit may be that of any text."""
    return key.replace("\\", "\\\\").replace("$", r"\$")[:60]
