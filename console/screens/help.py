"""What the keys do, and what the signs mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console.screens.pages import PageScreen
from console.state import State
from console.widgets.page import Writer

KEYS: dict[str, tuple[tuple[str, str], ...]] = {
    "when an agent asks": (
        ("a, then t", "approve: the measures that hit are not counted any more this turn"),
        ("r", "reject: they are refused this turn; the model is told why"),
        ("R", "reject, with a note to the model"),
        ("w", "the whole call"),
        ("n", "the next ask"),
        ("esc", "decide later: the call goes on waiting"),
        ("s", "show the asks that were left open"),
    ),
    "moving": (
        ("tab", "from list to list: agents, measures, stream"),
        ("↑ ↓ pgup pgdn", "move; home and end go to either end"),
        ("enter", "details of what is under the cursor"),
        ("esc", "back"),
    ),
    "the stream": (
        ("/", "filter: words, agent:7f3a, tool:bash, kind:failed,refused"),
        ("f, end", "follow what comes in"),
        ("p", "pause the view; nothing is lost meanwhile"),
        ("c", "copy a call as JSON, one line that breaker replay reads"),
    ),
    "the rest": (
        ("x", "exemptions and refusals in force; take one back"),
        ("o", "configuration in force, messages of the engine"),
        ("ctrl+t", "next theme: dark, light, the terminal's own colours"),
        ("ctrl+p", "all commands, by name"),
        ("q", "quit"),
    ),
}
SIGNS: tuple[tuple[str, str, str], ...] = (
    ("◆ GATE", "gate", "the next such call waits for you, or is waiting now"),
    ("▲ SUMMARIZE", "summarize", "the model was told to write down what it knows"),
    ("△ WARN", "warn", "the model was told that it repeats itself, or keeps failing"),
    ("∅ EXEMPT", "exempt", "you approved it: it is not counted this turn"),
    ("⊘ REFUSED", "refused", "refused without asking, this turn"),
    ("━┿━┼──", "", "how far towards the cap; a cross where each stage begins"),
    ("✗✗✗·· 3/5", "fail", "failures in a row, and how many the gate allows"),
)


class HelpScreen(PageScreen):
    """Keys and signs."""

    def __init__(self, state: State, keys: Mapping[str, Sequence[tuple[str, str]]] = KEYS) -> None:
        super().__init__(state)
        self.keys = keys

    def heading(self) -> str:
        return "help"

    def version(self) -> object:
        return 0

    def write(self, writer: Writer) -> None:
        for title, keys in self.keys.items():
            writer.heading(title)
            for key, what in keys:
                writer.line((f"  {key:15}", "strong"), (what, ""))
        writer.heading("signs")
        for sign, ink, what in SIGNS:
            writer.line((f"  {sign:15}", ink), (what, ""))
