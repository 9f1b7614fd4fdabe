"""What a decision costs the server: the engine on uvloop, and the reference behind the same protocol in Node.

One client for both: a connection for each of the stream's eight agents, which work side by side, each waiting for its
answer before it sends the next request. Rounds alternate between the servers, which stay up and are warm; each round
brings agents that were never heard of. Measured is the server's processor time as the kernel counts it, all threads.
Both deny at the gate: for the reference that is its guard alone. Beside them a server on uvloop that reads lines and
answers each with the same few bytes: what is left when nothing is decided.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct, structs

from benchmarks import reference
from benchmarks.findings import Findings, Row, Table, figure, over_rounds
from benchmarks.serving import START_SECONDS, Served, serve_engine, served
from benchmarks.stream import prepared
from engine.config import DEFAULTS
from engine.host import fast_loop

CALLS = 10_000
ROUNDS = {"decide": 5, "settle": 3}
TARGET = 0.5
DENYING = structs.replace(DEFAULTS, on_limit="deny")
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{"decision":"allow"}}\n'

Frame = tuple[str, bytes, bool]
"""An agent, a request of it, and whether that is a call to decide."""


class Round(Struct, frozen=True):
    """What a round cost the server, in processor seconds, and its verdicts, ``1`` for a refusal."""

    seconds: float
    verdicts: str


Trio = tuple[Round, Round, Round]
"""The engine's round, the reference's, and the floor's."""


def findings() -> Findings:
    """Processor time for decisions, and for whole calls."""
    plugin = reference.plugin()
    directory = Path(tempfile.mkdtemp(prefix="rtb-", dir="/tmp"))
    try:
        with (
            served(serve_engine, directory / "engine.sock", DENYING) as ours,
            served(_serve_nothing, directory / "floor.sock") as floor,
            _node(plugin, directory / "node.sock") as theirs,
        ):
            rounds = {mode: list(_rounds((ours, theirs, floor), mode)) for mode in ROUNDS}
    finally:
        shutil.rmtree(directory)
    ratios = {mode: [ours.seconds / theirs.seconds for ours, theirs, _ in those] for mode, those in rounds.items()}
    return Findings(
        (
            over_rounds("call/decide, server CPU on uvloop over Node's", ratios["decide"], target=TARGET),
            over_rounds("call/decide and call/settle, server CPU on uvloop over Node's", ratios["settle"]),
            Row(what="verdicts over the socket that differ from the reference's", value=_differing(rounds), target=0),
        ),
        (_table(rounds),),
    )


def _rounds(servers: tuple[Served, ...], mode: str) -> Iterator[Trio]:
    """The rounds that count, after one that does not."""
    frames = list(_frames(mode))
    for number in range(ROUNDS[mode] + 1):
        order = servers if number % 2 else tuple(reversed(servers))
        found = {server.path: _round(server, frames, f"{mode}-{number}") for server in order}
        if number:
            ours, theirs, floor = (found[server.path] for server in servers)
            yield ours, theirs, floor


def _differing(rounds: Mapping[str, list[Trio]]) -> int:
    return sum(
        one != other
        for those in rounds.values()
        for ours, theirs, _ in those
        for one, other in zip(ours.verdicts, theirs.verdicts, strict=True)
    )


def _frames(mode: str) -> Iterator[Frame]:
    with prepared(CALLS).open("rb") as file:
        for number, text in enumerate(file):
            line = msgspec.json.decode(text)
            kind, agent = line["type"], line["agent"]
            if kind == "call":
                params = {"id": line["id"], "tool": line["tool"], "args": line["args"]}
                yield agent, _request(number, "call/decide", params), True
            elif kind == "turn":
                yield agent, _request(number, "turn/start", {}), False
            elif mode == "settle":
                yield agent, _request(number, "call/settle", {"id": line["id"], "result": line["result"]}), False


def _request(number: int, method: str, params: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + b"\n"


def _round(server: Served, frames: list[Frame], prefix: str) -> Round:
    """Let the agents work side by side, in step."""
    work: dict[str, list[Frame]] = {}
    for frame in frames:
        work.setdefault(frame[0], []).append(frame)
    connections = {agent: _connect(server.path, f"{prefix}-{agent}") for agent in work}
    verdicts: list[str] = []
    before = server.processor_seconds()
    for step in itertools.zip_longest(*work.values()):
        under_way = [(connections[frame[0]], frame) for frame in step if frame]
        for (connection, _), (_, request, _) in under_way:
            connection.sendall(request)
        for (_, reader), (_, _, is_call) in under_way:
            answer = reader.readline()
            if is_call:
                verdicts.append("1" if b'"decision":"deny"' in answer else "0")
    seconds = server.processor_seconds() - before
    for connection, reader in connections.values():
        reader.close()
        connection.close()
    return Round(seconds, "".join(verdicts))


def _connect(path: str, agent: str) -> tuple[socket.socket, Any]:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(START_SECONDS)
    connection.connect(path)
    reader = connection.makefile("rb")
    connection.sendall(_request(0, "initialize", {"protocol": 1, "agent": {"id": agent}}))
    if b'"result"' not in (answer := reader.readline()):
        raise RuntimeError(f"the server turned the client away: {answer!r}")
    return connection, reader


def _serve_nothing(path: str, ready: Event, stop: Event) -> None:
    class Answering(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.write = cast("asyncio.Transport", transport).write

        def data_received(self, data: bytes) -> None:
            if ended := data.count(b"\n"):
                self.write(ANSWER * ended)

    async def serve() -> None:
        server = await asyncio.get_running_loop().create_unix_server(Answering, path)
        ready.set()
        await asyncio.to_thread(stop.wait)
        server.close()

    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        runner.run(serve())


@contextmanager
def _node(plugin: Path, path: Path) -> Iterator[Served]:
    command = reference.node("reference_server.mjs", str(plugin), str(path), json.dumps({"onLimit": "deny"}))
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            if process.stdout is None or not process.stdout.readline():
                raise RuntimeError("the reference's server did not start")
            yield Served(str(path), process.pid)
        finally:
            process.terminate()


def _table(rounds: Mapping[str, list[Trio]]) -> Table:
    lines = []
    for mode, trios in rounds.items():
        for who, those in zip(
            ("engine, uvloop", "reference, Node", "nothing, uvloop"), zip(*trios, strict=True), strict=True
        ):
            costs = sorted(one.seconds / CALLS * 1e6 for one in those)
            lines.append((mode, who, figure(costs[len(costs) // 2]), figure(costs[0]), figure(costs[-1])))
    return Table(
        "The server, µs of processor time a call", ("requests", "who", "median", "least", "most"), tuple(lines)
    )
