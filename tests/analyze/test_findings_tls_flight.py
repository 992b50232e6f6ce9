"""Certificate chains longer than the first flight, as OpenSSL sends them, seen at either end of a path."""

import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.analyze.conftest import Capture
from tests.analyze.findings_made import connection, direction
from tests.analyze.tls_wire import ONE_WAY_S, SEGMENT_BYTES, Tls, Wire
from vmtrace.analyze.findings.facts import Facts
from vmtrace.analyze.findings.rules.tls_flight import find
from vmtrace.analyze.trace import read
from vmtrace.lab.services.certificates import Certificates

RTT_S = 2 * ONE_WAY_S
MANY, FEW = 30, 0
"""Certificates more than the chain needs."""


class HeldPath(Wire):
    """A server that waits for acknowledgements behind `flight_bytes`, captured at one of the ends."""

    def __init__(self, side: int, flight_bytes: int) -> None:
        self.capture = Capture()
        self.now_s = 0.0
        self._sent = [1, 1]
        self._side, self._flight_bytes = side, flight_bytes
        self._add(0, 0x02, 0, 0)
        self.now_s += RTT_S if side == 0 else 0
        self._add(1, 0x12, 0, 1)
        self.now_s += RTT_S if side == 1 else 0
        self._add(0, 0x10, 1, 1)

    def says(self, side: int, payload: bytes) -> None:
        """What goes on takes a round trip from here to the other end and back."""
        now, later = payload[: self._flight_bytes], payload[self._flight_bytes :]
        self.now_s += RTT_S if side != self._side else 0
        for part in (now, later) if side == 1 and later else (payload,):
            if part is later:
                self.now_s += RTT_S if self._side == 1 else 0
                self._add(0, 0x10, self._sent[0], self._sent[1])
                self.now_s += RTT_S if self._side == 0 else 0
            for start in range(0, len(part), SEGMENT_BYTES):
                piece = part[start : start + SEGMENT_BYTES]
                self._add(side, 0x18, self._sent[side], self._sent[1 - side], piece)
                self._sent[side] += len(piece)


def found(folder: Path, chain: Certificates, version: ssl.TLSVersion, more: int, **way: int) -> list[dict[str, Any]]:
    longer = folder / "chain.pem"
    longer.write_bytes(chain.chain_path.read_bytes() + chain.ca_path.read_bytes() * more)
    wire, layer = HeldPath(**way), Tls(replace(chain, chain_path=longer), folder / "keys.log", version)
    layer.handshake(wire.says)
    wire.says(0, layer.sealed(0, b"GET / HTTP/1.1\r\n\r\n"))
    wire.says(1, layer.sealed(1, b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + bytes(500)))
    document = read(wire.capture.write(folder / "tls.pcap")).json()
    return [one for one in document["findings"] if one["kind"] == "tls_flight"]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("side", [0, 1])
def test_a_chain_beyond_the_first_flight_costs_a_round_trip(
    chain: Certificates, tmp_path: Path, version: ssl.TLSVersion, side: int
) -> None:
    held = 10 * SEGMENT_BYTES
    [one] = found(tmp_path, chain, version, MANY, side=side, flight_bytes=held)
    assert one["cost_s"] == pytest.approx(RTT_S, rel=0.01)
    assert one["owner"] == "server_application"
    assert found(tmp_path, chain, version, FEW, side=side, flight_bytes=held) == []
    assert found(tmp_path, chain, version, MANY, side=side, flight_bytes=1 << 20) == [], "a larger initial window"


def handshake(**more: Any) -> dict[str, Any]:
    known = {
        "handshake_complete": True,
        "resumed": False,
        "hello_retry": False,
        "handshake_round_trips": 1,
        "handshake_s": 0.02,
        "server_handshake_bytes": 20_000,
    }
    server = direction(segment_size_bytes=1460, loss={"retransmitted_segments": more.pop("again", 0)})
    return connection(1, 0.0, 1.0, tls={**known, **more}, server_to_client=server)


def test_other_waits_are_no_flights() -> None:
    def kinds(**more: Any) -> list[str]:
        return [one.kind for one in find(Facts(connections=[handshake(**more)]))]

    assert kinds() == ["tls_flight"]
    for more in (
        *({"handshake_s": 0.017}, {"handshake_s": 0.026}, {"server_handshake_bytes": 14_600}, {"resumed": True}),
        *({"hello_retry": True}, {"handshake_complete": False}, {"handshake_s": None}, {"again": 1}),
        {"server_handshake_bytes": 46_000},
    ):
        assert kinds(**more) == [], more
    assert kinds(server_handshake_bytes=46_000, handshake_s=0.031) == ["tls_flight"]
