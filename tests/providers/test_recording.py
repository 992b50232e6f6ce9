"""Packets and counters of a transaction: what is let through, and that both agree."""

import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from vmtrace.capture.errors import CaptureError
from vmtrace.capture.settings import CaptureSettings
from vmtrace.providers import recording as recording_module
from vmtrace.providers.errors import ProvidersError
from vmtrace.providers.recording import (
    Counters,
    Recording,
    capture_filter,
    check_capture,
    interface_for,
    port_of,
    read_counters,
    strays_from,
)


def test_a_service_behind_a_name_is_recorded_by_its_ports() -> None:
    assert (
        capture_filter(["https://s3.example.org"], ["192.0.2.1:443"])
        == "(tcp port 443) or port 53 or icmp or icmp6 or arp"
    )
    assert capture_filter(["https://x.example.org:8080/v1"], ["192.0.2.1:5000"]).startswith(
        "(tcp port 5000 or tcp port 8080) or"
    )


def test_a_service_at_an_address_is_recorded_by_that_too() -> None:
    assert capture_filter(["http://[2001:db8::1]:81"], ["[2001:db8::1]:81"]).startswith(
        "((tcp port 81) and (host 2001:db8::1)) or"
    )


@pytest.mark.parametrize(("url", "port"), [("http://x", 80), ("https://x/y", 443), ("https://x:8443", 8443)])
def test_the_port_of_a_url_is_named_or_that_of_its_scheme(url: str, port: int) -> None:
    assert port_of(url) == port


def test_a_port_that_is_not_valid_is_reported() -> None:
    with pytest.raises(ProvidersError, match="https://x:99999"):
        port_of("https://x:99999")


def test_the_interface_is_the_one_towards_the_service() -> None:
    assert interface_for([], ["127.0.0.1:443"]) == "lo"
    assert interface_for(["https://127.0.0.1:443"], []) == "lo"
    with pytest.raises(ProvidersError, match="--interface"):
        interface_for([], [])
    with pytest.raises(ProvidersError, match="--no-capture"):
        interface_for(["https://nowhere.invalid"], [])


def test_an_interface_that_is_not_on_the_way_to_the_service_is_noticed() -> None:
    assert strays_from("eth7", [], ["127.0.0.1:443"]) == "lo"
    assert strays_from("lo", [], ["127.0.0.1:443"]) is None
    assert strays_from("any", [], ["127.0.0.1:443"]) is None
    assert strays_from("eth7", ["https://nowhere.invalid"], []) is None


def test_what_an_interface_is_made_of_is_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lo" / "lower_eth7").mkdir(parents=True)
    monkeypatch.setattr(recording_module, "_INTERFACES", tmp_path)
    assert strays_from("eth7", [], ["127.0.0.1:443"]) is None


def test_counters_are_those_of_the_interface() -> None:
    counters = read_counters("lo")
    assert counters is not None
    assert set(counters.as_record()) == {"time_ns", "rx_packets", "rx_bytes", "tx_packets", "tx_bytes"}
    assert read_counters("nope0") is None


def test_without_packets_and_counters_there_is_nothing_to_say() -> None:
    recording = Recording("any", None, None)
    recording.start()
    recorded = recording.stop()
    assert (recorded.capture, recorded.interface, recorded.error) == (None, None, None)
    assert recording.dropped() == 0


