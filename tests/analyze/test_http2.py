"""HTTP/2 of a real stack (h2), in clear text and inside TLS of OpenSSL, with secrets in a key log or in the capture."""

from __future__ import annotations

import contextlib
import ssl
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.analyze.conftest import Capture
from vmtrace.analyze.trace import Options, read
from vmtrace.lab.services.certificates import Certificates

pytest.importorskip("h2")

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded
from h2.settings import SettingCodes

ONE_WAY_S = 0.04
WINDOW_BYTES = 16_384
RESPONSE_BYTES = 150_000
SEGMENT_BYTES = 1400
ENDS = (("192.0.2.1", 40_000), ("198.51.100.1", 443))


class Wire:
    """A TCP connection captured at the server: no loss, and each side acknowledges what it has when it speaks."""

    def __init__(self) -> None:
        self.capture = Capture()
        self.now_s = 0.0
        self._sent = [1, 1]
        self._add(0, 0x02, 0, 0)
        self._add(1, 0x12, 0, 1)
        self.now_s += 2 * ONE_WAY_S
        self._add(0, 0x10, 1, 1)

    def says(self, side: int, payload: bytes) -> None:
        """Bytes of a side: the client's take a way to the capture, the server's to the client."""
        self.now_s += ONE_WAY_S if side == 0 else 0
        for start in range(0, len(payload), SEGMENT_BYTES):
            part = payload[start : start + SEGMENT_BYTES]
            self._add(side, 0x18, self._sent[side], self._sent[1 - side], part)
            self._sent[side] += len(part)
        self.now_s += ONE_WAY_S if side == 1 else 0

    def _add(self, side: int, flags: int, number: int, acknowledged: int, payload: bytes = b"") -> None:
        self.capture.tcp(self.now_s, ENDS[side], ENDS[1 - side], flags, number, acknowledged, payload)
        self.now_s += 1e-6


class Clear:
    """What is said crosses as it is."""

    def sealed(self, _side: int, data: bytes) -> bytes:
        return data

    def opened(self, _side: int, data: bytes) -> bytes:
        return data

    def handshake(self, _says: Callable[[int, bytes], None]) -> None:
        pass


class Tls:
    """The same inside TLS."""

    def __init__(self, chain: Certificates, keylog: Path, version: ssl.TLSVersion) -> None:
        client = ssl.create_default_context(cafile=str(chain.ca_path))
        client.minimum_version = client.maximum_version = version
        client.keylog_filename = str(keylog)
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(chain.chain_path, chain.key_path)
        for context in (client, server):
            context.set_alpn_protocols(["h2"])
        self._in, self._out = ([ssl.MemoryBIO(), ssl.MemoryBIO()] for _ in range(2))
        self._ends = [
            client.wrap_bio(self._in[0], self._out[0], server_hostname="localhost"),
            server.wrap_bio(self._in[1], self._out[1], server_side=True),
        ]

    def sealed(self, side: int, data: bytes) -> bytes:
        if data:
            self._ends[side].write(data)
        return self._out[side].read()

    def opened(self, side: int, data: bytes) -> bytes:
        self._in[side].write(data)
        found = b""
        with contextlib.suppress(ssl.SSLWantReadError):
            while part := self._ends[side].read(1 << 16):
                found += part
        return found

    def handshake(self, says: Callable[[int, bytes], None]) -> None:
        for turn in range(8):
            side = turn % 2
            with contextlib.suppress(ssl.SSLWantReadError):
                self._ends[side].do_handshake()
            said = self._out[side].read()
            if said:
                says(side, said)
                self._in[1 - side].write(said)


