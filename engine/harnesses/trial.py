"""A hook run for real, as its harness runs it, with a payload that concerns no call."""

from __future__ import annotations

import http.client
import statistics
import subprocess
import time
from pathlib import Path

from msgspec import Struct

from engine.client import Client, UnreachableError
from engine.harnesses.endpoint import HOST
from engine.harnesses.handlers import Installed
from engine.harnesses.hooks import TRIAL_ANSWER, TRIAL_EVENT
from engine.hook import NO_ENGINE

RUNS = 7
SECONDS = 15.0
"""How long one run may take."""

_PAYLOAD = f'{{"hook_event_name":"{TRIAL_EVENT}"}}'.encode()


class Trial(Struct, frozen=True):
    """How it went: ``answered`` by an engine or not, in how many milliseconds (median), or what was wrong."""

    answered: bool
    milliseconds: float = 0.0
    fault: str = ""


def run_trial(hook: Installed) -> Trial:
    """Run this hook a few times. Never raises."""
    once = _post if hook.url else _ask if hook.plugin else _spawn
    times: list[float] = []
    for _ in range(RUNS):
        began = time.perf_counter()
        try:
            printed = once(hook)
        except subprocess.TimeoutExpired:
            return Trial(answered=False, fault=f"it gave no answer within {SECONDS:g} seconds")
        except (OSError, http.client.HTTPException, ValueError, UnreachableError) as error:
            return Trial(answered=False, fault=str(error) or type(error).__name__)
        times.append((time.perf_counter() - began) * 1000)
        if printed.strip() != TRIAL_ANSWER:
            return Trial(answered=False, fault=_found_out(printed))
    return Trial(answered=True, milliseconds=statistics.median(times))


def _found_out(printed: str) -> str:
    if not printed.strip() or NO_ENGINE in printed:
        return "no engine answers at its socket"
    return f"it printed {printed.strip()[:200]!r}"


def _spawn(hook: Installed) -> str:
    command = str(hook.handler.get("command"))
    done = subprocess.run(  # noqa: S602 - a line that we installed, run as its harness runs it
        command, shell=True, input=_PAYLOAD, capture_output=True, timeout=SECONDS, check=False
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()[:200]
        raise OSError(f"it ended with exit code {done.returncode}{': ' if said else ''}{said}")
    return done.stdout.decode("utf-8", "replace")


def _ask(bridge: Installed) -> str:
    """What the plugin does at every call, but for the harness around it."""
    with Client("", socket=Path(str(bridge.handler.get("socket")))) as client:
        client.status()
    return TRIAL_ANSWER


def _post(hook: Installed) -> str:
    endpoint = hook.endpoint
    if endpoint is None:
        raise ValueError("its URL is none of ours")
    connection = http.client.HTTPConnection(HOST, endpoint.port, timeout=SECONDS)
    try:
        connection.request("POST", hook.url.partition(str(endpoint.port))[2], _PAYLOAD)
        response = connection.getresponse()
        body = response.read(4096).decode("utf-8", "replace")
    except ConnectionRefusedError as error:
        raise OSError(
            f"nothing listens at {HOST}:{endpoint.port}. Start the engine, anew if one is running: it listens there "
            "from its start"
        ) from error
    finally:
        connection.close()
    if response.status != http.client.OK:
        raise OSError(
            f"the engine answered with HTTP status {response.status}; was it started before the installation?"
        )
    return body
