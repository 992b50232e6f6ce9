"""Connections of a process and of its children, as the kernel lists them."""

import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.eventually import eventually
from vmtrace.providers.process_sockets import ProcessSockets

CLIENT = "import socket, sys; s = socket.create_connection(('{}', {})); sys.stdin.read()"


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
@pytest.mark.parametrize(
    "through", [(), ("-c", "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]])")]
)
def test_what_a_process_or_its_child_opens_is_seen_with_both_ends(address: str, through: tuple[str, ...]) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as server:
        port = server.getsockname()[1]
        words = [sys.executable, *through, "-c", CLIENT.format(address, port)]
        with subprocess.Popen(words, stdin=subprocess.PIPE) as child:
            try:
                found = ProcessSockets(child.pid)

                def seen() -> bool:
                    found.look()
                    return bool(found.seen)

                eventually(seen)
                accepted, (_, local_port, *_) = server.accept()
                accepted.close()
            finally:
                assert child.stdin is not None
                child.stdin.close()
    shown = f"[{address}]" if ":" in address else address
    assert list(found.seen) == [(f"{shown}:{local_port}", f"{shown}:{port}")]


def kernel(address: str, port: int) -> str:
    """As `/proc/net/tcp` has it on this machine."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    packed = socket.inet_pton(family, address)
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{port:04X}"


def test_sockets_of_others_and_those_that_listen_are_left_out(tmp_path: Path) -> None:
    fd, net = tmp_path / "7/fd", tmp_path / "7/net"
    fd.mkdir(parents=True)
    net.mkdir()
    (tmp_path / "7/task/7").mkdir(parents=True)
    (tmp_path / "7/task/7/children").write_text("")
    for number, inode in enumerate((11, 12, 13)):
        (fd / str(number)).symlink_to(f"socket:[{inode}]")
    (fd / "9").symlink_to("/dev/null")
    rows = [("10.0.0.1", 4000, "192.0.2.1", 443, 11), ("10.0.0.1", 80, "0.0.0.0", 0, 12)]
    rows += [("10.0.0.1", 4001, "192.0.2.1", 443, 99)]
    lines = [
        f"{n}: {kernel(local, lport)} {kernel(peer, pport)} 01 0:0 0:0 0 0 0 {inode} 1"
        for n, (local, lport, peer, pport, inode) in enumerate(rows)
    ]
    (net / "tcp").write_text("\n".join(["head", *lines]) + "\n")
    mapped = kernel("::ffff:10.0.0.1", 5000), kernel("2001:db8::1", 443)
    (net / "tcp6").write_text(f"head\n0: {mapped[0]} {mapped[1]} 01 0:0 0:0 0 0 0 13 1\n")
    found = ProcessSockets(7, tmp_path)
    found.look()
    assert list(found.seen) == [("10.0.0.1:4000", "192.0.2.1:443"), ("10.0.0.1:5000", "[2001:db8::1]:443")]
    gone = ProcessSockets(8, tmp_path)
    gone.look()
    assert gone.seen == {}
