"""What the default snap length keeps of real transfers, and that opening leaves nothing open when it fails."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.capture.traffic import (
    NumberedDatagrams,
    certificate,
    inside,
    read_pcap,
    tcp_payloads,
    tls_transfer,
)
from vmtrace.analyze import trace
from vmtrace.capture import ebpf
from vmtrace.capture.errors import CaptureError
from vmtrace.capture.opening import open_capture, stop_receiving
from vmtrace.capture.recorder import Recorder
from vmtrace.capture.settings import CaptureSettings
from vmtrace.lab import namespaces

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("may_capture")]
HANDSHAKE = b"\x16\x03"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    return certificate(tmp_path_factory.mktemp("tls"))


def check_tls(path: Path, network_offset: int, payload_bytes: int) -> None:
    """ClientHello and ServerHello are whole, and nearly all application data is cut behind 16 bytes."""
    beginnings = []
    kept_bytes = cut_bytes = 0
    for length, payload, _ in tcp_payloads(read_pcap(path), network_offset):
        if payload[:2] == HANDSHAKE:
            assert len(payload) == length
            beginnings.append(payload[5])
        elif len(payload) > 16:
            kept_bytes += len(payload)
        cut_bytes += length - len(payload)
    assert beginnings[:2] == [1, 2]
    assert kept_bytes < 2 * (ebpf.HANDSHAKE_BYTES + 100)
    assert cut_bytes > 2 * payload_bytes - 2 * (ebpf.HANDSHAKE_BYTES + 100)


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


@pytest.mark.parametrize("address", ["198.18.7.2", "fd00:18:7::2"])
def test_a_handshake_of_many_segments_is_there_to_the_last_byte(
    veth: tuple[str, str], tmp_path: Path, address: str
) -> None:
    names = ",".join(f"DNS:host-{number}.example.test" for number in range(250))
    long = certificate(tmp_path, extension=f"subjectAltName={names}")
    for name in veth:
        offloads = "ethtool -K veth0 tso off gso off gro off"
        namespaces.run_program([*namespaces.exec_prefix(name), *offloads.split()])
    with inside(veth[0]):
        recorder = Recorder(CaptureSettings("veth0", filter="tcp", buffer_bytes=4 << 20), tmp_path / "trace.pcap")
        recorder.start()
    tls_transfer(address, long, b"secret" * 50_000, server=veth[1], client=veth[0])
    health = recorder.stop()
    assert health.warnings == ()
    assert (health.captured_bytes or 0) < (health.wire_bytes or 0) / 4
    [connection] = trace.read(tmp_path / "trace.pcap").json()["connections"]
    assert connection["offload"]["largest_segment_bytes"] <= 1448
    assert connection["tls"]["handshake_complete"]
    assert connection["tls"]["server_handshake_bytes"] > 4 * 1448


def test_without_the_right_to_remember_the_rest_is_as_ever_and_it_is_reported(
    tmp_path: Path, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise ebpf.UnavailableError(errno.EPERM, "bpf(): Operation not permitted")

    monkeypatch.setattr(ebpf, "attach", refused)
    path = tmp_path / "trace.pcap"
    settings = CaptureSettings("lo", filter="tcp and host 127.0.0.1", buffer_bytes=4 << 20)
    with Recorder(settings, path) as recorder:
        tls_transfer("127.0.0.1", files, b"secret" * 50_000)
    health = recorder.stop()
    [warning] = health.warnings
    assert warning.startswith(
        "of TLS handshakes only segments that begin a record are kept complete (to remember where"
    )
    assert "CAP_BPF" in warning
    assert health.error is None
    assert health.received == health.written
    check_tls(path, 14, 300_000)


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
    assert [len(record.data) for record in read_pcap(path).records] == [14 + 20 + 8 + 64] * 3


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


def test_an_interface_that_is_down_is_reported(veth: tuple[str, str]) -> None:
    namespaces.run_program(["ip", "-n", veth[0], "link", "set", "veth0", "down"])
    with inside(veth[0]), pytest.raises(CaptureError, match=r"veth0 is down: .*ip link set veth0 up"):
        open_capture(CaptureSettings("veth0"))
