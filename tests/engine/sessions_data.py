"""The recorded sessions of ``tests/data``, and how their expectations are compared."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from engine.session_items import Line
from engine.sessions import read_session

DATA = Path(__file__).parent.parent / "data"


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def session(events: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(event) + "\n" for event in events).encode()


def lines(events: Iterable[Mapping[str, Any]]) -> Iterable[Line]:
    return read_session(io.BytesIO(session(events)))


def any_text(fingerprint: str) -> str:
    """``cmd:VERB:*`` for a command: how its text is spelled is no part of what a trace expects."""
    kind, _, rest = fingerprint.partition(":")
    return f"cmd:{rest.partition(':')[0]}:*" if kind == "cmd" else fingerprint


def verdict_of(call: Mapping[str, Any], like: Mapping[str, Any]) -> dict[str, Any]:
    """A replayed call in the form in which two are compared: as much of it as the expectation ``like`` fixes."""
    capped = {hit["track"] for hit in like["hits"] if "cap" in hit}
    return {
        "id": call["id"],
        "verdict": call["verdict"],
        "asked": call["asked"],
        **({"outcome": call["outcome"]} if "outcome" in like else {}),
        "hits": {
            (hit["track"], any_text(hit["fp"]), hit["count"], hit["cap"] if hit["track"] in capped else None)
            for hit in call["hits"]
        },
        "advisories": [(one["stage"], any_text(one["fp"]), one["count"]) for one in call["advisories"]],
    }
