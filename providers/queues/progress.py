"""How far a run came, out of the logs of its processes: what `--resume` and `clean` go on from.

Logs are read as they are after any crash: whole lines count, a torn last one does not. A message's flags take a byte.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntFlag
from pathlib import Path
from typing import Any

from vmtrace.formats.durable import read_lines
from vmtrace.providers.errors import ProvidersError


class Seen(IntFlag):
    """What is known of a message."""

    ATTEMPTED = 1
    SENT = 2
    RECEIVED = 4
    DELETED = 8
    REFUSED = 16


@dataclass
class Progress:
    """Flags of all messages of the plan, and counts of what lies outside of it."""

    flags: bytearray

    def count(self, wanted: Seen) -> int:
        """Messages that have all these flags."""
        return sum(self.flags.count(value) for value in range(32) if value & wanted == wanted)

    def outstanding(self) -> int:
        """Messages that may be at the service: attempted, not refused, and not deleted after they were received."""
        hits = [
            value
            for value in range(32)
            if value & Seen.ATTEMPTED and not value & Seen.DELETED and not (value & Seen.REFUSED and not value & 4)
        ]
        return sum(self.flags.count(value) for value in hits)


def progress_of(folder: Path, messages: int) -> Progress:
    """What the logs of a run say; raises `ProvidersError` for damaged ones."""
    flags = bytearray(messages)
    for path in sorted((folder / "logs").glob("*.jsonl")):
        for number, line in enumerate(_lines(path), 1):
            try:
                record = json.loads(line)
                for message, flag in _news(record):
                    flags[message] |= flag
            except (ValueError, KeyError, TypeError, IndexError) as error:
                raise ProvidersError(f"{path}: line {number} is damaged: {error}") from error
    return Progress(flags)


def _lines(path: Path) -> Iterator[str]:
    yield from read_lines(path)


def _news(record: dict[str, Any]) -> Iterator[tuple[int, int]]:
    operation = record["operation"]
    refused = {int(number) for number in record.get("refused", ())}
    if operation == "sending":
        yield from ((int(number), Seen.ATTEMPTED) for number in record["numbers"])
    elif operation == "send":
        taken = Seen.SENT if "error" not in record else Seen(0)
        yield from ((int(one), Seen.REFUSED if one in refused else taken) for one in record["numbers"])
    elif operation == "receive":
        yield from ((int(one[0]), Seen.RECEIVED) for one in record["messages"])
    elif operation == "delete" and "error" not in record:
        yield from ((int(one), Seen.DELETED) for one in record["numbers"] if one not in refused)
