"""Traffic to be captured, and what a pcap file holds, read without the code under test."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import final

from vmtrace.lab import namespaces

_UNITS_NS = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}


@dataclass(frozen=True, slots=True)
class Record:
    time_ns: int
    wire_bytes: int
    data: bytes


@dataclass(frozen=True, slots=True)
class PcapFile:
    link_type: int
    nanoseconds: bool
    records: list[Record]


def read_pcap(path: Path) -> PcapFile:
    """Every record of a file of this machine's byte order; a torn one is an error."""
    content = path.read_bytes()
    magic, _, _, _, _, _, link_type = struct.unpack_from("=IHHiIII", content)
    records, at = [], 24
    while at < len(content):
        seconds, fraction, captured, length = struct.unpack_from("=IIII", content, at)
        data = content[at + 16 : at + 16 + captured]
        assert len(data) == captured, f"{path}: torn record"
        records.append(Record(seconds * 10**9 + fraction * _UNITS_NS[magic], length, data))
        at += 16 + captured
    return PcapFile(link_type, _UNITS_NS[magic] == 1, records)


def inside(namespace: str | None) -> AbstractContextManager[None]:
    return namespaces.inside(namespace) if namespace else nullcontext()


@final
class NumberedDatagrams:
    """UDP over loopback: 16 bytes of payload with a number each, so that a missing or double one shows."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._receiver = socket.socket(family, socket.SOCK_DGRAM)
        self._receiver.bind((host, 0))
        self.port: int = self._receiver.getsockname()[1]
        self._sender = socket.socket(family, socket.SOCK_DGRAM)
        self._where = (host, self.port)
        self.sent = 0

    def send(self, count: int, padding_bytes: int = 0) -> None:
        for _ in range(count):
            self._sender.sendto(struct.pack("!Q8x", self.sent) + bytes(padding_bytes), self._where)
            self.sent += 1

    def close(self) -> None:
        self._receiver.close()
        self._sender.close()

    def __enter__(self) -> NumberedDatagrams:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def numbers(pcap: PcapFile) -> list[int]:
    """The numbers of captured datagrams (Ethernet, IPv4), in the order of the file."""
    return [int(struct.unpack_from("!Q", record.data, 42)[0]) for record in pcap.records]


def transfer(address: str, size_bytes: int, server: str | None = None, client: str | None = None) -> int:
    """One TCP connection that carries so many bytes and is closed by both sides; returns the server's port."""
    with inside(server):
        listener = socket.create_server((address, 0), family=_family(address))
    received = []

    def serve() -> None:
        peer, _ = listener.accept()
        with peer:
            count = 0
            while data := peer.recv(1 << 16):
                count += len(data)
            received.append(count)

    with listener:
        port: int = listener.getsockname()[1]
        thread = threading.Thread(target=serve)
        thread.start()
        with inside(client):
            connection = socket.socket(_family(address), socket.SOCK_STREAM)
        with connection:
            connection.connect((address, port))
            connection.sendall(b"payload!" * (size_bytes // 8))
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
        thread.join()
    assert received == [size_bytes // 8 * 8]
    return port


def certificate(folder: Path, key_bits: int = 2048, extension: str | None = None) -> tuple[Path, Path]:
    """A self-signed certificate for localhost, and its key; an extension may make it long."""
    files = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        f"openssl req -x509 -newkey rsa:{key_bits} -nodes -days 2 -subj /CN=localhost".split()
        + f"-out {files[0]} -keyout {files[1]}".split()
        + (["-addext", extension] if extension else []),
        check=True,
        capture_output=True,
    )
    return files


def tls_transfer(
    address: str, files: tuple[Path, Path], payload: bytes, server: str | None = None, client: str | None = None
) -> None:
    """One TLS connection, in which the client sends `payload` and the server sends it back."""
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(*files)
    client_side = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_side.check_hostname = False
    client_side.verify_mode = ssl.CERT_NONE
    with inside(server):
        listener = socket.create_server((address, 0), family=_family(address))

    def serve() -> None:
        peer, _ = listener.accept()
        with server_side.wrap_socket(peer, server_side=True) as tls:
            tls.sendall(_exactly(tls, len(payload)))
            with contextlib.suppress(OSError):
                tls.unwrap().close()

    with listener:
        thread = threading.Thread(target=serve)
        thread.start()
        with inside(client):
            connection = socket.socket(_family(address), socket.SOCK_STREAM)
        connection.connect(listener.getsockname()[:2])
        with client_side.wrap_socket(connection, server_hostname="example.test") as tls:
            tls.sendall(payload)
            assert _exactly(tls, len(payload)) == payload
            with contextlib.suppress(OSError):
                tls.unwrap().close()
        thread.join()


def tcp_payloads(pcap: PcapFile, network_offset: int) -> Iterator[tuple[int, bytes, Record]]:
    """Of each TCP segment: payload length by the IP header, captured payload, the record."""
    for record in pcap.records:
        packet = record.data[network_offset:]
        if packet[0] >> 4 == 4:
            header_bytes, total_bytes = (packet[0] & 15) * 4, struct.unpack_from("!H", packet, 2)[0]
        else:
            header_bytes, total_bytes = 40, 40 + struct.unpack_from("!H", packet, 4)[0]
        start = header_bytes + (packet[header_bytes + 12] >> 4) * 4
        # A length of 0 is the kernel's, for packets of more than 64 KiB.
        total_bytes = total_bytes or record.wire_bytes - network_offset
        yield total_bytes - start, packet[start:], record


def _exactly(tls: ssl.SSLSocket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += tls.recv(count - len(data))
    return data


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
