"""What must hold of a call's fingerprints, and of what is masked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from random import Random
from typing import Any

import msgspec

from engine.calls import args_of
from engine.canonical import canonical
from engine.config import DEFAULTS
from engine.fingerprints import FINGERPRINT_CHARS, SINKS_KEPT, URLS_KEPT, Fingerprinter
from engine.masking import DEPTH_SHOWN, TOTAL_CHARS, mask, mask_head, mask_value
from engine.secret_signs import SECRET_NAMES
from fuzz.reading import text_of

FINGERPRINTS_MOST = 4 + SINKS_KEPT + 3 * URLS_KEPT
DECOY = "a decoy that nothing else says"
SECRET = "Zq81xK0pLw7hunter"
PLANTED = (
    *(f"--password {SECRET}", f"API_KEY={SECRET}", f'"token": "{SECRET}"', f"Authorization: Bearer {SECRET}"),
    *(f"curl https://joe:{SECRET}@e.com/x", f"curl -u joe:{SECRET} https://e.com", f"export DB_PASSWORD='{SECRET}'"),
    *(f"https://e.com/a?api_key={SECRET}", f"ghp_{SECRET}{SECRET}", f'--header "X-Auth-Token: {SECRET}"'),
)
"""A secret as secrets are written; each stands on a line of its own."""

_STRICT = Fingerprinter(DEFAULTS)
_OPEN = Fingerprinter(msgspec.structs.replace(DEFAULTS, local_hosts="allow", include_local=True, shell_tools=("run",)))


def call(data: bytes) -> None:
    """Fingerprints are bounded, masked, writable, and blind to decoys and to the order of arguments."""
    tool, args = _call_of(data)
    for fingerprinter in (_STRICT, _OPEN):
        identity = fingerprinter.identify(tool, args)
        fingerprints = identity.fingerprints
        assert len(set(fingerprints)) == len(fingerprints) <= FINGERPRINTS_MOST, "fingerprints that repeat, or too many"
        assert {one.fingerprint for one in identity.measures} <= set(fingerprints), "a measure without a fingerprint"
        for one in fingerprints:
            assert len(one) <= FINGERPRINT_CHARS, f"a fingerprint of {len(one)} characters"
            one.encode()
        disguised = {"description": DECOY, **dict(reversed(list(args.items()))), "timeoutMs": 5}
        if not {"description", "timeoutMs"} & set(args):
            assert fingerprinter.identify(tool, disguised) == identity, "a decoy changes what the call is"


def _call_of(data: bytes) -> tuple[str, Mapping[str, Any]]:
    """A tool's name on a line, then its arguments as JSON, or a text that stands for all of them."""
    name, _, rest = data.partition(b"\n")
    try:
        args = args_of(json.loads(rest))
    except (ValueError, RecursionError):
        text = text_of(rest)
        args = {"command": text, "url": text, "prompt": text}
    return text_of(name), args


def secret(data: bytes) -> None:
    """A secret that is written as secrets are is hidden, whatever stands on the lines around it."""
    text = text_of(data).replace(SECRET, "")  # a driver that looks at comparisons learns it
    half = len(text) // 2
    before, behind = _without_openings(text[:half]), text[half:]
    planted = PLANTED[len(data) % len(PLANTED)]
    command = f"{before}\n{planted}\n{behind}"
    masked = mask(command)
    assert SECRET not in masked, f"{planted!r} is not masked"
    assert mask(masked) == masked, "masking again changes it"
    fingerprints = _STRICT.identify("bash", {"command": command}).fingerprints
    assert not any(SECRET in one for one in fingerprints), f"{planted!r} is in a fingerprint"
    for chars in (0, 10, 400):
        head = mask_head(command, chars)
        assert len(head) <= chars, "a head longer than asked for"
        assert SECRET not in head, f"{planted!r} is in a head"


def _without_openings(text: str) -> str:
    """The text without what would make the next line part of it: in quotes a secret is written otherwise."""
    return "".join(one for one in text if one not in "'\"`\\({<")


def value(data: bytes) -> None:
    """A JSON value has one canonical text, which is JSON; its preview is JSON, bounded, and hides what it must."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = {"text": text_of(data), text_of(data[:20]): [text_of(data[20:])]}
    text = canonical(found)
    text.encode()
    read = json.loads(text) if _nests_little(text) else None
    if read is not None:
        assert canonical(read) == text or _holds_giants(text), "the canonical text is not its own"
        shuffled = _shuffled(found, Random(len(data)))
        assert canonical(shuffled) == text, "the order of keys changes the text"
    preview = mask_value({"secret": "", "value": found})
    shown = json.dumps(preview)
    assert len(shown) <= 20 * TOTAL_CHARS, f"a preview of {len(shown)} characters"
    _hidden(preview, found, DEPTH_SHOWN)


def _hidden(preview: Any, found: Any, depth: int) -> None:
    hidden = mask_value(dict.fromkeys(SECRET_NAMES, SECRET))
    assert SECRET not in json.dumps(hidden)
    nested = mask_value({"auth": {"any": [found, SECRET]}})
    assert SECRET not in json.dumps(nested), "a secret under a telling name is shown"


def _nests_little(text: str) -> bool:
    return text.count("[") + text.count("{") < 300


def _holds_giants(text: str) -> bool:
    """Whole numbers that no float holds are texts of their own."""
    return '"0x' in text or "e+" in text or "\\u" in text


def _shuffled(item: Any, random: Random) -> Any:
    if isinstance(item, dict):
        names = list(item)
        random.shuffle(names)
        return {name: _shuffled(item[name], random) for name in names}
    return [_shuffled(one, random) for one in item] if isinstance(item, list) else item
