"""One measure: how far it has come, the calls of it that stand in the window, and what moved it this turn."""

from __future__ import annotations

from console.screens.pages import PageScreen
from console.state import State
from console.state.agents import Agent
from console.state.measures import GLYPHS, Measure
from console.text import fit
from console.widgets.page import Writer
from console.widgets.pieces import INK_OF_STAGE, bar, clock, of, streak
from console.widgets.stream import GLYPH_OF_PHASE, INK_OF_PHASE

KINDS = {
    "host": "calls to this host, whatever they ask it for",
    "net": "calls to this very resource, tracking parameters and order aside",
    "cmd": "this command, without its volatile flags and wrappers",
    "exact": "this very call: same tool, same arguments, decoys aside",
    "sink": "commands that write to this file",
    "site": "calls to this site, all its hosts together",
    "family": "calls that fetch over HTTP, whatever the tool",
    "verb": "commands with this verb",
}


class MeasureScreen(PageScreen):
    """Details of a measure, kept up to date while it is looked at."""

    def __init__(self, state: State, agent: Agent, measure: Measure) -> None:
        super().__init__(state)
        self.agent = agent
        self.measure = measure

    def heading(self) -> str:
        return f"measure · {self.agent.label} · turn {self.agent.turn}"

    def version(self) -> object:
        return (self.agent.version, self.state.config_version)

    def write(self, writer: Writer) -> None:
        measure, thresholds = self.measure, self.state.thresholds
        stage = measure.stage(thresholds)
        width = max(min(writer.width - 40, 40), 10)
        writer.text(measure.label, "strong", indent=0)
        if measure.kind in KINDS:
            writer.note(KINDS[measure.kind])
        writer.line()
        writer.line(
            (f"{GLYPHS[stage]} {stage or 'calm'}  ", INK_OF_STAGE[stage]),
            (bar(measure, thresholds, width), INK_OF_STAGE[stage]),
            (f"  {of(measure.shown_count, measure.cap)} in its window", ""),
        )
        steps = [
            f"warn at {thresholds.warn_at}",
            f"summarize at {thresholds.summarize_at}",
            f"gate at {measure.cap:.0f}",
        ]
        writer.note(" · ".join(step for step in steps if "None" not in step))
        if measure.streak:
            writer.line((f"{streak(measure, thresholds)} failures in a row: {measure.failure}", "fail"))
        if measure.exempt:
            writer.line(("∅ exempted by you: not counted until your next message to this agent", "exempt"))
        if measure.refused:
            writer.line(
                ("⊘ refused without asking until your next message to this agent (x lists and lifts)", "refused")
            )
        self._write_calls(writer)
        self._write_history(writer)

    def _write_calls(self, writer: Writer) -> None:
        inside = self.measure.calls[-self.measure.count :] if self.measure.count else []
        writer.heading(f"calls in its window · {len(inside)}")
        if len(inside) < self.measure.count:
            writer.note(f"{self.measure.count - len(inside)} more were made before this console looked")
        for number in reversed(inside):
            row = self.state.stream.get(number)
            if row is None:
                continue
            ink = INK_OF_PHASE.get(row.phase, "dim")
            status_width = min(28, writer.width // 3)
            writer.line(
                (f"{clock(row.at)} ", "dim"),
                (fit(row.tool, 10, pad=True) + " ", "tool"),
                (fit(row.text, max(writer.width - 22 - status_width, 8), "middle", pad=True) + " ", ""),
                (fit(f"{GLYPH_OF_PHASE.get(row.phase, ' ')} {row.status}", status_width), ink),
                target=number,
            )

    def _write_history(self, writer: Writer) -> None:
        writer.heading("its history this turn, the latest first")
        for moment in reversed(self.measure.history):
            failures = f" · {moment.streak} failures in a row" if moment.streak else ""
            writer.line(
                (f"{clock(moment.at)} ", "dim"),
                (f"{of(moment.count, self.measure.cap):>7}  ", ""),
                (fit(moment.what + failures, max(writer.width - 18, 8)), "fail" if moment.streak else "dim"),
            )

    def follow(self, target: object) -> None:
        row = self.state.stream.get(target) if isinstance(target, int) else None
        if row is not None:
            self.console_app.open_row(row)
