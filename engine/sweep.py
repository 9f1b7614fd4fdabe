"""Recorded sessions under many combinations of thresholds: files in, tallies out, on all cores.

How a session is judged is ``engine.sweep_judging``'s; here are the files, the processes and the progress.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from engine.config import Config
from engine.session_items import Damaged, Line, Unknown
from engine.sessions import NotASessionError
from engine.sweep_judging import Answer, Tally, judge
from engine.transcripts.files import read_session_file, size_of
from engine.transcripts.recognise import format_of

SMALL_BYTES = 4 * 1024 * 1024
"""Less than this is judged here: other processes would take longer to start."""
STEP_BYTES = 128 * 1024
"""So much is read between two reports of progress."""
LOOK_SECONDS = 0.1
COLLECTIONS = (100_000, 50, 100)
"""When the garbage collector runs in a process of a pool: what is made there is freed without it."""


class SessionTallies(Struct):
    """One session under every combination, in their order. ``problem``: why it could not be read, for a person."""

    path: Path
    tallies: list[Tally] = field(default_factory=list)
    damaged: int = 0
    unknown: int = 0
    problem: str = ""


def sweep(
    paths: Sequence[Path],
    configs: Sequence[Config],
    *,
    answers: Answer = "as recorded",
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[SessionTallies]:
    """Judge each session under each configuration; the configurations may differ in thresholds only.

    ``jobs``: how many processes may work at it, by default as many as this one may have cores. ``progress`` is called
    with the number of bytes that were read since it was last called; all together they are ``work_of`` the same.
    """
    jobs = jobs or _cores()
    tasks = _tasks(paths, configs, jobs)
    if jobs == 1 or sum(task.size for task in tasks) < SMALL_BYTES:
        parts = [_judged(task, answers, progress or (lambda _: None)) for task in tasks]
    else:
        parts = _in_processes(tasks, answers, jobs, progress)
    return _joined(paths, tasks, parts)


def work_of(paths: Sequence[Path], configs: Sequence[Config], jobs: int | None = None) -> int:
    """The bytes that a sweep of these will read."""
    return sum(task.size for task in _tasks(paths, configs, jobs or _cores()))


# -- many sessions, many processes --------------------------------------------------------------------------------


class _Task(Struct, frozen=True):
    """One session under some of the configurations. ``size``: the bytes that it reads."""

    path: Path
    first: int
    configs: tuple[Config, ...]
    size: int


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _tasks(paths: Sequence[Path], configs: Sequence[Config], jobs: int) -> list[_Task]:
    """A task for each session; a session so large that others would wait for it is read by several, each for a part
    of the configurations: reading it again costs no more time than waiting would."""
    sizes = {path: size_of(path) for path in paths}
    share = sum(sizes.values()) / jobs
    tasks: list[_Task] = []
    for path, size in sizes.items():
        parts = min(max(round(size / share), 1), len(configs)) if share and size >= SMALL_BYTES else 1
        for part in range(parts):
            first, end = part * len(configs) // parts, (part + 1) * len(configs) // parts
            tasks.append(_Task(path, first, tuple(configs[first:end]), size))
    return sorted(tasks, key=lambda task: -task.size * len(task.configs))


def _judged(task: _Task, answers: Answer, progress: Callable[[int], None]) -> SessionTallies:
    """One task done. Never raises for what is in the file."""
    found = SessionTallies(task.path)
    told = taken = 0

    def heard(size: int) -> None:
        nonlocal told, taken
        taken = min(taken + size, task.size)  # what is packed is read as more than it is
        if taken - told >= STEP_BYTES or taken == task.size > told:
            progress(taken - told)
            told = taken

    try:
        form = format_of(task.path)
        lines = _looked_at(read_session_file(task.path, heard), found)
        found.tallies = judge(lines, task.configs, answers, plain=form is not None and form.foreign)
    except NotASessionError as error:
        found.problem = str(error)
    except OSError as error:
        found.problem = f"cannot be read: {error.strerror or error}"
    heard(task.size)
    return found


def _looked_at(lines: Iterable[Line], found: SessionTallies) -> Iterator[Line]:
    for line in lines:
        if isinstance(line, Damaged):
            found.damaged += 1
        elif isinstance(line, Unknown):
            found.unknown += 1
        else:
            yield line


_read: Any = None
"""In a process of a pool: the number of bytes that all of them have read."""


def _start(read: Any) -> None:
    gc.set_threshold(*COLLECTIONS)
    global _read  # noqa: PLW0603 - a process of a pool is given what it shares at its start, and in no other way
    _read = read


def _judged_there(task: _Task, answers: Answer) -> SessionTallies:
    def progress(size: int) -> None:
        with _read.get_lock():
            _read.value += size

    return _judged(task, answers, progress)


def _in_processes(
    tasks: Sequence[_Task], answers: Answer, jobs: int, progress: Callable[[int], None] | None
) -> list[SessionTallies]:
    context = multiprocessing.get_context("spawn")
    read = context.Value("q", 0)
    told = 0
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=(read,)) as pool:
        futures: list[Future[SessionTallies]] = [pool.submit(_judged_there, task, answers) for task in tasks]
        waiting = set(futures)
        try:
            while waiting:
                _, waiting = wait(waiting, LOOK_SECONDS, FIRST_COMPLETED)
                if progress and (now := read.value) > told:
                    progress(now - told)
                    told = now
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [_outcome(task, future, answers) for task, future in zip(tasks, futures, strict=True)]


def _outcome(task: _Task, future: Future[SessionTallies], answers: Answer) -> SessionTallies:
    """What a process found; when it was killed, or could not be started, it is found here."""
    try:
        return future.result()
    except BrokenProcessPool:
        return _judged(task, answers, lambda _: None)


def _joined(paths: Sequence[Path], tasks: Sequence[_Task], parts: Sequence[SessionTallies]) -> list[SessionTallies]:
    """The parts of each session put together, in the order of the paths."""
    by_path: dict[Path, list[tuple[int, SessionTallies]]] = {path: [] for path in paths}
    for task, part in zip(tasks, parts, strict=True):
        by_path[task.path].append((task.first, part))
    joined: list[SessionTallies] = []
    for path, found in by_path.items():
        found.sort(key=lambda one: one[0])
        first = found[0][1]
        tallies = [tally for _, part in found for tally in part.tallies]
        joined.append(SessionTallies(path, tallies, first.damaged, first.unknown, first.problem))
    return joined
