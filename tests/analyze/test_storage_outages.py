"""Failures joined into outages, whose they are, and what is left of a service's availability without one's own."""

from typing import Any

import numpy as np
import pytest

from tests.analyze.campaign_made import START_NS, request
from vmtrace.analyze.reports.storage.availability import availability_rows, outage_rows
from vmtrace.analyze.reports.storage.requests import made

GATEWAY = "192.0.2.254"
OWN = {"failure": "timeout", "own_network": {"link": "up", "asked": [GATEWAY], "answered": []}}
UNPLUGGED = {"failure": "name", "own_network": {"link": "down", "asked": [], "answered": []}}
SERVICE = {"failure": "refused", "own_network": {"link": "up", "asked": [GATEWAY], "answered": [GATEWAY]}}
BUSY = {"failure": None, "error_kind": "service"}
UNKNOWN = {"failure": "reset", "own_network": None}


def failed(at_s: float, about: dict[str, Any]) -> dict[str, Any]:
    status = 503 if about is BUSY else None
    return request(at_s, 8e6, outcome="failed", status=status, digest_ok=None, **about)


def test_failures_are_joined_dated_and_blamed() -> None:
    rows = [request(60.0 * n, 8e6) for n in range(30)]
    for at, about in ((5, OWN), (6, OWN), (7, UNPLUGGED), (12, SERVICE), (13, BUSY), (20, UNKNOWN), (29, OWN)):
        rows[at] = failed(60.0 * at, about)
    found = outage_rows(made(rows))
    assert [(one.failed, one.fault) for one in found] == [(3, "own"), (2, "service"), (1, "unknown"), (1, "own")]
    assert [one.kinds for one in found] == [
        {"timeout": 2, "name": 1}, {"refused": 1, "service": 1}, {"reset": 1}, {"timeout": 1},
    ]  # fmt: skip
    assert found[0].start_ns == START_NS + 300 * 10**9
    assert found[0].length_s == 180.0
    assert found[-1].length_s == pytest.approx(1.0)
    first = availability_rows(made(rows))[0]
    assert (first.done, first.n, first.service_n) == (23, 30, 26)
    assert first.service_share == 23 / 26


def test_twenty_worlds_of_planted_outages_are_blamed_right() -> None:
    right = planted = 0
    for seed in range(20):
        chance = np.random.default_rng(seed)
        rows = [request(60.0 * n, 8e6) for n in range(200)]
        causes = []
        for place in range(4):
            own = bool(chance.integers(2))
            start = 10 + 48 * place
            for at in range(start, start + int(chance.integers(1, 12))):
                rows[at] = failed(
                    60.0 * at, (OWN, UNPLUGGED)[chance.integers(2)] if own else (SERVICE, BUSY)[chance.integers(2)]
                )
            causes.append("own" if own else "service")
        found = [one.fault for one in outage_rows(made(rows))]
        planted += len(causes)
        right += sum(one == other for one, other in zip(found, causes, strict=True))
    assert right == planted == 80


def test_a_floor_of_throughput_counts_slow_requests_as_not_available() -> None:
    rows = [request(60.0 * n, 8e6 if n % 4 else 4e5) for n in range(40)]
    assert availability_rows(made(rows))[-1].share == 1.0
    assert availability_rows(made(rows), at_least_bps=8e5)[-1].share == 0.75


def test_without_failures_there_is_no_outage() -> None:
    assert outage_rows(made([request(60.0 * n, 8e6) for n in range(5)])) == []
