"""Two captures of the same datagrams: exact losses, copies, order and delays, by what the datagrams hold."""

import json
import random
import struct
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.analyze.conftest import Capture
from vmtrace.analyze.compare.comparison import Comparison, NothingInCommonError, compare
from vmtrace.analyze.compare.document import document, write_csv
from vmtrace.analyze.compare.human import flow_lines
from vmtrace.analyze.trace import Options, read

CLIENT, SERVER, PUBLIC = ("198.18.0.1", 40_000), ("198.18.9.2", 9999), ("203.0.113.7", 61_001)
AHEAD_S = 3.25
"""The server's clock is ahead by this."""
KEPT = Options(datagrams=True)


def udp(made: Capture, time_s: float, source: tuple[str, int], target: tuple[str, int], payload: bytes) -> None:
    datagram = struct.pack(">HHHH", source[1], target[1], 8 + len(payload), 0) + payload
    made.ipv4(time_s, source[0], target[0], 17, datagram)


@dataclass
class Way:
    """What each end sends, and what becomes of it: both captures, sorted by time."""

    seen: tuple[list[tuple[float, bool, bytes]], list[tuple[float, bool, bytes]]] = field(default=([], []))

    def __init__(self) -> None:
        self.seen = ([], [])

    def send(self, at_s: float, from_client: bool, payload: bytes, delays_s: tuple[float, ...] = (0.02,)) -> None:
        """A datagram that arrives after each of the delays; without any it is lost."""
        here, there = (0, 1) if from_client else (1, 0)
        self.seen[here].append((at_s, from_client, payload))
        self.seen[there].extend((at_s + delay_s, from_client, payload) for delay_s in delays_s)

    def captures(self, folder: Path, client_as: tuple[str, int] = CLIENT) -> tuple[Path, Path]:
        """The client's and the server's, where the client has the address that a NAT gives it."""
        files = folder / "client.pcap", folder / "server.pcap"
        for file, seen, client, ahead_s in zip(files, self.seen, (CLIENT, client_as), (0.0, AHEAD_S), strict=True):
            made = Capture()
            for at_s, from_client, payload in sorted(seen, key=lambda one: one[0]):
                ends = (client, SERVER) if from_client else (SERVER, client)
                udp(made, 10 + at_s + ahead_s, *ends, payload)
            made.write(file)
        return files


def talk(path: Way, count: int = 400, seed: int = 5) -> tuple[int, int]:
    """Unlike datagrams both ways, a twentieth of them lost; how many of each direction are."""
    dice = random.Random(seed)
    lost = [0, 0]
    for number in range(count):
        for way in (0, 1):
            payload = struct.pack(">IB", number, way) + dice.randbytes(dice.randrange(20, 200))
            is_lost = 0 < number < count - 1 and dice.random() < 0.05
            lost[way] += is_lost
            delay_s = 0.02 + (0.01 if way else 0.0) + dice.random() / 1000
            path.send(number / 100 + way / 500, way == 0, payload, () if is_lost else (delay_s,))
    return lost[0], lost[1]


def compared(files: tuple[Path, Path], options: Options = KEPT) -> Comparison:
    return compare(*(read(file, options=options) for file in files))


@pytest.mark.parametrize("client_as", [CLIENT, PUBLIC])
def test_losses_are_exact_and_delays_true_to_the_clocks_error(tmp_path: Path, client_as: tuple[str, int]) -> None:
    path = Way()
    lost = talk(path)
    done = compared(path.captures(tmp_path, client_as))
    [flow] = done.flows
    there, back = flow.directions()
    assert min(lost) > 5
    assert (there.lost_in_network, back.lost_in_network) == lost
    assert (there.sent_datagrams, back.sent_datagrams) == (400, 400)
    assert (there.not_captured, there.outside_capture, there.network_duplicates, there.reordered) == (0, 0, 0, 0)
    assert done.clock.offset_s == pytest.approx(AHEAD_S - 0.005, abs=0.001)
    assert done.clock.offset_error_s == pytest.approx(0.025, abs=0.001)
    assert there.one_way_delay.min_s == pytest.approx(back.one_way_delay.min_s, abs=0.001)
    assert (flow.client_at, flow.receiver_flow["client"]) == ("sender", f"{client_as[0]}:{client_as[1]}")


