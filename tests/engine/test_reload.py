"""A configuration that changes while it is in force, with real files and a real watch."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from engine.config import DEFAULTS
from engine.configuration.file import ConfigError, Loaded, Sources, load, load_data
from engine.configuration.reload import watch

SECONDS = 60.0
"""How long a change may take on the slowest machine; it takes less than one."""

Changes = list[Loaded | ConfigError]


@asynccontextmanager
async def watching(in_force: Loaded) -> AsyncIterator[Changes]:
    changes: Changes = []
    task = asyncio.create_task(watch(in_force, changes.append))
    try:
        yield changes
        assert not task.done(), task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def written(path: Path, text: str) -> None:
    """In place, its directory made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def removed(path: Path) -> None:
    path.unlink()


def replaced(path: Path, text: str) -> None:
    """As most editors save: a new file, renamed over the old one."""
    new = path.with_name(f".{path.name}.new")
    new.write_text(text)
    new.rename(path)


def windows(changes: Changes) -> list[int | str]:
    return [str(one) if isinstance(one, ConfigError) else one.config.window for one in changes]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config/breaker.yaml"
    path.parent.mkdir()
    path.write_text("window: 10\n")
    return path


@pytest.mark.parametrize("save", [written, replaced], ids=["written", "replaced"])
async def test_each_saved_change_comes_once(file: Path, save: Callable[[Path, str], object]):
    async with watching(load(file)) as changes:
        for window in (11, 12, 13):
            save(file, f"window: {window}\n")
            await until(lambda window=window: windows(changes)[-1:] == [window])
        assert windows(changes) == [11, 12, 13]


async def test_a_change_before_the_watch_began_is_not_missed(file: Path):
    in_force = load(file)
    written(file, "window: 11\n")
    async with watching(in_force) as changes:
        await until(lambda: windows(changes) == [11])


async def test_a_file_that_says_the_same_is_no_change(file: Path):
    async with watching(load(file)) as changes:
        written(file, "# by another name\nwindow: 10\n")
        replaced(file, "window: 10")
        written(file, "window: 11")
        await until(lambda: bool(changes))
        assert windows(changes) == [11]


async def test_a_broken_file_is_told_once_and_a_mended_one_taken(file: Path):
    async with watching(load(file)) as changes:
        written(file, "window: 3\n")
        await until(lambda: len(changes) == 1)
        written(file, "window: 3 # still\n")
        written(file, "window: 10 \n")
        await until(lambda: len(changes) == 2)
        assert windows(changes) == [f"{file}:1:9: window is 3; it must be a whole number from 4 to 1000000.", 10]


async def test_a_named_file_that_goes_away_changes_nothing_until_it_is_back(file: Path):
    async with watching(load(file)) as changes:
        removed(file)
        await until(lambda: len(changes) == 1)
        assert "No such file" in str(changes[0])
        written(file, "window: 11\n")
        await until(lambda: windows(changes)[1:] == [11])


async def test_a_directory_that_goes_away_and_comes_back(file: Path):
    async with watching(load(file)) as changes:
        shutil.rmtree(file.parent)
        await until(lambda: len(changes) == 1)
        written(file, "window: 11\n")
        await until(lambda: windows(changes)[1:] == [11])
        replaced(file, "window: 12\n")
        await until(lambda: windows(changes)[2:] == [12])


async def test_a_users_file_made_in_a_directory_that_was_not_there(tmp_path: Path):
    file = tmp_path / "not/yet/config.yaml"
    async with watching(Sources(user=file).load()) as changes:
        written(file, "window: 11\n")
        await until(lambda: windows(changes) == [11])
        removed(file)
        await until(lambda: windows(changes) == [11, DEFAULTS.window])


async def test_a_link_that_points_elsewhere_and_the_file_behind_it(tmp_path: Path):
    for name, window in (("a", 10), ("b", 11)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "real.yaml").write_text(f"window: {window}\n")
    (tmp_path / "links").mkdir()
    link = tmp_path / "links/breaker.yaml"
    link.symlink_to(tmp_path / "a/real.yaml")
    async with watching(load(link)) as changes:
        new = tmp_path / "links/new"
        new.symlink_to(tmp_path / "b/real.yaml")
        new.rename(link)
        await until(lambda: windows(changes) == [11])
        replaced(tmp_path / "b/real.yaml", "window: 12\n")
        await until(lambda: windows(changes) == [11, 12])


async def test_a_file_that_is_being_written_is_not_read_half_written(file: Path):
    async with watching(load(file)) as changes:
        with file.open("w") as unfinished:
            for number in range(40):
                unfinished.write(f"# line {number}\n")
                unfinished.flush()
                await asyncio.sleep(0.005)
            unfinished.write("window: 11\n")
        await until(lambda: bool(changes))
        assert windows(changes)[-1] == 11


