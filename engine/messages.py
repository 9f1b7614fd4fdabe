"""The words the model and the operator read.

Whatever a tool, a result or an operator's note contained, a message to the model holds no tool-call markup, no
control or invisible character and no head of ours but its own: what is quoted passes ``defang``, is cut, and
stands behind ``|``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from engine.calls import Failure, Result
from engine.config import Config
from engine.failures import describe, printed, short
from engine.masking import mask_head
from engine.verdicts import Hit, Outcome, Refusal, Stage

REFUSED = "REPEAT_TOOL_BLOCKED"
ADVISED = "CONVERGENCE_CHECK"

HITS_NAMED = 8
"""A call may carry a thousand URLs; the model needs the first few and the number."""
RESULTS_QUOTED = 2
NOTE_CHARS = 1000
NAME_CHARS = 80
FIRST_LINE_CHARS = 60

_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2028-\u202e\u200b-\u200f"
    r"\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\ud800-\udfff\ue000-\uf8ff"
    r"\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
)
"""Control, bidirectional, zero-width, filler, tag, private and unpaired characters; tab and newline stay."""
_BRACKET = re.compile(r"\[(?=[\s/]*+(?:[A-Za-z_]|\Z))")
_HEADS = re.compile(r"(REPEAT|CONVERGENCE)_(TOOL_BLOCKED|CHECK)", re.IGNORECASE)
_LOOK_ALIKES = (
    dict.fromkeys("＜﹤", "‹")
    | dict.fromkeys("＞﹥", "›")
    | {"［": "⟦", "﹇": "⟦", "｀": "'", "\u1fef": "'", "～": "-", "✿": "*"}
)
"""What a tokenizer that folds compatibility forms would make one of the signs above again."""


def defang(text: str) -> str:
    """The text, unable to be taken for anything but text; as long as it was. Linear.

    Angle brackets are what every XML-like call and every special token needs, ``[`` before a word what the
    bracketed ones need, a run of three backticks what a fenced one needs.
    """
    text = text.replace("<", "‹").replace(">", "›")
    if not text.isascii():
        for sign, plain in _LOOK_ALIKES.items():
            text = text.replace(sign, plain)
    if "[" in text:
        text = _BRACKET.sub("⟦", text)
    text = text.replace("```", "'''").replace("~~~", "---")
    if "_" in text:
        text = _HEADS.sub(lambda head: head[0].replace("_", "-"), text)
    return _UNSEEN.sub("\ufffd", text)


def preview(result: Result, limit: int) -> str:
    """The head of what a tool printed, raw, in at most ``limit`` characters and an ellipsis; how it ended if it
    printed nothing."""
    text = printed(result)
    if text and not text.isspace():
        return text if len(text) <= limit else _cut(text, limit) + "…"
    code = short(result.value.get("exitCode"))
    return f"(no output, exit code {code})"[: limit + 1] if code else ""


def _cut(text: str, limit: int) -> str:
    """The head of a text. A password in a URL that is cut before its ``@`` could be known for none any more."""
    head = text[:limit]
    word = max(head.rfind(" "), head.rfind("\n")) + 1
    return mask_head(text, limit) if head.find("://", word) >= 0 else head


# -- to the model -----------------------------------------------------------------------------------------------


def repeat_advice(stage: Stage, fingerprint: str, count: int, cap: float, config: Config) -> str:
    """The advisory of a stage of the occurrence track."""
    name = _name(fingerprint, config)
    gate = "the operator is asked" if config.on_limit == "ask" else "it is refused"
    head = f"{ADVISED}: {count} of your latest calls (at most {config.window} are counted) were {name}."
    ahead = f"At {_number(cap)} {gate}."
    if stage == "warn":
        return (
            f"{head} {ahead}\n"
            "Is this route getting you anywhere? If not, change the route now rather than the wording of the call."
        )
    return (
        f"{head} {ahead}\n"
        "Before the next call, write a short summary for the user:\n"
        "1. Established: which facts you now hold, and what each rests on.\n"
        "2. Unverified: what you have been taking for granted.\n"
        "3. Failed: what you tried without success, and the likely reason.\n"
        "4. Untried: two approaches you have not used yet, and the one you choose.\n"
        "Then go on with the one you chose, not with one from point 3. If there is really much to get through, take "
        "larger batches per call: more pages, more lines, more items at a time."
    )


def failure_advice(fingerprint: str, count: int, failure: Failure, config: Config) -> str:
    """The advisory of the failure track: what fails, and why."""
    name = _name(fingerprint, config)
    return (
        f"{ADVISED}: {name} failed {count} times in a row; the last one {_inline(describe(failure), NAME_CHARS * 2)}.\n"
        "Another attempt of the same kind will most likely end the same way. First:\n"
        "1. Read the last error, and say in one sentence what it states.\n"
        "2. Check that what it concerns exists: the path, the host, the command, the argument.\n"
        "3. Repair the cause, or leave this target and take another way."
    )


def refusal_text(tool: str, hits: Sequence[Hit], refusal: Refusal | None, config: Config) -> str:
    """What the model is told of a call that was refused. ``refusal`` is how it was decided, None for the limit
    alone (``onLimit: deny``)."""
    lines = [f"{REFUSED}: this {_inline(tool, NAME_CHARS) or 'tool'} call was not run. What brought it to the limit:"]
    lines.extend(_hit_line(hit, config) for hit in hits[:HITS_NAMED])
    if len(hits) > HITS_NAMED:
        lines.append(f"- and {len(hits) - HITS_NAMED} more")
    lines.append(_decided(refusal))
    if refusal and refusal.note:
        lines.append(f"The operator's note to you:\n{_quoted(refusal.note, NOTE_CHARS)}")
    lines.append(
        "Another description, timeout, flag, order of arguments or spelling of the host is the same action to this "
        "count, not a new one."
    )
    lines.extend(_previous(hits, config))
    lines.append(_still_allowed(hits))
    return "\n".join(lines)


def _hit_line(hit: Hit, config: Config) -> str:
    name = _name(hit.fingerprint, config)
    if hit.track == "repeat":
        return f"- {name}: {hit.count} of {_number(hit.cap)} allowed in the last {config.window} calls"
    why = f"; the last one {_inline(describe(hit.failure), NAME_CHARS * 2)}" if hit.failure else ""
    return f"- {name}: failed {hit.count} times in a row{why}"


_HOW: dict[Outcome, str] = {
    "rejected": "The operator was asked this turn and said no.",
    "unattended": "Only an operator could have let it pass, and nobody was there to be asked.",
    "timed_out": "The operator was asked, and gave no answer in time.",
    "cancelled": "It was withdrawn while it waited for the operator's answer.",
    "approved": "It was refused although the operator had approved a measure of it.",
}


def _decided(refusal: Refusal | None) -> str:
    if refusal is None:
        return "The limit decides here, without asking anybody. A message from a human clears the counts."
    how = _HOW[refusal.outcome]
    if not refusal.fingerprint and refusal.outcome == "cancelled":
        return how
    return f"{how} These measures stay refused until the next message from a human."


def _previous(hits: Sequence[Hit], config: Config) -> list[str]:
    """The last result of the measures that hit, each different one once."""
    first_with: dict[str, str] = {}
    for hit in hits:
        if hit.previous and hit.previous not in first_with:
            first_with[hit.previous] = hit.fingerprint
            if len(first_with) == RESULTS_QUOTED:
                break
    return [
        f"The last result of {_name(fingerprint, config)}:\n{_quoted(previous, config.result_preview_chars + 1)}"
        for previous, fingerprint in first_with.items()
    ]


def _still_allowed(hits: Iterable[Hit]) -> str:
    if any(hit.fingerprint.startswith("host:") for hit in hits):
        reach = "calls that do not go to the hosts named above (every path on them is included)"
    else:
        reach = "calls to something else than what is named above"
    return (
        f"Still allowed: {reach}, such as reading a file or a log, or searching the code. Work with the results you "
        "have, take a different way, or tell the user what you know and what stands in your way."
    )


# -- to the operator --------------------------------------------------------------------------------------------


def because(hit: Hit) -> str:
    """Why a measure is at the gate, in one line."""
    if hit.track == "failure":
        last = f"; the last {_inline(describe(hit.failure), NAME_CHARS * 2)}" if hit.failure else ""
        return f"{hit.count} failures in a row{last}"
    said = next((line for line in hit.previous.splitlines() if line.strip()), "")
    last = f"; the last gave: {_inline(said.strip(), FIRST_LINE_CHARS)}" if said else ""
    return f"{hit.count} of {_number(hit.cap)} calls in its window{last}"


def approval_covers(agent_label: str, fingerprints: Sequence[str]) -> str:
    """What an approval does."""
    return (
        f"stops counting {_listed(fingerprints)} for {_inline(agent_label, NAME_CHARS)} until your next message to it"
    )


def rejection_means(agent_label: str, fingerprints: Sequence[str]) -> str:
    """What a rejection does."""
    return (
        f"refuses {_listed(fingerprints)} to {_inline(agent_label, NAME_CHARS)} until your next message to it; "
        "the model is told why"
    )


def _listed(fingerprints: Sequence[str]) -> str:
    named = [_inline(fingerprint, NAME_CHARS * 2) for fingerprint in fingerprints[:HITS_NAMED]]
    if len(fingerprints) > HITS_NAMED:
        named.append(f"{len(fingerprints) - HITS_NAMED} more")
    return ", ".join(named[:-1]) + " and " + named[-1] if len(named) > 1 else "".join(named)


# -- quoting ----------------------------------------------------------------------------------------------------


def _name(fingerprint: str, config: Config) -> str:
    return _inline(fingerprint, config.preview_chars)


@lru_cache(maxsize=512)
def _inline(text: str, limit: int) -> str:
    """Defanged and cut, on one line. Cached: an agent in a loop is refused with the same words."""
    head = text[:limit].replace("\n", " ").replace("\t", " ")
    return defang(head) + (f"… (+{len(text) - limit} characters)" if len(text) > limit else "")


@lru_cache(maxsize=64)
def _quoted(text: str, limit: int) -> str:
    """Defanged and cut, every line behind a bar."""
    head = defang(text[:limit]).replace("\n", "\n| ")
    return f"| {head}" + ("…" if len(text) > limit else "")


def _number(cap: float) -> str:
    return str(int(cap)) if -1e15 < cap < 1e15 and cap == int(cap) else str(cap)