def test_the_order_of_the_files_only_names_the_ends(tmp_path: Path) -> None:
    path = Way()
    lost = talk(path)
    [flow] = compared(path.captures(tmp_path)[::-1]).flows
    # In its own capture the server spoke first, and is taken for the client.
    assert (flow.client_at, flow.sender_flow["client"]) == ("sender", "198.18.9.2:9999")
    assert flow.receiver_flow["client"] == flow.sender_flow["client"]
    assert (flow.receiver_to_sender.lost_in_network, flow.sender_to_receiver.lost_in_network) == lost


def test_flows_of_one_capture_alone_are_said(tmp_path: Path) -> None:
    path = Way()
    talk(path, 20)
    files = path.captures(tmp_path)
    made = Capture()
    made.records = [files[0].read_bytes()[24:]]
    udp(made, 20.0, ("198.18.0.1", 41_000), SERVER, b"never arrives")
    made.write(files[0])
    done = compared(files)
    assert done.warnings == ("in one capture only: 1 flows of datagrams of the sender's, 0 of the receiver's",)


@pytest.mark.parametrize(("id_bytes", "compares"), [(8, True), (0, False)])
def test_datagrams_of_one_frame_are_told_apart_or_left_out(tmp_path: Path, id_bytes: int, compares: bool) -> None:
    """The server leaves it to its card to cut up what it sends: three datagrams of QUIC a frame, some are lost."""
    dice = random.Random(11)
    name = bytes([id_bytes]) + b"c" * id_bytes
    opening = b"\xc3\x00\x00\x00\x01\x08" + b"s" * 8 + name + b"\x00\x44\x96" + dice.randbytes(1174)
    client, server = Capture(), Capture()
    udp(client, 10.0, CLIENT, SERVER, opening)
    udp(server, 10.02 + AHEAD_S, CLIENT, SERVER, opening)
    for number in range(40):
        parts = [b"\x41" + name[1:] + dice.randbytes(length) for length in (1200, 1200, 150)]
        at_s = 10.1 + number / 100
        udp(server, at_s + AHEAD_S, SERVER, CLIENT, b"".join(parts))
        for place, part in enumerate(parts):
            if number % 10 != 3 or place != 1:
                udp(client, at_s + 0.02 + place / 10_000, SERVER, CLIENT, part)
        reply = b"\x42ssssssss" + dice.randbytes(30)
        udp(client, at_s + 0.025, CLIENT, SERVER, reply)
        udp(server, at_s + 0.045 + AHEAD_S, CLIENT, SERVER, reply)
    files = tmp_path / "client.pcap", tmp_path / "server.pcap"
    client.write(files[0])
    server.write(files[1])
    done = compared(files)
    if compares:
        (flow,) = done.flows
        back = flow.receiver_to_sender
        assert (back.sent_datagrams, back.lost_in_network, back.not_captured) == (120, 4, 0)
        assert not done.warnings
    else:
        assert not done.flows
        assert any("segmentation offload" in warning for warning in done.warnings)


def test_copies_and_late_ones_are_no_losses(tmp_path: Path) -> None:
    path = Way()
    talk(path, 50)
    path.send(0.7, True, b"this one is copied on the way", (0.02, 0.021))
    path.send(0.8, True, b"this one is overtaken", (0.045,))
    path.send(0.81, True, b"by this one and the next", (0.02,))
    there = compared(path.captures(tmp_path)).flows[0].sender_to_receiver
    assert there.network_duplicates == 1
    assert there.reordered >= 1
    assert there.matched_datagrams + there.lost_in_network == there.sent_datagrams == 53


def test_of_datagrams_that_are_alike_losses_are_counted_and_no_delay_is_taken(tmp_path: Path) -> None:
    path = Way()
    talk(path, 30)
    for number in range(20):
        path.send(0.4 + number / 100, True, b"keep-alive", () if number in (4, 9) else (0.02,))
    path.send(0.7, True, b"the last one")
    lost = sum(1 for _, client, _ in path.seen[0] if client) - sum(1 for _, client, _ in path.seen[1] if client)
    there = compared(path.captures(tmp_path)).flows[0].sender_to_receiver
    assert there.lost_in_network == lost
    assert there.one_way_delay.samples == 31 + 2 - lost


