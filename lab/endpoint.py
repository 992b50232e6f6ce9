"""One end of a transfer, as a program: `python -m vmtrace.lab.endpoint SETTINGS.json` inside a host's namespace.

Sends and reads as the transfer says, digests every byte, samples TCP_INFO, writes its result as JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vmtrace.lab.tcp_info import TcpInfoSampler
from vmtrace.lab.transfer import Kind, Transfer

_BLOCK = os.urandom(1 << 20)
_UNSENT_LOW_WATER_BYTES = 131_072  # so that a transfer limited by time does not end with megabytes still to send
_TCP_NOTSENT_LOWAT = 25


@dataclass(slots=True)
class ConnectionResult:
    """One connection at one end. Times are Unix nanoseconds; bytes are the application's."""

    number: int
    local_port: int
    peer_port: int
    start_ns: int
    connected_ns: int = 0
    end_ns: int = 0
    sent_bytes: int = 0
    got_bytes: int = 0
    sent_digest: str = ""
    got_digest: str = ""
    tls_version: str | None = None
    tls_cipher: str | None = None
    exchange_s: list[float] = field(default_factory=list)


class Endpoint:
    """Carries out one end of a transfer."""

    def __init__(self, document: dict[str, Any]) -> None:
        values = dict(document["transfer"])
        for name in ("read_pauses", "write_pauses"):
            values[name] = tuple((int(after), float(wait)) for after, wait in values[name])
        values["kind"] = Kind(values["kind"])
        self._transfer = Transfer(**values)
        self._document = document
        self._client = document["end"] == "client"
        self._family = socket.AF_INET6 if ":" in document["address"] else socket.AF_INET
        self._sampler = TcpInfoSampler(Path(document["tcp_info"]), self._transfer.sample_interval_s)
        self._results: list[ConnectionResult] = []
        self._failures: list[str] = []

    def run(self) -> int:
        """Run to the end; returns the exit status."""
        if self._client:
            self._connect()
        else:
            self._serve()
        self._sampler.finish()
        self._results.sort(key=lambda result: result.number)
        document = {"connections": [asdict(result) for result in self._results]}
        Path(self._document["result"]).write_text(json.dumps(document))
        for failure in self._failures:
            print(failure, file=sys.stderr)
        return 1 if self._failures else 0

    def _connect(self) -> None:
        lanes = range(self._transfer.parallel)
        threads = [threading.Thread(target=self._guard, args=(self._connect_lane, lane)) for lane in lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _connect_lane(self, lane: int) -> None:
        for turn in range(self._transfer.rounds):
            if turn and self._transfer.round_gap_s:
                time.sleep(self._transfer.round_gap_s)
            sock = self._socket()
            start_ns = time.time_ns()
            sock.connect((self._document["address"], self._document["port"]))
            self._talk(sock, lane * self._transfer.rounds + turn, start_ns)

    def _serve(self) -> None:
        listener = self._socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((self._document["address"], self._document["port"]))
        listener.listen(128)
        print("ready", flush=True)
        threads = []
        for number in range(self._transfer.parallel * self._transfer.rounds):
            sock, _ = listener.accept()
            thread = threading.Thread(target=self._guard, args=(self._talk, sock, number, time.time_ns()))
            thread.start()
            threads.append(thread)
        for thread in threads:
            thread.join()
        listener.close()

    def _socket(self) -> socket.socket:
        transfer, sock = self._transfer, socket.socket(self._family, socket.SOCK_STREAM)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self._document["congestion_control"].encode())
        if transfer.receive_buffer_bytes and self._reads:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, transfer.receive_buffer_bytes)
        if transfer.send_buffer_bytes and self._writes:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, transfer.send_buffer_bytes)
        if transfer.no_delay:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not transfer.send_buffer_bytes:
            sock.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, _UNSENT_LOW_WATER_BYTES)
        return sock

    @property
    def _writes(self) -> bool:
        return self._transfer.kind is Kind.EXCHANGE or self._client == (self._transfer.kind is Kind.UPLOAD)

    @property
    def _reads(self) -> bool:
        return self._transfer.kind is Kind.EXCHANGE or not self._writes

    def _talk(self, sock: socket.socket, number: int, start_ns: int) -> None:
        local, peer = sock.getsockname()[1], sock.getpeername()[1]
        result = ConnectionResult(number, local, peer, start_ns, time.time_ns())
        self._results.append(result)
        self._sampler.watch(number, sock)
        try:
            stream = self._secured(sock, result) if self._transfer.tls else sock
            sent, got = hashlib.sha256(), hashlib.sha256()
            self._carry(stream, result, sent.update, got.update)
            result.sent_digest, result.got_digest = sent.hexdigest(), got.hexdigest()
            stream = _end_stream(stream)
        finally:
            self._sampler.unwatch(number)
        stream.close()
        result.end_ns = time.time_ns()

    def _carry(
        self,
        stream: socket.socket,
        result: ConnectionResult,
        sent: Callable[[bytes], None],
        got: Callable[[bytes], None],
    ) -> None:
        if self._transfer.kind is Kind.EXCHANGE:
            (self._ask if self._client else self._answer)(stream, result, sent, got)
        elif self._writes:
            self._write(stream, result, sent)
        else:
            self._read(stream, result, got)

    def _write(self, stream: socket.socket, result: ConnectionResult, sent: Callable[[bytes], None]) -> None:
        transfer = self._transfer
        due_s = time.monotonic()
        ends_s = due_s + transfer.seconds
        pauses = list(transfer.write_pauses)
        while result.sent_bytes < transfer.payload_bytes and time.monotonic() < ends_s:
            size = min(transfer.write_bytes, transfer.payload_bytes - result.sent_bytes)
            chunk = _random_bytes(result.sent_bytes, size)
            stream.sendall(chunk)
            sent(chunk)
            result.sent_bytes += size
            if pauses and result.sent_bytes >= pauses[0][0]:
                time.sleep(pauses.pop(0)[1])
            if transfer.write_interval_s:
                due_s += transfer.write_interval_s
                time.sleep(max(0.0, due_s - time.monotonic()))

    def _read(self, stream: socket.socket, result: ConnectionResult, got: Callable[[bytes], None]) -> None:
        transfer = self._transfer
        pauses = list(transfer.read_pauses)
        while chunk := stream.recv(transfer.read_bytes):
            got(chunk)
            result.got_bytes += len(chunk)
            if transfer.read_interval_s:
                time.sleep(transfer.read_interval_s)
            if pauses and result.got_bytes >= pauses[0][0]:
                time.sleep(pauses.pop(0)[1])

    def _ask(
        self,
        stream: socket.socket,
        result: ConnectionResult,
        sent: Callable[[bytes], None],
        got: Callable[[bytes], None],
    ) -> None:
        transfer = self._transfer
        ends_s = time.monotonic() + transfer.seconds
        for turn in range(transfer.exchanges):
            if time.monotonic() >= ends_s:
                break
            if turn and transfer.think_s:
                time.sleep(transfer.think_s)
            began_s = time.monotonic()
            self._send_exactly(stream, transfer.request_bytes, result, sent)
            if not _read_exactly(stream, transfer.response_bytes, result, got):
                raise ConnectionError("the answer ended early")
            result.exchange_s.append(time.monotonic() - began_s)

    def _answer(
        self,
        stream: socket.socket,
        result: ConnectionResult,
        sent: Callable[[bytes], None],
        got: Callable[[bytes], None],
    ) -> None:
        while _read_exactly(stream, self._transfer.request_bytes, result, got):
            self._send_exactly(stream, self._transfer.response_bytes, result, sent)

    def _send_exactly(
        self, stream: socket.socket, size: int, result: ConnectionResult, sent: Callable[[bytes], None]
    ) -> None:
        ends = result.sent_bytes + size
        while result.sent_bytes < ends:
            left = ends - result.sent_bytes
            chunk = _random_bytes(result.sent_bytes, min(left, self._transfer.part_bytes or left))
            stream.sendall(chunk)
            sent(chunk)
            result.sent_bytes += len(chunk)

    def _secured(self, sock: socket.socket, result: ConnectionResult) -> ssl.SSLSocket:
        version = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}[self._transfer.tls or ""]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT if self._client else ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = context.maximum_version = version
        if self._client:
            context.load_verify_locations(self._document["certificate"])
            secured = context.wrap_socket(sock, server_hostname="server.lab.test")
        else:
            context.load_cert_chain(self._document["certificate"], self._document["key"])
            secured = context.wrap_socket(sock, server_side=True)
        result.tls_version = secured.version()
        result.tls_cipher = (secured.cipher() or (None,))[0]
        return secured

    def _guard(self, work: Callable[..., None], *arguments: object) -> None:
        try:
            work(*arguments)
        except OSError as error:
            self._failures.append(f"{type(error).__name__}: {error}")


def _end_stream(stream: socket.socket) -> socket.socket:
    """Close both directions in order: TLS close_notify, FIN, and wait for the other end's."""
    if isinstance(stream, ssl.SSLSocket):
        stream = stream.unwrap()
    stream.shutdown(socket.SHUT_WR)
    while stream.recv(65_536):
        pass
    return stream


def _random_bytes(position: int, size: int) -> bytes:
    at = position % len(_BLOCK)
    chunk = _BLOCK[at : at + size]
    while len(chunk) < size:
        chunk += _BLOCK[: size - len(chunk)]
    return chunk


def _read_exactly(stream: socket.socket, size: int, result: ConnectionResult, got: Callable[[bytes], None]) -> bool:
    left = size
    while left:
        chunk = stream.recv(min(left, 65_536))
        if not chunk:
            return False
        got(chunk)
        result.got_bytes += len(chunk)
        left -= len(chunk)
    return True


if __name__ == "__main__":
    sys.exit(Endpoint(json.loads(Path(sys.argv[1]).read_text())).run())
