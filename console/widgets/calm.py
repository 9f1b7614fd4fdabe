"""What stands in the prompt's own place, on a tall screen, while nothing is asked: what the answers have left."""

from __future__ import annotations

from collections.abc import Iterator

from console.state import State
from console.state.calls import OUTCOMES
from console.state.measures import LABEL_CHARS
from console.text import fit, visible
from console.widgets.ask_lines import Line
from console.widgets.inks import Piece
from console.widgets.pieces import fit_name

WHO = 20


def calm_lines(state: State, width: int, room: int) -> list[Line]:
    """At most ``room`` lines: the exemptions and refusals in force."""
    rules = [
        Line(
            (*sign, (fit_name(who, WHO - 2) + "  ", "who"), (fit(measure, max(width - WHO - 32, 8), pad=True), ""), why)
        )
        for sign, who, measure, why in _rules(state)
    ]
    heading = Line((("nothing waits for you", "strong" if rules else "dim"),))
    more = Line(((f"and {len(rules) - room + 3} more", "dim"),))
    shown = rules if len(rules) <= room - 2 else [*rules[: room - 3], more]
    hint = Line((("x lists what is in force, and takes it back", "dim"),))
    return [heading, *shown, hint] if rules else [heading]


def _rules(state: State) -> Iterator[tuple[tuple[Piece, ...], str, str, Piece]]:
    for agent in state.agents:
        for fingerprint in agent.exemptions:
            sign = ("∅ not counted  ", "exempt")
            yield (sign,), agent.label, visible(fingerprint, LABEL_CHARS), ("  you approved", "dim")
        for fingerprint, refusal in agent.refusals.items():
            sign = ("⊘ refused      ", "refused")
            yield (sign,), agent.label, visible(fingerprint, LABEL_CHARS), (f"  {OUTCOMES[refusal.outcome]}", "dim")