def test_captures_that_hold_less_are_compared_by_what_both_hold(tmp_path: Path) -> None:
    path = Way()
    lost = talk(path)
    files = path.captures(tmp_path)
    cut = tmp_path / "cut.pcap"
    shorten(files[1], cut, 14 + 20 + 8 + 12)
    there, back = compared((files[0], cut)).flows[0].directions()
    assert (there.lost_in_network, back.lost_in_network) == lost
    shorten(files[1], cut, 14 + 20 + 8 + 3)
    done = compared((files[0], cut))
    assert done.flows == ()
    assert "of some 3 bytes of payload were captured" in done.warnings[-1]


def shorten(capture: Path, out: Path, most_bytes: int) -> None:
    """As `tcpdump -s` would have written it."""
    content = capture.read_bytes()
    order = "<" if content[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    at, made = 24, bytearray(content[:24])
    while at < len(content):
        seconds, fraction, captured, length = struct.unpack_from(f"{order}IIII", content, at)
        kept = min(captured, most_bytes)
        made += struct.pack(f"{order}IIII", seconds, fraction, kept, length) + content[at + 16 : at + 16 + kept]
        at += 16 + captured
    out.write_bytes(made)


def test_what_was_sent_while_the_other_end_was_not_captured_is_not_judged(tmp_path: Path) -> None:
    path = Way()
    talk(path, 100)
    path.seen[1][:] = [one for one in path.seen[1] if one[0] > 0.5]
    there = compared(path.captures(tmp_path)).flows[0].sender_to_receiver
    sent_before = sum(1 for at_s, client, _ in path.seen[0] if client and at_s + 0.02 < 0.5)
    assert abs(there.outside_capture - sent_before) <= 1
    assert there.lost_rate is not None
    assert there.lost_rate < 0.15


def test_one_direction_gives_losses_and_no_delay(tmp_path: Path) -> None:
    path = Way()
    for number in range(50):
        path.send(number / 10, True, b"%d one way" % number, () if number % 7 == 3 else (0.02,))
    done = compared(path.captures(tmp_path))
    [flow] = done.flows
    assert (flow.client_at, flow.sender_to_receiver.lost_in_network) == ("sender", 7)
    assert done.clock.offset_s is None
    content = document(done)["flows"][0]["sender_to_receiver"]["one_way_delay"]
    assert (content["median_s"], content["samples"]) == (None, 0)
    assert "one direction only" in content["reason"]


def test_nothing_in_common_is_said(tmp_path: Path) -> None:
    one, other = Way(), Way()
    talk(one, 20, seed=1)
    talk(other, 20, seed=2)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    files = one.captures(tmp_path / "a")[0], other.captures(tmp_path / "b")[1]
    with pytest.raises(NothingInCommonError, match="no datagram that is in both"):
        compared(files)
    with pytest.raises(NothingInCommonError):
        compared(one.captures(tmp_path / "a"), Options())


def test_the_command_prints_and_writes_flows(tmp_path: Path) -> None:
    path = Way()
    lost = talk(path)
    client, server = path.captures(tmp_path)
    words = [sys.executable, "-m", "vmtrace", "compare", str(client), str(server)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert f"{lost[0]} of 400 datagrams lost" in done.stdout
    assert done.stderr == ""
    done = subprocess.run([*words, "--json", "-"], capture_output=True, text=True, check=True)
    [flow] = json.loads(done.stdout)["flows"]
    assert flow["receiver_to_sender"]["lost_in_network"] == lost[1]
    comparison = compared((client, server))
    assert "→ 198.18.9.2:9999" in "\n".join(flow_lines(comparison))
    write_csv(comparison, tmp_path / "tables")
    head, *rows = (tmp_path / "tables/flows.csv").read_text().splitlines()
    assert '"lost_in_network"' in head
    assert len(rows) == 2
