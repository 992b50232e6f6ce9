"""Every kind of transfer moves its bytes the right way, and a failing one says so."""

from __future__ import annotations

import json
from operator import attrgetter
from pathlib import Path

import pytest

from tests.busy_machine import where_it_ran
from vmtrace.lab.description import Scenario
from vmtrace.lab.impairments import Hold, Impairments
from vmtrace.lab.scenario import run
from vmtrace.lab.transfer import Kind, Transfer

_NEAR = Impairments(delay_s=0.002)


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
@pytest.mark.parametrize(
    ("transfer", "opener", "connections"),
    [
        (Transfer(Kind.UPLOAD, payload_bytes=40_000), "sender", 1),
        (Transfer(Kind.DOWNLOAD, payload_bytes=40_000), "receiver", 1),
        (Transfer(Kind.EXCHANGE, exchanges=4, response_bytes=10_000), "receiver", 1),
        (Transfer(Kind.UPLOAD, payload_bytes=10_000, parallel=2, rounds=2), "sender", 4),
    ],
    ids=["upload", "download", "exchange", "several"],
)
def test_bulk_flows_from_sender_to_receiver_whoever_connects(
    tmp_path: Path, transfer: Transfer, opener: str, connections: int
) -> None:
    done = run(Scenario("kind", "", transfer, _NEAR, _NEAR), tmp_path, attempts=5, good_enough=attrgetter("agreed"))
    assert done.agreed, done.truth["problems"]
    assert done.truth["forward"]["unique_payload_bytes"] == 40_000
    assert done.truth["counters"][opener]["ActiveOpens"] == connections
    assert len(done.truth["ends"]["receiver"]["connections"]) == connections


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_a_token_writer_keeps_its_pace(tmp_path: Path) -> None:
    transfer = Transfer(payload_bytes=40_000, write_bytes=4_000, write_interval_s=0.03)

    def check() -> None:
        done = run(Scenario("paced", "", transfer, _NEAR, _NEAR), tmp_path, attempts=5)
        data = [row.time_in_ns for row in done.fates() if row.direction == "forward" and row.payload_bytes > 0]
        took_s = (max(data) - min(data)) / 1e9
        assert took_s > 0.22
        assert took_s < 0.32 or not done.good

    where_it_ran(check)


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_a_path_that_never_works_ends_with_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmtrace.lab.scenario._TIME_LIMIT_S", 1.0)
    dead = Impairments(holds=(Hold(0, 1000, drop=True),))
    with pytest.raises(RuntimeError, match="not done in time"):
        run(Scenario("dead", "", Transfer(payload_bytes=1000), dead, dead), tmp_path)
    assert json.loads((tmp_path / "client.settings.json").read_text())["end"] == "client"
