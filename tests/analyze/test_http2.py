"""HTTP/2 of a real stack (h2), in clear text and inside TLS of OpenSSL whose secrets are in a key log."""

import contextlib
import json
import ssl
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from vmtrace.analyze.trace import Options, read
from vmtrace.lab.services.certificates import Certificates

pytest.importorskip("h2")

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded
from h2.settings import SettingCodes

ONE_WAY_S = 0.04
WINDOW_BYTES = 16_384
SEGMENT_BYTES = 1400


@dataclass
class Wire:
    """A TCP connection at the server: no loss, acknowledged by what the peer says next, and at once by the server."""

    packets: list[tuple[float, bytes]] = field(default_factory=list)
    sent: list[int] = field(default_factory=lambda: [1, 1])

    def open(self) -> None:
        self._add(0.0, 0, 0x02, seq=0)
        self._add(0.0, 1, 0x12, seq=0)
        self._add(2 * ONE_WAY_S, 0, 0x10)

    def data(self, time_s: float, side: int, payload: bytes) -> None:
        for start in range(0, len(payload), SEGMENT_BYTES):
            part = payload[start : start + SEGMENT_BYTES]
            self._add(time_s, side, 0x18, part)
            self.sent[side] += len(part)
        if payload and side == 1:
            self._add(time_s + 2 * ONE_WAY_S, 0, 0x10)

    def write(self, path: Path) -> Path:
        out = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101)
        for time_s, packet in sorted(self.packets, key=lambda each: each[0]):
            nanoseconds = round(time_s * 1e9)
            seconds = 1_700_000_000 + nanoseconds // 10**9
            out += struct.pack("<IIII", seconds, nanoseconds % 10**9, len(packet), len(packet)) + packet
        path.write_bytes(out)
        return path

    def _add(self, time_s: float, side: int, flags: int, payload: bytes = b"", seq: int | None = None) -> None:
        ends = [(bytes([192, 0, 2, 1]), 40_000), (bytes([198, 51, 100, 1]), 443)]
        (source, source_port), (target, target_port) = ends[side], ends[1 - side]
        number = self.sent[side] if seq is None else seq
        acknowledged = self.sent[1 - side] if flags & 0x10 else 0
        tcp = struct.pack("!HHIIBBHHH", source_port, target_port, number, acknowledged, 5 << 4, flags, 60_000, 0, 0)
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 40 + len(payload), len(self.packets) & 0xFFFF, 0x4000, 64, 6, 0)
        self.packets.append((time_s, ip + source + target + tcp + payload))


class Clear:
    """What is said crosses as it is."""

    def wrap(self, _side: int, data: bytes) -> bytes:
        return data

    def unwrap(self, _side: int, data: bytes) -> bytes:
        return data

    def handshake(self, _crosses: Callable[[int, bytes], None]) -> None:
        pass


class Tls:
    """The same inside TLS."""

    def __init__(self, chain: Certificates, keylog: Path, version: ssl.TLSVersion) -> None:
        client = ssl.create_default_context(cafile=str(chain.ca_path))
        client.minimum_version = client.maximum_version = version
        client.keylog_filename = str(keylog)
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(chain.chain_path, chain.key_path)
        self.bios = [(ssl.MemoryBIO(), ssl.MemoryBIO()) for _ in range(2)]
        for context in (client, server):
            context.set_alpn_protocols(["h2"])
        self.ends = [
            client.wrap_bio(*self.bios[0], server_hostname="localhost"),
            server.wrap_bio(*self.bios[1], server_side=True),
        ]

    def wrap(self, side: int, data: bytes) -> bytes:
        if data:
            self.ends[side].write(data)
        return self.bios[side][1].read()

    def unwrap(self, side: int, data: bytes) -> bytes:
        self.bios[side][0].write(data)
        found = b""
        with contextlib.suppress(ssl.SSLWantReadError):
            while part := self.ends[side].read(1 << 16):
                found += part
        return found

    def handshake(self, crosses: Callable[[int, bytes], None]) -> None:
        for turn in range(8):
            side = turn % 2
            with contextlib.suppress(ssl.SSLWantReadError):
                self.ends[side].do_handshake()
            said = self.bios[side][1].read()
            if said:
                crosses(side, said)
                self.bios[1 - side][0].write(said)


def download(layer: Clear | Tls, response_bytes: int) -> Wire:
    """One response; the client gives credit for a window when it has received one."""
    wire = Wire()
    wire.open()
    now = [0.2]

    def crosses(side: int, payload: bytes) -> None:
        now[0] += ONE_WAY_S if side == 0 else 0
        wire.data(now[0], side, payload)
        now[0] += ONE_WAY_S if side == 1 else 0

    layer.handshake(crosses)
    client, server = H2Connection(H2Configuration()), H2Connection(H2Configuration(client_side=False))
    client.local_settings[SettingCodes.INITIAL_WINDOW_SIZE] = WINDOW_BYTES
    client.initiate_connection()
    client.increment_flow_control_window(1 << 24)
    heads = [(":method", "GET"), (":path", "/"), (":scheme", "https"), (":authority", "localhost")]
    client.send_headers(1, heads, end_stream=True)
    server.initiate_connection()
    left, received, ended, asked = response_bytes, 0, False, False
    while not ended:
        payload = layer.wrap(0, client.data_to_send())
        crosses(0, payload)
        for event in server.receive_data(layer.unwrap(1, payload)):
            if isinstance(event, RequestReceived):
                asked = True
                server.send_headers(1, [(":status", "200")])
        while asked and left and (window := min(server.local_flow_control_window(1), left, 16_384)):
            left -= window
            server.send_data(1, bytes(window), end_stream=left == 0)
        payload = layer.wrap(1, server.data_to_send())
        crosses(1, payload)
        for event in client.receive_data(layer.unwrap(0, payload)):
            ended |= isinstance(event, StreamEnded)
            if isinstance(event, DataReceived):
                received += event.flow_controlled_length
                if received >= WINDOW_BYTES and not ended:
                    client.increment_flow_control_window(received, 1)
                    received = 0
    return wire


def http2_of(path: Path, keylog: Path | None = None) -> dict[str, Any] | None:
    """Of the only connection."""
    written = bytearray()
    read(path, options=Options(key_log=None if keylog is None else str(keylog))).write_json(written.extend)
    [connection] = json.loads(written)["connections"]
    found: dict[str, Any] | None = connection.get("http2")
    return found


def check(http2: dict[str, Any] | None) -> None:
    assert http2 is not None
    assert http2["initial_window_bytes"] == WINDOW_BYTES
    assert (http2["streams"], http2["data_sender"], http2["data_bytes"]) == (1, "server", 150_000)
    assert (http2["window_limited_times"], http2["connection_window_limited_times"]) == (9, 0)
    assert http2["window_limited_s"] == pytest.approx(9 * 2 * ONE_WAY_S, rel=0.02)
    assert http2["complete"]


def test_windows_in_clear_text(tmp_path: Path) -> None:
    check(http2_of(download(Clear(), 150_000).write(tmp_path / "clear.pcap")))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_windows_inside_tls_with_keys(chain: Certificates, tmp_path: Path, version: ssl.TLSVersion) -> None:
    keylog = tmp_path / "keys.log"
    path = download(Tls(chain, keylog, version), 150_000).write(tmp_path / "tls.pcap")
    check(http2_of(path, keylog))
    assert http2_of(path) is None
