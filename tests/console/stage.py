"""A console on a scene, driven by a pilot, with clocks that are moved by hand."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from textual.pilot import Pilot
from textual.widget import Widget

from console.app import ConsoleApp, Options
from console.attention import Settings
from console.prompt import ARMING, SETTLING
from tests.console.scenes import Scene, SceneSource

DEADLINE = 20.0
SILENT = Options(attention=Settings(bell=False, title=False, notify=False))


class Stage:
    """What a test holds: the application, its scene, and the hands on the clock."""

    def __init__(self, scene: Scene, *, observes: bool = False, options: Options = SILENT) -> None:
        self.scene = scene
        self.source = SceneSource(scene, observes=observes)
        self.now = 1000.0
        self.app = ConsoleApp(self.source, options, clock=lambda: self.scene.at, ticking=lambda: self.now)
        self.pilot: Pilot[int]

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until ``holds()``."""
        deadline = time.monotonic() + DEADLINE
        while not holds():
            if time.monotonic() > deadline:
                raise AssertionError(f"waited for {what}; the screen:\n{self.text()}")
            await self.pilot.pause(0.02)

    async def shows(self, text: str) -> None:
        """Wait until ``text`` stands on the screen."""
        await self.until(lambda: text in self.text(), repr(text))

    async def taken_in(self) -> None:
        """Wait until the console has taken in everything, and drawn it."""
        self.app.pulse()
        await self.pilot.pause()
        self.app.pulse()
        await self.pilot.pause()

    async def in_sight(self) -> None:
        """Wait until an ask is in sight."""
        await self.taken_in()
        await self.until(lambda: self.app.asking.prompt.painted_at is not None, "an ask in sight")

    async def armed(self) -> None:
        """Wait until an ask is in sight and takes an answer."""
        await self.in_sight()
        self.pass_time(ARMING + 0.01)

    async def settled(self) -> None:
        """Let a gesture settle: nothing was typed that cancels it."""
        self.pass_time(SETTLING + 0.01)
        await self.until(lambda: self.app.asking.prompt.gesture is None, "the gesture to settle")
        await self.app.workers.wait_for_complete()
        await self.taken_in()

    def pass_time(self, seconds: float) -> None:
        """Move both clocks."""
        self.now += seconds
        self.scene.at += seconds

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    def text(self, selector: str = "*") -> str:
        """What the widgets in sight show, line by line."""
        widgets = [widget for widget in self.app.screen.query(selector) if widget.display and not widget.children]
        return "\n".join(_lines(widget) for widget in widgets if widget.size)


def _lines(widget: Widget) -> str:
    return "\n".join(strip.text.rstrip() for strip in widget.render_lines(widget.size.region))


@asynccontextmanager
async def stage(
    scene: Scene, size: tuple[int, int] = (100, 30), *, observes: bool = False, options: Options = SILENT
) -> AsyncIterator[Stage]:
    """Put a scene on the screen."""
    held = Stage(scene, observes=observes, options=options)
    async with held.app.run_test(size=size) as pilot:
        held.pilot = pilot
        await held.taken_in()
        yield held
