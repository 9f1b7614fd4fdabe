"""Everything about one call: its arguments, what it is, what was decided and why, what came back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from console.question import call_lines, hidden_in
from console.screens.pages import PageScreen
from console.state import State
from console.state.calls import OUTCOMES, failure_text
from console.state.records import Record
from console.state.stream import Row
from console.text import visible, visible_lines, visible_value
from console.widgets.page import Writer
from console.widgets.pieces import clock, of
from engine.messages import because

RESULT_LINES = 400
TEXT_CHARS = 20_000


class CallScreen(PageScreen):
    """Details of a call."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("c", "copy", "Copy as JSON")]

    def __init__(self, state: State, row: Row, record: Record | None) -> None:
        super().__init__(state)
        self.row = row
        self.record = record

    def heading(self) -> str:
        return f"call · {self.row.who} · {self.row.tool}"

    def version(self) -> object:
        return (self.row.phase, self.row.detail)

    def write(self, writer: Writer) -> None:
        row, record = self.row, self.record
        writer.fact("went", row.status)
        writer.fact("at", clock(row.at))
        if record is None:
            writer.fact("call", row.text)
            writer.note("this call is too far back: its arguments are no longer kept here, the journal has them")
            return
        seen = record.seen
        writer.fact("agent", f"{row.who} ({visible(seen.agent, 200)}), turn {seen.turn}")
        writer.fact("tool", visible(seen.tool, 200))
        writer.fact("id", visible(seen.id, 200))
        self._write_arguments(writer, seen.args)
        self._write_identity(writer, record)
        self._write_verdict(writer, record)
        self._write_result(writer, record)

    def _write_arguments(self, writer: Writer, args: Mapping[str, Any]) -> None:
        writer.heading("arguments")
        hidden = hidden_in(args)
        if hidden:
            writer.line((f"! {hidden} hidden characters, shown as ‹…› or ␛", "fail"))
        for line in call_lines(args):
            writer.text(line, "code")

    def _write_identity(self, writer: Writer, record: Record) -> None:
        seen = record.seen
        writer.heading("fingerprints")
        if not seen.tracked:
            writer.note("none: the configuration leaves this tool out")
        caps = {measure.fingerprint: measure.cap for measure in seen.measures}
        for fingerprint in seen.fingerprints:
            cap = caps.get(fingerprint)
            note = f"counted, cap {cap:.0f}" if cap else "not capped"
            writer.text(f"{visible(fingerprint, 600)}  ({note})", "" if cap else "dim")

    def _write_verdict(self, writer: Writer, record: Record) -> None:
        seen, decided = record.seen, record.decided
        verdict = decided or seen
        words = {"allow": "allowed", "deny": "refused", "wait": "waits for you"}
        outcome = f", {OUTCOMES[verdict.outcome]}" if verdict.outcome and not self.row.words else ""
        writer.heading("verdict")
        word = self.row.words or words[verdict.verdict]
        writer.fact("verdict", word + outcome, "gate" if verdict.verdict != "allow" else "ok")
        asks = [ask for ask in self.state.asks.values() if ask.id in seen.asks]
        for hit in verdict.hits or tuple(hit for ask in asks for hit in ask.hits):
            writer.fact("hit", f"{visible(hit.fingerprint, 600)} · {of(hit.count, hit.cap)} · {visible(because(hit))}")
        for advisory in verdict.advisories:
            writer.fact("advised", f"{advisory.stage} at {advisory.count}: {visible(advisory.fingerprint, 600)}")
        if verdict.reason:
            writer.fact("told", "")
            for line in visible_lines(verdict.reason, TEXT_CHARS, RESULT_LINES):
                writer.text(line)

    def _write_result(self, writer: Writer, record: Record) -> None:
        settled = record.settled
        writer.heading("result")
        if settled is None:
            writer.note(_no_result(self.row))
            return
        if settled.failure:
            writer.fact("failed", f"{settled.failure.reason}: {failure_text(settled.failure)}", "fail")
        writer.fact("took", f"{settled.seconds:.1f} s")
        value = settled.result.get("value")
        for name, one in value.items() if isinstance(value, Mapping) else ():
            writer.fact(visible(str(name), 12), visible_value(one, 400))
        for advisory in settled.advisories:
            writer.fact("advised", f"{advisory.stage} at {advisory.count}: {visible(advisory.fingerprint, 600)}")
        for line in visible_lines(_text_of(settled.result), TEXT_CHARS, RESULT_LINES):
            writer.text(line, "code")

    def action_copy(self) -> None:
        self.console_app.copy_row(self.row)


def _text_of(result: Mapping[str, Any]) -> str:
    """The text of a result in the session format."""
    content = result.get("content")
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    texts = [block.get("text") for block in content if isinstance(block, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _no_result(row: Row) -> str:
    """Why there is no result of a call."""
    if row.words:
        return "not shown: it ran, and would have been refused"
    return "none: it never ran" if row.phase == "refused" else "none yet"
