"""The prompt in the application: it hears first of whatever a person does, and what it decides is carried out here.

``_send`` is the only place in the console from which an answer leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from console import acts
from console.prompt import Prompt, next_change, step
from console.question import Question, describe
from console.text import visible
from engine.events import AskClosed, AskOpened, Event, Snapshot
from engine.operator import AskNotOpenError

if TYPE_CHECKING:
    from console.app import ConsoleApp

NEVER_TAKEN = frozenset({"ctrl+q"})
"""Keys that reach the application whatever the prompt is doing."""
HEARD = (events.Key, events.Paste, events.MouseDown, events.AppFocus, events.AppBlur)
"""What a person does, or what says that they turned to this window or away from it."""
NO_ENGINE = "there is no engine to answer to"


class Asking:
    """Holds the ``Prompt`` of an application."""

    def __init__(self, app: ConsoleApp) -> None:
        self.prompt = Prompt()
        self._app = app
        self._ticks = 0
        self._drawn: tuple[Prompt, int] | None = None

    # -- what happens -----------------------------------------------------------------------------------------

    def feed(self, happened: acts.Input) -> bool:
        """Tell the prompt what happened; do what it wants done. True when it has used it up."""
        app = self._app
        hidden = self.prompt.shown is None
        done = step(self.prompt, happened, app.ticking())
        self.prompt = done.prompt
        if isinstance(done.effect, acts.Answer):
            app.run_worker(lambda: self._send(done.effect), thread=True, group="answers", exit_on_error=False)
        elif isinstance(done.effect, acts.ShowWholeCall):
            app.main.panel.toggle_whole(done.effect.ask)
            self._drawn = None
        self._wait_for_change()
        if hidden != (self.prompt.shown is None):
            app.main.refresh_bindings()
        return done.taken

    def happened(self, batch: list[Event | Snapshot]) -> None:
        """Tell the prompt of the events that are about asks, if this console may answer any."""
        for event in batch if not self._app.source.observes else ():
            if isinstance(event, AskOpened | AskClosed | Snapshot):
                self.feed(event)

    def hears(self, event: events.Event) -> bool:
        """Tell the prompt what a person did, before anybody else hears of it. True: nobody else may."""
        if not isinstance(event, HEARD):
            return False
        app = self._app
        at_prompt = app.screen is app.main and not app.main.typing
        match event:
            case events.Key() if at_prompt and event.key not in NEVER_TAKEN:
                name = event.character if event.is_printable and event.character else event.key
                return self.feed(acts.Key(name)) or app.main.panel.takes_key(event.key)
            case events.Paste() if at_prompt:
                return self.feed(acts.Paste(event.text))
            case events.MouseDown() if at_prompt and app.main.panel.contains(event):
                return False
        return self.feed(acts.Elsewhere())

    # -- what is seen -----------------------------------------------------------------------------------------

    def show(self) -> None:
        """Draw the prompt, if it is not drawn as it is now: it changes by what happens, and each second."""
        prompt, second = self.prompt, int(self._app.clock())
        unseen = prompt.shown is not None and prompt.painted_at is None
        if self._drawn is not None and self._drawn[0] is prompt and self._drawn[1] == second and not unseen:
            return
        self._drawn = (prompt, second)
        self._app.main.show_prompt(self.prompt, self._question(), self._app.ticking())

    @property
    def hidden(self) -> bool:
        """Whether asks are open and none is shown."""
        return self.prompt.shown is None and bool(self.prompt.waiting)

    def _question(self) -> Question | None:
        ask = self.prompt.shown
        if ask is None:
            return None
        state = self._app.state
        raised = state.call_of(ask)
        calls = sum(ask.id in waiting.record.seen.asks for waiting in state.waiting.values())
        seen = raised.record.seen if raised else None
        return describe(ask, state.label(ask.agent), seen, self._app.clock(), max(calls, 1))

    # -- what follows -----------------------------------------------------------------------------------------

    def _wait_for_change(self) -> None:
        """Come back when time alone changes the prompt; what was waited for before is off."""
        self._ticks += 1
        wait = next_change(self.prompt, self._app.ticking())
        if wait is not None:
            number = self._ticks
            self._app.set_timer(wait + 0.001, lambda: self._tick(number))

    def _tick(self, number: int) -> None:
        if number == self._ticks:
            self.feed(acts.Tick())
            self.show()

    def _send(self, answer: acts.Answer) -> None:
        """Give the operator's answer to the engine; in a thread, for it waits for it."""
        operator = self._app.source.operator
        try:
            if operator is not None:
                operator.answer(answer.ask, answer.decision, answer.note)
                return
            fault, gone = NO_ENGINE, False
        except AskNotOpenError as error:
            fault, gone = visible(str(error)), True
        except Exception as error:  # noqa: BLE001 - whatever kept it from the engine, the operator must know
            fault, gone = visible(f"not answered: {error}"), False
        self._app.call_from_thread(self.feed, acts.Failed(answer.ask, fault, gone))
