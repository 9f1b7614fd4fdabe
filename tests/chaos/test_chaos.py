"""Kill, freeze, flood, disconnect; then every call was decided once, and nothing ran or was approved without a right.

``CHAOS_SEED`` makes another storm. ``python -m tests.chaos`` lets them rage for as long as you like.
"""

from __future__ import annotations

import os

from tests.chaos.storm import Weather, rage

SEED = os.environ.get("CHAOS_SEED", "1")


def test_after_any_storm_the_books_agree():
    damage = rage(SEED, Weather())
    print(f"CHAOS_SEED={SEED}: {damage.calls} calls, {dict(damage.deeds)}")
    assert damage.faults == [], f"CHAOS_SEED={SEED}"
    assert damage.calls > 100
