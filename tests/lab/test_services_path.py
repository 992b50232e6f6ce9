"""Behind the emulated path a client finds the stand-ins by name, and connections cost the round trips they would."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import dpkt
import pytest

from vmtrace.lab import namespaces
from vmtrace.lab.hosts import module_environment
from vmtrace.lab.services import certificates, delayed_path, moto
from vmtrace.lab.services.certificates import KeyKind
from vmtrace.lab.services.delayed_path import DelayedPath
from vmtrace.lab.services.service import Service

RTT_S = 0.04
CLIENT = """
import hashlib, json, os, socket, time
import boto3
name = os.environ["AWS_ENDPOINT_URL"].removeprefix("https://")
began = time.monotonic()
socket.create_connection((name, 443)).close()
opening_s = time.monotonic() - began
try:
    socket.create_connection(("absent.lab.test", 443))
    absent = "found"
except socket.gaierror as error:
    absent = error.errno
body = os.urandom(100_000)
client = boto3.session.Session().client("s3")
client.create_bucket(Bucket="path")
etag = client.put_object(Bucket="path", Key="object", Body=body)["ETag"].strip('"')
began = time.monotonic()
back = client.get_object(Bucket="path", Key="object")["Body"].read()
reading_s = time.monotonic() - began
client.close()
print(json.dumps({
    "opening_s": opening_s, "reading_s": reading_s, "address": socket.gethostbyname(name), "absent": absent,
    "whole": back == body, "etag": etag == hashlib.md5(body).hexdigest(),
}))
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DelayedPath]:
    reason = namespaces.missing_requirement()
    if reason:
        pytest.skip(reason)
    with delayed_path.joined(tmp_path_factory.mktemp("path"), RTT_S) as joined:
        yield joined


@pytest.fixture(scope="module")
def service(path: DelayedPath, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    chain = certificates.make(tmp_path_factory.mktemp("chain"), KeyKind.ECDSA, delayed_path.CERTIFICATE_NAMES)
    with moto.started(chain, path.places["s3"]) as running:
        yield running


@pytest.mark.root
def test_sdk_names_delay_connections_and_wire_bytes_are_all_as_on_a_real_path(
    path: DelayedPath, service: Service, tmp_path: Path
) -> None:
    assert service.endpoint_url == "https://s3.us-east-1.lab.test"
    capture_path = tmp_path / "client.pcap"
    words = ["tcpdump", "-i", path.client_device, "-w", str(capture_path), "-U", "-n", "-p", "-Z", "root"]
    command = [*namespaces.exec_prefix(path.client_namespace), *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as capture:
        assert capture.stderr is not None
        assert "listening on" in capture.stderr.readline()
        before = namespaces.device_counters(path.client_namespace, path.client_device)
        ran = subprocess.run(
            path.client_command([sys.executable, "-c", CLIENT]),
            env={**module_environment(), **service.environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        counted, frames = before, [b""]
        for _ in range(50):  # the last acknowledgements are a round trip away; tcpdump writes a moment later
            counted = namespaces.device_counters(path.client_namespace, path.client_device)
            frames = whole_frames(capture_path)
            packets = counted.received_packets - before.received_packets + counted.sent_packets - before.sent_packets
            if len(frames) == packets:
                break
            time.sleep(0.1)
        capture.terminate()
        capture.communicate()
    assert ran.returncode == 0, ran.stderr
    shown = json.loads(ran.stdout)
    assert shown["whole"]
    assert shown["etag"]
    assert shown["address"] == path.places["s3"].address
    assert shown["absent"] == socket.EAI_NONAME
    assert 2 * RTT_S <= shown["opening_s"] < 1.0  # the name, then the TCP handshake
    assert shown["reading_s"] >= RTT_S
    # The plain connection and the SDK's: what the server accepted is what the client opened.
    connections = service.connections()
    assert {connection.peer_address for connection in connections} == {path.path.hosts["sender"].address}
    assert sorted(connection.peer_port for connection in connections) == sorted(ports_opened(frames))
    assert len(connections) == 2
    # No frame is longer than the MTU and Ethernet's header, and the capture has every byte the kernel counted.
    assert max(map(len, frames)) <= delayed_path.MTU_BYTES + 14
    received_bytes = counted.received_bytes - before.received_bytes
    assert sum(map(len, frames)) == received_bytes + counted.sent_bytes - before.sent_bytes


def whole_frames(capture_path: Path) -> list[bytes]:
    """The frames of a capture that is being written."""
    with capture_path.open("rb") as file:
        try:
            return [bytes(frame) for _, frame in dpkt.pcap.Reader(file)]
        except (dpkt.dpkt.NeedData, ValueError):
            return []


def ports_opened(frames: list[bytes]) -> set[int]:
    """The client's ports from which a connection was opened: those of the SYNs without ACK."""
    segments = [dpkt.ethernet.Ethernet(frame).data.data for frame in frames]
    return {
        segment.sport
        for segment in segments
        if isinstance(segment, dpkt.tcp.TCP) and segment.flags & (dpkt.tcp.TH_SYN | dpkt.tcp.TH_ACK) == dpkt.tcp.TH_SYN
    }
