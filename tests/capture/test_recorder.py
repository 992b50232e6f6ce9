"""Recordings on real interfaces: what was sent is in the file, once, and the health says so."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from pathlib import Path

import pytest

from tests.capture.traffic import (
    NumberedDatagrams,
    inside,
    numbers,
    read_pcap,
    tcp_payloads,
    transfer,
)
from vmtrace.analyze import trace
from vmtrace.capture import bpf
from vmtrace.capture.errors import CaptureError
from vmtrace.capture.health import CaptureHealth, health_path
from vmtrace.capture.libpcap import Live
from vmtrace.capture.recorder import Recorder
from vmtrace.capture.rotation import Rotation
from vmtrace.capture.settings import CaptureSettings
from vmtrace.lab import namespaces

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("may_capture")]
BUFFER_BYTES = 4 << 20


def settings(interface: str = "lo", **more: object) -> CaptureSettings:
    return CaptureSettings(interface, **{"buffer_bytes": BUFFER_BYTES, **more})  # type: ignore[arg-type]


def is_whole(health: CaptureHealth) -> bool:
    """Nothing is missing, by the counts of the kernel and of the file."""
    return health.error is None and health.dropped == 0 and health.received == health.written


def test_fifty_short_transfers_are_in_their_files_to_the_last_packet(tmp_path: Path) -> None:
    path = tmp_path / "trace.pcap"
    for _ in range(50):
        recorder = Recorder(settings(filter="tcp and host 127.0.0.7"), path)
        recorder.start()
        transfer("127.0.0.7", 40_000)
        health = recorder.stop()
        assert is_whole(health)
        segments = list(tcp_payloads(read_pcap(path), 14))
        assert len(segments) == health.written
        assert sum(length for length, _, _ in segments) == 40_000
        # SYN of both sides is first, FIN of both sides and the last ACK are there, too.
        flags = [record.data[14 + 20 + 13] for _, _, record in segments]
        assert [flag & 2 for flag in flags[:2]] == [2, 2]
        assert sum(flag & 1 for flag in flags) >= 2  # a busy host repeats one
        assert flags[-1] == 0x10


def test_everything_sent_from_the_moment_start_returns_is_recorded(tmp_path: Path) -> None:
    with NumberedDatagrams() as traffic:
        recorder = Recorder(settings(filter=f"udp port {traffic.port}"), tmp_path / "trace.pcap")
        recorder.start()
        traffic.send(1)
        health = recorder.stop()
    assert is_whole(health)
    assert numbers(read_pcap(tmp_path / "trace.pcap")) == [0]


def test_what_came_before_the_filter_was_set_is_not_in_the_file(tmp_path: Path) -> None:
    """Traffic that the filter rejects is under way while the capture begins."""
    stop = threading.Event()
    with NumberedDatagrams() as noise, NumberedDatagrams() as wanted:

        def make_noise() -> None:
            while not stop.is_set():
                noise.send(10, 400)

        thread = threading.Thread(target=make_noise)
        thread.start()
        try:
            for _ in range(5):
                with Recorder(settings(filter=f"udp port {wanted.port}"), tmp_path / "trace.pcap") as recorder:
                    wanted.send(3)
                health = recorder.stop()
                assert is_whole(health)
                assert health.written == 3
        finally:
            stop.set()
            thread.join()


def test_the_health_tells_what_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.pcap"
    before_ns = time.time_ns()
    with Recorder(settings(filter="tcp and host 127.0.0.7"), path) as recorder:
        transfer("127.0.0.7", 100_000)
    after_ns = time.time_ns()
    health = recorder.stop()
    record = json.loads(health_path(path).read_text())
    assert record == json.loads(json.dumps(health.as_record()))
    packets = read_pcap(path).records
    assert record["schema"] == "vmtrace.capture/1"
    assert record["received"] == record["written"] == len(packets)
    assert record["captured_bytes"] == sum(len(packet.data) for packet in packets)
    assert record["wire_bytes"] == sum(packet.wire_bytes for packet in packets)
    assert (record["first_packet_ns"], record["last_packet_ns"]) == (packets[0].time_ns, packets[-1].time_ns)
    assert before_ns < record["start_ns"] < packets[0].time_ns < packets[-1].time_ns < record["end_ns"] < after_ns
    assert record["link_type"] == "EN10MB"
    assert record["time_source"] == "host"
    assert record["offload"].keys() == {"tso", "gso", "gro", "lro"}
    assert (record["snaplen"], record["interface"], record["direction"]) == (None, "lo", "both")
    assert record["buffer_bytes"] == BUFFER_BYTES
    assert record["error"] is None
    assert path.stat().st_mode & 0o777 == 0o600
    assert health_path(path).stat().st_mode & 0o777 == 0o600


def test_the_engine_reads_the_same_counts(tmp_path: Path) -> None:
    path = tmp_path / "trace.pcap"
    with Recorder(settings(filter="tcp and host 127.0.0.7"), path) as recorder:
        transfer("127.0.0.7", 100_000)
    health = recorder.stop()
    analysis = trace.read(path).json()
    [read] = analysis["inputs"]
    assert (read["packets"], read["captured_bytes"], read["wire_bytes"]) == (
        health.written,
        health.captured_bytes,
        health.wire_bytes,
    )
    assert (read["start_ns"], read["end_ns"]) == (health.first_packet_ns, health.last_packet_ns)
    [connection] = analysis["connections"]
    assert connection["client_to_server"]["unique_payload_bytes"] == 100_000


@pytest.mark.parametrize("address", ["198.18.7.2", "fd00:18:7::2"], ids=["IPv4", "IPv6"])
def test_both_ends_of_a_cable_see_the_transfer(veth: tuple[str, str], tmp_path: Path, address: str) -> None:
    recorders = []
    for number, name in enumerate(veth):
        with inside(name):
            recorders.append(Recorder(settings("veth0", filter="tcp"), tmp_path / f"{number}.pcap"))
            recorders[-1].start()
    transfer(address, 300_000, server=veth[1], client=veth[0])
    for number, recorder in enumerate(recorders):
        assert is_whole(recorder.stop())
        payload_bytes = sum(length for length, _, _ in tcp_payloads(read_pcap(tmp_path / f"{number}.pcap"), 14))
        assert payload_bytes >= 300_000


def test_on_any_each_packet_of_loopback_is_there_once(tmp_path: Path) -> None:
    path = tmp_path / "trace.pcap"
    with Recorder(settings("any", filter="tcp and host 127.0.0.7"), path) as recorder:
        transfer("127.0.0.7", 40_000)
    health = recorder.stop()
    assert is_whole(health)
    assert health.link_type in {"LINUX_SLL2", "LINUX_SLL"}
    network_offset = {276: 20, 113: 16}[read_pcap(path).link_type]
    assert sum(length for length, _, _ in tcp_payloads(read_pcap(path), network_offset)) == 40_000
    [connection] = trace.read(path).json()["connections"]
    assert connection["client_to_server"]["payload_bytes"] == 40_000


def test_any_takes_a_cable_in_both_directions(veth: tuple[str, str], tmp_path: Path) -> None:
    with inside(veth[0]):
        recorder = Recorder(settings("any", filter="tcp"), tmp_path / "trace.pcap")
        recorder.start()
    transfer("198.18.7.2", 40_000, server=veth[1], client=veth[0])
    assert is_whole(recorder.stop())
    [connection] = trace.read(tmp_path / "trace.pcap").json()["connections"]
    assert connection["client_to_server"]["unique_payload_bytes"] == 40_000
    assert connection["handshake"]["complete"]


def test_vlan_tags_are_kept_with_the_headers_behind_them(veth: tuple[str, str], tmp_path: Path) -> None:
    """The sending side sees the tag in the packet, the receiving side beside it: both files have it."""
    tcp = struct.pack("!HHIIBBHHH", 1, 2, 3, 4, 0x50, 0x18, 100, 0, 0) + b"secret payload " * 40
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0, bytes(4), bytes(4)) + tcp
    frame = b"\xff" * 6 + b"\x02\0\0\0\0\1" + struct.pack("!HHH", 0x8100, 42, 0x0800) + ip
    recorders = []
    for number, name in enumerate(veth):
        with inside(name):
            recorders.append(Recorder(settings("veth0", filter="vlan 42"), tmp_path / f"{number}.pcap"))
            recorders[-1].start()
    with inside(veth[0]), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind(("veth0", 0))
        sender.send(frame)
    healths = [recorder.stop() for recorder in recorders]
    for number, health in enumerate(healths):
        [recorded] = read_pcap(tmp_path / f"{number}.pcap").records
        assert recorded.data == frame[: 18 + 40 + 16]
        assert recorded.wire_bytes == len(frame)
        assert is_whole(health)


def test_a_filter_may_hold_for_tagged_packets_on_both_sides(veth: tuple[str, str], tmp_path: Path) -> None:
    def frame(link: bytes, port: int) -> bytes:
        tcp = struct.pack("!HHIIBBHHH", 1, port, 3, 4, 0x50, 0x18, 100, 0, 0) + b"payload " * 40
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0, bytes(4), bytes(4)) + tcp
        return b"\xff" * 6 + b"\x02\0\0\0\0\1" + link + b"\x08\0" + ip

    tag = struct.pack("!HH", 0x8100, 42)
    sent = [frame(b"", 5810), frame(tag, 5810), frame(b"", 80), frame(tag, 80)]
    recorders = []
    for number, name in enumerate(veth):
        with inside(name):
            wanted = settings("veth0", filter="tcp and port 5810", also_tagged=True)
            recorders.append(Recorder(wanted, tmp_path / f"{number}.pcap"))
            recorders[-1].start()
    with inside(veth[0]), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind(("veth0", 0))
        for each in sent:
            sender.send(each)
    healths = [recorder.stop() for recorder in recorders]
    for number, health in enumerate(healths):
        kept = [record.data for record in read_pcap(tmp_path / f"{number}.pcap").records]
        assert kept == [sent[0][: 14 + 40 + 16], sent[1][: 18 + 40 + 16]]
        assert is_whole(health)
        assert health.filter == "(tcp and port 5810) or (vlan and (tcp and port 5810))"


def test_where_there_are_no_tags_a_filter_stays_as_it_is(tmp_path: Path) -> None:
    with Recorder(settings("lo", filter="tcp port 9", also_tagged=True), tmp_path / "trace.pcap") as recorder:
        pass
    assert recorder.stop().filter == "tcp port 9"


def test_a_tag_inside_the_packet_is_stepped_over(veth: tuple[str, str], tmp_path: Path) -> None:
    tcp = struct.pack("!HHIIBBHHH", 1, 2, 3, 4, 0x50, 0x18, 100, 0, 0) + b"secret payload " * 40
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0, bytes(4), bytes(4)) + tcp
    frame = b"\xff" * 6 + b"\x02\0\0\0\0\1" + struct.pack("!HHH", 0x8100, 42, 0x0800) + ip
    with (
        inside(veth[0]),
        Recorder(settings("veth0", direction="out"), tmp_path / "trace.pcap"),
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender,
    ):
        sender.bind(("veth0", 0))
        sender.send(frame)
    assert frame[: 18 + 40 + 16] in [record.data for record in read_pcap(tmp_path / "trace.pcap").records]


@pytest.mark.parametrize(("direction", "sources"), [("in", {2}), ("out", {1}), ("both", {1, 2})])
def test_direction(veth: tuple[str, str], tmp_path: Path, direction: str, sources: set[int]) -> None:
    with inside(veth[0]):
        recorder = Recorder(settings("veth0", filter="tcp", direction=direction), tmp_path / "trace.pcap")
        recorder.start()
    transfer("198.18.7.2", 40_000, server=veth[1], client=veth[0])
    assert is_whole(recorder.stop())
    assert {record.data[29] for record in read_pcap(tmp_path / "trace.pcap").records} == sources


def test_loopback_has_no_packets_that_only_go_out(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="on loopback every packet is recorded as it comes in"):
        Recorder(settings(direction="out"), tmp_path / "trace.pcap").start()


def test_a_raw_ip_interface_keeps_headers(veth: tuple[str, str], tmp_path: Path) -> None:
    tun = namespaces.open_tun(veth[0], "tun7")
    with open(tun, "wb", buffering=0) as device:  # noqa: PTH123 - an open descriptor
        namespaces.run_program(["ip", "-n", veth[0], "link", "set", "tun7", "up"])
        with inside(veth[0]):
            recorder = Recorder(settings("tun7", filter="tcp"), tmp_path / "trace.pcap")
            recorder.start()
        tcp = struct.pack("!HHIIBBHHH", 1, 2, 3, 4, 0x50, 0x18, 100, 0, 0)
        sent = []
        for payload in (b"secret payload " * 40, struct.pack("!BHH", 22, 0x0303, 900) + bytes(900)):
            length = 20 + len(tcp) + len(payload)
            ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, length, 1, 0, 64, 6, 0, bytes(4), bytes(4))
            sent.append(ip + tcp + payload)
            device.write(sent[-1])
        health = recorder.stop()
    assert (health.link_type, is_whole(health)) == ("RAW", True)
    assert [record.data for record in read_pcap(tmp_path / "trace.pcap").records] == [sent[0][: 40 + 16], sent[1]]


@pytest.mark.parametrize("interface", ["lo", "any"])
def test_a_plain_snap_length_is_one(tmp_path: Path, interface: str) -> None:
    path = tmp_path / "trace.pcap"
    with (
        NumberedDatagrams() as traffic,
        Recorder(settings(interface, snaplen=100, filter=f"udp port {traffic.port}"), path) as recorder,
    ):
        traffic.send(3, 1000)
    assert recorder.stop().snaplen == 100
    assert [len(record.data) for record in read_pcap(path).records] == [100, 100, 100]


@pytest.mark.parametrize("interface", ["lo", "any"])
def test_a_filter_may_look_behind_what_is_kept(tmp_path: Path, interface: str) -> None:
    """libpcap filters the first packets once more, by what was kept of them, unless it is told not to."""
    for _ in range(3):
        with NumberedDatagrams() as traffic:
            # The last byte of the payload: 500 bytes behind the header of 8.
            chosen = settings(interface, filter=f"udp port {traffic.port} and udp[507] = 0", snaplen=40)
            with Recorder(chosen, tmp_path / "trace.pcap") as recorder:
                traffic.send(20, 500)
            health = recorder.stop()
        assert is_whole(health)
        assert health.written == 20


def test_whole_packets_are_kept_when_asked_for(tmp_path: Path) -> None:
    with (
        NumberedDatagrams() as traffic,
        Recorder(settings(snaplen=262_144, filter=f"udp port {traffic.port}"), tmp_path / "trace.pcap"),
    ):
        traffic.send(2, 60_000)
    for record in read_pcap(tmp_path / "trace.pcap").records:
        assert len(record.data) == record.wire_bytes == 42 + 16 + 60_000


def test_times_are_nanoseconds_where_offered_and_microseconds_where_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def record() -> tuple[float, bool, bool]:
        with (
            NumberedDatagrams() as traffic,
            Recorder(settings(filter=f"udp port {traffic.port}"), tmp_path / "trace.pcap") as recorder,
        ):
            traffic.send(20)
        pcap, health = read_pcap(tmp_path / "trace.pcap"), recorder.stop()
        assert health.first_packet_ns == pcap.records[0].time_ns
        assert abs(pcap.records[0].time_ns - time.time_ns()) < 10**10
        return health.time_resolution_s, pcap.nanoseconds, any(packet.time_ns % 1000 for packet in pcap.records)

    assert record() == (1e-9, True, True)
    original = Live.set

    def refusing(self: Live, *arguments: int, promiscuous: bool, nanoseconds: bool) -> None:
        original(self, *arguments, promiscuous=promiscuous, nanoseconds=False)

    monkeypatch.setattr(Live, "set", refusing)
    assert record() == (1e-6, False, False)


@pytest.mark.parametrize("rotation", [Rotation(size_bytes=60_000), Rotation(seconds=0.05)], ids=["size", "time"])
def test_rotation_loses_and_doubles_no_packet(tmp_path: Path, rotation: Rotation) -> None:
    path = tmp_path / "trace.pcap"
    with NumberedDatagrams() as traffic:
        recorder = Recorder(settings(filter=f"udp port {traffic.port}"), path, rotation)
        with recorder:
            for _ in range(40):
                traffic.send(250, 300)
                time.sleep(0.005)
        health = recorder.stop()
        healths = recorder.healths()
    files = sorted(tmp_path.glob("trace-*.pcap"))
    assert not path.exists()
    assert [file.name for file in files] == [f"trace-{number:04d}.pcap" for number in range(1, len(files) + 1)]
    assert len(files) > 3
    seen: list[int] = []
    for file, one in zip(files, healths, strict=True):
        in_file = numbers(read_pcap(file))
        assert json.loads(health_path(file).read_text())["written"] == one.written == len(in_file)
        seen += in_file
    assert seen == list(range(traffic.sent))
    assert health.written == health.received == traffic.sent
    assert sum(one.received for one in healths) == traffic.sent
    if rotation.size_bytes:
        sizes = [file.stat().st_size for file in files[:-1]]
        assert min(sizes) >= rotation.size_bytes
        assert max(sizes) < 2 * rotation.size_bytes


def test_a_count_ends_the_recording_by_itself(tmp_path: Path) -> None:
    with NumberedDatagrams() as traffic:
        recorder = Recorder(settings(filter=f"udp port {traffic.port}"), tmp_path / "trace.pcap", count=7)
        with recorder:
            traffic.send(100)
            assert recorder.wait(5)
    assert recorder.stop().written == 7
    assert numbers(read_pcap(tmp_path / "trace.pcap")) == list(range(7))


def test_drops_are_reported(tmp_path: Path) -> None:
    """The smallest buffer, and more at once than fits."""
    path = tmp_path / "trace.pcap"
    with NumberedDatagrams() as traffic:
        recorder = Recorder(settings(buffer_bytes=1, snaplen=262_144, filter=f"udp port {traffic.port}"), path)
        with recorder:
            traffic.send(3000, 60_000)
        health = recorder.stop()
    assert health.dropped_by_kernel > 0
    assert health.dropped == recorder.dropped() == health.dropped_by_kernel + health.dropped_by_interface
    assert health.received == 3000 == health.written + health.dropped_by_kernel
    assert len(read_pcap(path).records) == health.written


def test_an_interface_that_is_taken_away_ends_the_recording_with_what_came(
    veth: tuple[str, str], tmp_path: Path
) -> None:
    with inside(veth[0]):
        recorder = Recorder(settings("veth0", filter="tcp"), tmp_path / "trace.pcap")
        recorder.start()
    transfer("198.18.7.2", 40_000, server=veth[1], client=veth[0])
    namespaces.run_program(["ip", "-n", veth[0], "link", "delete", "veth0"])
    assert recorder.wait(5)
    health = recorder.stop()
    assert "veth0" in (health.error or "")
    assert sum(length for length, _, _ in tcp_payloads(read_pcap(tmp_path / "trace.pcap"), 14)) == 40_000
    assert json.loads(health_path(tmp_path / "trace.pcap").read_text())["error"] == health.error


def test_an_interface_that_is_down_for_a_while_goes_on(veth: tuple[str, str], tmp_path: Path) -> None:
    with inside(veth[0]):
        recorder = Recorder(settings("veth0", filter="tcp"), tmp_path / "trace.pcap")
        recorder.start()
    for _ in range(2):
        transfer("198.18.7.2", 8_000, server=veth[1], client=veth[0])
        namespaces.run_program(["ip", "-n", veth[0], "link", "set", "veth0", "down"])
        namespaces.run_program(["ip", "-n", veth[0], "link", "set", "veth0", "up"])
    health = recorder.stop()
    payload_bytes = sum(length for length, _, _ in tcp_payloads(read_pcap(tmp_path / "trace.pcap"), 14))
    assert payload_bytes == 16_000 or (payload_bytes >= 8_000 and health.error)


def test_a_full_disk_ends_the_recording_with_whole_records_and_its_health(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    namespaces.run_program(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk)])
    try:
        with NumberedDatagrams() as traffic:
            recorder = Recorder(settings(filter=f"udp port {traffic.port}"), disk / "trace.pcap")
            with recorder:
                for _ in range(100):
                    traffic.send(300)
                    if recorder.wait(0.01):
                        break
            health = recorder.stop()
        assert health.error == f"{disk}/trace.pcap: writing failed: No space left on device"
        seen = numbers(read_pcap(disk / "trace.pcap"))
        assert seen == list(range(len(seen)))
        assert len(seen) == health.written > 1000
        assert json.loads(health_path(disk / "trace.pcap").read_text())["error"] == health.error
    finally:
        namespaces.run_program(["umount", str(disk)])


def test_a_filter_that_the_kernel_does_not_take_cuts_everything_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bpf, "attached", lambda _: [])
    path = tmp_path / "trace.pcap"
    with NumberedDatagrams() as traffic:
        with Recorder(settings(filter=f"udp port {traffic.port}"), path) as recorder:
            traffic.send(5, 1000)
        health = recorder.stop()
    assert health.snaplen == 192
    assert health.warnings == ("the kernel does not run this filter: packets are cut at 192 bytes, TLS too",)
    assert numbers(read_pcap(path)) == list(range(5))
    assert {len(record.data) for record in read_pcap(path).records} == {192}


def test_a_filter_too_long_for_the_kernel_is_cut_plainly_and_still_filters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bpf, "MOST_INSTRUCTIONS", 60)  # the kernel's limit takes libpcap seconds to reach
    with NumberedDatagrams() as traffic:
        with Recorder(settings(filter=f"udp port {traffic.port}"), tmp_path / "trace.pcap") as recorder:
            traffic.send(5, 1000)
            transfer("127.0.0.7", 8_000)
        health = recorder.stop()
    assert numbers(read_pcap(tmp_path / "trace.pcap")) == list(range(5))
    assert (health.written, health.snaplen) == (5, 192)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (settings("none7"), "there is no interface none7; there are .*lo.*, and any"),
        (settings(filter="no filter"), "filter 'no filter' cannot be used on lo: .*syntax error"),
    ],
)
def test_what_cannot_be_recorded_is_reported_in_one_line_and_touches_no_file(
    tmp_path: Path, wrong: CaptureSettings, message: str
) -> None:
    (tmp_path / "trace.pcap").write_text("older")
    with pytest.raises(CaptureError, match=message) as shown:
        Recorder(wrong, tmp_path / "trace.pcap").start()
    assert "\n" not in str(shown.value)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("trace.pcap", "older")]


def test_a_folder_that_is_not_there_is_reported_and_leaves_no_handle_open(tmp_path: Path) -> None:
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(CaptureError, match=r"trace\.pcap: cannot be written: No such file or directory"):
        Recorder(settings(), tmp_path / "none/trace.pcap").start()
    assert len(list(Path("/proc/self/fd").iterdir())) == open_before


def test_a_recorder_leaves_no_descriptor_and_no_thread_behind(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir())), threading.active_count()
    with Recorder(settings(filter="tcp"), tmp_path / "trace.pcap", Rotation(seconds=0.05)):
        time.sleep(0.12)
    assert (len(list(Path("/proc/self/fd").iterdir())), threading.active_count()) == before


def test_a_recorder_is_used_once(tmp_path: Path) -> None:
    recorder = Recorder(settings(filter="tcp port 9"), tmp_path / "trace.pcap")
    with pytest.raises(CaptureError, match="was not started"):
        recorder.stop()
    recorder.start()
    with pytest.raises(CaptureError, match="records once"):
        recorder.start()
    assert recorder.stop() == recorder.stop()
