"""The console as an application: it feeds the state from its source and draws what has changed, ten times a second."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from msgspec import Struct
from textual import events, on
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from console import acts
from console.asking import Asking
from console.attention import Attention, Settings, attend, closing, opening, sequences, terminal_of
from console.hosting import Collecting
from console.palette import AgentCommands
from console.screens.main import MainScreen
from console.screens.pages import PageScreen
from console.sources import Source
from console.state import State, reduce
from console.state.agents import Agent
from console.state.measures import Measure
from console.state.records import as_session_line
from console.state.stream import Row
from console.text import visible
from console.themes import DEFAULT, NAMES, TERMINAL, THEMES, VARIABLES
from console.widgets.prompt_panel import PromptPanel
from console.widgets.status import Facts, StatusLine
from engine.events import AskClosed, Event, Snapshot
from engine.operator import Operator

PULSE_SECONDS = 0.1
REDUCED_AT_ONCE = 1_500
"""Events reduced before keys get their turn."""
FILTERS = (
    ("Filter: refused calls", "kind:refused"),
    ("Filter: failed calls", "kind:failed"),
    ("Filter: asks and answers", "kind:ask,answer"),
    ("Filter: none", ""),
)


class Options(Struct, frozen=True):
    """How the operator wants it."""

    theme: str = DEFAULT
    attention: Settings = Settings()


class ConsoleApp(App[int]):
    """The console on one source. Exits with 0, or with 1 when its engine never was there (``trouble`` says why)."""

    TITLE = "breaker"
    CSS_PATH = "console.tcss"
    AUTO_FOCUS = ""
    COMMANDS = App.COMMANDS | {AgentCommands}
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-normal"), (120, "-wide")]  # noqa: RUF012 - as Textual has it
    VERTICAL_BREAKPOINTS = [(0, "-low"), (28, "-middle"), (44, "-tall")]  # noqa: RUF012 - as Textual has it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "leave", "Quit", show=False, priority=True),
        Binding("ctrl+t", "next_theme", "Theme", show=False),
    ]

    def __init__(
        self,
        source: Source,
        options: Options | None = None,
        *,
        clock: Callable[[], float] = time.time,
        ticking: Callable[[], float] = time.monotonic,
    ) -> None:
        """``clock`` gives unix seconds, ``ticking`` seconds that never go back."""
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ else None)  # so that its filter leaves no colour
        self.source = source
        self.options = options or Options()
        self.clock = clock
        self.ticking = ticking
        self.state = State()
        self.asking = Asking(self)
        self.trouble = ""
        self.gone = False
        self.was_live = False
        self._pending: list[Event | Snapshot] = []
        self._collecting = Collecting()
        self._attention = Attention()
        self._terminal = terminal_of(os.environ)
        self._told = ""
        self._focused = True
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = TERMINAL.name if self.no_color else self.options.theme
        self.main = self.make_main()

    def make_main(self) -> MainScreen:
        """The screen one lives on."""
        return MainScreen(self.state)

    def get_default_screen(self) -> Screen[None]:
        return self.main

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return VARIABLES

    def on_mount(self) -> None:
        self._write(opening(self.options.attention, self._terminal))
        self.set_interval(PULSE_SECONDS, self.pulse)

    def on_unmount(self) -> None:
        self._write(closing(self.options.attention, self._terminal))

    # -- what comes in ----------------------------------------------------------------------------------------

    def pulse(self) -> None:
        """Take in what has come, and draw what is different."""
        if not self.main.ready:
            return
        self._take_in()
        now = self.clock()
        facts = self._facts()
        self.main.show(facts, now)
        self.asking.show()
        if isinstance(self.screen, PageScreen):
            self.screen.show(facts, now)
        self._call_operator(now)

    def _take_in(self) -> None:
        if not self._pending and not self.gone:
            try:
                self._pending = self.source.drain()
            except ConnectionError as error:
                self._lose(str(error))
        batch, self._pending = self._pending[:REDUCED_AT_ONCE], self._pending[REDUCED_AT_ONCE:]
        self._collecting.look(self.ticking(), busy=bool(batch or self.state.asks))
        if batch:
            self.was_live = True
            reduce(self.state, batch)
            self.asking.happened(batch)
        self.state.agents.prune(self.clock())
        if self._pending:
            self.set_timer(0.01, self._take_in)

    def _lose(self, why: str) -> None:
        """The engine is gone: what is on the screen stays to be read, and nothing is left to answer."""
        self.gone = True
        self.trouble = why
        if not self.was_live:
            self.exit(1)
        asks = self.state.asks.values()
        self.asking.happened([AskClosed(self.clock(), ask.id, ask.agent, "unattended", 0) for ask in asks])

    def _facts(self) -> Facts:
        started = self.was_live or self.source.observes
        return Facts(
            source=self.source.name,
            standing="gone" if self.gone else "live" if started else "starting",
            trouble=self.trouble or self.state.config.error,
            agents=len(self.state.agents),
            waiting=len(self.state.asks if self.source.observes else self.asking.prompt.waiting),
            hidden=self.asking.hidden,
            paused=self.main.paused,
            observes=self.source.observes,
            unattended=not self.state.attended,
        )

    # -- what a person does -----------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """Whatever a person does, the prompt hears of it first."""
        if isinstance(event, events.AppFocus | events.AppBlur):
            self._focused = isinstance(event, events.AppFocus)
        if self.main.ready and not event.is_forwarded and self.asking.hears(event):
            self.asking.show()
            return
        await super().on_event(event)

    @on(PromptPanel.Painted)
    def _painted(self, event: PromptPanel.Painted) -> None:
        if self.screen is self.main:
            self.asking.feed(acts.Painted(event.ask_id))
            self.asking.show()

    @on(PromptPanel.Lost)
    def _lost(self) -> None:
        self.asking.feed(acts.Covered())
        self.asking.show()

    @on(PromptPanel.Pressed)
    def _pressed(self, event: PromptPanel.Pressed) -> None:
        self.asking.feed(acts.Click(event.place))
        self.asking.show()

    @on(StatusLine.Clicked)
    def show_asks(self) -> None:
        """Show the asks that were left open."""
        self.asking.feed(acts.Show())
        self.pulse()

    # -- calling the operator ---------------------------------------------------------------------------------

    def _call_operator(self, now: float) -> None:
        settings, terminal = self.options.attention, self._terminal
        asks = () if self.source.observes else self.asking.prompt.waiting
        self._attention, signals = attend(self._attention, asks, now, focused=self._focused, settings=settings)
        said = sequences(signals, settings, terminal)
        if said != self._told:
            self._write(said)
        self._told = sequences(signals, Settings(bell=False, title=settings.title, notify=False), terminal)

    def _write(self, sequence: str) -> None:
        """Write to the terminal between two frames: Textual has no other way to set a title."""
        if sequence and self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    # -- what the screens ask for -----------------------------------------------------------------------------

    def open_row(self, row: Row) -> None:
        """Show a call in full, or the screen that an event belongs to."""
        if row.kind == "call":
            from console.screens.call import CallScreen  # noqa: PLC0415 - after the first paint

            waiting = next((one.record for one in self.state.waiting.values() if one.row is row), None)
            self.open_page(CallScreen(self.state, row, self.state.records.get(row.number) or waiting))
        elif row.kind in ("config", "notice"):
            self.action_config()
        elif row.kind in ("answer", "rule", "turn"):
            self.action_rules()
        elif row.kind == "ask":
            self.show_asks()
        elif self.state.agents.get(row.agent):
            self.main.select_agent(row.agent)

    def open_measure(self, agent: Agent, measure: Measure) -> None:
        """Show a measure in full."""
        from console.screens.measure import MeasureScreen  # noqa: PLC0415 - after the first paint

        self.open_page(MeasureScreen(self.state, agent, measure))

    def open_page(self, page: PageScreen) -> None:
        """Show a page over whatever is shown."""
        self.push_screen(page, lambda _: self.pulse())

    def copy_row(self, row: Row) -> None:
        """Put a call on the clipboard, as a line of the session format."""
        record = self.state.records.get(row.number)
        if record is None:
            self.notify("This call is too far back to be copied.", severity="warning", markup=False)
            return
        line = as_session_line(record)
        self.copy_to_clipboard(line)
        self.notify(f"Copied as JSON: {len(line)} characters.", markup=False)

    def tell_engine(self, order: Callable[[Operator], object]) -> None:
        """Have an operator's order carried out, in a thread; a fault is shown."""
        self.run_worker(lambda: self._tell_engine(order), thread=True, group="orders", exit_on_error=False)

    def _tell_engine(self, order: Callable[[Operator], object]) -> None:
        operator = self.source.operator
        fault = "" if operator else "There is no engine to tell."
        try:
            if operator and order(operator) is False:
                fault = "It was not in force any more."
        except Exception as error:  # noqa: BLE001 - whatever kept it from the engine, the operator must know
            fault = visible(str(error))
        if fault:
            self.call_from_thread(self.notify, fault, severity="error", markup=False)

    def action_rules(self) -> None:
        from console.screens.rules import RulesScreen  # noqa: PLC0415 - after the first paint

        self.open_page(RulesScreen(self.state))

    def action_config(self) -> None:
        from console.screens.config import ConfigScreen  # noqa: PLC0415 - after the first paint

        self.open_page(ConfigScreen(self.state))

    def action_help(self) -> None:
        from console.screens.help import HelpScreen  # noqa: PLC0415 - after the first paint

        self.open_page(HelpScreen(self.state))

    def action_next_theme(self) -> None:
        self.theme = NAMES[(NAMES.index(self.theme) + 1) % len(NAMES)] if self.theme in NAMES else NAMES[0]

    def action_leave(self) -> None:
        """Quit at once when that changes nothing for anybody, else say what it changes and ask."""
        from console.screens.leave import LeaveScreen  # noqa: PLC0415 - after the first paint

        if isinstance(self.screen, LeaveScreen):
            return
        if self._leaving():
            self.push_screen(LeaveScreen(self._leaving), lambda go: self.exit(0) if go else self.pulse())
        else:
            self.exit(0)

    def _leaving(self) -> tuple[str, ...]:
        """What happens when this console goes; empty when nothing does."""
        live = any(agent.ended_at is None for agent in self.state.agents)
        waiting = len(self.asking.prompt.waiting)
        if self.gone or not self.source.leaving or not (waiting or live):
            return ()
        asks = f"{waiting} ask{' is' if waiting == 1 else 's are'} open." if waiting else "No ask is open."
        return (f"Quit? {asks}", "", *self.source.leaving)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Not all of Textual's own: a list that fills the screen would hide the prompt."""
        for command in super().get_system_commands(screen):
            if command.title == "Theme":
                yield command
        yield SystemCommand("Exemptions and refusals", "what is in force; take one back", self.action_rules)
        yield SystemCommand("Configuration", "what is in force, messages of the engine", self.action_config)
        yield SystemCommand("Keys and signs", "help", self.action_help)
        yield SystemCommand("Quit", "after saying what that changes", self.action_leave)
        for title, words in FILTERS:
            yield SystemCommand(title, "what the stream shows", lambda words=words: self.main.filter_with(words))
