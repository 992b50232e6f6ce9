"""How captures are to be read, and what is no way to read them."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from vmtrace.analyze import _engine
from vmtrace.analyze.read.grouping import Grouping

MOST_THREADS = 1024

MOST_OVERSIZE_ABS_MS = 1e9
"""Eleven days."""


class Options(NamedTuple):
    """How to read."""

    filter: str | None = None
    """Only packets that match this BPF expression (`tcp port 443`); needs libpcap."""
    threads: int = 0
    """0: as many as there are cores."""
    grouping: Grouping = Grouping.AUTO
    """Whether several captures are parts of one run."""
    oversize_abs_ms: float | None = None
    """Count a spacing as oversize from this length on, instead of by the adaptive rule."""
    allowed_bps: float | None = None
    """What one connection may carry at most (bits of IP packets): no throughput beyond it counts as possible."""
    packets_of: tuple[int, ...] = ()
    """Connections whose packets are wanted right away: saves the second pass for them."""
    keep_input: bool = False
    """Keep a copy of what comes from standard input or a pipe, so that packets can be asked for later."""
    anonymize: bool = False
    """Replace addresses, server names and folders by made-up ones (see `vmtrace.analyze.read.anonymize`)."""
    indexes: str | None = None
    """A folder that holds indexes (`OUT/indexes` of a corpus), for captures that have none beside them."""
    key_log: str | None = None
    """A file of secrets in NSS's key log format (`SSLKEYLOGFILE`): opens QUIC, and HTTP/2 inside TLS."""

    memory_bytes: int | None = None
    """What the process may take; None: half of what it may have. Beyond that the reading ends early (`exhausted`)."""

    datagrams: bool = False
    """Keep the datagrams one by one, for `vmtrace.analyze.compare`."""


def check_kinds(options: Options) -> None:
    """Raises `TypeError` for an option of the wrong kind: it would be taken for another, or mislead far from here."""
    if not isinstance(options, Options):
        raise TypeError(f"options: vmtrace.Options(...), not {type(options).__name__}")
    from numbers import Integral, Real  # numpy's, too

    none = type(None)
    for name, kinds, wanted in (
        ("filter", (str, none), "a filter expression"),
        ("threads", (Integral,), "a whole number"),
        ("grouping", (Grouping,), "a Grouping"),
        ("oversize_abs_ms", (Real, none), "a number"),
        ("allowed_bps", (Real, none), "a number"),
        ("packets_of", (Sequence,), "a sequence of connections' numbers"),
        ("indexes", (str, none), "a folder or prefix"),
        ("key_log", (str, none), "the path of a file"),
        ("memory_bytes", (Integral, none), "a number of bytes"),
        ("datagrams", (bool,), "True or False"),
    ):
        value = getattr(options, name)
        if not isinstance(value, kinds) or (isinstance(value, str) and str not in kinds):
            raise TypeError(f"{name}: {wanted}, not {value!r}")


def check_values(options: Options) -> None:
    """Raises `ValueError` for an option out of range, a bad filter, and a key log without secrets."""
    if not 0 <= options.threads <= MOST_THREADS:
        raise ValueError(f"threads: from 0 to {MOST_THREADS:,}, not {options.threads:,}")
    if options.oversize_abs_ms is not None and not 0 < options.oversize_abs_ms <= MOST_OVERSIZE_ABS_MS:
        most = f"{MOST_OVERSIZE_ABS_MS:,.0f}"
        raise ValueError(
            f"oversize_abs_ms: from 0 (not included) to {most} milliseconds, not {options.oversize_abs_ms}"
        )
    if options.allowed_bps is not None and not 0 < options.allowed_bps < math.inf:
        raise ValueError(f"allowed_bps: more than 0 and finite, not {options.allowed_bps}")
    if options.filter is not None:
        from vmtrace.analyze.read.filter import checked

        checked(options.filter)
    if options.key_log is not None:
        secrets(options.key_log)


def secrets(path: str) -> bytes:
    """The text of a key log; raises `ValueError` if it holds no secret."""
    text = Path(path).read_bytes()
    if not _engine.holds_secrets(text):
        raise ValueError(f"{path}: no secrets in it, or none in NSS's key log format (lines of label, random, secret)")
    return text
