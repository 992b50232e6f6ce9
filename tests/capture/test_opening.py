"""What the default snap length keeps of real transfers, and that opening leaves nothing open when it fails."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from capture.errors import CaptureError
from capture.opening import open_capture, stop_receiving
from capture.recorder import Recorder
from capture.settings import CaptureSettings
from tests.capture.traffic import (
    NumberedDatagrams,
    certificate,
    inside,
    read_pcap,
    tcp_payloads,
    tls_transfer,
)

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("may_capture")]
HANDSHAKE = b"\x16\x03"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    return certificate(tmp_path_factory.mktemp("tls"))


def check_tls(path: Path, network_offset: int, payload_bytes: int) -> None:
    """ClientHello and ServerHello are whole, application data is cut behind 16 bytes."""
    beginnings = []
    cut_bytes = 0
    for length, payload, _ in tcp_payloads(read_pcap(path), network_offset):
        if payload[:2] == HANDSHAKE:
            assert len(payload) == length
            beginnings.append(payload[5])
        elif length and payload[:1] not in (b"\x14", b"\x15"):
            assert len(payload) == min(length, 16)
            cut_bytes += length - len(payload)
    assert beginnings[:2] == [1, 2]
    assert cut_bytes > payload_bytes


@pytest.mark.parametrize(("interface", "offset"), [("lo", 14), ("any", 20)])
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_tls_over_loopback(tmp_path: Path, files: tuple[Path, Path], interface: str, offset: int, address: str) -> None:
    path = tmp_path / "trace.pcap"
    settings = CaptureSettings(interface, filter=f"tcp and host {address}", buffer_bytes=4 << 20)
    with Recorder(settings, path) as recorder:
        tls_transfer(address, files, b"secret" * 50_000)
    assert recorder.stop().error is None
    check_tls(path, 16 if read_pcap(path).link_type == 113 else offset, 300_000)


def test_tls_over_a_cable_at_both_ends(veth: tuple[str, str], tmp_path: Path, files: tuple[Path, Path]) -> None:
    recorders = []
    for number, name in enumerate(veth):
        with inside(name):
            settings = CaptureSettings("veth0", filter="tcp", buffer_bytes=4 << 20)
            recorders.append(Recorder(settings, tmp_path / f"{number}.pcap"))
            recorders[-1].start()
    tls_transfer("fd00:18:7::2", files, b"secret" * 50_000, server=veth[1], client=veth[0])
    for number, recorder in enumerate(recorders):
        recorder.stop()
        check_tls(tmp_path / f"{number}.pcap", 14, 300_000)


def test_tshark_reads_the_names_of_the_handshake(tmp_path: Path, files: tuple[Path, Path]) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("needs tshark")
    path = tmp_path / "trace.pcap"
    with Recorder(CaptureSettings("lo", filter="tcp and host 127.0.0.7", buffer_bytes=4 << 20), path):
        tls_transfer("127.0.0.7", files, b"secret" * 100)
    done = subprocess.run(
        ["tshark", "-r", str(path), "-Y", "tls.handshake.type == 1", "-d", "tcp.port==1-65535,tls", "-T", "json"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert "example.test" in json.dumps(json.loads(done.stdout))


def test_plain_payload_is_not_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.pcap"
    with (
        NumberedDatagrams() as traffic,
        Recorder(CaptureSettings("lo", filter=f"udp port {traffic.port}", buffer_bytes=4 << 20), path),
    ):
        traffic.send(3, 500)
    assert [len(record.data) for record in read_pcap(path).records] == [14 + 20 + 8 + 16] * 3


def test_what_came_before_is_thrown_away_and_after_the_stop_nothing_comes() -> None:
    with NumberedDatagrams() as traffic:
        opened = open_capture(CaptureSettings("lo", filter=f"udp port {traffic.port}", buffer_bytes=4 << 20))
        try:
            assert opened.exact
            assert opened.buffer_bytes == 4 << 20
            traffic.send(2)
            stop_receiving(opened)
            traffic.send(2)
            assert opened.live.stats().received - opened.before.received == 2
        finally:
            opened.live.close()


@pytest.mark.parametrize("filter_text", ["no filter", "tcp port none7x"])
def test_a_failure_leaves_nothing_open(filter_text: str) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(CaptureError, match="cannot be used on lo"):
        open_capture(CaptureSettings("lo", filter=filter_text))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_an_interface_that_is_down_is_told(veth: tuple[str, str]) -> None:
    from lab import namespaces

    namespaces.run_program(["ip", "-n", veth[0], "link", "set", "veth0", "down"])
    with inside(veth[0]), pytest.raises(CaptureError, match=r"veth0 is down: .*ip link set veth0 up"):
        open_capture(CaptureSettings("veth0"))
