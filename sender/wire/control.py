"""The sender's end of the control connection: questions and answers, one at a time (docs/security.md has the list)."""

from __future__ import annotations

import hashlib
import re
import socket
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Callable, TypeVar

from vmtrace.sender.wire import handshake
from vmtrace.sender.wire.channel import Channel, ChannelError, Message, receive_exactly
from vmtrace.sender.wire.data_connection import data_key, session_name
from vmtrace.sender.wire.endpoint import Address, Endpoint, connect, keep_alive, name_of, resolve
from vmtrace.sender.wire.errors import ConnectionClosed, ReceiverBusy, ReceiverGone, ReceiverRefused
from vmtrace.sender.wire.fields import FieldError, from_json, to_json
from vmtrace.sender.wire.records import (
    ClockOffset,
    FarEnd,
    FileDescriptions,
    FileListing,
    Prepared,
    RemoteFile,
    RunAccepted,
    RunRequest,
    Sent,
    TransferRequest,
)
from vmtrace.sender.wire.secrecy import secure_sender
from vmtrace.sender.wire.socket_options import SocketOptions

_Record = TypeVar("_Record")
_ANSWER_S = 30.0
_DESCRIBING_S = 600.0
"""The digest of one file may take long: a capture of whole packets can have tens of gigabytes."""
_LISTING_S = 3600.0
"""All of them, however many questions that takes."""
_SLOWEST_BYTES_S = 1000.0
"""A file that comes slower than this is not worth waiting for; a receiver that drips holds nobody up for days."""
_MOST_FILES = 1_000_000
_CLOCK_ROUNDS = 8
_SILENCE_S = 20
_RUN_ID = re.compile(r"[0-9a-f]{32}")
_HEX_DIGEST = re.compile(r"[0-9a-f]{64}")


