"""A report as one HTML file that asks no network for anything: its style and its drawings are in it."""

from __future__ import annotations

from collections.abc import Iterator

from console.html import Markup, tag
from console.report_text import (
    REACHED,
    climbed,
    duration,
    extent,
    label,
    moment,
    outcome,
    sums_lines,
    turn_facts,
    what_next,
)
from console.sweep_table import count
from engine.report_forms import AgentReport, Loop, Report, Thresholds, TurnReport

TURNS_SHOWN = 500
"""Of all agents together; of more, those with the most to tell."""
ROWS_SHOWN = 100
BAR_WIDTH, BAR_HEIGHT = 240, 14

STYLE = """
:root { --ink: #1b1f24; --dim: #57606a; --ground: #ffffff; --panel: #f6f8fa; --line: #d0d7de;
  --gate: #a40e26; --summarize: #bc4c00; --warn: #7d4e00; --fail-warn: #7d4e00; --bar: #0969da; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --dim: #9198a1; --ground: #0d1117; --panel: #161b22; --line: #30363d;
    --gate: #ff7b72; --summarize: #ffa657; --warn: #e3b341; --fail-warn: #e3b341; --bar: #58a6ff; } }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin-top: 2rem; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 0 0 .5rem; } h4 { margin: 1rem 0 .25rem; font-size: .9rem; color: var(--dim); }
section.turn { background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  padding: 1rem; margin: 1rem 0; }
table { border-collapse: collapse; width: 100%; } td { text-align: left; vertical-align: top; padding: .25rem .5rem; }
tr + tr td { border-top: 1px solid var(--line); }
code { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
.dim { color: var(--dim); } .number { text-align: right; white-space: nowrap; }
.stage { font-weight: 600; white-space: nowrap; }
.gate { color: var(--gate); } .summarize { color: var(--summarize); } .warn, .fail-warn { color: var(--warn); }
.bar .back { fill: var(--line); } .bar .tick { stroke: var(--ink); stroke-width: 1; opacity: .5; }
.bar .fill { fill: var(--bar); } .bar .fill.gate { fill: var(--gate); } .bar .fill.summarize { fill: var(--summarize); }
.bar .fill.warn, .bar .fill.fail-warn { fill: var(--warn); }
"""


def html_of(report: Report) -> str:
    """The file's content."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        Markup(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        ),
        tag("title", f"breaker: {report.source}"),
        Markup(f"<style>{STYLE}</style>"),
    )
    return f"<!doctype html>\n{tag('html', head, tag('body', _body(report)), lang='en')}\n"


def _body(report: Report) -> Iterator[Markup]:
    yield tag("h1", report.source)
    what = "No breaker was there; this is what one would have done." if report.supposed else "What happened."
    yield tag("p", what, class_="dim")
    if report.started:
        between = f"{moment(report.started)} to {moment(report.ended)}, {duration(report.ended - report.started)}"
        yield tag("p", between, class_="dim")
    for line in sums_lines(report.sums, agents=len(report.agents), supposed=report.supposed):
        yield tag("p", line)
    shown = _shown(report)
    for agent in report.agents:
        yield from _agent(agent, report, shown)


def _shown(report: Report) -> set[int]:
    """Which turns are shown, by identity."""
    told = [turn for agent in report.agents for turn in agent.turns if not turn.quiet]
    told.sort(key=lambda turn: -(turn.refused + len(turn.loops) + len(turn.asks)))
    return {id(turn) for turn in told[:TURNS_SHOWN]}


def _agent(agent: AgentReport, report: Report, shown: set[int]) -> Iterator[Markup]:
    yield tag("h2", label(agent))
    if agent.parent:
        yield tag("p", "under ", tag("code", agent.parent), class_="dim")
    quiet = [turn for turn in agent.turns if turn.quiet]
    if quiet:
        calls = count(sum(turn.calls for turn in quiet), "call")
        yield tag("p", f"{count(len(quiet), 'turn')} without anything to tell: {calls}", class_="dim")
    for turn in agent.turns:
        if id(turn) in shown:
            yield _turn(turn, report)
    if hidden := sum(not turn.quiet and id(turn) not in shown for turn in agent.turns):
        yield tag("p", f"{count(hidden, 'turn')} with less to tell left out", class_="dim")


def _turn(turn: TurnReport, report: Report) -> Markup:
    began = f", {moment(turn.started)}" if turn.started else ""
    return tag(
        "section",
        tag("h3", f"turn {turn.turn}{began}"),
        tag("p", turn_facts(turn, supposed=report.supposed)),
        _table("loops", [_loop(loop, report.thresholds) for loop in turn.loops[:ROWS_SHOWN]], len(turn.loops)),
        _table("advice, and what the agent did next", list(_advice(turn)), len(turn.advice)),
        _table("asks", list(_asks(turn)), len(turn.asks)),
        class_="turn",
    )


def _table(title: str, rows: list[Markup], total: int) -> Markup | None:
    if not rows:
        return None
    more = tag("p", f"and {total - len(rows)} more", class_="dim") if total > len(rows) else Markup("")
    return Markup(tag("h4", title) + tag("table", rows) + more)


def _loop(loop: Loop, thresholds: Thresholds) -> Markup:
    also = tag("div", "also ", tag("code", ", ".join(loop.also)), class_="dim") if loop.also else None
    how = [tag("div", words, class_="dim") for words in (climbed(loop), extent(loop))]
    return tag(
        "tr",
        tag("td", REACHED[loop.reached], class_=f"stage {loop.reached}"),
        tag("td", tag("code", loop.fingerprint), also),
        tag("td", _bar(loop, thresholds), how),
    )


def _bar(loop: Loop, thresholds: Thresholds) -> Markup:
    """How far a measure climbed towards its cap, with ticks where the stages are."""
    scale = BAR_WIDTH / max(loop.cap, loop.peak, 1)
    ticks = [at for at in (thresholds.warn_at, thresholds.summarize_at) if at and at < loop.cap]
    return tag(
        "svg",
        tag("title", climbed(loop)),
        tag("rect", width=BAR_WIDTH, height=BAR_HEIGHT, rx=3, class_="back"),
        tag("rect", width=round(loop.peak * scale, 1), height=BAR_HEIGHT, rx=3, class_=f"fill {loop.reached}"),
        [
            tag("line", x1=round(at * scale, 1), x2=round(at * scale, 1), y1=0, y2=BAR_HEIGHT, class_="tick")
            for at in ticks
        ],
        class_="bar",
        width=BAR_WIDTH,
        height=BAR_HEIGHT,
        role="img",
    )


def _advice(turn: TurnReport) -> Iterator[Markup]:
    for advised in turn.advice[:ROWS_SHOWN]:
        then = tag("div", "next: ", tag("code", advised.next_what), class_="dim") if advised.next_what else None
        yield tag(
            "tr",
            tag("td", f"call {advised.call}", class_="number"),
            tag("td", f"{REACHED[advised.stage]} at {advised.count}", class_=f"stage {advised.stage}"),
            tag("td", tag("code", advised.fingerprint), tag("div", f"the agent {what_next(advised)}"), then),
        )


def _asks(turn: TurnReport) -> Iterator[Markup]:
    for asked in turn.asks[:ROWS_SHOWN]:
        about = tag("div", "about ", tag("code", ", ".join(asked.fingerprints)), class_="dim")
        yield tag(
            "tr",
            tag("td", f"call {asked.call}", class_="number"),
            tag("td", tag("code", asked.what), about),
            tag("td", outcome(asked)),
        )
