"""Published network bandwidths of EC2 instance types, from `ec2_bandwidth.csv` here, which names its source.

A type that is not in the file has no number here: nothing is guessed from its family or its size.

Rule: docs/methods.md, "Published allowances".
"""

import csv
import math
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

USER = "given"
"""Name of an allowance that is no instance type."""
SINGLE_FLOW_BPS = 5e9
"""One connection (5-tuple) outside a cluster placement group."""
_SINGLE_FLOW_SOURCE = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-network-bandwidth.html"
_TABLE_SOURCE = (
    "https://github.com/awsdocs/amazon-ec2-user-guide/blob/e3707c431483ec0ffffcabebd36cf799ba682cd0/doc_source"
)


class UnknownInstanceTypeError(KeyError):
    """No bandwidth is published for the type in the documentation that the table was made of."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may be sent, and received, in bits per second. Equal baseline and burst: a fixed bandwidth."""

    name: str
    baseline_bps: float
    burst_bps: float
    single_flow_bps: float | None
    source: str

    @property
    def most_of_a_connection_bps(self) -> float:
        """What one connection may ever send or receive, while there are credits for a burst."""
        return self.burst_bps if self.single_flow_bps is None else min(self.burst_bps, self.single_flow_bps)


def of_rate(rate_bps: float) -> Allowance:
    """What a user said."""
    return Allowance(USER, rate_bps, rate_bps, None, "given by the user")


def of_instance_type(instance_type: str) -> Allowance:
    """The bandwidth of an EC2 instance type. Raises `UnknownInstanceTypeError`."""
    row = _rows().get(instance_type.strip().lower())
    if row is None:
        raise UnknownInstanceTypeError(instance_type)
    name, baseline, burst, page = row
    source = f"{_TABLE_SOURCE}/{page}-instances.md, {_SINGLE_FLOW_SOURCE}"
    return Allowance(name, float(baseline) * 1e9, float(burst) * 1e9, SINGLE_FLOW_BPS, source)


def known_types() -> list[str]:
    """All types of the table, sorted."""
    return sorted(_rows())


@cache
def _rows() -> dict[str, tuple[str, str, str, str]]:
    text = files("vmtrace.analyze.findings.allowances").joinpath("ec2_bandwidth.csv").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    rows = list(csv.reader(lines))[1:]
    return {row[0]: (row[0], row[1], row[2], row[3]) for row in rows}


_FACTORS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_FORM = re.compile(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([kmgt]?)\s*(?:bit/s|bits/s|bps|b/s|bit)?\s*", re.IGNORECASE)


class RateError(ValueError):
    """The text is no rate; the message says what one looks like."""


def parse_bps(text: str) -> float:
    """Bits per second; prefixes are powers of 1000. Raises `RateError`, also for 0, and for bytes (`MB/s`, `MBps`)."""
    match = _FORM.fullmatch(text)
    # A capital B is a byte where the bit is not spelled out.
    if match is None or re.search(r"B/s|Bps|B\s*$", text):
        raise RateError(f"{text!r} is no rate in bits per second, such as 5Gbit/s")
    try:
        rate = float(match[1]) * _FACTORS[match[2].lower()]
    except ValueError:
        raise RateError(f"{text!r} is no rate in bits per second, such as 5Gbit/s") from None
    if not math.isfinite(rate) or rate <= 0:
        raise RateError(f"{text!r}: a rate is larger than 0")
    return rate
