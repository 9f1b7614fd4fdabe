"""A real engine, many agents, an operator, and everything that goes wrong; then the books are compared."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from random import Random

from msgspec import Struct, structs

from engine.breaker import Breaker
from engine.config import Config
from engine.configuration.file import load
from engine.events import AgentSnapshot, Snapshot
from engine.journal_reader import recover
from fuzz.process import Engine, until
from tests.chaos.agents import PATIENCE, Storm, crowd
from tests.chaos.ledger import Ledger, judge
from tests.chaos.operators import OperatorAtRandom
from tests.engine.sockets import Wire, short_directory

ASK_SECONDS = 1.0
FIRST = (
    "window: 6\nwarnAt: 2\nsummarizeAt: 3\nfailWarnAt: 2\nfailLimit: 3\n"
    "limits: {exact: 4, cmd: 4, host: 5, net: 4, sink: 4}\n"
)
CONFIGURATIONS = (
    FIRST,
    FIRST + "onLimit: deny\n",
    FIRST.replace("window: 6", "window: 12"),
    FIRST.replace("exact: 4", "exact: 3") + "hostAliases: {x.test: api.example.org}\n",
    "window: 4\n",
    "window: none of your business\n",
    "{",
)


class Weather(Struct, frozen=True):
    """How long, how many, how bad. ``kills`` and ``freezes`` are how many there are to be."""

    seconds: float = 6.0
    agents: int = 16
    kills: int = 1
    freezes: int = 3
    reloads: int = 4


class Damage(Struct):
    """What a storm left behind: what does not agree, and what went on."""

    faults: list[str]
    calls: int
    deeds: Mapping[str, int]


def rage(seed: str, weather: Weather) -> Damage:
    """Let it rage, and compare the books. The same seed is the same weather, not the same storm: processes differ."""
    ledger = Ledger()
    with short_directory() as directory:
        (directory / "breaker.yaml").write_text(FIRST)
        options = ("--config", str(directory / "breaker.yaml"), "--ask-timeout", str(ASK_SECONDS))
        with Engine(directory, *options) as engine:
            operator = OperatorAtRandom(engine, ledger, Random(f"{seed} operator"))
            operator.begin()
            try:
                asyncio.run(_rage(engine, ledger, seed, weather))
            finally:
                operator.leave()
            faults = _agreement(engine, operator.token)
            faults += _ending(engine)
        faults += judge(ledger, engine.journal)
        if said := engine.said():
            faults.append(f"the engine wrote on its standard error: {said}")
    return Damage(faults, len(ledger.accounts), ledger.deeds)


async def _rage(engine: Engine, ledger: Ledger, seed: str, weather: Weather) -> None:
    storm = Storm(engine.path, ledger, seed)
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: ledger.fault(f"a client failed: {context!s:.500}")
    )
    agents = crowd(storm, weather.agents)
    await _disasters(engine, ledger, storm.random("disasters"), weather)
    storm.over.set()
    done, late = await asyncio.wait(agents, timeout=2 * PATIENCE)
    for agent in late:
        agent.cancel()
        ledger.fault("an agent did not come to an end")
    for agent in done:
        if fault := agent.exception():
            ledger.fault(f"an agent failed: {fault!r}")


async def _disasters(engine: Engine, ledger: Ledger, random: Random, weather: Weather) -> None:
    """Everything that happens to an engine, spread over the time there is."""
    file = engine.directory / "breaker.yaml"
    plan = ["kill"] * weather.kills + ["freeze"] * weather.freezes + ["reload"] * weather.reloads
    random.shuffle(plan)
    for disaster in plan:
        await asyncio.sleep(weather.seconds / len(plan) * random.uniform(0.5, 1.5))
        ledger.deeds[disaster] += 1
        if disaster == "kill":
            await asyncio.to_thread(engine.kill)
            file.write_text(FIRST)  # no engine starts with a broken one
            await asyncio.to_thread(engine.start)
        elif disaster == "freeze":
            engine.freeze()
            await asyncio.sleep(random.uniform(0.05, 0.8))
            engine.thaw()
        else:
            file.write_text(random.choice(CONFIGURATIONS))


# -- after the storm --------------------------------------------------------------------------------------------


def _agreement(engine: Engine, token: str) -> list[str]:
    """Nothing waits, and what the engine knows is what its journal tells one who reads it after a ``kill -9``."""
    file = engine.directory / "breaker.yaml"
    file.write_text(FIRST)
    config = structs.replace(load(file).config, ask_timeout=ASK_SECONDS)
    with Wire(engine.path) as wire:
        if open_asks := wire.ask("status")["result"]["asks"]:
            return [f"asks are open though nobody waits: {open_asks}"]
    standing, token = _standing(engine, config, token)
    engine.kill()
    past = recover(engine.journal, config)
    faults = [f"recovery complains: {one}" for one in past.warnings if "no end" not in one and ".checkpoint" not in one]
    found = Breaker(config)
    found.restore(past.checkpoint)
    faults += _differences("the journal", _shown(found.snapshot()), standing)
    engine.start()
    again, _ = _standing(engine, config, "")
    return faults + _differences("the next engine", again, standing)


def _standing(engine: Engine, config: Config, token: str) -> tuple[dict[str, AgentSnapshot], str]:
    """What an operator is shown once this configuration is in force, and the token it came with."""
    operator, token = engine.operator(token)

    def shown() -> Snapshot | None:
        feed = operator.subscribe()
        first = until(feed.drain, "a snapshot comes")[0]
        feed.close()
        assert isinstance(first, Snapshot)
        return first if first.config["limits"] == config.limits and first.config["window"] == config.window else None

    snapshot = until(shown, "the configuration is in force")
    assert isinstance(snapshot, Snapshot)
    return _shown(snapshot), token


def _shown(snapshot: Snapshot) -> dict[str, AgentSnapshot]:
    """The agents, but for when they were last heard of, and in no order of measures."""
    return {agent.agent: structs.replace(agent, last_seen=0.0) for agent in snapshot.agents}


def _differences(who: str, found: dict[str, AgentSnapshot], standing: dict[str, AgentSnapshot]) -> list[str]:
    faults = [f"{who} knows {name}, and the engine did not" for name in found.keys() - standing.keys()]
    faults += [f"{who} has forgotten {name}" for name in standing.keys() - found.keys()]
    return faults + [
        f"{who} differs about {name}: {found[name]} and {standing[name]}"
        for name in found.keys() & standing.keys()
        if found[name] != standing[name]
    ]


def _ending(engine: Engine) -> list[str]:
    """Stopped by a person it ends well, and takes its socket away."""
    engine.end()
    faults = [] if engine.exit_status == 0 else [f"the engine ended with {engine.exit_status}"]
    return faults + ([f"{engine.path} is left behind"] if Path(engine.path).exists() else [])
