"""Pictures of the console at 60, 80 and 160 columns. ``pytest --snapshot-update`` takes them anew; look at each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot

from console.app import Options
from console.themes import SHORT
from tests.console import scenes
from tests.console.scenes import Scene
from tests.console.stage import SILENT, Stage

Compare = Callable[..., bool]
SIZES = {60: (60, 20), 80: (80, 24), 160: (160, 48)}

pytestmark = pytest.mark.usefixtures("clocks_in_utc")


@pytest.fixture
def seen(snap_compare: Compare) -> Callable[..., bool]:
    """Compares a scene with its picture, once ``then`` was done to it."""

    def compare(
        scene: Scene,
        columns: int,
        then: Callable[[Stage], Awaitable[object]] = Stage.taken_in,
        *,
        options: Options = SILENT,
    ) -> bool:
        stage = Stage(scene, options=options)

        async def prepare(pilot: Pilot[int]) -> None:
            stage.pilot = pilot
            await stage.taken_in()
            await then(stage)
            await stage.taken_in()

        return snap_compare(stage.app, terminal_size=SIZES[columns], run_before=prepare)

    return compare


def pressing(*keys: str, armed: bool = False) -> Callable[[Stage], Awaitable[None]]:
    async def then(stage: Stage) -> None:
        if armed:
            await stage.armed()
        await stage.press(*keys)
        await stage.pilot.pause()

    return then


@pytest.mark.parametrize("columns", SIZES)
def test_calm(seen: Compare, columns: int):
    assert seen(scenes.calm(), columns)


@pytest.mark.parametrize("columns", SIZES)
def test_climbing(seen: Compare, columns: int):
    assert seen(scenes.climbing(), columns)


@pytest.mark.parametrize("columns", SIZES)
def test_asking(seen: Compare, columns: int):
    assert seen(scenes.asking(), columns, Stage.armed)


@pytest.mark.parametrize("columns", SIZES)
def test_answered(seen: Compare, columns: int):
    assert seen(scenes.answered(), columns)


@pytest.mark.parametrize("columns", SIZES)
def test_many_agents_and_asks(seen: Compare, columns: int):
    assert seen(scenes.many(), columns, Stage.armed)


def test_arming(seen: Compare):
    assert seen(scenes.asking(), 80, Stage.in_sight)


def test_the_second_key(seen: Compare):
    assert seen(scenes.asking(), 80, pressing("a", armed=True))


def test_a_note(seen: Compare):
    assert seen(scenes.asking(), 60, pressing("R", *"use the bulk file", armed=True))


def test_a_call(seen: Compare):
    assert seen(scenes.climbing(), 80, pressing("enter"))


def test_a_measure(seen: Compare):
    assert seen(scenes.asking(), 160, pressing("shift+tab", "enter"))


def test_the_rules(seen: Compare):
    assert seen(scenes.answered(), 80, pressing("x", "down", "u"))


def test_the_configuration(seen: Compare):
    assert seen(scenes.calm(), 80, pressing("o"))


def test_help(seen: Compare):
    assert seen(scenes.calm(), 160, pressing("question_mark"))


def test_leaving(seen: Compare):
    assert seen(scenes.asking(), 80, pressing("q", armed=True))


def test_a_filter(seen: Compare):
    assert seen(scenes.climbing(), 80, pressing("slash", *"kind:failed"))


@pytest.mark.parametrize("theme", ["light", "terminal"])
def test_themes(seen: Compare, theme: str):
    assert seen(scenes.asking(), 80, Stage.armed, options=Options(SHORT[theme], SILENT.attention))


def test_an_engine_that_has_gone(seen: Compare):
    async def then(stage: Stage) -> None:
        await stage.armed()
        stage.source.gone = "The engine has stopped."

    assert seen(scenes.asking(), 80, then)
