"""A report as text for a terminal. Everything an agent or an operator wrote in it is made safe here."""

from __future__ import annotations

import time
from collections.abc import Iterator

from console.sweep_table import count
from console.text import fit, visible
from engine.report_forms import Advised, AgentReport, Asked, Loop, Report, Sums, TurnReport

LOOPS_SHOWN = 20
ADVICE_SHOWN = 20
ASKS_SHOWN = 20
"""Of one turn; the rest is counted."""

REACHED = {"gate": "GATE", "summarize": "SUMMARIZE", "warn": "WARN", "fail-warn": "FAIL-WARN"}
OUTCOMES = {
    "approved": "approved",
    "rejected": "rejected",
    "unattended": "nobody was there to answer",
    "timed_out": "no answer in time",
    "cancelled": "withdrawn",
}
_INDENT = " " * 13
NEXT = {"again": "did it again", "other": "did something else", "nothing": "made no further call"}


def text_of(report: Report, width: int) -> Iterator[str]:
    """The lines of a report, at most ``width`` cells wide."""
    for line in _lines(report):
        yield fit(line, width)


def _lines(report: Report) -> Iterator[str]:
    yield visible(report.source, 300)
    yield "no breaker was there; this is what one would have done" if report.supposed else "what happened"
    if report.started:
        yield f"{moment(report.started)} to {moment(report.ended)}, {duration(report.ended - report.started)}"
    yield ""
    yield from sums_lines(report.sums, agents=len(report.agents), supposed=report.supposed)
    for agent in report.agents:
        yield from _agent(agent, supposed=report.supposed)


def sums_lines(sums: Sums, *, agents: int, supposed: bool) -> Iterator[str]:
    """The sums in words: two or three lines."""
    made = f"{count(sums.calls, 'call')} by {count(agents, 'agent')} in {count(sums.turns, 'turn')}"
    yield f"{made}: {sums.failed} failed; {gated(sums.refused, sums.asked, supposed=supposed)}."
    if not sums.loops:
        yield "No loop reached a stage."
        return
    share = f" of {duration(sums.seconds)}" if sums.seconds else ""
    spent = f"{count(sums.repeats, 'call')} and {duration(sums.repeat_seconds)}{share} went into repeats"
    yield f"{count(sums.loops, 'loop')}: {spent}. Advice{' it would have given' if supposed else ''}: {sums.advised}."
    if sums.waited:
        yield f"Asks waited {duration(sums.waited)} for the operator."


def gated(refused: int, asked: int, *, supposed: bool) -> str:
    """``4 refused, 1 asked about``."""
    return f"{refused} {'would have been ' if supposed else ''}refused, {asked} asked about"


def label(agent: AgentReport) -> str:
    """What to call an agent; raw text."""
    name = f"{agent.harness} " if agent.harness else ""
    kind = f" ({agent.name})" if agent.name else ""
    return f"{name}{agent.agent}{kind}"


def _agent(agent: AgentReport, *, supposed: bool) -> Iterator[str]:
    told = [turn for turn in agent.turns if not turn.quiet]
    quiet = [turn for turn in agent.turns if turn.quiet]
    yield ""
    yield visible(label(agent), 200)
    if agent.parent:
        yield f"  under {visible(agent.parent, 200)}"
    if quiet:
        calls = sum(turn.calls for turn in quiet)
        yield f"  {count(len(quiet), 'turn')} without anything to tell: {count(calls, 'call')}"
    for turn in told:
        yield from _turn(turn, supposed=supposed)


def _turn(turn: TurnReport, *, supposed: bool) -> Iterator[str]:
    began = f", {moment(turn.started)}" if turn.started else ""
    yield f"  turn {turn.turn}{began}"
    yield f"    {turn_facts(turn, supposed=supposed)}"
    for number, loop in enumerate(turn.loops[:LOOPS_SHOWN], 1):
        yield from _loop(number, loop)
    yield from _more(len(turn.loops) - LOOPS_SHOWN, "loop")
    for advised in turn.advice[:ADVICE_SHOWN]:
        yield from _advised(advised)
    yield from _more(len(turn.advice) - ADVICE_SHOWN, "piece", " of advice")
    for asked in turn.asks[:ASKS_SHOWN]:
        yield from _asked(asked)
    yield from _more(len(turn.asks) - ASKS_SHOWN, "ask")


def turn_facts(turn: TurnReport, *, supposed: bool) -> str:
    """The sums of a turn in words."""
    failed = f" ({', '.join(f'{times} {reason}' for reason, times in turn.failures.items())})" if turn.failures else ""
    facts = f"{count(turn.calls, 'call')}, {turn.failed} failed{failed}"
    facts += f"; {gated(turn.refused, turn.asked, supposed=supposed)}"
    if turn.repeats:
        facts += f"; {count(turn.repeats, 'call')} and {duration(turn.repeat_seconds)} went into repeats"
    return facts


def _loop(number: int, loop: Loop) -> Iterator[str]:
    yield f"    loop {number:<3} {REACHED[loop.reached]:<9}  {visible(loop.fingerprint, 200)}"
    yield f"{_INDENT}{climbed(loop)}"
    yield f"{_INDENT}{extent(loop)}"
    if loop.also:
        yield f"{_INDENT}also {', '.join(visible(one, 60) for one in loop.also[:4])}"


def extent(loop: Loop) -> str:
    """Which calls carried it, and what repeating it took, in words."""
    return (
        f"{count(loop.calls, 'call')}, from call {loop.first} to call {loop.last}; {duration(loop.seconds)} on repeats"
    )


def climbed(loop: Loop) -> str:
    """How far a loop climbed, in words."""
    parts = [f"{loop.peak} of {loop.cap:g} in the window"]
    if loop.failures > 1:
        parts.append(f"{loop.failures} failures in a row")
    if loop.refused:
        parts.append(f"{loop.refused} refused")
    return ", ".join(parts)


def _advised(advised: Advised) -> Iterator[str]:
    yield f"    advice   {REACHED[advised.stage]:<9}  at call {advised.call}, {visible(advised.fingerprint, 80)}"
    yield f"{_INDENT}then the agent {what_next(advised)}"


def what_next(advised: Advised) -> str:
    """What an agent did after advice, in words."""
    later = f", {count(advised.later, 'more call')} with it" if advised.later else ""
    return f"{NEXT[advised.next]}{later}"


def _asked(asked: Asked) -> Iterator[str]:
    yield f"    ask      at call {asked.call}, {visible(asked.what, 160)}"
    yield f"{_INDENT}about {', '.join(visible(one, 80) for one in asked.fingerprints[:4])}"
    yield f"{_INDENT}{outcome(asked)}"


def outcome(asked: Asked) -> str:
    """How an ask ended, in words; an operator's note is made safe."""
    how = OUTCOMES[asked.outcome] if asked.outcome else "still open"
    waited = f" after {duration(asked.waited)}" if asked.waited is not None else ""
    calls = f", {count(asked.calls, 'call')} waiting" if asked.calls > 1 else ""
    note = f', note "{visible(asked.note, 200)}"' if asked.note else ""
    return f"{how}{waited}{calls}{note}"


def _more(number: int, noun: str, rest: str = "") -> Iterator[str]:
    if number > 0:
        yield f"    and {number} more {noun}{'' if number == 1 else 's'}{rest}"


def duration(seconds: float) -> str:
    """``0.8 s``, ``42 s``, ``3:05 min``, ``2:10 h``."""
    seconds = max(seconds, 0.0)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{int(seconds) // 60}:{int(seconds) % 60:02} min"
    return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02} h"


def moment(at: float) -> str:
    """The local time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
