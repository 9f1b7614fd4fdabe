"""An operator in a process of its own, as ``breaker attach`` is one: looks from time to time, and answers what is open.

``python -m fuzz.answering SOCKET``: SOCKET is the operators'. The token is the first line of standard input, and when
that ends the operator leaves; then it prints, as JSON, how often it answered what, and what went wrong.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from pathlib import Path
from random import Random

from engine.events import Snapshot
from engine.operator import AskNotOpenError, Operator
from engine.operator_client import connect
from fuzz.process import until

LOOK_SECONDS = 0.5
"""How long asks are left alone."""


def answer_all(operator: Operator, over: threading.Event, answers: Counter[str]) -> None:
    """Answer every open ask, one way or the other, until ``over``."""
    random = Random(1)
    while not over.wait(LOOK_SECONDS):
        feed = operator.subscribe()
        for event in until(feed.drain, "the operator is shown something"):
            for ask in event.asks if isinstance(event, Snapshot) else ():
                answers[_answer(operator, ask.id, approve=random.random() < 0.5)] += 1
        feed.close()


def _answer(operator: Operator, ask: str, *, approve: bool) -> str:
    try:
        operator.answer(ask, "approved" if approve else "rejected")
    except AskNotOpenError:
        return "too late"
    return "approved" if approve else "rejected"


def main() -> int:
    """Answer until standard input ends. 1 when something went wrong."""
    operator = connect(Path(sys.argv[1]), sys.stdin.readline().strip())
    over, answers, fault = threading.Event(), Counter[str](), ""
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    try:
        answer_all(operator, over, answers)
        operator.close()
    except Exception as failed:  # noqa: BLE001 - whatever it is, it is told to the one who judges
        fault = repr(failed)
    print(json.dumps({"answers": answers, "fault": fault}))
    return bool(fault)


if __name__ == "__main__":
    sys.exit(main())
