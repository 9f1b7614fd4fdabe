"""Take the README's pictures from a real run of the demo: ``python -m tools.screenshots [DIRECTORY]``.

The demo's engine and agents run as they do for anybody; the console is drawn without a terminal and exported as SVG
when what a picture is about has come about. What the engine reported is written down as a journal is, and replayed for
the picture of a replay. The SVG names fonts that systems have, and none from a network; its PNG is
made by ``rsvg-convert`` (Debian: librsvg2-bin) with DejaVu Sans Mono.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from textual.pilot import Pilot

from console.app import ConsoleApp, Options
from console.attention import Settings
from console.demo.source import DemoSource
from console.replaying.app import ReplayApp
from console.replaying.source import ReplaySource
from console.sources import Source
from console.state.measures import Stage
from engine.events import Event, Snapshot, encoder
from engine.transcripts.files import read_session_file

DIRECTORY = Path(__file__).parents[1] / "screenshots"
FONTS = "'DejaVu Sans Mono', ui-monospace, Menlo, Consolas, monospace"
WIDE, NARROW = (112, 34), (60, 24)
SEED, SPEED = 4, 1.0
PATIENCE_SECONDS = 120.0
ZOOM = "1.1"

_CDN_FONTS = re.compile(r"@font-face\s*{.*?}", re.DOTALL)
_FONT_NAME = re.compile(r"Fira Code(, monospace)?")


class Camera:
    """A console on the demo, and where its pictures go."""

    def __init__(self, app: ConsoleApp, pilot: Pilot[int], directory: Path) -> None:
        self.app = app
        self.pilot = pilot
        self._directory = directory

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something to come about in the demo. Raises TimeoutError."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not holds():
                await self.pilot.pause(0.05)

    async def take(self, name: str) -> None:
        """Take a picture of what is on the screen."""
        self.app.pulse()
        await self.pilot.pause()
        svg = self._directory / f"{name}.svg"
        svg.write_text(without_network(self.app.export_screenshot(title="breaker")), encoding="utf-8")

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause(0.2)

    # -- what a picture waits for -----------------------------------------------------------------------------

    def at(self, stage: Stage, kind: str) -> bool:
        """Whether a measure of this kind has come to this stage."""
        thresholds = self.app.state.thresholds
        measures = [measure for agent in self.app.state.agents for measure in agent.measures.values()]
        return any(measure.kind == kind and measure.stage(thresholds) == stage for measure in measures)

    def asks_about(self, kind: str, streak: bool) -> bool:
        """Whether an ask is in sight and takes an answer that is about this kind, and about failures or not."""
        prompt = self.app.asking.prompt
        if prompt.shown is None or not any(
            "approving takes two keys" in line for line in self.app.main.panel.lines_shown
        ):
            return False
        return any(
            hit.fingerprint.startswith(f"{kind}:") and (hit.track == "failure") is streak for hit in prompt.shown.hits
        )


def without_network(svg: str) -> str:
    """The SVG with fonts of the system in the place of one from a network."""
    return _FONT_NAME.sub(FONTS, _CDN_FONTS.sub("", svg)).replace("<text ", '<text xml:space="preserve" ')


def convert(directory: Path) -> None:
    """Make a PNG of every SVG."""
    converter = shutil.which("rsvg-convert")
    if converter is None:
        raise SystemExit("rsvg-convert is not installed (Debian: apt install librsvg2-bin): no PNG was made.")
    for svg in directory.glob("*.svg"):
        subprocess.run([converter, "-z", ZOOM, str(svg), "-o", str(svg.with_suffix(".png"))], check=True)  # noqa: S603


async def wide(camera: Camera) -> None:
    """One run from calm to a gate, at a usual size."""
    state = camera.app.state
    await camera.until(lambda: state.stream.end >= 14)
    await camera.take("calm")
    await camera.until(lambda: any(m.streak >= 4 for agent in state.agents for m in agent.measures.values()))
    await camera.take("failing")
    await camera.until(lambda: camera.asks_about("host", streak=True))
    await camera.press("r")
    await camera.until(lambda: camera.at("SUMMARIZE", "host"))
    await camera.take("climbing")
    await camera.until(lambda: camera.asks_about("host", streak=False))
    await camera.take("asking")
    camera.app.main.measures.focus()
    await camera.press("home", "enter")
    await camera.take("detail")


async def narrow(camera: Camera) -> None:
    """The gate at sixty columns."""
    await camera.until(lambda: camera.asks_about("host", streak=True))
    await camera.press("r")
    await camera.until(lambda: camera.asks_about("host", streak=False))
    await camera.take("narrow")


async def replay(camera: Camera) -> None:
    """The run replayed, at the gate that it met."""
    app = camera.app
    assert isinstance(app, ReplayApp)  # noqa: S101 - ``run`` made it
    await camera.until(lambda: app.recording.course.complete)
    await camera.press("0", "d")
    await camera.take("replay")


class WrittenDown(DemoSource):
    """A demo whose events are written to a file, one a line, as in a journal."""

    def __init__(self, file: Path) -> None:
        super().__init__(SEED, SPEED)
        self._file = file

    def drain(self) -> list[Event | Snapshot]:
        drained = super().drain()
        with self._file.open("ab") as file:
            file.writelines(encoder.encode(event) + b"\n" for event in drained if not isinstance(event, Snapshot))
        return drained


async def run(directory: Path) -> None:
    options = Options(attention=Settings(bell=False, title=False, notify=False))
    with TemporaryDirectory() as place:
        journal = Path(place) / "run.jsonl"
        for size, scene, file in ((WIDE, wide, journal), (NARROW, narrow, Path(place) / "other.jsonl")):
            demo = WrittenDown(file)
            await photograph(ConsoleApp(demo, options), demo, size, scene, directory)
        recorded = ReplaySource("run.jsonl", read_session_file(journal))
        await photograph(ReplayApp(recorded, options), recorded, WIDE, replay, directory)


async def photograph(
    app: ConsoleApp, source: Source, size: tuple[int, int], scene: Callable[[Camera], Awaitable[None]], directory: Path
) -> None:
    """Let a scene take its pictures of an application, and close its source."""
    try:
        async with app.run_test(size=size) as pilot:
            await scene(Camera(app, pilot, directory))
    finally:
        source.close()


if __name__ == "__main__":
    chosen = Path(sys.argv[1]) if len(sys.argv) > 1 else DIRECTORY
    asyncio.run(run(chosen))
    convert(chosen)
