"""Agents, well behaved and not: each does its worst until the storm is over, and writes down what it was told."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from engine.async_client import AsyncClient
from engine.conversation import UnreachableError
from tests.chaos.ledger import UNGUARDED, Account, Ledger
from tests.engine.sockets import frame

PATIENCE = 60.0
RETRY = 0.05
COMMANDS = (
    *(
        "make",
        "curl https://api.example.org/v1",
        "curl https://api.example.org/v2 -o out",
        "cat log",
        "make > /tmp/out",
    ),
    *("curl -H 'Authorization: Bearer abcdef' https://x.test", "pytest -q"),
)
RESULTS: tuple[Mapping[str, Any], ...] = (
    {"isError": False, "value": {"exitCode": 0}, "content": [{"type": "text", "text": "fine"}]},
    {"isError": False, "value": {"exitCode": 1}, "content": [{"type": "text", "text": "broken \x1b[2J"}]},
    {"isError": True, "error": {"code": "EACCES"}},
    {"isError": True, "error": {"code": "ABORTED"}},
)


class Lost(Exception):  # noqa: N818 - no error here: connections are meant to end
    """The connection ended."""


class Storm:
    """What all agents share. ``over`` ends them; ``path`` is where the engine listens, if it does."""

    def __init__(self, path: Path, ledger: Ledger, seed: str) -> None:
        self.path = path
        self.ledger = ledger
        self.seed = seed
        self.over = asyncio.Event()

    def random(self, name: str) -> Random:
        return Random(f"{self.seed} {name}")

    async def pause(self, seconds: float) -> None:
        """Wait, or until the storm is over."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.over.wait()


