"""WireGuard of a real program across a path: its counters in clear text show each loss.

The program is wireguard-go, in user space over TUN. `make test-long` with it on PATH; it is built by
`go install golang.zx2c4.com/wireguard@latest`, under the name `wireguard`.
"""

from __future__ import annotations

import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.analyze import udp_path
from tests.analyze.on_loopback import started
from vmtrace.analyze.trace import read
from vmtrace.lab.impairments import Impairments
from vmtrace.lab.namespaces import missing_requirement

_PROGRAM = shutil.which("wireguard-go")
_MISSING = missing_requirement() or next(
    (f"{name} not installed" for name in ("tcpdump", "wireguard-go") if shutil.which(name) is None), None
)

pytestmark = [
    pytest.mark.long,
    pytest.mark.root,
    pytest.mark.skipif(bool(_MISSING), reason=f"WireGuard over a path: {_MISSING}"),
]

DATAGRAMS = 3000
PORTS = {"sender": 51_820, "receiver": 51_821}
INSIDE = {"sender": "10.99.0.1", "receiver": "10.99.0.2"}
DEVICES = {"sender": "vmtwg0", "receiver": "vmtwg1"}
_SENDER = """
import socket, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(int(sys.argv[2])):
    out.sendto(number.to_bytes(4, "big") + bytes(number * 37 % 1000), (sys.argv[1], 9))
    time.sleep(0.0005)
"""


@contextmanager
def tunnel(there: udp_path.Ends) -> Iterator[None]:
    """A device of WireGuard at each end, to the other one."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    keys = {role: X25519PrivateKey.generate() for role in PORTS}
    with ExitStack() as stack:
        for role, device in DEVICES.items():
            words = [*there.inside(role), "env", "LOG_LEVEL=verbose", str(_PROGRAM), "-f", device]
            stack.enter_context(started(words, "UAPI listener started"))
        for role, other in (("sender", "receiver"), ("receiver", "sender")):
            lines = [
                "set=1",
                f"private_key={keys[role].private_bytes_raw().hex()}",
                f"listen_port={PORTS[role]}",
                f"public_key={keys[other].public_key().public_bytes_raw().hex()}",
                f"endpoint={there.path.hosts[other].address}:{PORTS[other]}",
                f"allowed_ip={INSIDE[other]}/32",
            ]
            configure(DEVICES[role], lines)
            for command in (f"addr add {INSIDE[role]}/24 dev {DEVICES[role]}", f"link set {DEVICES[role]} up mtu 1400"):
                subprocess.run([*there.inside(role), "ip", *command.split()], check=True)
        yield


def configure(device: str, lines: list[str]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
        control.connect(f"/var/run/wireguard/{device}.sock")
        control.sendall(("\n".join(lines) + "\n\n").encode())
        assert "errno=0" in control.recv(4096).decode()


def counters(capture: Path, from_port: int) -> list[int]:
    """Of data from a port, in the order of the capture (Ethernet, IPv4 without options)."""
    content = capture.read_bytes()
    order = "<" if content[0] in {0xD4, 0x4D} else ">"
    found, at = [], 24
    while at < len(content):
        size = struct.unpack_from(order + "I", content, at + 8)[0]
        udp = content[at + 16 + 34 : at + 16 + size]
        if struct.unpack_from("!H", udp)[0] == from_port and udp[8] == 4:
            found.append(struct.unpack_from("<Q", udp, 16)[0])
        at += 16 + size
    return found


def test_losses_by_its_counters_are_those_of_the_path(tmp_path: Path) -> None:
    way = Impairments(delay_s=0.01, loss=0.04)
    with udp_path.ends(tmp_path, way, way, seed=11) as there:
        with udp_path.recording(there, "udp"), tunnel(there):
            there.python(_SENDER, INSIDE["receiver"], DATAGRAMS)
            time.sleep(1)
        dropped, _ = udp_path.lost(there.fates())
    sent, received = (counters(file, PORTS["sender"]) for file in (there.client_pcap, there.server_pcap))
    # Keepalives are numbered, too.
    assert sent == list(range(len(sent)))
    assert len(sent) >= DATAGRAMS
    assert set(received) <= set(sent)
    # A handshake that is lost is no number.
    assert 0 < len(sent) - len(received) <= dropped
    [at_client] = read(there.client_pcap).json()["flows"]
    [at_server] = read(there.server_pcap).json()["flows"]
    for flow in (at_client, at_server):
        assert (flow["application"], flow["client_to_server"]["sequence"]) == ("wireguard", "wireguard_counter")
    whole, holed = (flow["client_to_server"] for flow in (at_client, at_server))
    assert (whole["numbered"], whole["lost"], whole["reordered"], whole["duplicates"]) == (len(sent), 0, 0, 0)
    holes = received[-1] - received[0] + 1 - len(received)
    assert (holed["numbered"], holed["lost"], holed["reordered"], holed["duplicates"]) == (len(received), holes, 0, 0)
    behind = len(sent) - 1 - received[-1] + received[0]
    assert holes + behind == len(sent) - len(received)
