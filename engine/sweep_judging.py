"""One recorded session judged under many configurations: read once, its calls identified once.

A threshold changes what is made of a call, not what it is, so fingerprints and failures are worked out once and every
configuration gets them. Each then judges with a breaker of its own, so nothing is decided here. Memory is that of the
breakers; of the session no more is kept than the calls whose results are awaited.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Literal

from msgspec import UNSET, Struct, structs

from engine.breaker import Breaker
from engine.calls import Call, Failure, Identity, Measure, Result
from engine.config import Config, Limit
from engine.failures import failure_of
from engine.fingerprints import Fingerprinter
from engine.gate import stages_of
from engine.replay import Replay, measured
from engine.replayed import ReplayedCall
from engine.session_items import ANSWERS, CallLine, Line, ResultLine, TurnLine
from engine.turn import Turn
from engine.verdicts import Decision, Outcome, Verdict, Waiting

BLOCK_LINES = 256
"""Lines judged under one configuration before the next has its turn with them."""
AWAITED_KEPT = 4096
"""Calls of one session whose results are awaited."""

Answer = Literal["as recorded", "approve", "reject", "unavailable"]
"""Who answers the asks: the session (nobody, where it is silent), or always the same."""

_ABORTED = Result(is_error=True, error_code="ABORTED")
_RAN = Result()


class Tally(Struct):
    """What one configuration made of one session."""

    calls: int = 0
    advised: int = 0
    """Advisories given."""
    asked: int = 0
    refused: int = 0
    first_gate: int | None = None
    """The number of the first call that was asked about or refused."""

    def decided(self, decision: Decision, *, asked: bool, number: int) -> None:
        """Count a call of this number, in the session's order, that is decided."""
        self.calls += 1
        if decision == "allow" and not asked:
            return
        self.asked += asked
        self.refused += decision == "deny"
        self.first_gate = number if self.first_gate is None else min(self.first_gate, number)


def judge(
    lines: Iterable[Line], configs: Sequence[Config], answers: Answer = "as recorded", *, plain: bool = False
) -> list[Tally]:
    """What each configuration makes of a session; they may differ in thresholds only.

    ``plain``: the session has no journal's lines, and so no asks that stay open: that is judged in less time.
    """
    tallies = [Tally() for _ in configs]
    benches: list[_Bench] = []
    for alike in _alike(configs, plain=plain):
        chosen, counted = [configs[index] for index in alike], [tallies[index] for index in alike]
        judge = _PlainJudge(chosen, answers, counted) if plain else _ReplayJudge(chosen[0], answers, counted[0])
        bench = next((one for one in benches if one.limits == chosen[0].limits), None)
        if bench is None:
            bench = _Bench(chosen[0].limits, [])
            benches.append(bench)
        bench.judges.append(judge)
    identified = _Identified(Fingerprinter(configs[0]))
    lines = iter(lines)
    while block := [identified.line(line) for line in islice(lines, BLOCK_LINES)]:
        for bench in benches:
            bench.take(block)
    for bench in benches:
        for one in bench.judges:
            one.end()
    return tallies


def _alike(configs: Sequence[Config], *, plain: bool) -> list[list[int]]:
    """The configurations, by their places, that one judge can judge by: those that differ only in when they advise."""
    if not plain:
        return [[index] for index in range(len(configs))]
    found: list[tuple[Config, list[int]]] = []
    for index, config in enumerate(configs):
        silent = _silent(config)
        places = next((places for known, places in found if known == silent), None)
        if places is None:
            places = []
            found.append((silent, places))
        places.append(index)
    return [places for _, places in found]


def _silent(config: Config) -> Config:
    """The same without the advice of the occurrence track, which counts nothing and refuses nothing."""
    return structs.replace(config, warn_at=None, summarize_at=None)


class _Bench(Struct):
    """The judges under the same limits: these make the measures of a call."""

    limits: Mapping[str, Limit]
    judges: list[_PlainJudge | _ReplayJudge]

    def take(self, lines: Sequence[Line]) -> None:
        measured_lines = [self._measured(line) for line in lines]
        for judge in self.judges:
            judge.take(measured_lines)

    def _measured(self, line: Line) -> Line:
        if isinstance(line, CallLine):
            identity = line.recorded.identity if line.recorded else line.identity
            if identity:
                return structs.replace(line, identity=measured(identity, self.limits))
        return line


# -- what does not depend on a threshold --------------------------------------------------------------------------