class Line:
    """A connection by hand: it writes what it is told to, and knows which answers are due."""

    def __init__(self, storm: Storm, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._ledger = storm.ledger
        self._reader, self._writer = reader, writer
        self._numbers = itertools.count(1)
        self._due: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._answered: set[int] = set()
        self.reads = asyncio.Event()
        self.reads.set()
        self._reading = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def open(cls, storm: Storm, agent: str) -> Line:
        """Connect and introduce oneself, as soon as there is an engine. Raises Lost when the storm is over first."""
        while not storm.over.is_set():
            try:
                async with asyncio.timeout(PATIENCE):
                    reader, writer = await asyncio.open_unix_connection(str(storm.path), limit=1 << 24)
                    line = cls(storm, reader, writer)
                    await line.ask("initialize", protocol=1, agent={"id": agent, "harness": "chaos"})
                    return line
            except (OSError, Lost):
                await storm.pause(RETRY)
        raise Lost

    def send(self, method: str, **params: Any) -> asyncio.Future[dict[str, Any]]:
        """Send a request; its answer comes in the future, or Lost."""
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        if self._reading.done() or self._writer.is_closing():
            answer.set_exception(Lost())
        else:
            self._due[number] = answer
            self._writer.write(frame(method, number, **params))
        return answer

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and await its answer. Raises Lost."""
        answer = self.send(method, **params)
        try:
            async with asyncio.timeout(PATIENCE):
                return await answer
        except TimeoutError:
            self._ledger.fault(f"no answer to {method} {params!s:.200} on a connection that is open")
            self.hang_up()
            raise Lost from None

    def write(self, data: bytes) -> None:
        """Write anything."""
        self._writer.write(data)

    def hang_up(self) -> None:
        """End at once: nothing more is read."""
        if transport := self._writer.transport:
            transport.abort()

    async def gone(self) -> None:
        """Wait until the connection has ended."""
        await asyncio.wait([self._reading])

    async def _read(self) -> None:
        try:
            while True:
                await self.reads.wait()
                line = await self._reader.readline()
                if not line.endswith(b"\n"):
                    break
                self._take(json.loads(line))
        except OSError:
            pass
        finally:
            self._writer.close()
            for answer in self._due.values():
                if not answer.done():
                    answer.set_exception(Lost())
                    answer.exception()  # looked at, whoever else does

    def _take(self, message: dict[str, Any]) -> None:
        number = message["id"]
        if number in self._answered:
            self._ledger.fault(f"request {number} was answered twice: {message!s:.200}")
        elif number in self._due:
            self._answered.add(number)
            self._due.pop(number).set_result(message)


class Agent:
    """An agent with a name and luck of its own."""

    def __init__(self, storm: Storm, name: str) -> None:
        self.storm, self.name, self.random = storm, name, storm.random(name)
        self.ledger = storm.ledger
        self._calls = itertools.count(1)

    def new_call(self) -> str:
        return f"{self.name}-{next(self._calls)}"

    def args(self) -> dict[str, Any]:
        """Arguments that repeat, and so bring the agent to the gate."""
        return {"command": self.random.choice(COMMANDS), "description": f"{self.random.random()}"}

    # -- by hand ----------------------------------------------------------------------------------------------

    async def decided(self, answer: Awaitable[dict[str, Any]], account: Account) -> bool:
        """Take an answer to ``call/decide`` down. Whether the call may run. Raises Lost."""
        try:
            async with asyncio.timeout(PATIENCE):
                message = await answer
        except TimeoutError:
            self.ledger.fault(f"a call of {self.name} got no answer on a connection that is open")
            account.lost = True
            raise Lost from None
        except (Lost, asyncio.CancelledError):
            account.lost = True
            raise
        if "error" in message:
            self.ledger.fault(f"a call of {self.name} was answered by {message['error']}")
            account.own = True
            return False
        result = message["result"]
        if "the breaker failed" in result.get("reason", ""):
            self.ledger.fault(f"a fault decided a call of {self.name}: {result['reason']}")
        account.answers.append((result["decision"], result.get("outcome")))
        return bool(result["decision"] == "allow")

    async def call(self, line: Line) -> None:
        """One call from decision to result, or one result too many."""
        call = self.new_call()
        account = self.ledger.open(self.name, call)
        params = {"id": call, "agent": self.name, "tool": "bash", "args": self.args()}
        account.ran = await self.decided(line.send("call/decide", **params), account)
        for _ in range(self.random.choice((0, 1, 1, 1, 1, 2))):
            if not account.ran and self.random.random() < 0.5:
                break
            told = await line.ask("call/settle", id=call, agent=self.name, result=self.random.choice(RESULTS))
            account.settled.append(told["result"].get("known", True))


async def worker(agent: Agent) -> None:
    """Works with the client that agents have; gives up on calls, starts turns, ends and begins again."""
    storm, random = agent.storm, agent.random
    client = AsyncClient(agent.name, socket=storm.path, on_unreachable="deny")
    while not storm.over.is_set():
        luck = random.random()
        if luck < 0.03:
            await client.start_turn()
        elif luck < 0.04:
            await client.end()
        elif luck < 0.06:
            await client.close()
        elif luck < 0.07:
            with contextlib.suppress(UnreachableError):
                await client.status()
        else:
            await _guarded(agent, client)
        await storm.pause(random.uniform(0, 0.05))
    await client.close()


async def _guarded(agent: Agent, client: AsyncClient) -> None:
    call, random = agent.new_call(), agent.random
    account = agent.ledger.open(agent.name, call, once=False)
    patience = random.choice((0.02, 0.3, PATIENCE, PATIENCE, PATIENCE))
    try:
        async with asyncio.timeout(patience):
            verdict = await client.decide(call, "bash", agent.args())
    except TimeoutError:
        account.lost = True
        agent.ledger.deeds["call given up"] += 1
        if patience == PATIENCE:
            agent.ledger.fault(f"{call} got no answer in {PATIENCE:.0f} s")
        return
    if any(word in verdict.reason for word in UNGUARDED):
        account.own = True
        await agent.storm.pause(RETRY)
        return
    account.answers.append((verdict.decision, verdict.outcome))
    if verdict.decision == "allow":
        account.ran = True
        settlement = await client.settle(call, random.choice(RESULTS))
        account.settled.append(settlement.known)


async def _on_lines(agent: Agent, act: Callable[[Agent, Line], Awaitable[None]]) -> None:
    """Do something on one connection after another."""
    with contextlib.suppress(Lost):
        while True:
            line = await Line.open(agent.storm, agent.name)
            try:
                await act(agent, line)
            except Lost:
                pass
            finally:
                line.hang_up()
                await line.gone()
            await agent.storm.pause(agent.random.uniform(0, 0.1))


async def plain(agent: Agent) -> None:
    """Calls by hand, settles late, twice or never; starts turns and cancels calls that may wait."""

    async def act(agent: Agent, line: Line) -> None:
        random = agent.random
        while not agent.storm.over.is_set():
            await agent.call(line)
            if random.random() < 0.05:
                await line.ask("turn/start", agent=agent.name)
            if random.random() < 0.05:
                await line.ask("call/cancel", agent=agent.name, id=f"{agent.name}-{random.randint(1, 50)}")
            await agent.storm.pause(random.uniform(0, 0.05))

    await _on_lines(agent, act)


async def vanisher(agent: Agent) -> None:
    """Sends a few calls at once and is gone before they are all answered, most of all when they wait."""

    async def act(agent: Agent, line: Line) -> None:
        random = agent.random
        asked: list[asyncio.Task[bool]] = []
        for _ in range(random.randint(1, 12)):
            call = agent.new_call()
            account = agent.ledger.open(agent.name, call)
            answer = line.send("call/decide", id=call, agent=agent.name, tool="bash", args={"command": "make"})
            asked.append(asyncio.ensure_future(agent.decided(answer, account)))
        await agent.storm.pause(random.choice((0, 0.01, 0.1, 0.5)))
        line.hang_up()
        await asyncio.gather(*asked, return_exceptions=True)
        agent.ledger.deeds["vanished"] += 1

    await _on_lines(agent, act)


async def stammerer(agent: Agent) -> None:
    """Writes half frames, broken ones and giants; what it says clearly in between is answered all the same."""

    async def act(agent: Agent, line: Line) -> None:
        random = agent.random
        for _ in range(5):
            await agent.call(line)
            line.write(random.choice((b"{}\n", b"\xff\n", b"[]\n", b"null\n\n\n", b'{"jsonrpc":"2.0"' * 50 + b"\n")))
            if random.random() < 0.05:
                line.write(b"x" * (17 << 20) + b"\n")
            await agent.call(line)
        call = agent.new_call()
        whole = frame("call/decide", 10**6, id=call, agent=agent.name, tool="bash", args=agent.args())
        line.write(whole[: random.randint(1, len(whole) - 2)])
        await agent.storm.pause(random.uniform(0, 0.05))
        agent.ledger.deeds["half a frame"] += 1

    await _on_lines(agent, act)


async def flood(agent: Agent) -> None:
    """Sends hundreds of calls and does not read for a while; then all of them have been answered, once."""

    async def act(agent: Agent, line: Line) -> None:
        random = agent.random
        line.reads.clear()
        asked: list[asyncio.Task[bool]] = []
        for _ in range(random.randint(50, 400)):
            call = agent.new_call()
            account = agent.ledger.open(agent.name, call)
            args = {"command": f"echo {random.randint(1, 20)}", "padding": "x" * random.choice((0, 0, 5000))}
            answer = line.send("call/decide", id=call, agent=agent.name, tool="bash", args=args)
            asked.append(asyncio.ensure_future(agent.decided(answer, account)))
        await agent.storm.pause(random.uniform(0, 0.5))
        line.reads.set()
        found = await asyncio.gather(*asked, return_exceptions=True)
        agent.ledger.deeds["flood"] += 1
        if any(isinstance(one, Lost) for one in found):
            raise Lost
        await line.ask("turn/start", agent=agent.name)

    await _on_lines(agent, act)


KINDS: tuple[Callable[[Agent], Awaitable[None]], ...] = (
    worker,
    plain,
    worker,
    vanisher,
    plain,
    stammerer,
    worker,
    flood,
)
"""In the order in which a crowd is made up."""


def crowd(storm: Storm, size: int) -> list[asyncio.Task[None]]:
    """So many agents at work, of all kinds."""
    tasks: list[asyncio.Task[None]] = []
    for number in range(size):
        kind = KINDS[number % len(KINDS)]
        agent = Agent(storm, f"{kind.__name__}{number}")
        tasks.append(asyncio.ensure_future(kind(agent)))  # type: ignore[arg-type]
    return tasks
