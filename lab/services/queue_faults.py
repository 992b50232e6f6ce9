"""What the queue proxy does to which message: its script, and SQS's JSON messages edited by it. Pure: no clock, no I/O.

A rule is about one message, by its number, and an operation on it. The proxy reads numbers in the bodies of messages
that vmtrace makes (`vmtrace1.RUN.NUMBER.DUE_NS.SENT_NS...`); of others it knows nothing, and lets them pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

_MARK = "vmtrace1"


class Fate(StrEnum):
    """What happens to a message."""

    DROP = "drop"  # its send is acknowledged, and never reaches the service
    LATE_SEND = "late_send"  # its send is passed on `delay_s` late
    HOLD = "hold"  # its delivery is held back for `delay_s`: others come first
    REPEAT = "repeat"  # it is delivered once more, in the next response that has room
    LATE_DELETE = "late_delete"  # its deletion is passed on `delay_s` late
    UNDELETE = "undelete"  # its deletion is acknowledged, and it is delivered once more after that
    THROTTLE = "throttle"  # its send is refused `times` times


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the script."""

    number: int
    fate: Fate
    delay_s: float = 0.0
    times: int = 1


@dataclass(frozen=True, slots=True)
class Marks:
    """What a message of vmtrace says of itself."""

    number: int
    due_ns: int
    sent_ns: int


def to_json(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    """The script as the proxy's settings hold it."""
    return [asdict(rule) for rule in rules]


def from_json(documents: Iterable[Mapping[str, Any]]) -> list[Rule]:
    """The script out of the proxy's settings."""
    return [Rule(**{**document, "fate": Fate(document["fate"])}) for document in documents]


def marks_of(body: str) -> Marks | None:
    """The number and the times in a message's body; None for another's message."""
    parts = body.split(".", 5)
    if len(parts) < 6 or parts[0] != _MARK or not all(part.isdigit() for part in parts[2:5]):
        return None
    return Marks(int(parts[2]), int(parts[3]), int(parts[4]))


class Script:
    """The rules with what is left of them."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = {(rule.number, rule.fate): rule for rule in rules}
        self._used: dict[tuple[int, Fate], int] = {}

    def applies(self, number: int, fate: Fate) -> Rule | None:
        """The rule for this message, which is then used up by one; None where there is none, or no more."""
        rule = self._rules.get((number, fate))
        used = self._used.get((number, fate), 0)
        if rule is None or used >= rule.times:
            return None
        self._used[number, fate] = used + 1
        return rule


def entries_of(operation: str, request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages of a send, or the handles of a delete: one, or those of a batch."""
    return list(request.get("Entries", [])) if operation.endswith("Batch") else [dict(request)]


def without(operation: str, request: Mapping[str, Any], left_out: set[int]) -> dict[str, Any] | None:
    """The request without some of its entries, by place; None if nothing is left of it."""
    if not operation.endswith("Batch"):
        return None if left_out else dict(request)
    kept = [entry for place, entry in enumerate(request["Entries"]) if place not in left_out]
    return {**request, "Entries": kept} if kept else None


def acknowledged(operation: str, response: Mapping[str, Any], entries: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The response as if these entries had been taken, too."""
    if operation == "SendMessage":
        (entry,) = entries
        return _taken(entry)
    if operation == "DeleteMessage":
        return {}
    sends = operation.startswith("Send")
    more = [{"Id": entry["Id"], **(_taken(entry) if sends else {})} for entry in entries]
    return {**response, "Successful": [*response.get("Successful", []), *more]}


def _taken(entry: Mapping[str, Any]) -> dict[str, Any]:
    digest = hashlib.md5(entry["MessageBody"].encode(), usedforsecurity=False).hexdigest()
    return {"MessageId": f"dropped-{digest}", "MD5OfMessageBody": digest}
