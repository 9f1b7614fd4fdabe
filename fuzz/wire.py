"""Mutated frames, pipelined at a running engine over its real sockets.

``python -m fuzz.wire [FRAMES] [SEED]``. After each batch a valid call must still be decided, on the same connection
and on another; every frame that begins as ``engine.protocol`` asks (``jsonrpc``, then ``id``) must get exactly one
answer, under its id; the engine's memory must not grow, and it must have said nothing on its standard error.
"""

from __future__ import annotations

import json
import re
import select
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec
from msgspec import Struct

from engine.client import Client
from engine.paths import operator_socket_path
from engine.protocol import FRAME_LIMIT
from fuzz import seeds
from fuzz.mutation import Mutator
from fuzz.process import Engine, end_well, say
from fuzz.watch import JournalWatch
from tests.engine.sockets import short_directory

BATCH = 2000
TOLD = 500_000
"""After how many frames to say how it goes."""
ENDED = 200_000
"""After how many frames all agents are ended: damaged frames name ever new ones, and what is known of each is kept."""
CHUNK = 1 << 18
ANSWER_SECONDS = 60.0
LARGE, OVERLONG = 0.05, 0.002
"""How many batches hold a frame of a megabyte, and one that is too long."""
WARM = 0.25
"""The part of a run after which memory is held against what it was."""
GROWTH_MB = 48.0
"""What an allocator may keep of three of the longest frames: over ten million frames, six bytes for each are found."""

_HEAD = b'{"jsonrpc":"2.0","id":"%b",'
_PLACE = b"an id stands here"
_HEADED = re.compile(rb'\{"jsonrpc":"2\.0","id":"([0-9a-f]{16})",')
_ANSWERED = re.compile(rb'^\{"jsonrpc":"2\.0","id":(?:"([^"\\]*)"|[^,]*),"(?:result|error)":', re.MULTILINE)
_PIECES = tuple(piece for piece in seeds.SHELL_PIECES if not set(piece) & set(b'"\\\0\n'))
_OPERATORS = (
    b'"method":"operator/hello","params":{"protocol":1,"nonce":"0123456789abcdef0123456789abcdef"}}',
    b'"method":"operator/answer","params":{"ask":"ask-1","answer":"approved","note":""}}',
    b'"method":"operator/revoke","params":{"agent":"a","fp":"exact:x"}}',
    b'"method":"operator/subscribe","params":{}}',
    b'"method":"operator/reset","params":{"agent":"a"}}',
)


class Told(Struct):
    """What a run came to."""

    frames: int = 0
    lines: int = 0
    answers: int = 0
    seconds: float = 0.0
    megabytes: list[float] = []
    faults: list[str] = []


