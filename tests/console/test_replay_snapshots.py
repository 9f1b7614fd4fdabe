"""Pictures of the replay at 60, 80 and 160 columns. ``pytest --snapshot-update`` takes them anew; look at each."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from console.app import Options
from console.themes import SHORT
from tests.console.replays import ReplayStage, looping, source_of
from tests.console.stage import SILENT

Compare = Callable[..., bool]
SIZES = {60: (60, 20), 80: (80, 24), 160: (160, 48)}

pytestmark = pytest.mark.usefixtures("clocks_in_utc")


@pytest.fixture
def seen(snap_compare: Compare) -> Callable[..., bool]:
    """Compares a replay with its picture, once keys were pressed."""

    def compare(columns: int, *keys: str, options: Options = SILENT) -> bool:
        stage = ReplayStage(source_of(looping()), options)

        async def prepare(pilot: Pilot[int]) -> None:
            stage.pilot = pilot
            await stage.has_read()
            await stage.press(*keys)
            await stage.taken_in()

        return snap_compare(stage.app, terminal_size=SIZES[columns], run_before=prepare)

    return compare


@pytest.mark.parametrize("columns", SIZES)
def test_at_the_gate(seen: Compare, columns: int):
    assert seen(columns, "d")


@pytest.mark.parametrize("columns", SIZES)
def test_playing_from_the_start(seen: Compare, columns: int):
    assert seen(columns, "0", "+", "+", "space", "space")


@pytest.mark.parametrize("columns", SIZES)
def test_at_the_end(seen: Compare, columns: int):
    assert seen(columns, "dollar_sign", "d")


def test_at_a_failure(seen: Compare):
    assert seen(80, "e", "e", "e")


@pytest.mark.parametrize("theme", ["light", "terminal"])
def test_themes(seen: Compare, theme: str):
    assert seen(80, "d", options=Options(SHORT[theme], SILENT.attention))


def test_the_help(seen: Compare):
    assert seen(160, "space", "question_mark")
