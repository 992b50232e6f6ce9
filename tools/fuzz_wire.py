"""Gives a receiver, in this process, what strangers and holders of the key could send it, changed at random.

    python -m tools.fuzz_wire --seconds N [--seed S]

After each round an honest sender does a transfer, and threads, descriptors and memory must be as before. A finding
names the seed and the round. CONTRIBUTING.md.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from vmtrace.receiver.log import Log
from vmtrace.receiver.server import Server
from vmtrace.receiver.settings import AdmissionLimits, ReceiverSettings
from vmtrace.sender.wire import handshake
from vmtrace.sender.wire.channel import Channel, receive_exactly
from vmtrace.sender.wire.control import Control
from vmtrace.sender.wire.data_connection import Stream, data_key, pack_subject, session_name
from vmtrace.sender.wire.endpoint import Endpoint
from vmtrace.sender.wire.errors import WireError
from vmtrace.sender.wire.fields import FieldError
from vmtrace.sender.wire.records import RunRequest, TransferRequest
from vmtrace.sender.wire.secrecy import secure_sender
from vmtrace.sender.wire.transfer import digest_ok, run_transfer

KEY = bytes(range(32))
ROUND = 25
GROWTH_BYTES = 64 << 20
SETTLING_S = 20
WORDS = [
    "open",
    "prepare",
    "finish",
    "abort",
    "files",
    "describe",
    "fetch",
    "time",
    "data",
    "probe",
    "upload",
    "download",
    "both",
    "reno",
]
ODD: list[object] = [
    None, True, False, 0, -1, 1, 2**31, 2**32, 2**63, -(2**70), 0.0, -0.5, 1e300, "", "..", "/", "\n", "\x1b[2J",
    "\ud800", "a" * 2000, [], {}, [[]], {"a": {}},
]  # fmt: skip


class Silent(Log):
    """Keeps what a receiver must never say: that a defect ended something."""

    def __init__(self) -> None:
        super().__init__()
        self.defects: list[str] = []

    def event(self, name: str, text: str, **facts: object) -> None:
        """Of no interest."""

    def trouble(self, text: str) -> None:
        """Ordinary trouble is told to the client too."""
        if "session ended" in text:
            self.defects.append(text)


class NoWatch:
    """A `Watch` that looks away."""

    def connected(self, stream: int, direction: str, sock: socket.socket) -> None:
        """Of no interest."""

    def closing(self, stream: int, direction: str, sock: socket.socket) -> None:
        """Of no interest."""

    def moved(self, moved_bytes: int) -> None:
        """Of no interest."""


def changed(content: bytes, chance: random.Random) -> bytes:
    """Bytes flipped, cut, doubled or put in."""
    result = bytearray(content)
    for _ in range(chance.randint(0, 3)):
        place = chance.randint(0, max(0, len(result) - 1))
        match chance.randint(0, 4):
            case 0 if result:
                result[place] ^= 1 << chance.randint(0, 7)
            case 1:
                del result[place:]
            case 2:
                result[place:place] = result[: chance.randint(0, 40)]
            case 3:
                result[place:place] = chance.randbytes(chance.randint(1, 40))
            case _:
                del result[place : place + chance.randint(1, 8)]
    return bytes(result)


def message(chance: random.Random) -> dict[str, object]:
    """A question as it should be, with fields lost, swapped or odd."""
    request = asdict(TransferRequest(chance.randint(0, 4), chance.randint(0, 3), "data", chance.choice([0, 1, 5000])))
    request |= {"streams": chance.choice([1, 2]), "direction": chance.choice(WORDS[-5:]), "tls": chance.random() < 0.2}
    fields = {**request, "first": 0, "run_id": None, "capture": False, "sent": None, "ask": chance.choice(WORDS[:8])}
    for _ in range(chance.randint(0, 2)):
        fields[chance.choice(list(fields))] = chance.choice([*ODD, *WORDS])
    if chance.random() < 0.1:
        del fields[chance.choice(list(fields))]
    return fields


def stranger(port: int, chance: random.Random) -> None:
    """Somebody without the key."""
    with socket.create_connection(("127.0.0.1", port), 2) as sock:
        hello = receive_exactly(sock, handshake.HELLO_BYTES, time.monotonic() + 2, "it")
        key = chance.choice([KEY, b"x" * 32])
        auth = handshake.new_auth(key, hello, chance.choice([0, 1, 2, 255]), chance.randbytes(32))
        sock.sendall(chance.choice([changed(auth, chance), chance.randbytes(chance.randint(0, 300))]))
        linger(sock, chance)


def keyed(port: int, chance: random.Random) -> None:
    """Somebody with the key who asks nonsense, and goes at any time."""
    with socket.create_connection(("127.0.0.1", port), 2) as sock:
        hello = receive_exactly(sock, handshake.HELLO_BYTES, time.monotonic() + 2, "it")
        auth = handshake.new_auth(KEY, hello, handshake.CONTROL)
        sock.sendall(auth)
        accept = receive_exactly(sock, handshake.ACCEPT_BYTES, time.monotonic() + 2, "it")
        if chance.random() < 0.1:  # nonsense where TLS is due
            sock.sendall(chance.randbytes(chance.randint(0, 300)))
            linger(sock, chance)
            return
        wrapped, session = secure_sender(sock, KEY, (hello, auth, accept), 2, "it")
        with wrapped:
            channel = Channel(wrapped, "it")
            if chance.random() < 0.9:
                channel.send({"ask": "open", "capture": False})
                channel.receive(5)
            for _ in range(chance.randint(0, 6)):
                converse(port, channel, session, chance)
            linger(wrapped, chance)


def converse(port: int, channel: Channel, session: bytes, chance: random.Random) -> None:
    """One question, or one data connection."""
    what = chance.random()
    if what < 0.2:
        stream(port, session, chance)
    elif what < 0.35:
        channel._send(chance.choice([b"J", b"B", b"\0"]), changed(json.dumps(message(chance)).encode(), chance))  # noqa: SLF001
    elif what < 0.4:
        channel.socket.sendall(chance.randbytes(chance.randint(0, 100)))
    else:
        asked = message(chance)
        channel.send(asked)
        if asked.get("ask") != "finish":  # which waits for streams that never come
            channel.receive(5)


def stream(port: int, session: bytes, chance: random.Random) -> None:
    """A data connection of a transfer that is prepared, or not."""
    with socket.create_connection(("127.0.0.1", port), 2) as sock:
        hello = receive_exactly(sock, handshake.HELLO_BYTES, time.monotonic() + 2, "it")
        place = Stream(
            session_name(session), chance.randint(0, 4), chance.randint(0, 2), chance.choice(["upload", "download"])
        )
        sock.sendall(
            handshake.new_auth(data_key(session), hello, handshake.DATA, changed_subject(pack_subject(place), chance))
        )
        sock.sendall(chance.choice([b"GO", b"\x16\x03\x01", b""]) + chance.randbytes(chance.randint(0, 6000)))
        linger(sock, chance)


def changed_subject(subject: bytes, chance: random.Random) -> bytes:
    return subject if chance.random() < 0.7 else changed(subject, chance)[:32].ljust(32, b"\0")


def linger(sock: socket.socket, chance: random.Random) -> None:
    """Read a little, or go at once, in an orderly way or not."""
    if chance.random() < 0.5:
        sock.settimeout(0.02)
        sock.recv(4096)
    elif chance.random() < 0.5:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def honest(port: int) -> None:
    """Must always work."""
    control = Control.connect(Endpoint("127.0.0.1", port), KEY, 5)
    try:
        control.open_run(RunRequest(capture=False))
        request = TransferRequest(1, 1, "data", 10_000, "both", 2, tcp_info_interval_s=None)
        outcome = run_transfer(control, request, control.prepare(request), NoWatch(), 5)
        if not digest_ok(outcome, control.finish(1, outcome.sent)):
            raise AssertionError("an honest transfer was not verified")
    finally:
        control.close()


def usage() -> tuple[int, int]:
    """Threads and descriptors."""
    gc.collect()
    return threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def settles(before: tuple[int, int]) -> bool:
    """What was in use before is in use again, within the seconds that the receiver gives to the last streams."""
    deadline_s = time.monotonic() + SETTLING_S
    while is_more(usage(), before) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    return not is_more(usage(), before)


def is_more(now: tuple[int, int], before: tuple[int, int]) -> bool:
    """Of either, threads or descriptors: a thread less makes up for no descriptor more."""
    return any(one > other for one, other in zip(now, before, strict=True))


def fuzz(seconds: float, seed: int, folder: Path) -> tuple[int, list[str]]:
    """Rounds for so long; returns how many connections there were, and what was found."""
    limits = AdmissionLimits(introduction_s=0.5, connections_per_s=1e9, connection_burst=10**9, wrong_keys=10**9)
    settings = ReceiverSettings(
        folder, bind="127.0.0.1", port=0, capture=False, host_counters=False, sessions=64, admission=limits
    )
    log, defects = Silent(), []
    hook, threading.excepthook = (
        threading.excepthook,
        lambda args: defects.append(f"thread: {args.exc_type.__name__}: {args.exc_value}"),
    )
    server = Server(settings, KEY, log, "fuzz")
    thread = threading.Thread(target=server.serve)
    thread.start()
    count = 0
    try:
        honest(server.port)
        before, memory_bytes, until_s = usage(), resident_bytes(), time.monotonic() + seconds
        while time.monotonic() < until_s and not defects:
            chance = random.Random(f"{seed}/{count // ROUND}")
            for _ in range(ROUND):
                attempt(chance.choice([stranger, keyed, keyed]), server.port, chance)
                count += 1
            honest(server.port)
            defects += log.defects
            if not settles(before):
                defects.append(f"threads and descriptors were {before} and are {usage()}")
        if resident_bytes() - memory_bytes > GROWTH_BYTES:
            defects.append(f"memory grew by {resident_bytes() - memory_bytes} bytes")
    finally:
        server.stop()
        thread.join(30)
        threading.excepthook = hook
    return count, defects


def attempt(client: Callable[[int, random.Random], None], port: int, chance: random.Random) -> None:
    try:
        client(port, chance)
    except (OSError, WireError, FieldError):
        return  # the receiver ends what it does not like


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz the receiver's protocol.")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        count, defects = fuzz(arguments.seconds, arguments.seed, Path(folder))
    for defect in defects:
        print(f"fuzz wire: {defect} (seed {arguments.seed}, round {count // ROUND - 1})", file=sys.stderr)
    print(f"fuzz wire: {count} connections, {'nothing found' if not defects else 'FAILED'} (seed {arguments.seed})")
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
