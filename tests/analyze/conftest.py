"""Captures made in the open, byte by byte, for tests of what lies around the engine."""

import json
import shutil
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
def long_transfer() -> Capture:
    """A transfer with enough packets for peak rates."""
    return add_transfer(Capture(), segments=100)


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


class RunMaker:
    """A run folder made line by line, as `docs/run-folder.md` says; its captures are made by `add_transfer`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(mode=0o700, parents=True)
        self.record: dict[str, Any] = {
            "schema": "vmtrace.run/1",
            "vmtrace": "0.1.0",
            "id": "0123456789abcdef0123456789abcdef",
            "status": "complete",
            "error": None,
            "start_ns": START_S * 10**9,
            "end_ns": (START_S + 60) * 10**9,
            "plan": {"name": "lee2011", "scale": 0.01, "repeat": 4, "duration_s": None, "seed": 1, "entries": []},
            "pairs_planned": None,
            "sender": {"address": "10.0.0.1", "host": "vm"},
            "receiver": {"address": "10.0.0.2", "host": "native"},
            "receiver_half": {"status": "complete", "files": 2, "bytes": 1000, "error": None},
        }
        self.save()

    def save(self) -> None:
        """Write `run.json` as `record` has it."""
        (self.folder / "run.json").write_text(json.dumps(self.record))

    def plan(self, *entries: tuple[str, int, int, int]) -> None:
        """Entries of the plan: index, pairs, bytes of the probe, bytes of the data transfer."""
        self.record["plan"]["entries"] = [
            {"index": index, "pairs": pairs, "probe": {"bytes": probe}, "data": {"bytes": data}, "gap_s": 0}
            for index, pairs, probe, data in entries
        ]
        self.record["pairs_planned"] = self.record["plan"]["repeat"] * sum(entry[1] for entry in entries)
        self.save()

    def pair(self, sequence: int, index: str = "I_0", **more: Any) -> dict[str, Any]:
        """A line of `pairs.jsonl`, to be changed and given to `add`."""
        start_s = 10.0 * (sequence - 1)
        line = {
            "sequence": sequence,
            "repeat": 1,
            "index": index,
            "pair": sequence,
            "start_ns": int((START_S + start_s) * 1e9),
            "end_ns": int((START_S + start_s + 9) * 1e9),
            "status": "complete",
            "attempts": 1,
            "error": None,
            "rtt": {"method": "tcp", "sent": 3, "lost": 0, "min_s": 0.019, "mean_s": 0.020, "max_s": 0.022},
            "probe": self.transfer(sequence, "probe", 1e6),
            "data": self.transfer(sequence, "data", 2e6),
        }
        return line | more

    def transfer(self, sequence: int, role: str, goodput_bps: float, **more: Any) -> dict[str, Any]:
        """A transfer without a capture."""
        port = self.port(sequence, role)
        start_s = 10.0 * (sequence - 1) + (5 if role == "data" else 0)
        size = 50_000 if role == "data" else 10_000
        return {
            "bytes": size,
            "direction": "upload",
            "streams": 1,
            "start_ns": int((START_S + start_s) * 1e9),
            "end_ns": int((START_S + start_s + 1) * 1e9),
            "duration_s": 8 * size / goodput_bps,
            "goodput_bps": goodput_bps,
            "digest_ok": True,
            "connections": [{"stream": 0, "direction": "upload", "local": f"10.0.0.1:{port}", "peer": "10.0.0.2:5001"}],
            "tcp": {"retransmitted_segments": 1, "segments_out": 50, "min_rtt_s": 0.02, "srtt_s": 0.021},
            "tls": None,
            "capture": None,
        } | more

    @staticmethod
    def port(sequence: int, role: str) -> int:
        """The sender's port of a transfer."""
        return 40_000 + 2 * sequence % 20_000 + (role == "data")

    def capture(self, line: dict[str, Any], role: str, side: str = "sender", lost: tuple[int, ...] = (3,)) -> Path:
        """Capture a transfer of a line, beside the sender of its data."""
        transfer = line[role]
        transfer["capture"] = (transfer["capture"] or {}) | {f"{side}_dropped": 0}
        start_s = transfer["start_ns"] / 1e9 - START_S
        made = add_transfer(Capture(), start_s, self.port(line["sequence"], role), transfer["bytes"] // 1000, lost=lost)
        path = self.folder / "packets" / side / f"{line['sequence']:04}-{role}.pcap"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return made.write(path)

    def add(self, *lines: dict[str, Any]) -> None:
        """Append lines to `pairs.jsonl`, and their echoes to `ping.jsonl`."""
        with (self.folder / "pairs.jsonl").open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        with (self.folder / "ping.jsonl").open("a") as file:
            for line in lines:
                for number, rtt_s in enumerate((0.019, 0.019, 0.022)):
                    echo = {"time_ns": line["start_ns"], "method": "tcp", "sequence": number, "pair": line["sequence"]}
                    file.write(json.dumps(echo | {"rtt_s": rtt_s}) + "\n")

    def pairs(self, number: int, index: str = "I_0", first: int = 1, captured: bool = True) -> None:
        """Complete pairs; data throughput is twice the probe's, which rises pair by pair."""
        for sequence in range(first, first + number):
            line = self.pair(sequence, index)
            for role, factor in (("probe", 1), ("data", 2)):
                line[role] = self.transfer(sequence, role, factor * 1e6 * sequence)
                if captured:
                    self.capture(line, role)
            self.add(line)


@pytest.fixture
def new_run(tmp_path: Path) -> Callable[..., RunMaker]:
    """Makes an empty run folder."""

    def make(name: str = "run") -> RunMaker:
        return RunMaker(tmp_path / name)

    return make


@pytest.fixture
def small_run(new_run: Callable[..., RunMaker]) -> RunMaker:
    """Eight captured pairs of two indices; each transfer has one segment lost of 10 or 50."""
    run = new_run()
    run.plan(("I_0", 1, 10_000, 50_000), ("I_1", 1, 10_000, 50_000))
    run.pairs(4, "I_0")
    run.pairs(4, "I_1", first=5)
    return run


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The system's Chromium, without a screen; for a whole module, because starting it takes longer than most tests."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium on this machine (Debian, Ubuntu: apt install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()
