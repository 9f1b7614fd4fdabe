"""Storms, one after another: ``python -m tests.chaos [SECONDS] [SEED]``."""

from __future__ import annotations

import random
import sys
import time
from collections import Counter

from fuzz.process import end_well, say
from tests.chaos.storm import Weather, rage


def main(seconds: str = "600", seed: str = "") -> int:
    """Let storms of growing number rage for so long. 1 when the books do not agree."""
    seed = seed or f"{random.SystemRandom().getrandbits(32):x}"
    started, number, calls = time.monotonic(), 0, 0
    deeds: Counter[str] = Counter()
    while (left := float(seconds) - (time.monotonic() - started)) > 0 or not number:
        number += 1
        long = min(60.0, max(left - 10, 5))
        weather = Weather(seconds=long, agents=48, kills=int(long / 8), freezes=int(long / 4), reloads=int(long / 3))
        damage = rage(f"{seed}-{number}", weather)
        calls += damage.calls
        deeds.update(damage.deeds)
        say(f"storm {seed}-{number}: {damage.calls} calls, {len(damage.faults)} faults, {dict(damage.deeds)}")
        for fault in damage.faults[:20]:
            say(f"  {fault:.1000}")
        if damage.faults:
            return 1
    say(f"{number} storms, {calls} calls: {dict(deeds)}: the books agree")
    return 0


if __name__ == "__main__":
    end_well()
    sys.exit(main(*sys.argv[1:]))
