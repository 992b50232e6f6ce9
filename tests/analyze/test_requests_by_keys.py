"""Requests of HTTP/1.1 inside TLS of OpenSSL: with its secrets they are those of the same words in clear text."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from tests.analyze.tls_wire import Clear, Tls, Wire, with_secrets
from vmtrace.analyze.trace import Options, read
from vmtrace.lab.services.certificates import Certificates

VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]
CLIENT, SERVER = 0, 1
GET = b"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n"
PUT = b"PUT /page HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 50000\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
BUSY = b"HTTP/1.1 503 Overload\r\n\r\n"
"""As long as the interim response that asks for a body."""
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

Words = list[tuple[int, float, bytes]]
"""Who says what, how long after it could."""


def said(layer: Clear | Tls, words: Words) -> Wire:
    wire = Wire()
    layer.handshake(wire.says)
    for side, wait_s, text in words:
        wire.now_s += wait_s
        payload = layer.sealed(side, text)
        wire.says(side, payload)
        # Tickets of the server come with what it says first; both ends take what they are sent.
        layer.opened(1 - side, payload)
    return wire


ROUNDS: Words = [
    (CLIENT, 0.01, GET),
    (SERVER, 0.1, OK % 30_000 + bytes(30_000)),
    (CLIENT, 0.02, PUT),
    (SERVER, 0.0, CONTINUE),
    (CLIENT, 0.0, bytes(50_000)),
    (SERVER, 0.3, OK % 0),
    (CLIENT, 0.05, GET),
    (SERVER, 0.02, BUSY),
    (CLIENT, 0.05, GET),
    (SERVER, 0.2, OK % 5 + b"hello"),
]


def connection_of(path: Path, keylog: Path | None = None) -> dict[str, Any]:
    [connection] = read(path, options=Options(key_log=None if keylog is None else str(keylog))).json()["connections"]
    assert isinstance(connection, dict)
    return connection


def sizes(connection: dict[str, Any]) -> list[tuple[int, int]]:
    """Of requests and responses, in their order."""
    exchanges = sorted(connection["requests"], key=lambda one: one["start_ns"])
    return [(one["request_bytes"], one["response_bytes"]) for one in exchanges]


def first_bytes_s(connection: dict[str, Any]) -> list[float]:
    exchanges = sorted(connection["requests"], key=lambda one: one["start_ns"])
    return [one["first_byte_s"] for one in exchanges]


@pytest.mark.parametrize("version", VERSIONS)
def test_requests_are_those_of_clear_text(chain: Certificates, tmp_path: Path, version: ssl.TLSVersion) -> None:
    clear = connection_of(said(Clear(), ROUNDS).capture.write(tmp_path / "clear.pcap"))
    lengths = [len(text) for _, _, text in ROUNDS]
    upload = (lengths[2] + lengths[4], lengths[5])
    expected = [(lengths[0], lengths[1]), upload, (lengths[6], lengths[7]), (lengths[8], lengths[9])]
    assert (sizes(clear), len(BUSY)) == (expected, len(CONTINUE))
    assert first_bytes_s(clear) == pytest.approx([0.1, 0.3, 0.02, 0.2], abs=0.001)
    keylog = tmp_path / "keys.log"
    path = said(Tls(chain, keylog, version, "http/1.1"), ROUNDS).capture.write(tmp_path / "tls.pcap")
    opened = connection_of(path, keylog)
    assert sizes(opened) == expected
    assert first_bytes_s(opened) == pytest.approx(first_bytes_s(clear), abs=0.001)
    within = tmp_path / "with-secrets.pcapng"
    within.write_bytes(with_secrets(path.read_bytes(), keylog.read_bytes()))
    assert sizes(connection_of(within)) == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_requests_sent_together_are_overlapping(chain: Certificates, tmp_path: Path, version: ssl.TLSVersion) -> None:
    words: Words = [(CLIENT, 0.01, GET + GET), (SERVER, 0.1, OK % 5 + b"hello" + OK % 5 + b"hello")]
    keylog = tmp_path / "keys.log"
    path = said(Tls(chain, keylog, version, "http/1.1"), words).capture.write(tmp_path / "tls.pcap")
    found = connection_of(path, keylog)
    assert (found["requests"], found["requests_reason"]) == (None, "overlapping")
    assert len(connection_of(path)["requests"]) == 1, "records do not tell"
    clear = connection_of(said(Clear(), words).capture.write(tmp_path / "clear.pcap"))
    assert clear["requests_reason"] == "overlapping"


@pytest.mark.parametrize("version", VERSIONS)
def test_keys_of_another_connection_change_nothing(
    chain: Certificates, tmp_path: Path, version: ssl.TLSVersion
) -> None:
    keylog, others = tmp_path / "keys.log", tmp_path / "others.log"
    path = said(Tls(chain, keylog, version, "http/1.1"), ROUNDS).capture.write(tmp_path / "tls.pcap")
    said(Tls(chain, others, version, "http/1.1"), ROUNDS[:2])
    assert connection_of(path, others)["requests"] == connection_of(path)["requests"]
