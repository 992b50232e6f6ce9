"""Values of options that runs against services share; an error is one line that names the option."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from vmtrace.formats.quantities import duration_s

T = TypeVar("T")


def read_option(option: str, text: str | None, read: Callable[[str], T]) -> T | None:
    """The value of an option, None if it is not given; raises the `UsageError` of providers."""
    return None if text is None else required(option, text, read)


def required(option: str, text: str, read: Callable[[str], T]) -> T:
    """The value of an option that is given."""
    from vmtrace.providers import errors

    try:
        return read(text)
    except ValueError as error:
        raise errors.UsageError(f"{option}: {error}") from None


def amount(text: str) -> float:
    """Of money."""
    value = float(text)
    if not 0 <= value < math.inf:
        raise ValueError(f"{text!r}: expected an amount of 0 or more")
    return value


def factor(text: str) -> float:
    """That a plan is multiplied by."""
    value = float(text)
    if not 0 < value <= 1000:
        raise ValueError(f"{text!r}: expected a number above 0, and at most 1000")
    return value


def repeats(text: str) -> int:
    """How often a plan is done."""
    value = int(text)
    if not 1 <= value <= 100_000:
        raise ValueError(f"{text!r}: expected a whole number from 1 to 100000")
    return value


def number_within(least: float, most: float) -> Callable[[str], float]:
    """Reads a number between these."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise ValueError(f"{text!r}: expected a number from {least:g} to {most:g}")
        return value

    return read


def time_within(most_s: float) -> Callable[[str], float]:
    """Reads a time above zero, and not longer than this."""

    def read(text: str) -> float:
        value = duration_s(text)
        if not 0 < value <= most_s:
            most = "" if math.isinf(most_s) else f", up to {most_s:g} s"
            raise ValueError(f"{text!r}: expected a time above 0{most}")
        return value

    return read


def check_ca_bundle(path: Path | None) -> None:
    """Raises the `UsageError` of providers for a file that is not there."""
    from vmtrace.providers import errors

    if path is not None and not path.is_file():
        raise errors.UsageError(f"--ca-bundle {path}: there is no such file")


def instant_ns(text: str, *, zone_needed: bool = False) -> int:
    """Unix nanoseconds of a time as ISO 8601 writes it; without a zone it is UTC, unless a zone is needed."""
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r}: expected a time such as 2030-01-01T12:00Z") from None
    if moment.tzinfo is None:
        if zone_needed:
            raise ValueError(f"{text!r}: add the time zone, as Z or +02:00: hosts may be in several")
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1e9)


def checked_url(url: str) -> None:
    """Raises the `UsageError` of providers for an endpoint that is none, or that has credentials in it."""
    from vmtrace.providers import errors

    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise errors.UsageError(f"--endpoint-url {url}: expected a URL with http:// or https:// and a host")
    try:
        _ = parts.port
    except ValueError as error:
        raise errors.UsageError(f"--endpoint-url {url}: {error}") from error
    if parts.username or parts.password or parts.query:
        raise errors.UsageError("--endpoint-url: leave credentials and tokens out of it: the SDK finds them on its own")
