"""JSON at the edge: records as others wrote them, of which nothing may be believed before it was looked at."""

import json
import math
import re
from datetime import UTC, datetime
from typing import Any

Record = dict[str, Any]

_TOO_LATE_S = 253_402_300_799  # the end of the year 9999: more is no time, but a number of another unit


def parse(text: bytes, name: str) -> Any:
    """JSON as it is; ValueError, in one line with the name, for anything else."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name}: not JSON: {error}") from None


def record(value: object) -> Record:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def records(value: object) -> list[Record]:
    """The objects in a list; nothing if it is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(value: object) -> str | None:
    """A string that says something, as one line; else none."""
    return " ".join(value.split()) or None if isinstance(value, str) else None


def number(value: object) -> float | None:
    """A finite number; else none. `true` is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def whole(value: object) -> int | None:
    """A whole number; else none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def instant_ns(value: object) -> int | None:
    """Unix nanoseconds of a time as boto3 (datetime), the AWS CLI (ISO 8601) or a wire format (seconds) has it."""
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        if isinstance(value, datetime):
            moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
            return _whole_microseconds(moment) * 1000
    except (ValueError, OverflowError):
        return None
    seconds = number(value)
    return round(seconds * 1e6) * 1000 if seconds is not None and 0 <= seconds <= _TOO_LATE_S else None


def iso(time_ns: int) -> str:
    """`2026-11-21T14:05:00Z`; with microseconds where there are any."""
    return moment(time_ns).isoformat().replace("+00:00", "Z")


def moment(time_ns: int) -> datetime:
    """The time as boto3 takes it."""
    return datetime.fromtimestamp(time_ns // 10**9, UTC).replace(microsecond=time_ns % 10**9 // 1000)


def as_json(value: object) -> str:
    """For `json.dumps(default=...)`: times as ISO 8601, whatever else a server made boto3 give as its text."""
    found = instant_ns(value) if isinstance(value, datetime) else None
    return iso(found) if found is not None else str(value)


def one_line(message: object) -> str:
    """A stranger's words as one printable line of bearable length."""
    line = re.sub(r"[^\x20-\x7e]+", " ", " ".join(str(message).split()))
    return line if len(line) <= 300 else line[:297] + "..."


def _whole_microseconds(value: datetime) -> int:
    since = value - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 10**6 + since.microseconds
