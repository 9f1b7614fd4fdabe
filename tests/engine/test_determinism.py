"""The same calls give the same events, in the same order and to the letter, in every process.

Python hashes text differently in each, so what goes through a set may come out in another order: an engine that goes on
from its journal would then not stand where the one before it stood.
"""

from __future__ import annotations

import os
import subprocess
import sys

from tests.engine.sockets import ROOT

SESSION = """
from itertools import islice
from random import Random

from engine.breaker import Breaker
from engine.calls import Call, result_of
from engine.journal_lines import encode_checkpoint, line_of
from tests.engine.steps import TIGHT, steps_at_random, take

breaker = Breaker(TIGHT, attended=True, clock=lambda: 0.0, listener=lambda event: print(line_of(event)))
for step in islice(steps_at_random(Random(7)), 1500):
    take(breaker, step)
for name in "hgfedcba":
    breaker.start_agent(name, parent="top")
    breaker.start_agent(name + name, parent=name)
breaker.decide(Call("c", "top", "bash", {"command": "curl -d x=1 https://a.example/1 https://b.example/2 > out.txt"}))
value = {"exitCode": 3, "statusCode": 404, "timedOut": False, "signal": "TERM", "url": "u", "jobId": "j", "kind": "k"}
breaker.settle("top", "c", result_of({"isError": True, "value": value}))
print(encode_checkpoint(breaker.checkpoint()))
breaker.end_agent("top")
"""


def events_under(seed: int) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SESSION]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60).stdout


def test_no_order_depends_on_how_text_is_hashed() -> None:
    first = events_under(1)
    assert first.count('"agent-end"') >= 17
    for seed in range(2, 6):
        assert events_under(seed) == first
