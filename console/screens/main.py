"""The screen one lives on: agents, measures, the stream, and the prompt over its lower part."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.screen import Screen

from console.acts import Covered
from console.question import Question
from console.state import State
from console.state.stream import Filter, Row, parse_filter
from console.widgets.agents import ALL, AgentList
from console.widgets.calm import calm_lines
from console.widgets.filter_line import FilterLine
from console.widgets.key_line import KeyLine
from console.widgets.lines import Lines
from console.widgets.measures import MeasureList
from console.widgets.prompt_panel import RESERVED, PromptPanel
from console.widgets.status import Facts, StatusLine
from console.widgets.stream import StreamList

if TYPE_CHECKING:
    from console.app import ConsoleApp
    from console.prompt import Prompt

LEAVING = (Binding("question_mark", "app.help", "Help"), Binding("q", "app.leave", "Quit"))
FOLLOWING = Binding("f", "follow", "Follow")
FILTERING = (Binding("slash", "filter", "Filter"), Binding("escape", "unfilter", "Clear filter", show=False))
READING = (
    Binding("c", "copy", "Copy"),
    Binding("x", "app.rules", "Rules"),
    Binding("o", "app.config", "Config"),
    Binding("tab", "app.focus_next", "Next list", show=False),
)
"""Keys of every console, a replay's too; the last line names them in the order in which a screen lists them."""


class MainScreen(Screen[None]):
    """Draws a ``State``; decides nothing."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "show_asks", "Show asks"),
        FOLLOWING,
        *LEAVING,
        *FILTERING,
        Binding("p", "pause", "Pause"),
        *READING,
    ]

    def __init__(self, state: State) -> None:
        super().__init__(id="main")
        self.state = state
        self.agents = AgentList(state, id="agents")
        self.measures = MeasureList(state, id="measures")
        self.stream = StreamList(state, id="stream")
        self.status = StatusLine(id="status")
        self.panel = PromptPanel(id="prompt")
        self.filter_line = FilterLine(id="filter")
        self.paused = False
        self._now = 0.0

    def compose(self) -> ComposeResult:
        yield self.status
        with Container(id="upper"):
            for lines in (self.agents, self.measures):
                with Vertical(id=f"{lines.id}-box"):
                    yield lines.title_line
                    yield lines
        with Vertical(id="stream-box"):
            yield self.stream.title_line
            yield self.stream
            yield self.filter_line
        yield self.panel
        yield from self.compose_below()
        yield KeyLine()

    def compose_below(self) -> ComposeResult:
        """What stands below the stream, in a console that has more to show."""
        yield from ()

    def on_mount(self) -> None:
        self.stream.focus()
        self.call_after_refresh(self.console_app.source.start)

    def on_screen_suspend(self) -> None:
        """Something stands before it: an ask is out of sight, and must be painted again before it is answered."""
        self.console_app.asking.feed(Covered())

    def on_screen_resume(self) -> None:
        self.console_app.pulse()

    # -- drawing ----------------------------------------------------------------------------------------------

    def show(self, facts: Facts, now: float) -> None:
        """Draw what has changed by ``now``, unix seconds. While paused only what comes in is held back."""
        self._now = now
        self.status.update(facts)
        self.stream.update()
        if not self.paused:
            self.agents.update(now)
            self.measures.update(now)

    def show_prompt(self, prompt: Prompt, question: Question | None, now: float) -> None:
        """Draw the prompt; ``now`` is its own clock."""
        if question is None and self.panel.reserved:
            self.panel.calm = calm_lines(self.state, self.size.width - 2, RESERVED - 1)
        self.panel.update(prompt, question, now)
        if self.panel.display or self.stream.reserve:
            self.call_after_refresh(self._make_room)

    def _make_room(self) -> None:
        reserve = self.panel.covers_lines
        if reserve != self.stream.reserve:
            self.stream.make_room(reserve)

    @property
    def ready(self) -> bool:
        """Whether there is something to draw on: it is mounted, and not being taken down."""
        return self.is_mounted and self.panel.is_attached

    @property
    def console_app(self) -> ConsoleApp:
        return cast("ConsoleApp", self.app)

    @property
    def typing(self) -> bool:
        """Whether a text field has the keys."""
        return self.filter_line.has_focus

    def row(self) -> Row | None:
        """The row under the stream's cursor."""
        return self.stream.row_at(self.stream.cursor)

    # -- what was chosen --------------------------------------------------------------------------------------

    @on(AgentList.Selected)
    def _select_agent(self, event: AgentList.Selected) -> None:
        self.measures.show(event.agent_id, self._now)

    @on(Lines.Opened)
    def _open(self, event: Lines.Opened) -> None:
        event.stop()
        if event.lines is self.agents:
            self.measures.focus()
        elif event.lines is self.measures:
            if pair := self.measures.at(event.index):
                self.console_app.open_measure(*pair)
        elif row := self.stream.row_at(event.index):
            self.console_app.open_row(row)

    @on(FilterLine.Changed)
    def _refilter(self, event: FilterLine.Changed) -> None:
        event.stop()
        try:
            only = parse_filter(event.value)
        except ValueError as error:
            self.filter_line.complain(str(error))
            return
        self.filter_line.complain("")
        if only != self.stream.view.filter:
            self.stream.filter_by(only)

    @on(FilterLine.Closed)
    def _close_filter(self, event: FilterLine.Closed) -> None:
        event.stop()
        self.filter_line.display = bool(self.filter_line.value)
        self.stream.focus()
        self.refresh_bindings()

    @on(StreamList.Scrolled)
    def _scrolled(self) -> None:
        self.refresh_bindings()

    def on_descendant_focus(self) -> None:
        self.refresh_bindings()

    # -- keys -------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's signature
        """What works now is what the footer shows."""
        if action == "follow":
            return not self.stream.following
        if action == "show_asks":
            return self.console_app.asking.hidden
        if action == "copy":
            return self.stream.has_focus
        if action == "filter":
            return not self.typing
        if action == "unfilter":
            return bool(self.stream.view.filter)
        return True

    def action_show_asks(self) -> None:
        self.console_app.show_asks()

    def action_filter(self) -> None:
        self.filter_line.display = True
        self.filter_line.focus()

    def filter_with(self, text: str) -> None:
        """Filter the stream, and show by what."""
        self.filter_line.display = bool(text)
        self.filter_line.value = text
        self.stream.filter_by(parse_filter(text))

    def action_unfilter(self) -> None:
        self.filter_line.value = ""
        self.filter_line.display = False
        self.stream.filter_by(Filter())
        self.refresh_bindings()

    def action_pause(self) -> None:
        self.paused = not self.paused
        self.stream.pause(paused=self.paused)
        self.console_app.pulse()

    def action_follow(self) -> None:
        self.stream.action_follow()
        self.refresh_bindings()

    def action_copy(self) -> None:
        if row := self.row():
            self.console_app.copy_row(row)

    def select_agent(self, agent_id: str) -> None:
        """Show the measures of this agent, or of all (``ALL``)."""
        self.agents.select(agent_id or ALL)