def download(layer: Clear | Tls) -> Wire:
    """One response; the client gives credit for a window when it has received one, and not before."""
    wire = Wire()
    layer.handshake(wire.says)
    client, server = H2Connection(H2Configuration()), H2Connection(H2Configuration(client_side=False))
    client.initiate_connection()
    client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: WINDOW_BYTES})
    client.increment_flow_control_window(1 << 24)
    server.initiate_connection()
    _cross(wire, layer, (client, server), 0)
    _cross(wire, layer, (client, server), 1)
    heads = [(":method", "GET"), (":path", "/"), (":scheme", "https"), (":authority", "localhost")]
    client.send_headers(1, heads, end_stream=True)
    left, received, asked = RESPONSE_BYTES, 0, False
    while True:
        events = _cross(wire, layer, (client, server), 0)
        if any(isinstance(event, RequestReceived) for event in events):
            asked = True
            server.send_headers(1, [(":status", "200")])
        while asked and left and (size := min(server.local_flow_control_window(1), left, 16_384)) > 0:
            left -= size
            server.send_data(1, bytes(size), end_stream=left == 0)
        events = _cross(wire, layer, (client, server), 1)
        if any(isinstance(event, StreamEnded) for event in events):
            return wire
        received += sum(event.flow_controlled_length for event in events if isinstance(event, DataReceived))
        if received >= WINDOW_BYTES:
            client.increment_flow_control_window(received, 1)
            received = 0


def _cross(wire: Wire, layer: Clear | Tls, ends: tuple[H2Connection, H2Connection], side: int) -> list[Any]:
    """What a side has to say crosses; the events that it is for the other one."""
    payload = layer.sealed(side, ends[side].data_to_send())
    wire.says(side, payload)
    return list(ends[1 - side].receive_data(layer.opened(1 - side, payload)))


def http2_of(path: Path, keylog: Path | None = None) -> dict[str, Any] | None:
    """Of the only connection."""
    document = read(path, options=Options(key_log=None if keylog is None else str(keylog))).json()
    [connection] = document["connections"]
    found: dict[str, Any] | None = connection.get("http2")
    return found


def check(http2: dict[str, Any] | None) -> None:
    assert http2 is not None
    assert http2["initial_window_bytes"] == WINDOW_BYTES
    assert (http2["streams"], http2["data_sender"], http2["data_bytes"]) == (1, "server", RESPONSE_BYTES)
    rounds = RESPONSE_BYTES // WINDOW_BYTES
    assert (http2["window_limited_times"], http2["connection_window_limited_times"]) == (rounds, 0)
    assert http2["window_limited_s"] == pytest.approx(rounds * 2 * ONE_WAY_S, rel=0.02)
    assert http2["complete"]


def test_windows_in_clear_text(tmp_path: Path) -> None:
    check(http2_of(download(Clear()).capture.write(tmp_path / "clear.pcap")))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_windows_inside_tls_with_keys(chain: Certificates, tmp_path: Path, version: ssl.TLSVersion) -> None:
    keylog = tmp_path / "keys.log"
    path = download(Tls(chain, keylog, version)).capture.write(tmp_path / "tls.pcap")
    check(http2_of(path, keylog))
    assert http2_of(path) is None
    within = tmp_path / "with-secrets.pcapng"
    within.write_bytes(with_secrets(path.read_bytes(), keylog.read_bytes()))
    check(http2_of(within))


def with_secrets(pcap: bytes, secrets: bytes) -> bytes:
    """The capture as pcapng, with a decryption secrets block behind the section's beginning."""

    def block(kind: int, body: bytes) -> bytes:
        padded = body + bytes(-len(body) % 4)
        size = struct.pack("<I", len(padded) + 12)
        return struct.pack("<I", kind) + size + padded + size

    made = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    made += block(10, struct.pack("<II", 0x544C534B, len(secrets)) + secrets)
    made += block(1, struct.pack("<HHI", 1, 0, 262_144))
    at = 24
    while at < len(pcap):
        seconds, fraction, captured, length = struct.unpack_from("<IIII", pcap, at)
        stamp = seconds * 1_000_000 + fraction
        head = struct.pack("<IIIII", 0, stamp >> 32, stamp & 0xFFFFFFFF, captured, length)
        made += block(6, head + pcap[at + 16 : at + 16 + captured])
        at += 16 + captured
    return made
