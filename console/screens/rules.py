"""What the operator has decided and may take back: exemptions and refusals in force, and turns to reset.

Each takes two different keys, so that nothing is undone by a slip: the first proposes, Enter does it, any other key
lets it be.
"""

from __future__ import annotations

import time
from typing import ClassVar, Literal

from msgspec import Struct
from textual import events
from textual.binding import Binding, BindingType

from console.screens.pages import PageScreen
from console.state import State
from console.state.calls import OUTCOMES
from console.text import visible
from console.widgets.inks import Piece
from console.widgets.page import Writer
from engine.operator import Operator

What = Literal["revoke", "lift", "reset"]


class Rule(Struct, frozen=True):
    """Something that can be taken back."""

    what: What
    agent: str
    fingerprint: str = ""

    def carry_out(self, operator: Operator) -> bool:
        """Take it back. False when it was not in force any more."""
        if self.what == "reset":
            operator.reset_turn(self.agent)
            return True
        take_back = operator.revoke if self.what == "revoke" else operator.lift
        return take_back(self.agent, self.fingerprint)


WORDS: dict[What, str] = {
    "revoke": "count it again",
    "lift": "ask about it again",
    "reset": "clear its counts, exemptions and refusals, and withdraw its waiting calls",
}


class RulesScreen(PageScreen):
    """Exemptions, refusals and turns, over all agents."""

    STEPS = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("u", "propose", "Undo…"),
        Binding("z", "propose_reset", "Reset its turn…"),
        Binding("enter", "carry_out", "Confirm", priority=True),
    ]

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.proposed: Rule | None = None

    def heading(self) -> str:
        return "in force: exemptions and refusals, until your next message to the agent"

    def version(self) -> object:
        agents = tuple((agent.id, agent.turn, agent.calls) for agent in self.state.agents)
        rules = tuple((tuple(agent.exemptions), tuple(agent.refusals)) for agent in self.state.agents)
        return (agents, rules, self.proposed)

    def write(self, writer: Writer) -> None:
        operator = not self.console_app.source.observes
        writer.note(
            "u, then enter: undo the line under the cursor" if operator else "watching only: nothing can be undone"
        )
        for agent in self.state.agents:
            if agent.ended_at is not None:
                continue
            writer.heading(agent.label)
            reset = Rule("reset", agent.id)
            writer.line((f"  turn {agent.turn}, {agent.calls} calls", "dim"), target=reset)
            self._write_proposal(writer, reset)
            for fingerprint, since in agent.exemptions.items():
                clock = time.strftime("%H:%M:%S", time.localtime(since))
                why = f"approved by you at {clock}"
                self._write_rule(writer, Rule("revoke", agent.id, fingerprint), ("  ∅ exempt   ", "exempt"), why)
            for fingerprint, refusal in agent.refusals.items():
                note = f", told: {visible(refusal.note, 200)}" if refusal.note else ""
                why = OUTCOMES[refusal.outcome] + note
                self._write_rule(writer, Rule("lift", agent.id, fingerprint), ("  ⊘ refused  ", "refused"), why)
        if not len(self.state.agents):
            writer.note("no agent is known yet")

    def _write_rule(self, writer: Writer, rule: Rule, sign: Piece, why: str) -> None:
        writer.line(sign, (visible(rule.fingerprint, 600), ""), target=rule)
        writer.line((f"{'':13}{why}", "dim"))
        self._write_proposal(writer, rule)

    def _write_proposal(self, writer: Writer, rule: Rule) -> None:
        if rule == self.proposed:
            writer.line((f"{'':13}enter: {WORDS[rule.what]} · any other key: leave it", "gate"), target=rule)

    # -- the gesture ------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's signature
        if action == "carry_out":
            return self.proposed is not None
        return not (action in ("propose", "propose_reset") and self.console_app.source.observes)

    def action_propose(self) -> None:
        rule = self.page.target(self.page.cursor)
        self._propose(rule if isinstance(rule, Rule) else None)

    def action_propose_reset(self) -> None:
        rule = self.page.target(self.page.cursor)
        self._propose(Rule("reset", rule.agent) if isinstance(rule, Rule) else None)

    def follow(self, target: object) -> None:
        """A line was chosen: with the mouse a second click on what is proposed confirms it."""
        if isinstance(target, Rule) and target == self.proposed:
            self.action_carry_out()
        elif isinstance(target, Rule):
            self._propose(target)

    def _propose(self, rule: Rule | None) -> None:
        self.proposed = rule
        self.refresh_bindings()
        self.console_app.pulse()

    def action_carry_out(self) -> None:
        if rule := self.proposed:
            self._propose(None)
            self.console_app.tell_engine(rule.carry_out)

    def on_key(self, event: events.Key) -> None:
        """Whatever is pressed but Enter lets it be."""
        if self.proposed and event.key not in ("enter", "u", "z"):
            self._propose(None)
