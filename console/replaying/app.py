"""The console on a recorded session: what is on the screen is the state at the playhead."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from msgspec import structs
from textual.app import SystemCommand
from textual.screen import Screen

from console.app import ConsoleApp, Options
from console.replaying.playhead import AT_ONCE, Input, Playhead, Tick, step
from console.replaying.screen import COMMANDS, INPUTS, ReplayScreen
from console.replaying.source import Reading, ReplaySource
from console.screens.main import MainScreen
from console.widgets.pieces import clock
from console.widgets.status import Facts
from console.widgets.transport import JUMPS, Standing, spelled

HELP: tuple[tuple[str, str], ...] = (
    ("space, p", "play, pause; at the end, play again from the start"),
    ("← →", "one call back, one call on; also , and ."),
    ("v V", "the next stage that was reached, the one before"),
    ("d D", "the next gate: an ask or a refusal; the one before"),
    ("e E", "the next failed call, the one before"),
    ("- +", "slower, faster: from half as fast as it was to without any waiting"),
    ("< >", "5 % back, 5 % on; also with shift and an arrow"),
    ("0 $", "to the start, to the end; also with ctrl, home and end"),
    ("the mouse", "every button; a click on the timeline, or dragging over it, goes there"),
)
"""Keys of a replay, for the help page."""


class ReplayApp(ConsoleApp):
    """The console on a ``ReplaySource``. Its clock is the session's: what was seconds ago then is seconds ago now."""

    CSS_PATH = "../console.tcss"

    def __init__(
        self,
        source: ReplaySource,
        options: Options | None = None,
        *,
        ticking: Callable[[], float] = time.monotonic,
    ) -> None:
        self.recording = source.recording
        self.replayed = source
        self.head = Playhead()
        self._shown = 0
        super().__init__(source, options, clock=self._session_time, ticking=ticking)
        self.was_live = True

    def make_main(self) -> MainScreen:
        self.state = self.recording.after(0)
        return ReplayScreen(self.state, self.recording)

    def _session_time(self) -> float:
        return self.recording.course.time(self._shown)

    # -- playing ----------------------------------------------------------------------------------------------

    def _take_in(self) -> None:
        self._happened(Tick())

    def feed(self, happened: Input) -> None:
        """Do what a person wants of the transport, and show where that leads."""
        self._happened(happened)
        self.pulse()

    def _happened(self, happened: Input) -> None:
        self.head = step(self.head, happened, self.recording.course, self.ticking())
        place, shown = self.head.place, self._shown
        if place == shown:
            return
        self._shown = place
        if shown < place <= shown + AT_ONCE:
            self.recording.advance(self.state, shown, place)
            if not isinstance(happened, Tick):
                self.main.stream.action_follow()
            return
        self.state = self.recording.after(place)
        assert isinstance(self.main, ReplayScreen)  # noqa: S101 - ``make_main`` made it
        self.main.turn_to(self.state)

    # -- what is told -----------------------------------------------------------------------------------------

    def standing(self) -> Standing:
        """What the transport says."""
        head, course = self.head, self.recording.course
        return Standing(
            playing=head.playing,
            speed=head.speed,
            call=course.number("call", head.place),
            calls=len(course.places("call")),
            passed=tuple((course.number(kind, head.place), len(course.places(kind))) for kind, *_ in JUMPS),
            said=head.said,
        )

    def _facts(self) -> Facts:
        head, course = self.head, self.recording.course
        reading = self.replayed.reading()
        at = course.time(head.place)
        when = f" · {clock(at)}" if at else ""
        return structs.replace(
            super()._facts(),
            replay=f"▶ replay {spelled(head.speed)}" if head.playing else "‖ replay paused",
            place=f"event {head.place:,}/{course.count:,}{when}",
            remarks=_remarks(reading),
            trouble=reading.trouble,
        )

    # -- what the screens ask for -----------------------------------------------------------------------------

    def action_help(self) -> None:
        from console.screens.help import KEYS, HelpScreen  # noqa: PLC0415 - after the first paint

        keys = {title: keys for title, keys in KEYS.items() if title != "when an agent asks"}
        keys["the stream"] = tuple(pair for pair in keys["the stream"] if pair[0] != "p")
        self.open_page(HelpScreen(self.state, {"the replay": HELP} | keys))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        yield from super().get_system_commands(screen)
        if screen is self.main:
            for title, key, what in COMMANDS:
                yield SystemCommand(title, f"key {key}", partial(self.feed, INPUTS[what]))


def _remarks(reading: Reading) -> tuple[str, ...]:
    """What is to be known about the reading of the file."""
    remarks: list[str] = []
    if not reading.complete:
        remarks.append("reading …" if reading.part is None else f"reading … {reading.part:.0%}".replace("%", " %"))
    if reading.damaged:
        remarks.append(f"! {reading.damaged:,} damaged")
    if reading.unknown:
        remarks.append(f"{reading.unknown:,} unknown")
    return tuple(remarks)