class Control:
    """An authenticated control connection. Every method raises `ReceiverGone` when the connection is lost.

    After any `WireError` but `ReceiverRefused` it is of no more use: close it, and connect again.
    """

    def __init__(self, endpoint: Endpoint, address: Address, channel: Channel, session: bytes) -> None:
        self.endpoint = endpoint
        self.address = address
        self.session_name = session_name(session)
        self.data_key = data_key(session)
        self.local_address: tuple[str, int] = channel.socket.getsockname()[:2]
        self.peer_address: tuple[str, int] = channel.socket.getpeername()[:2]
        self._channel = channel
        self._ahead: deque[RemoteFile] = deque()

    @classmethod
    def connect(cls, endpoint: Endpoint, key: bytes, timeout_s: float = 10.0) -> Control:
        """Connect and prove the key to each other. Raises the `WireError` that says why not."""
        address = resolve(endpoint)
        sock = connect(endpoint, address, SocketOptions(), timeout_s)
        try:
            keep_alive(sock, _SILENCE_S)
            peer = name_of(sock.getpeername())
            hello, auth = introduce(sock, key, handshake.CONTROL, bytes(handshake.SUBJECT_BYTES), timeout_s, peer)
            accept = receive_exactly(sock, handshake.ACCEPT_BYTES, time.monotonic() + timeout_s, peer)
            sock, session = secure_sender(sock, key, (hello, auth, accept), timeout_s, peer)
            return cls(endpoint, address, Channel(sock, peer), session)
        except BaseException:
            sock.close()
            raise

    def open_run(self, request: RunRequest) -> RunAccepted:
        """Begin a run, or go on with one. Raises `ReceiverRefused`, e.g. for a run that is not there."""
        accepted = self._record(RunAccepted, self._ask("open", to_json(request)))
        if not _RUN_ID.fullmatch(accepted.run_id):
            raise ChannelError(f"{self._channel.peer} sent no valid name of the run")
        return accepted

    def clock_offset(self) -> ClockOffset:
        """Receiver's clock minus ours, from the fastest of a few questions."""
        best: ClockOffset | None = None
        for _ in range(_CLOCK_ROUNDS):
            asked_ns, asked_s = time.time_ns(), time.monotonic()
            answer = self._ask("time", {})
            round_trip_s = time.monotonic() - asked_s
            there_ns = answer.get("time_ns")
            if not isinstance(there_ns, int):
                raise ChannelError(f"{self._channel.peer} sent no valid time")
            offset_s = (there_ns - asked_ns) / 1e9 - round_trip_s / 2
            if best is None or round_trip_s / 2 < best.error_s:
                best = ClockOffset(offset_s, round_trip_s / 2)
        assert best is not None
        return best

    def prepare(self, request: TransferRequest) -> Prepared:
        """Have the receiver expect the data connections of a transfer; its capture runs when this returns."""
        prepared = self._record(Prepared, self._ask("prepare", to_json(request)))
        if prepared.number != request.number:
            raise ChannelError(f"{self._channel.peer} prepared another transfer")
        if request.tls and not _HEX_DIGEST.fullmatch(prepared.certificate_sha256 or ""):
            raise ChannelError(f"{self._channel.peer} shows no certificate for a transfer over TLS")
        return prepared

    def finish(self, number: int, sent: Sent | None, timeout_s: float = 120.0) -> FarEnd:
        """End a transfer: the receiver waits for its streams, closes its capture, and tells what it has."""
        content = {"number": number, "sent": None if sent is None else to_json(sent)}
        return self._record(FarEnd, self._ask("finish", content, timeout_s).get("far_end"))

    def abort(self, number: int) -> None:
        """Give a transfer up. Its files at the receiver stay until its pair is tried again."""
        self._ask("abort", {"number": number})

    def keep_alive(self) -> None:
        """Say that we are still here; due at least every `_SILENCE_S` seconds between transfers."""
        self._ask("time", {})

    def files(self) -> list[RemoteFile]:
        """The files of the receiver's half of the run."""
        listing = self._record(FileListing, self._ask("files", {}))
        if not 0 <= listing.count <= _MOST_FILES:
            raise ChannelError(f"{self._channel.peer} announced {listing.count} files: a run cannot have so many")
        files: list[RemoteFile] = []
        deadline_s = time.monotonic() + _LISTING_S
        while len(files) < listing.count:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise ReceiverGone(f"{self._channel.peer} has not described its files within {_LISTING_S:g} s")
            answer = self._ask("describe", {"first": len(files)}, min(_DESCRIBING_S, left_s))
            some = self._record(FileDescriptions, answer).files
            if not some:
                raise ChannelError(f"{self._channel.peer} announced {listing.count} files and describes {len(files)}")
            files.extend(some)
        for file in files:
            if not _HEX_DIGEST.fullmatch(file.sha256) or file.bytes < 0:
                raise ChannelError(f"{self._channel.peer} describes a file that cannot be")
        return files

    def fetch(self, file: RemoteFile, write: Callable[[bytes], object], coming: Sequence[RemoteFile] = ()) -> None:
        """Get a whole file, calling `write` with consecutive pieces.

        `coming` are the files that will be fetched next: they are asked for at once, so that many small files do not
        cost a round trip each. Raises `ReceiverRefused` when the file is not what was announced: its digest differs,
        e.g. because it still grows.
        """
        self._ask_ahead([file, *coming])
        self._ahead.popleft()
        self._answer(_ANSWER_S)
        seen = hashlib.sha256()
        for piece in self._pieces(file):
            seen.update(piece)
            write(piece)
        if seen.hexdigest() != file.sha256:
            raise ReceiverRefused(f"{self._channel.peer}: a file changed while it was fetched: fetch again")

    def close(self) -> None:
        """End the connection; the receiver ends the session."""
        self._channel.close()

    def _ask(self, operation: str, content: Message, timeout_s: float = _ANSWER_S) -> Message:
        self._forget_ahead()
        self._channel.send({**content, "ask": operation})
        return self._answer(timeout_s)

    def _answer(self, timeout_s: float) -> Message:
        answer = self._channel.receive(timeout_s)
        error = answer.get("error")
        if answer.get("ok") is not True:
            text = error if isinstance(error, str) and error.isprintable() else "no reason given"
            kind = ReceiverBusy if answer.get("busy") is True else ReceiverRefused
            raise kind(f"{self._channel.peer}: {text[:500]}")
        return answer

    def _ask_ahead(self, files: list[RemoteFile]) -> None:
        """Ask for files in this order, but for those that have been asked for."""
        if list(self._ahead) != files[: len(self._ahead)]:
            self._forget_ahead()
        for file in files[len(self._ahead) :]:
            self._channel.send({"ask": "fetch", "number": file.number, "bytes": file.bytes})
            self._ahead.append(file)

    def _forget_ahead(self) -> None:
        """Take what was asked for and is not wanted any more off the connection."""
        while self._ahead:
            file = self._ahead.popleft()
            try:
                self._answer(_ANSWER_S)
            except ReceiverRefused:
                continue
            for _ in self._pieces(file):
                pass

    def _pieces(self, file: RemoteFile) -> Iterator[bytes]:
        left = file.bytes
        deadline_s = time.monotonic() + _ANSWER_S + file.bytes / _SLOWEST_BYTES_S
        while left > 0:
            piece = self._channel.receive_bytes(min(_ANSWER_S, max(0.0, deadline_s - time.monotonic())))
            if not 0 < len(piece) <= left:
                raise ChannelError(f"{self._channel.peer} sends more of a file than it announced")
            left -= len(piece)
            yield piece

    def _record(self, kind: type[_Record], answer: object) -> _Record:
        try:
            return from_json(kind, answer)
        except FieldError as error:
            raise ChannelError(f"{self._channel.peer} sent a reply that is not valid: {error}") from error


def introduce(
    sock: socket.socket, key: bytes, kind: int, subject: bytes, timeout_s: float, peer: str
) -> tuple[bytes, bytes]:
    """Read the receiver's HELLO and answer it; returns both. The ACCEPT is still to be read."""
    try:
        hello = receive_exactly(sock, handshake.HELLO_BYTES, time.monotonic() + timeout_s, peer)
    except ConnectionClosed as error:
        raise ReceiverBusy(
            f"{peer} closed the connection without a reply: after wrong keys or too many connections from this address"
            " it waits a minute; is it a vmtrace receiver?"
        ) from error
    handshake.check_hello(hello, peer)
    auth = handshake.new_auth(key, hello, kind, subject)
    sock.settimeout(None)
    try:
        sock.sendall(auth)
    except OSError as error:
        raise ReceiverGone(f"{peer}: connection lost ({error.strerror or error})") from error
    return hello, auth
