"""What two ends say on a TCP connection, in clear text or inside TLS of OpenSSL; captures with their secrets."""

from __future__ import annotations

import contextlib
import ssl
import struct
from collections.abc import Callable
from pathlib import Path

from tests.analyze.conftest import Capture
from vmtrace.lab.services.certificates import Certificates

ONE_WAY_S = 0.04
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

    def __init__(self, chain: Certificates, keylog: Path, version: ssl.TLSVersion, protocol: str = "h2") -> None:
        client = ssl.create_default_context(cafile=str(chain.ca_path))
        client.minimum_version = client.maximum_version = version
        client.keylog_filename = str(keylog)
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(chain.chain_path, chain.key_path)
        for context in (client, server):
            context.set_alpn_protocols([protocol])
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
