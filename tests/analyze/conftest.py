"""Captures made in the open, byte by byte, for tests of what lies around the engine."""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
START_S = 1_700_000_000


@dataclass
class Capture:
    """Packets in order; `write` makes a little-endian pcap file with microseconds of them."""

    link_type: int = 1
    records: list[bytes] = field(default_factory=list)

    def frame(self, time_s: float, frame: bytes) -> None:
        microseconds = round(time_s * 1e6)
        seconds, rest = divmod(microseconds, 1_000_000)
        self.records.append(struct.pack("<IIII", START_S + seconds, rest, len(frame), len(frame)) + frame)

    def tcp(
        self,
        time_s: float,
        source: tuple[str, int],
        target: tuple[str, int],
        flags: int,
        sequence: int,
        acknowledgement: int = 0,
        payload: bytes = b"",
        window: int = 65_535,
        options: bytes = b"",
    ) -> None:
        header = struct.pack(
            ">HHIIBBHHH",
            source[1],
            target[1],
            sequence % 2**32,
            acknowledgement % 2**32,
            (20 + len(options)) // 4 << 4,
            flags,
            window,
            0,
            0,
        )
        self.ipv4(time_s, source[0], target[0], 6, header + options + payload)

    def ipv4(self, time_s: float, source: str, target: str, protocol: int, content: bytes) -> None:
        addresses = b"".join(bytes(int(part) for part in address.split(".")) for address in (source, target))
        # Each packet has an identification of its own: an exact repeat would be a packet captured twice.
        number = (len(self.records) + 1) % 65_536
        header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(content), number, 0x4000, 64, protocol, 0) + addresses
        self.frame(time_s, bytes(12) + b"\x08\x00" + header + content)

    def bytes(self) -> bytes:
        return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, self.link_type) + b"".join(self.records)

    def write(self, path: Path) -> Path:
        path.write_bytes(self.bytes())
        return path


def add_transfer(
    capture: Capture,
    start_s: float = 0.0,
    port: int = 40_000,
    segments: int = 50,
    lost: tuple[int, ...] = (20,),
    server: tuple[str, int] = ("10.0.0.2", 5001),
) -> Capture:
    """A client sends `segments` segments of 1000 bytes, captured beside it, 20 ms away from the server.

    Segments in `lost` are sent a second time after three duplicate acknowledgements (those of the segments behind).
    """
    client = ("10.0.0.1", port)
    scale = b"\x02\x04\x05\xb4\x01\x03\x03\x07"
    now = start_s
    capture.tcp(now, client, server, SYN, 1000, options=scale)
    capture.tcp(now + 0.020, server, client, SYN | ACK, 5000, 1001, options=scale)
    capture.tcp(now + 0.0201, client, server, ACK, 1001, 5001, window=512)
    now += 0.021
    for number in range(segments):
        if any(0 < number - hole <= 3 for hole in lost):
            continue  # sent right behind the lost one
        sequence = 1001 + number * 1000
        capture.tcp(now, client, server, ACK | PSH, sequence, 5001, bytes(1000), 512)
        if number not in lost:
            capture.tcp(now + 0.020, server, client, ACK, 5001, sequence + 1000, window=512)
            now += 0.021
            continue
        for later in (1, 2, 3):
            capture.tcp(now + 0.001 * later, client, server, ACK | PSH, sequence + 1000 * later, 5001, bytes(1000), 512)
        for later in (1, 2, 3):
            capture.tcp(now + 0.020 + 0.001 * later, server, client, ACK, 5001, sequence, window=512)
        capture.tcp(now + 0.025, client, server, ACK | PSH, sequence, 5001, bytes(1000), 512)
        capture.tcp(now + 0.045, server, client, ACK, 5001, sequence + 4000, window=512)
        now += 0.046
    end = 1001 + segments * 1000
    capture.tcp(now, client, server, FIN | ACK, end, 5001, window=512)
    capture.tcp(now + 0.020, server, client, FIN | ACK, 5001, end + 1, window=512)
    capture.tcp(now + 0.0201, client, server, ACK, end + 1, 5002, window=512)
    return capture


@pytest.fixture
def transfer() -> Capture:
    """One transfer of 50 segments, one of them lost."""
    return add_transfer(Capture())


@pytest.fixture
def two_transfers() -> Capture:
    """A transfer of 50 segments and one of 10 after it, both with a lost segment."""
    capture = add_transfer(Capture())
    return add_transfer(capture, start_s=10.0, port=40_001, segments=10, lost=(3,))


@pytest.fixture
def transfer_file(transfer: Capture, tmp_path: Path) -> Path:
    """The same transfer as a file."""
    return transfer.write(tmp_path / "transfer.pcap")


@pytest.fixture
def new_capture() -> Callable[[], Capture]:
    """Makes an empty capture."""
    return Capture


@pytest.fixture
def transfer_into() -> Callable[..., Capture]:
    """Adds a transfer to a capture, see `add_transfer`."""
    return add_transfer
