"""One event, one line: what of an event is written down, and how a line is read back.

Secrets are masked and long text is cut before anything reaches the disk. What decides nothing may be lost that
way (arguments, results, quotes of them); ids, fingerprints and counts stand as they were, since a turn is rebuilt
from them. Any event makes a line: text that UTF-8 cannot hold is escaped visibly, what JSON cannot hold is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import replace

from engine.calls import Failure, Streak
from engine.checkpoint import AgentState, Checkpoint
from engine.events import (
    AskClosed,
    AskOpened,
    CallDecided,
    CallSeen,
    CallSettled,
    ConfigChanged,
    Event,
    Notice,
    Refused,
    encoder,
    event_decoder,
)
from engine.masking import mask_head, mask_value
from engine.verdicts import Advisory, Hit, Refusal

TEXT_KEPT = 1000
"""Characters of one text: a command, what a tool printed, an operator's note."""
REASON_KEPT = 4000
"""Characters of what the model was told of a refusal: the whole of it, as a rule."""
VALUE_KEPT = 4000
"""Characters of a call's arguments, or of a result, taken together."""
CONFIG_KEPT = 40_000
HITS_QUOTED = 8
"""Hits of one call that keep the result they quote: a call may carry a thousand URLs."""


def line_of(event: Event) -> bytes:
    """The event as one line of a journal, its newline included. Never raises."""
    private = _PRIVATE.get(type(event))
    return _encoded(private(event) if private else event) + b"\n"


def event_of(line: bytes) -> Event:
    """Read a line. Raises ValueError that says what is wrong with it."""
    try:
        return event_decoder.decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from None


def encode_checkpoint(checkpoint: Checkpoint) -> bytes:
    """The checkpoint as a file's content, what tools and operators said in it masked and cut."""
    return _encoded(replace(checkpoint, agents=tuple(_state(state) for state in checkpoint.agents)))


_checkpoint_decoder = msgspec.json.Decoder(Checkpoint)


def decode_checkpoint(content: bytes) -> Checkpoint:
    """Read a checkpoint. Raises ValueError that says what is wrong with it."""
    try:
        return _checkpoint_decoder.decode(content)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from None


# -- what is written of each event ----------------------------------------------------------------------------


def _preview(text: str, kept: int = TEXT_KEPT) -> str:
    """The head of a text, without secrets."""
    return mask_head(text, kept) + ("…" if len(text) > kept else "")


def _value(value: Mapping[str, Any]) -> Any:
    return mask_value(value, string_chars=TEXT_KEPT, total_chars=VALUE_KEPT)


def _call_seen(event: CallSeen) -> CallSeen:
    if not event.hits and not event.advisories:
        return replace(event, args=_value(event.args))
    return replace(
        event,
        args=_value(event.args),
        hits=_hits(event.hits),
        advisories=_advisories(event.advisories),
        reason=_preview(event.reason, REASON_KEPT),
    )


def _call_decided(event: CallDecided) -> CallDecided:
    return replace(
        event,
        hits=_hits(event.hits),
        advisories=_advisories(event.advisories),
        reason=_preview(event.reason, REASON_KEPT),
    )


def _call_settled(event: CallSettled) -> CallSettled:
    return replace(
        event,
        result=_value(event.result),
        failure=_failure(event.failure),
        advisories=_advisories(event.advisories),
    )


def _ask_opened(event: AskOpened) -> AskOpened:
    return replace(event, ask=replace(event.ask, hits=_hits(event.ask.hits)))


def _ask_closed(event: AskClosed) -> AskClosed:
    return replace(event, note=_preview(event.note)) if event.note else event


def _refused(event: Refused) -> Refused:
    return replace(event, refusals=_refusals(event.refusals))


def _config_changed(event: ConfigChanged) -> ConfigChanged:
    config = mask_value(event.config, string_chars=TEXT_KEPT, total_chars=CONFIG_KEPT)
    return replace(event, config=config, error=_preview(event.error))


def _notice(event: Notice) -> Notice:
    """What went wrong inside may quote what it went wrong on."""
    return replace(event, text=_preview(event.text, REASON_KEPT))


_PRIVATE: Mapping[type, Callable[[Any], Event]] = {
    CallSeen: _call_seen,
    CallDecided: _call_decided,
    CallSettled: _call_settled,
    AskOpened: _ask_opened,
    AskClosed: _ask_closed,
    Refused: _refused,
    ConfigChanged: _config_changed,
    Notice: _notice,
}
"""Events that carry text of a tool or of the operator. The others hold names, fingerprints and our own words."""


def _state(state: AgentState) -> AgentState:
    return replace(
        state,
        streaks={one: Streak(streak.count, _masked(streak.failure)) for one, streak in state.streaks.items()},
        refusals=_refusals(state.refusals),
        results={one: _quote(text) for one, text in state.results.items()},
    )


def _hits(hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    return tuple(
        replace(hit, previous=_quote(hit.previous) if number < HITS_QUOTED else "", failure=_failure(hit.failure))
        if hit.previous or hit.failure
        else hit
        for number, hit in enumerate(hits)
    )


@lru_cache(maxsize=128)
def _quote(text: str) -> str:
    """A preview, kept: every hit of a call, and every call of a loop, quotes the same result."""
    return _preview(text)


def _advisories(advisories: tuple[Advisory, ...]) -> tuple[Advisory, ...]:
    """Only the failure track's quote a tool. The others are our own words, and owed to the model as they are."""
    return tuple(
        replace(one, text=_preview(one.text, REASON_KEPT)) if one.stage == "fail-warn" else one for one in advisories
    )


def _failure(failure: Failure | None) -> Failure | None:
    return _masked(failure) if failure else None


def _masked(failure: Failure) -> Failure:
    return replace(failure, detail=_preview(failure.detail)) if failure.detail else failure


def _refusals(refusals: tuple[Refusal, ...]) -> tuple[Refusal, ...]:
    return tuple(replace(one, note=_preview(one.note)) if one.note else one for one in refusals)


# -- encoding -------------------------------------------------------------------------------------------------


def _encoded(struct: msgspec.Struct) -> bytes:
    try:
        return encoder.encode(struct)
    except UnicodeEncodeError:
        return encoder.encode(_escaped(msgspec.to_builtins(struct)))


def _escaped(value: Any) -> Any:
    """The same without lone surrogates: each stands as the six characters of its escape."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_escaped(key): _escaped(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(item) for item in value]
    return value
