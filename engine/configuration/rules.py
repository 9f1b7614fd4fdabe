"""Every setting there is: its form, and what it does. Validation, schema and ``config show`` all read this table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from engine.configuration.forms import Choice, Flag, Form, Listed, Number, Stage, Table, Text, Whole
from engine.configuration.report import Path, Report, did_you_mean, dotted, printable, shown

KINDS = ("exact", "cmd", "net", "sink", "host", "site", "family", "verb")
"""The kinds of fingerprint that a limit can cap, all of a kind or (``host:example.org``) one of them."""

FORGOTTEN_LIMITS = ("readpath", "writepath")
"""Limits of an earlier time, heard with a warning: file tools are identified by ``exact:`` alone."""

REMOVED: Mapping[str, str] = {
    "denyAfter": "set limits.exact: 2 refuses the second identical call",
    "warnAfter": "use warnAt for the advisory and limits for the gate",
    "registerAdvisory": "use warnAt: null switches the advisory off",
    "maxSamePath": "set limits.exact: a file tool's call is identified by its position in the file, not by its path",
    "readTools": "delete it: tools that read are told by their arguments",
    "matchReadBySubstring": "delete it: tools that read are told by their arguments",
}
"""Keys that a configuration must not carry any more, and what takes their place."""

IGNORED: Mapping[str, str] = {"pathAliases": "file tools are identified by exact: alone"}
"""Keys that are heard with a warning and change nothing."""

TOOLS = Listed("tool names, * as a wildcard")
LIMIT = Number(2, "switch the limit off")


class Setting(Struct, frozen=True):
    form: Form
    about: str
    """What it does, for the schema and for comments: one sentence or two, no line breaks."""


def _any_key(key: str, path: Path, report: Report) -> bool:  # noqa: ARG001 - every key is allowed
    return True


def _limit_key(key: str, path: Path, report: Report) -> bool:
    kind, colon, rest = key.partition(":")
    if kind in FORGOTTEN_LIMITS:
        report.warn(path, f"{dotted(path)} is ignored: file tools are identified by exact: alone.")
        return False
    if kind in KINDS and (rest or not colon):
        return True
    if kind in KINDS:
        hint = f"Write {kind} for all of that kind, or the whole fingerprint after the colon."
    elif key in SETTINGS:
        hint = f"{key} is a setting of its own: indent it less."
    else:
        hint = did_you_mean(kind, KINDS)
    known = ", ".join(KINDS)
    text = f"{dotted(path)} is no limit; the kinds are {known}, alone or before a colon. {hint}"
    report.problem(path, text.rstrip(), "key")
    return True


def _host_key(key: str, path: Path, report: Report) -> bool:
    HOST.read(key, path, report)
    return True


HOST = Text("a host name, without scheme and path", r"[^\s/?#@]{1,253}")

SETTINGS: Mapping[str, Setting] = {
    "window": Setting(
        Whole(4, 1_000_000), "How many of an agent's last calls are counted. A threshold above it can never be reached."
    ),
    "onLimit": Setting(
        Choice(("ask", "deny")),
        "What happens at the gate: ask the operator for an exemption, or refuse outright. Unanswered, an ask refuses.",
    ),
    "localHosts": Setting(
        Choice(("deny", "allow"), {"ask": "Asking is what the gate does: write onLimit: ask."}),
        "deny counts calls to local hosts like any other; allow leaves a purely local call only exact: and cmd:.",
    ),
    "warnAt": Setting(Stage(), "At this count the model is advised that it repeats itself."),
    "summarizeAt": Setting(Stage(), "At this count the model must write a summary and two untried approaches."),
    "failWarnAt": Setting(Stage(), "After so many failures in a row the model is advised to look at the cause."),
    "failLimit": Setting(
        Number(2, "drop the gate for failures and keep the advice"),
        "After so many failures in a row, a later call with the same fingerprint meets the gate.",
    ),
    "includeLocal": Setting(Flag(), "Whether local hosts are counted as host: too."),
    "previewChars": Setting(Whole(1, 1_000_000), "Characters of a fingerprint that a message to the model quotes."),
    "resultPreviewChars": Setting(Whole(1, 1_000_000), "Characters of the previous result that a refusal quotes."),
    "exclude": Setting(
        Listed("tool names, * as a wildcard"), "Tools that are never counted. Replaces the default list."
    ),
    "include": Setting(TOOLS, "If not empty, only these tools are counted."),
    "ignoreArgs": Setting(
        Table("tool names (or '*') to lists of argument names", Listed("argument names"), _any_key),
        "Arguments that say nothing about what a call does, by tool; '*' is for every tool. Merged over the defaults.",
    ),
    "hostAliases": Setting(
        Table(
            "host names to host names",
            HOST,
            _host_key,
            {"propertyNames": HOST.schema(), "additionalProperties": HOST.schema()},
        ),
        "Hosts that are another spelling of the same host. Merged over the defaults.",
    ),
    "limits": Setting(
        Table(
            "fingerprint kinds, or whole fingerprints, to limits",
            LIMIT,
            _limit_key,
            {
                "patternProperties": {
                    f"^(?:{'|'.join(KINDS)})(?::[\\s\\S]+)?$": LIMIT.schema(),
                    f"^(?:{'|'.join(FORGOTTEN_LIMITS)})(?::|$)": {"deprecated": True},
                },
                "additionalProperties": False,
            },
        ),
        "The count at which a fingerprint of a kind, or one whole fingerprint, meets the gate; null switches the "
        "measure off on both tracks. Merged over the defaults.",
    ),
    "shellTools": Setting(
        Listed("tool names"), "More tools that run a command line, beside the names that are known anyway."
    ),
    "askTimeout": Setting(
        Number(0, "wait for ever", above=True),
        "Seconds an ask waits for the operator before the call is refused. Hooks must answer before their harness "
        "gives up on them.",
    ),
}


TRUSTED_PROJECTS: Mapping[str, Setting] = {
    "trustedProjects": Setting(
        Listed("directories", Text("an absolute path, or one that begins with ~/", r"(?:/|~/)[^\0]*|~")),
        "Directories whose .breaker.yaml is read, those below them included. Only in the user's own file.",
    )
}
"""What a file may say beside the settings: it is about files, and no part of the configuration in force."""


def read_settings(
    mapping: Mapping[object, object], report: Report, extra: Mapping[str, Setting] = {}
) -> dict[str, Any]:
    """The settings that a mapping makes, as the configuration holds them; what is wrong goes into the report.

    ``extra``: settings that this file may make besides those of ``SETTINGS``.
    """
    read: dict[str, Any] = {}
    known = {**SETTINGS, **extra}
    for key, value in mapping.items():
        if report.full:
            break
        if isinstance(key, str) and key in known:
            read[key] = known[key].form.read(value, (key,), report)
        elif isinstance(key, str) and key in IGNORED:
            report.warn((key,), f"{key} is ignored: {IGNORED[key]}.")
        else:
            _refuse_key(key, tuple(known), report)
    return read


def _refuse_key(key: object, known: tuple[str, ...], report: Report) -> None:
    if not isinstance(key, str):
        report.problem((), f"There is the key {shown(key)}; a key must be text.")
    elif key in REMOVED:
        report.problem((key,), f"{key} was removed: {REMOVED[key]}.", "key")
    elif key in KINDS:
        report.problem((key,), f"{key} is no setting by itself. Did you mean limits.{key}?", "key")
    elif key == "<<":
        report.problem((key,), "<< is no setting: merge keys are not read here. Write the settings out.", "key")
    else:
        text = f"{printable(key) or 'An empty key'} is no setting. {did_you_mean(key, known)}"
        report.problem((key,), text.rstrip(), "key")
