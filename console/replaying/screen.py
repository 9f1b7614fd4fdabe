"""The screen of a replay: the one of a live engine with a transport and a timeline below the stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from console.prompt import Prompt
from console.question import Question
from console.replaying.playhead import Edge, Input, Leap, Seek, Speed, Step, Toggle
from console.replaying.recording import Recording
from console.screens.main import FILTERING, FOLLOWING, LEAVING, READING, MainScreen
from console.state import State
from console.widgets.status import Facts
from console.widgets.timeline import Timeline
from console.widgets.transport import TransportLine

if TYPE_CHECKING:
    from console.replaying.app import ReplayApp

LOWEST = 18
"""Lines of the screen below which the lists get less room than they want."""
INPUTS: dict[str, Input] = {
    "back": Step(-1),
    "on": Step(1),
    "leap_back": Leap(-1),
    "leap_on": Leap(1),
    "start": Edge(end=False),
    "end": Edge(end=True),
    "slower": Speed(-1),
    "faster": Speed(1),
    "next_stage": Step(1, "stage"),
    "previous_stage": Step(-1, "stage"),
    "next_gate": Step(1, "gate"),
    "previous_gate": Step(-1, "gate"),
    "next_failure": Step(1, "failure"),
    "previous_failure": Step(-1, "failure"),
    "toggle": Toggle(),
}
"""What the words in the bindings do."""
COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("Replay: play or pause", "space", "toggle"),
    ("Replay: one call on", "right", "on"),
    ("Replay: one call back", "left", "back"),
    ("Replay: next stage", "v", "next_stage"),
    ("Replay: previous stage", "V", "previous_stage"),
    ("Replay: next gate", "d", "next_gate"),
    ("Replay: previous gate", "D", "previous_gate"),
    ("Replay: next failure", "e", "next_failure"),
    ("Replay: previous failure", "E", "previous_failure"),
    ("Replay: faster", "+", "faster"),
    ("Replay: slower", "-", "slower"),
    ("Replay: 5 % on", ">, shift+right", "leap_on"),
    ("Replay: 5 % back", "<, shift+left", "leap_back"),
    ("Replay: to the start", "0, ctrl+home", "start"),
    ("Replay: to the end", "$, ctrl+end", "end"),
)
"""For the command palette: what it is called, its key, and its word in ``INPUTS``."""


def _key(keys: str, what: str, words: str, shown: str = "") -> Binding:
    """A key of the transport, before any list hears of it; ``shown`` is what the last line calls it, if it does."""
    return Binding(keys, f"transport('{what}')", words, show=bool(shown), key_display=shown or None, priority=True)


class ReplayScreen(MainScreen, inherit_bindings=False):
    """Draws the state at the playhead. Its keys are named in the order of the last line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        _key("space,p", "toggle", "Play", "space"),
        _key("full_stop", "on", "Step", "←→"),
        _key("v", "next_stage", "Stage", "v"),
        _key("d", "next_gate", "Gate", "d"),
        _key("e", "next_failure", "Failure", "e"),
        *LEAVING,
        _key("plus,equals_sign", "faster", "Speed", "-+"),
        _key("greater_than_sign,shift+right", "leap_on", "5 %", "<>"),
        FOLLOWING,
        *FILTERING,
        *READING,
        Binding("shift+tab", "app.focus_previous", "Previous list", show=False),
        _key("right", "on", "One call on"),
        _key("left,comma", "back", "One call back"),
        _key("V", "previous_stage", "Previous stage"),
        _key("D", "previous_gate", "Previous gate"),
        _key("E", "previous_failure", "Previous failure"),
        _key("minus,underscore", "slower", "Slower"),
        _key("less_than_sign,shift+left", "leap_back", "5 % back"),
        _key("0,ctrl+home", "start", "Start"),
        _key("dollar_sign,ctrl+end", "end", "End"),
    ]

    def __init__(self, state: State, recording: Recording) -> None:
        super().__init__(state)
        self.transport = TransportLine(id="transport")
        self.timeline = Timeline(recording.course, recording.heat, id="timeline")

    def compose_below(self) -> ComposeResult:
        yield self.transport
        yield self.timeline

    def on_resize(self, event: events.Resize) -> None:
        """On a very low screen the lists give way: it is the timeline that says where one is."""
        self.set_class(event.size.height < LOWEST, "-lowest")

    def turn_to(self, state: State) -> None:
        """Draw another state from now on."""
        self.state = state
        for lines in (self.agents, self.measures, self.stream):
            lines.turn_to(state)

    def show(self, facts: Facts, now: float) -> None:
        super().show(facts, now)
        app = self.replay_app
        self.transport.update(app.standing())
        self.timeline.update(app.head.place, app.ticking())

    def show_prompt(self, prompt: Prompt, question: Question | None, now: float) -> None:  # noqa: ARG002 - as in the base
        """Nobody is asked anything: its place is the timeline's."""
        self.panel.display = False

    @property
    def replay_app(self) -> ReplayApp:
        return cast("ReplayApp", self.app)

    # -- what a person does -----------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "transport":
            return not self.typing
        return super().check_action(action, parameters)

    def action_transport(self, what: str) -> None:
        self.replay_app.feed(INPUTS[what])

    @on(TransportLine.Pressed)
    def _pressed(self, event: TransportLine.Pressed) -> None:
        event.stop()
        self.replay_app.feed(event.happened)

    @on(Timeline.Sought)
    def _sought(self, event: Timeline.Sought) -> None:
        event.stop()
        self.replay_app.feed(Seek(event.place))