async def test_what_a_change_loosens_is_told_with_it(file: Path):
    async with watching(load(file)) as changes:
        written(file, "window: 10\nlimits: {exact: null}\n")
        await until(lambda: len(changes) == 1)
        assert isinstance(changes[0], Loaded)
        assert changes[0].warnings == ("This change loosens the guard: limits.exact: 12 to off.",)
        written(file, "window: 10\nlimits: {exact: 5}\n")
        await until(lambda: len(changes) == 2)
        assert isinstance(changes[1], Loaded)
        assert changes[1].warnings == ()


async def test_without_a_file_there_is_nothing_to_watch():
    async with watching(load_data(b"window: 5", "standard input")) as changes:
        await asyncio.sleep(0)
        assert changes == []


async def test_the_watch_ends_when_it_is_cancelled(file: Path):
    task = asyncio.create_task(watch(load(file), lambda change: None))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait_for(asyncio.gather(task, return_exceptions=True), SECONDS)
    assert task.cancelled()


# -- a project's file ---------------------------------------------------------------------------------------------


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    for name in ("home", "project", "other"):
        (tmp_path / name).mkdir()
    user, project = tmp_path / "home/config.yaml", tmp_path / "project/.breaker.yaml"
    user.write_text(f"trustedProjects: ['{project.parent}']\n")
    project.write_text("limits: {exact: 5}\n")
    return Sources(user=user, project=project)


def exact(change: Loaded | ConfigError) -> float | None:
    assert isinstance(change, Loaded), change
    return change.config.limits["exact"]


async def attempt(sources: Sources, act: Callable[[Path], object]) -> Loaded:
    """What is in force after the agent has done this to the project's file, and the user has raised the window."""
    assert sources.project is not None
    assert sources.user is not None
    async with watching(sources.load()) as changes:
        act(sources.project)
        with sources.user.open("a") as user:
            user.write("window: 20\n")
        await until(lambda: windows(changes)[-1:] == [20])
        last = changes[-1]
        assert isinstance(last, Loaded)
        return last


def moved_away(project: Path) -> None:
    project.parent.rename(project.parent.with_name("moved"))
    project.parent.symlink_to("moved")
    project.write_text("limits: {exact: null}\n")


@pytest.mark.parametrize(
    "act",
    [
        lambda project: project.write_text("limits: {exact: null}\n"),
        lambda project: project.write_text("limits: {exact: 5}\nexclude: [bash]\n"),
        lambda project: project.write_text(""),
        lambda project: project.unlink(),
        moved_away,
    ],
    ids=["switched off", "excluded", "emptied", "deleted", "moved away"],
)
async def test_the_agent_cannot_loosen_a_running_guard(sources: Sources, act: Callable[[Path], object]):
    last = await attempt(sources, act)
    assert (exact(last), last.config.exclude) == (5, ("todo_write",))
    assert any("changed and is not taken into force, for it loosens the guard" in one for one in last.warnings)


async def test_a_project_can_tighten_a_running_guard(sources: Sources):
    last = await attempt(sources, lambda project: project.write_text("limits: {exact: 3}\n"))
    assert exact(last) == 3
    assert last.warnings == ()


async def test_a_loosening_is_not_taken_in_two_steps(sources: Sources):
    assert sources.project is not None
    async with watching(sources.load()) as changes:
        sources.project.write_text("limits: {exact: 3, cmd: 3}\n")
        await until(lambda: bool(changes) and exact(changes[-1]) == 3)
        sources.project.write_text("limits: {exact: 5, cmd: 2}\n")
        await until(lambda: len(changes) == 2)
        assert exact(changes[-1]) == 3


async def test_the_operator_can_stop_trusting_a_project(sources: Sources):
    assert sources.user is not None
    async with watching(sources.load()) as changes:
        sources.user.write_text("window: 20\n")
        await until(lambda: windows(changes) == [20])
        assert exact(changes[-1]) == 12


async def test_a_link_does_not_earn_trust_while_running(sources: Sources, tmp_path: Path):
    assert sources.user is not None
    assert sources.project is not None
    sources.user.write_text(f"trustedProjects: ['{tmp_path / 'other'}']\n")
    (tmp_path / "other/.breaker.yaml").write_text("limits: {exact: null}\n")

    def linked(project: Path) -> None:
        project.parent.rename(tmp_path / "moved")
        project.parent.symlink_to(tmp_path / "other")

    last = await attempt(sources, linked)
    assert exact(last) == 12
