"""Where a replay stands, and what a person or time does to it: ``step(playhead, input, course, now)``. No clock."""

from __future__ import annotations

from math import inf
from typing import Literal

from msgspec import Struct, structs

from console.replaying.course import Course, Kind

SPEEDS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, inf)
"""How many times as fast as the session was; the last does not wait at all."""
AT_ONCE = 1_000
"""Events that come within one tick, at most: so much is drawn before keys get their turn."""
LONGEST_TICK = 1.0
"""Seconds: what is longer was no playing, the machine slept."""
LEAP = 0.05
"""The part of the session that a leap goes over."""


class Toggle(Struct, frozen=True):
    """Play or pause; at the end, play from the start."""


class Step(Struct, frozen=True):
    """To the next thing of a kind (``by`` 1), or to the one before (``by`` -1), and pause there."""

    by: Literal[1, -1]
    kind: Kind = "call"


class Leap(Struct, frozen=True):
    """On or back by a part of the session."""

    by: Literal[1, -1]


class Seek(Struct, frozen=True):
    """To a place."""

    place: int


class Edge(Struct, frozen=True):
    """To the start, or to the end."""

    end: bool


class Speed(Struct, frozen=True):
    """Faster, or slower, by one step of ``SPEEDS``."""

    by: Literal[1, -1]


class Tick(Struct, frozen=True):
    """Time went by."""


Input = Toggle | Step | Leap | Seek | Edge | Speed | Tick


class Playhead(Struct, frozen=True):
    """``place`` is how many events have happened."""

    place: int = 0
    playing: bool = True
    speed: float = 1.0
    clock: float = 0.0
    """Seconds of playing that have gone by, at the session's own speed."""
    ticked: float | None = None
    """When time was last taken in; None: it begins with the next tick."""
    sought: Kind | Literal["end"] | None = None
    """What to go to as soon as it has been read."""
    said: str = ""
    """Why the last key did nothing, or did something else."""


def step(head: Playhead, happened: Input, course: Course, now: float) -> Playhead:
    """The playhead after this has happened at ``now``, in seconds that never go back."""
    if isinstance(happened, Tick):
        return _tick(head, course, now)
    head = structs.replace(head, sought=None)
    match happened:
        case Toggle():
            return _toggle(head, course)
        case Step(by, kind):
            return _to_next(head, by, kind, course)
        case Speed(by):
            index = min(max(SPEEDS.index(head.speed) + by, 0), len(SPEEDS) - 1)
            return structs.replace(head, speed=SPEEDS[index], said="")
        case Edge(end=True):
            return _to_end(head, course)
    return _to(head, _sought(head, happened, course), course)


def _sought(head: Playhead, happened: Leap | Seek | Edge, course: Course) -> int:
    match happened:
        case Leap(by):
            return head.place + by * max(round(course.count * LEAP), 1)
        case Seek(place):
            return place
    return 0


def _to_end(head: Playhead, course: Course) -> Playhead:
    """To the end; while it is still being read, to the end of that, again and again."""
    there = structs.replace(_to(head, course.count, course), playing=False)
    return there if course.complete else structs.replace(there, sought="end", said="reading …")


def _tick(head: Playhead, course: Course, now: float) -> Playhead:
    if head.sought:
        return _to_end(head, course) if head.sought == "end" else _to_next(head, 1, head.sought, course)
    if not head.playing:
        return head
    passed = min(max(now - head.ticked, 0.0), LONGEST_TICK) if head.ticked is not None else 0.0
    if head.place >= course.count:
        if course.complete:
            return structs.replace(head, playing=False, ticked=None, said="the end")
        return structs.replace(head, ticked=now)  # what is to come is still being read: wait for it
    most = min(head.place + AT_ONCE, course.count)
    if head.speed == inf:
        return structs.replace(head, place=most, clock=course.comes(most), ticked=now)
    clock = head.clock + passed * head.speed
    place = min(max(course.place_after(clock), head.place), most)
    clock = min(clock, course.comes(place + 1)) if place < course.count else course.comes(place)
    return structs.replace(head, place=place, clock=clock, ticked=now)


def _toggle(head: Playhead, course: Course) -> Playhead:
    if head.playing:
        return structs.replace(head, playing=False, ticked=None, said="")
    at_end = course.complete and head.place >= course.count
    start = _to(head, 0, course) if at_end else head
    return structs.replace(start, playing=True, ticked=None, said="")


def _to_next(head: Playhead, by: int, kind: Kind, course: Course) -> Playhead:
    place = course.next(kind, head.place) if by > 0 else course.previous(kind, head.place)
    if place is not None:
        return structs.replace(_to(head, place, course), playing=False)
    if by > 0 and not course.complete:
        return structs.replace(head, playing=False, sought=kind, said="looking …")
    head = structs.replace(head, sought=None)
    if kind == "call":
        return structs.replace(_to(head, course.count if by > 0 else 0, course), playing=False)
    return structs.replace(head, said="none before" if by < 0 else "none after")


def _to(head: Playhead, place: int, course: Course) -> Playhead:
    place = min(max(place, 0), course.count)
    return structs.replace(head, place=place, clock=course.comes(place), ticked=None, sought=None, said="")
