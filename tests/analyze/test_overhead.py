"""Sums of byte ledgers: the parts add up, and ratios are of what they say."""

from typing import Any

import pytest

from vmtrace.analyze.findings.overhead import COLUMNS, PARTS, Overhead


def row(server: str = "192.0.2.1:443", **given: object) -> tuple[object, ...]:
    values: dict[str, object] = dict.fromkeys(COLUMNS) | {"server": server} | given
    return tuple(values[name] for name in COLUMNS)


def test_parts_sum_to_the_wire_and_shares_to_one() -> None:
    total = Overhead()
    for number, part in enumerate(PARTS, 1):
        given: dict[str, Any] = {f"ledger_{part}": 100 * number, "client_to_server_unique_payload_bytes": 500}
        total.add(row(**given))
    assert total.wire_bytes == 100 * sum(range(1, len(PARTS) + 1))
    assert sum(share for _, share in total.shares()) == pytest.approx(1)
    assert total.tcp_payload_bytes == 500 * len(PARTS)
    assert total.brought_by_retransmissions_bytes == 600, "no more than what was retransmitted"
    assert total.overhead_ratio == (total.wire_bytes - 900) / 900


def test_without_application_bytes_there_is_no_ratio() -> None:
    assert Overhead().overhead_ratio is None
    assert Overhead().tcp_payload_ratio is None
    assert list(Overhead().shares()) == []


def test_resumed_and_full_handshakes_are_told_apart_and_the_untold_are_neither() -> None:
    one, other = Overhead(), Overhead()
    one.add(row(tls_version="1.3", tls_resumed=True, handshake_complete=True, handshake_syn_retransmissions=2))
    other.add(row(tls_version="1.2", tls_resumed=False))
    other.add(row("192.0.2.2:443", tls_version="1.3"))
    one.merge(other)
    assert (one.connections, one.tls_connections, one.tls_resumed, one.tls_full) == (3, 3, 1, 1)
    assert (one.established, one.syn_retransmissions, len(one.server_addresses)) == (1, 2, 2)
