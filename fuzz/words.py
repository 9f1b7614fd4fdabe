"""What must hold of results, and of everything that quotes them to a model."""

from __future__ import annotations

import json
import unicodedata

from engine.calls import Failure, Identity, Result, result_of
from engine.config import DEFAULTS
from engine.failures import DETAIL_CHARS, failure_of
from engine.messages import ADVISED, REFUSED, because, defang, failure_advice, preview, refusal_text, repeat_advice
from engine.reports import result_preview
from engine.verdicts import Hit, Refusal
from fuzz.reading import text_of

LIMIT = DEFAULTS.result_preview_chars
REFUSAL_MOST = 12_000
_SHELLS = (
    Identity((), (), shell=True, asks_http_code=True),
    Identity((), (), shell=True, reads_only=True),
    Identity((), ()),
)
_MARKUP = ("<", ">", "```", "~~~", "\x1b", "\r", "\u202e", "\u2028", "\0")


def result(data: bytes) -> None:
    """A result is read, and what is said of it is short, plain, and nobody else's voice."""
    read = _result_of(data)
    said = preview(read, LIMIT)
    assert len(said) <= LIMIT + 1, "a preview longer than asked for"
    json.dumps(result_preview(read))
    assert failure_of(read, _SHELLS[2]) is None or failure_of(read, _SHELLS[0]) is not None, "a shell hides a failure"
    failures = [failure_of(read, identity) for identity in _SHELLS]
    for failure in failures:
        if failure is None:
            continue
        assert len(failure.detail) <= DETAIL_CHARS + 3, "a detail that is no detail"
        _is_inert(failure_advice("host:e.com", 3, failure, DEFAULTS), ADVISED)
    _refusals(data, said, next((one for one in failures if one), Failure("exit", "1")))


def _result_of(data: bytes) -> Result:
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        raw = {"content": [{"type": "text", "text": text_of(data)}], "error": {"code": text_of(data[:200])}}
    return result_of(raw)


def _refusals(data: bytes, said: str, failure: Failure) -> None:
    """Hostile text in every place that a refusal quotes."""
    text = text_of(data)
    hits = (
        Hit("failure", f"cmd:{text}"[:512], 5, 5, failure, said),
        Hit("repeat", f"exact:{text}"[:512], 12, 12, previous=text),
    )
    for outcome in ("rejected", "cancelled"):
        refusal = Refusal("" if outcome == "cancelled" else hits[0].fingerprint, outcome, text)
        _is_inert(refusal_text(text, hits, refusal, DEFAULTS), REFUSED)
    _is_inert(repeat_advice("warn", f"sink:{text}"[:512], 7, 12, DEFAULTS), ADVISED)
    for hit in hits:
        assert "\n" not in because(hit), "a reason of two lines"
        _is_plain(because(hit))


def _is_inert(text: str, head: str) -> None:
    """Nothing in it can be taken for anything but a message of ours."""
    assert len(text) <= REFUSAL_MOST, f"a message of {len(text)} characters"
    assert text.startswith(head), "a message without its head"
    heads = sum(text.upper().count(one) for one in (REFUSED, ADVISED))
    assert heads == 1, "a second head"
    _is_plain(text)


def _is_plain(text: str) -> None:
    found = [one for one in _MARKUP if one in text and one not in {"<", ">", "\r", "\0"}]
    assert not found, f"{found} in a message"
    folded = unicodedata.normalize("NFKC", text)
    assert not any(one in folded for one in ("```", "~~~")), "markup once it is folded"


def defanged(data: bytes) -> None:
    """Defanged text is as long as it was, the same when defanged again, and holds no markup however it is folded."""
    text = text_of(data)
    plain = defang(text)
    assert len(plain) == len(text), "defanging changes the length"
    assert defang(plain) == plain, "defanging again changes it"
    assert not any(one in plain for one in _MARKUP), "markup is left"
    folded = unicodedata.normalize("NFKC", plain)
    assert not any(one in folded for one in _MARKUP), "markup is left once it is folded"
    head = plain.upper()
    assert REFUSED not in head, "a head of ours is left"
    assert ADVISED not in head, "a head of ours is left"
    assert all(unicodedata.category(one) not in {"Cc", "Cf", "Cs", "Co"} or one in "\t\n" for one in plain), "unseen"