@pytest.fixture
def quiet_pair() -> Iterator[str]:
    """An interface that nobody else uses: one end of a veth whose other end is in a namespace of its own."""
    name, place = "vmtstor0", "vmtstorns"
    commands = [
        f"ip netns add {place}",
        f"ip link add {name} type veth peer name vmtstor1 netns {place}",
        f"ip netns exec {place} sysctl -qw net.ipv6.conf.all.disable_ipv6=1",
        f"sysctl -qw net.ipv6.conf.{name}.disable_ipv6=1",
        f"ip addr add 198.18.77.1/30 dev {name}",
        f"ip link set {name} up",
        f"ip netns exec {place} ip addr add 198.18.77.2/30 dev vmtstor1",
        f"ip netns exec {place} ip link set vmtstor1 up",
    ]
    try:
        for command in commands:
            subprocess.run(command.split(), check=True, capture_output=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", place], check=False)
        subprocess.run(["ip", "link", "delete", name], check=False, capture_output=True)


@pytest.mark.root
@pytest.mark.untimed
def test_bytes_and_packets_recorded_are_exactly_those_the_interface_counted(quiet_pair: str, tmp_path: Path) -> None:
    settings = CaptureSettings(quiet_pair, capture_filter(["https://198.18.77.2:7"], []), also_tagged=True)
    recording = Recording(quiet_pair, settings, tmp_path / "0001.pcap")
    recording.start()
    for _ in range(50):  # nobody answers: each is an ARP request or a SYN that is refused
        with socket.socket() as probe:
            probe.settimeout(5)
            assert probe.connect_ex(("198.18.77.2", 7)) != 0
    recorded = recording.stop()
    assert recorded.capture is not None
    assert recorded.interface is not None
    before, after = recorded.interface["before"], recorded.interface["after"]
    packets = sum(after[name] - before[name] for name in ("rx_packets", "tx_packets"))
    size_bytes = sum(after[name] - before[name] for name in ("rx_bytes", "tx_bytes"))
    assert recorded.interface["quiet_before"]
    assert recorded.interface["quiet_after"]
    assert packets >= 100
    assert (recorded.capture["written"], recorded.capture["wire_bytes"]) == (packets, size_bytes)


@pytest.mark.root
@pytest.mark.untimed
def test_what_was_sent_before_the_stop_is_recorded(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        recording = Recording("lo", CaptureSettings("lo", f"tcp port {port}"), tmp_path / "0001.pcap")
        recording.start()

        def answer() -> None:
            server.accept()[0].close()

        thread = threading.Thread(target=answer)
        thread.start()
        socket.create_connection(("127.0.0.1", port)).close()
        thread.join()
        recorded = recording.stop()
    assert recorded.capture is not None
    assert recorded.capture["file"] == "packets/0001.pcap"
    assert recorded.capture["written"] >= 6
    assert recorded.interface is not None


class _Link:
    """An interface's counters as they are read one after the other; the last reading stays."""

    def __init__(self, *packets: int) -> None:
        self._packets = list(packets)

    def read(self, _: str) -> Counters:
        now = self._packets.pop(0) if len(self._packets) > 1 else self._packets[0]
        return Counters(0, (now, now, now, now))


class _Recorder:
    """What records, in name only."""

    running = False

    def start(self) -> None:
        self.running = True

    def stop(self) -> None:
        self.running = False


def _told(monkeypatch: pytest.MonkeyPatch, *packets: int) -> tuple[bool, bool, int]:
    """Whether it was quiet before and after, and the packets counted before, of an interface that counts so."""
    monkeypatch.setattr(recording_module, "read_counters", _Link(*packets).read)
    monkeypatch.setattr(recording_module, "_QUIET_S", 0.0)
    monkeypatch.setattr(recording_module, "_LOOK_EVERY_S", 0.0)
    recording = Recording("net0", None, None)
    recording.start()
    interface = recording.stop().interface
    assert interface is not None
    return interface["quiet_before"], interface["quiet_after"], interface["before"]["rx_packets"]


# Readings: the first of a wait and its last, then one when the capture has begun or ended.


def test_a_packet_between_the_counters_and_the_capture_makes_it_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _told(monkeypatch, 5, 5, 5, 5) == (True, True, 5)
    assert _told(monkeypatch, 5, 5, 6, 6, 6, 6) == (True, True, 6)


def test_an_interface_that_others_use_is_not_called_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _told(monkeypatch, 1, 1, 2, 2, 2, 3, 3, 3, 4) == (False, True, 4)


def test_what_was_begun_last_goes_on_also_where_every_beginning_was_disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[_Recorder] = []

    def recorder(*_: object) -> _Recorder:
        begun.append(_Recorder())
        return begun[-1]

    monkeypatch.setattr(recording_module, "read_counters", _Link(1, 1, 2, 2, 2, 3, 3, 3, 4).read)
    monkeypatch.setattr(recording_module, "_QUIET_S", 0.0)
    monkeypatch.setattr(recording_module, "_LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(recording_module, "Recorder", recorder)
    Recording("net0", CaptureSettings("net0"), Path("packets.pcap")).start()
    assert [one.running for one in begun] == [False, False, True]


def test_a_packet_between_the_last_counters_and_the_end_of_the_capture_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert _told(monkeypatch, 5, 5, 5, 7, 7, 8) == (True, False, 5)


def test_what_cannot_be_recorded_is_reported_at_once() -> None:
    with pytest.raises(CaptureError):
        check_capture(CaptureSettings("nope0"))
