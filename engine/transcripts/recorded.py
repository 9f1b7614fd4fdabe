"""Our own journals and sessions among the formats: ``engine.sessions`` reads both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.session_items import moment_of
from engine.sessions import KNOWN_TYPES, SessionReader
from engine.transcripts.format import Format, name_of


def _claims_journal(entry: Mapping[str, Any]) -> bool:
    """Every event has its time; a journal's calls are numbered."""
    kind = name_of(entry.get("type"))
    timed = kind in KNOWN_TYPES and moment_of(entry.get("at")) > 0
    return timed and (kind not in {"call", "result"} or "ticket" in entry) and (kind != "turn" or "turn" in entry)


def _claims_session(entry: Mapping[str, Any]) -> bool:
    kind = name_of(entry.get("type"))
    return kind in KNOWN_TYPES and (kind != "call" or "tool" in entry) and (kind != "result" or "result" in entry)


JOURNAL = Format("a journal", "", _claims_journal, SessionReader)
SESSION = Format("a session", "", _claims_session, SessionReader)