class Frames:
    """Makes batches of frames, most of them damaged, each with an id of its own."""

    def __init__(self, random: Random, bodies: list[bytes]) -> None:
        self._random = random
        self._bodies = bodies
        self._mutator = Mutator(random, bodies, seeds.JSON_PIECES)
        self._whole = Mutator(random, [(_HEAD % _PLACE) + body for body in bodies], seeds.JSON_PIECES)

    def batch(self, size: int) -> bytes:
        """So many frames, each with its newline; some hold more of them."""
        random, made = self._random, []
        for _ in range(size):
            luck = random.random()
            head = _HEAD % self.new_id()
            if luck < 0.2:
                made.append(head + random.choice(self._bodies))
            elif luck < 0.9:
                made.append(head + self._mutator.next())
            else:
                made.append(self._whole.next().replace(_PLACE, self.new_id()))
        if random.random() < LARGE:
            made.insert(random.randrange(size), self._large(random.choice((300_000, 1_200_000))))
        if random.random() < OVERLONG:
            made.insert(random.randrange(size), self._large(FRAME_LIMIT + 1))
        return b"\n".join(made) + b"\n"

    def _large(self, size: int) -> bytes:
        """A call with one long argument, made of a few pieces again and again."""
        piece = b"".join(self._random.choices(_PIECES, k=self._random.randint(1, 4)))
        head = b'"method":"call/decide","params":{"id":"large","agent":"a","tool":"bash","args":{"command":"'
        return _HEAD % self.new_id() + head + piece * (size // len(piece) + 1) + b'"}}}'

    def new_id(self) -> bytes:
        """An id that no damage makes out of another."""
        return b"%016x" % self._random.getrandbits(64)


class Line:
    """A connection that writes without waiting, reads what comes, and knows what is due."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rest = b""
        self.due: Counter[bytes] = Counter()
        self.seen: dict[bytes, bytes] = {}
        self.answers = 0
        self._socket = self._connect()

    def _connect(self) -> socket.socket:
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connected.settimeout(ANSWER_SECONDS)
        connected.connect(str(self._path))
        connected.setblocking(False)
        return connected

    def exchange(self, data: bytes, due: Counter[bytes]) -> None:
        """Write all of it, reading meanwhile, until all that is due is there. Raises TimeoutError, ConnectionError."""
        self.due += due
        view, give_up = memoryview(data), time.monotonic() + ANSWER_SECONDS
        while view or self.due:
            readable, writable, _ = select.select([self._socket], [self._socket] if view else [], [], 1.0)
            if writable:
                view = view[self._socket.send(view[:CHUNK]) :]
            if readable:
                self._take(self._socket.recv(CHUNK))
                give_up = time.monotonic() + ANSWER_SECONDS
            if time.monotonic() > give_up:
                raise TimeoutError(f"{len(self.due)} answers are missing, such as {next(iter(self.due), b'')!r}")

    def _take(self, data: bytes) -> None:
        if not data:
            raise ConnectionError("the engine hung up")
        whole, end, rest = data.rpartition(b"\n")
        if not end:
            self._rest += data
            return
        text, self._rest = self._rest + whole, rest
        due = self.due
        for request in _ANSWERED.findall(text):
            self.answers += 1
            if request in due:
                due[request] -= 1
                if due[request] <= 0:
                    del due[request]
                    self.seen[request] = b""
            elif request in self.seen:
                raise AssertionError(f"{request!r} is answered twice")
        assert text.count(b"\n") + 1 == len(_ANSWERED.findall(text)), f"what is no answer: {text[:500]!r}"

    def hang_up(self) -> None:
        self._socket.close()


def due_of(batch: bytes) -> tuple[int, Counter[bytes]]:
    """How many lines there are, and which answers are due for sure."""
    lines = [line for line in batch.split(b"\n") if line]
    due: Counter[bytes] = Counter()
    for line in lines:
        if headed := _HEADED.match(line):
            due[_last_id(line, headed[1])] += 1
    del due[b""]
    return len(lines), due


def _last_id(line: bytes, first: bytes) -> bytes:
    """The id of a request: JSON lets a later one win, if it can be read at all. Empty when that is none to look for."""
    if line.count(b'"id"') < 2:
        return first
    try:
        found = json.loads(line.decode("latin-1"))
    except (ValueError, RecursionError):
        return first
    last = found.get("id") if isinstance(found, dict) else None
    return first if last == first.decode() else b""


def run(frames: int, seed: str) -> Told:
    """Send so many frames."""
    told = Told()
    random = Random(seed)
    with short_directory() as directory, Engine(directory) as engine:
        watch = JournalWatch(engine.journal)
        for _ in _batches(engine, frames, random, told):
            if len(told.megabytes) % 2:
                watch.look()
        if not engine.alive:
            told.faults.append(f"the engine ended with {engine.exit_status}")
        engine.end()
        watch.look()
        told.faults += watch.faults[:20]
        if said := engine.said():
            told.faults.append(f"on its standard error: {said}")
    _judge_memory(told)
    return told


def _batches(engine: Engine, frames: int, random: Random, told: Told) -> Iterator[None]:
    agents = Frames(random, _bodies())
    operators = Frames(random, list(_OPERATORS))
    beside, line = Line(engine.path), Line(engine.path)
    started = told_at = time.monotonic()
    while told.frames < frames and not told.faults:
        try:
            if random.random() < 0.02:
                _stranger(engine, operators, random)
            batch = agents.batch(min(BATCH, frames - told.frames))
            lines, due = due_of(batch)
            line.exchange(batch, due)
            for one in (line, beside):
                _still_serves(one, agents)
        except (AssertionError, OSError) as fault:
            told.faults.append(f"{type(fault).__name__}: {fault} (after {told.frames} frames)")
            break
        told.frames += BATCH
        told.lines += lines
        told.answers += line.answers
        line.answers = 0
        line.seen.clear()
        told.seconds = time.monotonic() - started
        if random.random() < 0.1:
            line.hang_up()
            line = Line(engine.path)
        if time.monotonic() - told_at > 1:
            told_at = time.monotonic()
            told.megabytes.append(engine.resident())
        if told.frames % ENDED < BATCH:
            _end_agents(engine, beside, agents)
        if told.frames % TOLD < BATCH:
            say(f"wire: {told.frames} frames, {told.frames / told.seconds:.0f}/s, {engine.resident():.0f} MB")
        yield


def _bodies() -> list[bytes]:
    known = [one.partition(b",")[2].partition(b",")[2] for one in seeds.frames()]
    return [one for one in known if one.startswith(b'"method"')]


def _still_serves(line: Line, frames: Frames) -> None:
    """A valid call is decided."""
    request = frames.new_id()
    hello = _HEAD % b"" + b'"method":"initialize","params":{"protocol":1}}\n'
    call = b'"method":"call/decide","params":{"id":"c","agent":"sound","tool":"read","args":{"n":"%b"}}}\n' % request
    line.exchange(hello + _HEAD % request + call, Counter({request: 1}))


def _end_agents(engine: Engine, line: Line, frames: Frames) -> None:
    """End every agent there is."""
    with Client("fuzz", socket=engine.path) as client:
        names = [agent.agent for agent in client.status().agents]
    requests = [frames.new_id() for _ in names]
    ends = (
        _HEAD % request + b'"method":"agent/end","params":{"agent":%b}}' % msgspec.json.encode(name)
        for request, name in zip(requests, names, strict=True)
    )
    line.exchange(b"\n".join(ends) + b"\n", Counter(requests))


def _stranger(engine: Engine, frames: Frames, random: Random) -> None:
    """Somebody without a token at the operators' socket; it is no matter whether the engine hangs up on them."""
    line = Line(operator_socket_path(engine.path))
    batch = frames.batch(random.randint(1, 200))
    try:
        line.exchange(batch, due_of(batch)[1])
    except ConnectionError:
        pass
    finally:
        line.hang_up()


def _judge_memory(told: Told) -> None:
    """Memory after the warm-up against memory at the end."""
    samples = told.megabytes
    warm = int(len(samples) * WARM)
    if len(samples) - warm < 20:
        return
    tenth = max(3, len(samples) // 10)
    before, after = max(samples[warm : warm + tenth]), min(samples[-tenth:])
    if after - before > GROWTH_MB:
        told.faults.append(f"memory grew from {before:.0f} to {after:.0f} MB")


def main(frames: str = "100000", seed: str = "1") -> int:
    told = run(int(frames), seed)
    rate = told.frames / told.seconds if told.seconds else 0
    memory = f"{told.megabytes[0]:.0f} to {told.megabytes[-1]:.0f} MB" if told.megabytes else "not measured"
    say(f"wire: {told.frames} frames ({told.lines} lines, {told.answers} answers), {rate:.0f}/s, memory {memory}")
    for fault in told.faults:
        say(f"  {fault}")
    return bool(told.faults)


if __name__ == "__main__":
    end_well()
    sys.exit(main(*sys.argv[1:]))