class _Identified:
    """Works out of each line what no threshold changes, and leaves out what that was worked out from."""

    def __init__(self, fingerprinter: Fingerprinter) -> None:
        self._fingerprinter = fingerprinter
        self._awaited: OrderedDict[tuple[str, str], Identity] = OrderedDict()

    def line(self, line: Line) -> Line:
        match line:
            case CallLine(recorded=None):
                return self._call(line)
            case ResultLine() if line.failure is UNSET:
                return self._result(line)
        return line

    def _call(self, line: CallLine) -> CallLine:
        if not self._fingerprinter.tracks(line.tool):
            return structs.replace(line, args={})
        identity = self._fingerprinter.identify(line.tool, line.args)
        self._awaited[line.agent, line.id] = identity
        if len(self._awaited) > AWAITED_KEPT:
            self._awaited.popitem(last=False)
        return structs.replace(line, args={}, identity=identity)

    def _result(self, line: ResultLine) -> ResultLine:
        identity = self._awaited.pop((line.agent, line.id), None)
        failure: Failure | None = None
        if identity and not line.result.aborted:
            failure = failure_of(line.result, identity)
        return structs.replace(line, result=_ABORTED if line.result.aborted else _RAN, failure=failure)


# -- judges -------------------------------------------------------------------------------------------------------


class _ReplayJudge:
    """By a replay, which knows how a journal's asks ended."""

    def __init__(self, config: Config, answers: Answer, tally: Tally) -> None:
        self._replay = Replay(config, answers)
        self._tally = tally

    def take(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self._replay.take(line)
            for call in self._replay.finished():
                self._add(call)

    def end(self) -> None:
        for call in self._replay.rest():
            self._add(call)

    def _add(self, call: ReplayedCall) -> None:
        self._tally.decided(call.verdict, asked=call.asked, number=call.number)
        self._tally.advised += len(call.advisories)


class _PlainJudge:
    """By a breaker whose asks are answered the moment they are raised, as a replay answers them.

    It judges by several configurations that differ only in when they advise: what they refuse is the same, and the
    turn itself says which of their stages a call reaches.
    """

    def __init__(self, configs: Sequence[Config], answers: Answer, tallies: Sequence[Tally]) -> None:
        self._now = 0.0
        self._config = _silent(configs[0])
        self._breaker = Breaker(self._config, attended=True, clock=lambda: self._now)
        self._outcome: Outcome | None = ANSWERS.get(answers)
        self._shared = Tally()
        self._of_each = list(zip(map(stages_of, configs), tallies, strict=True))
        self._stages = {at: stage for stages, _ in self._of_each for at, stage in stages.items()}

    def take(self, lines: Iterable[Line]) -> None:
        for line in lines:
            if isinstance(line, CallLine):
                self._call(line)
            elif isinstance(line, ResultLine):
                self._result(line)
            elif isinstance(line, TurnLine) and line.human:
                self._now = max(self._now, line.at)
                self._breaker.start_turn(line.agent)

    def end(self) -> None:
        """Give each tally what is the same for all."""
        shared = self._shared
        for _, tally in self._of_each:
            tally.advised += shared.advised
            tally.calls, tally.asked, tally.refused = shared.calls, shared.asked, shared.refused
            tally.first_gate = shared.first_gate

    def _result(self, line: ResultLine) -> None:
        self._now = max(self._now, line.at)
        advisories = self._breaker.settle(line.agent, line.id, line.result, line.failure).advisories
        if advisories:
            self._shared.advised += len(advisories)

    def _call(self, line: CallLine) -> None:
        self._now = max(self._now, line.at)
        advised = self._reached(line.agent, line.identity.measures) if line.identity else ()
        verdict = self._breaker.decide(Call(line.id, line.agent, line.tool, line.args), line.identity)
        if isinstance(verdict, Waiting):
            verdict = self._answered(verdict, self._outcome or line.answer or "unattended")
        shared = self._shared
        shared.decided(verdict.decision, asked=verdict.asked, number=shared.calls + 1)
        if advised and verdict.decision == "allow":
            for tally in advised:
                tally.advised += 1

    def _reached(self, agent: str, measures: Sequence[Measure]) -> Sequence[Tally]:
        """The tallies under whose configurations a call with these is advised, if it is allowed.

        One that hits is allowed only by an approval, which exempts what it hit.
        """
        turn = self._breaker.turn_of(agent) or Turn(self._config.window)
        notable = turn.notable(measures, self._stages)
        if not notable:
            return ()
        hit = {one.fingerprint for one in turn.hits(notable, self._config.fail_limit)}
        left = [measure for measure in notable if measure.fingerprint not in hit]
        return [tally for stages, tally in self._of_each if turn.reached(left, stages)]

    def _answered(self, waiting: Waiting, outcome: Outcome) -> Verdict:
        decided = [one for ask in waiting.asks for one in self._breaker.answer(ask, outcome)]
        return next(one.verdict for one in decided if one.ticket == waiting.ticket)
