"""What becomes of connections of a real kernel whose network or peer fails in a way that the test chose.

One client and one server on loopback in a namespace; nftables drops or rejects, the server closes, resets or stops
reading. The capture must say what was done, and nothing of the transfers beside that were left alone.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.analyze.on_loopback import namespace, recorded, started
from vmtrace.analyze.trace import read
from vmtrace.lab.namespaces import missing_requirement

pytestmark = [
    pytest.mark.root,
    pytest.mark.untimed,
    pytest.mark.skipif(bool(missing_requirement()), reason=f"the lab: {missing_requirement()}"),
    pytest.mark.skipif(shutil.which("nft") is None, reason="nft is missing (apt-get install nftables)"),
]

SERVER = r"""
import socket, struct, sys, time
listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
what = sys.argv[2]
print("ready", flush=True)
while True:
    connection, _ = listening.accept()
    if what == "reset":
        connection.recv(100)
        connection.sendall(b"x" * 5000)
        time.sleep(0.3)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    elif what == "deaf":
        time.sleep(60)
    else:
        while data := connection.recv(65536):
            if what == "echo":
                connection.sendall(data)
        connection.close()
"""

CLIENT = r"""
import socket, sys, time
port, plan = int(sys.argv[1]), sys.argv[2].split()
try:
    connection = socket.create_connection(("127.0.0.1", port), timeout=4)
    connection.settimeout(4)
    for step in plan:
        what, _, number = step.partition("=")
        if what == "send":
            connection.sendall(b"u" * int(number))
        elif what == "push":
            try:
                connection.sendall(b"u" * int(number))
            except TimeoutError:
                pass
        elif what == "receive":
            left = int(number)
            while left:
                left -= len(connection.recv(left))
        elif what == "wait":
            time.sleep(float(number))
        elif what == "mark":
            print("mark", flush=True)
            sys.stdin.readline()
    connection.close()
except OSError as error:
    print(type(error).__name__, flush=True)
"""


def connection(
    folder: Path,
    *,
    server: str | None,
    plan: str,
    before: str = "",
    at_mark: str = "",
    what: str = "tcp",
    mtu: int = 1500,
) -> dict[str, Any]:
    """The record of the only connection. Rules of nftables apply from the start, or from the mark of `plan` on."""
    capture = folder / "lo.pcap"
    with namespace() as inside:
        subprocess.run([*inside, "ip", "link", "set", "lo", "mtu", str(mtu)], check=True)
        rules = "add table ip t; add chain ip t in { type filter hook input priority 0; }; "
        subprocess.run([*inside, "nft", rules + before], check=True)
        serving = [*inside, sys.executable, "-c", SERVER, "18081", server or "none"] if server else ["echo", "ready"]
        with started(serving, "ready"), recorded(inside, capture, what):
            words = [*inside, sys.executable, "-c", CLIENT, "18081", plan]
            client = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            if at_mark:
                assert client.stdout is not None
                assert client.stdin is not None
                assert client.stdout.readline() == "mark\n"
                subprocess.run([*inside, "nft", at_mark], check=True)
                client.stdin.write("\n")
                client.stdin.flush()
            client.communicate(timeout=60)
            time.sleep(0.5)
    (record,) = read(capture).json()["connections"]
    found: dict[str, Any] = record
    return found


def kind(record: dict[str, Any]) -> str | None:
    outcome = record["outcome"]
    return None if outcome is None else str(outcome["kind"])


def test_a_transfer_that_ends_well_has_no_outcome(tmp_path: Path) -> None:
    record = connection(tmp_path, server="echo", plan="send=100000 receive=100000 wait=0.2")
    assert record["outcome"] is None
    assert record["icmp_errors"] == []


def test_a_port_without_a_server_refuses(tmp_path: Path) -> None:
    record = connection(tmp_path, server=None, plan="send=10")
    assert kind(record) == "syn_refused"
    assert record["outcome"]["evidence"][0]["frames"]


def test_dropped_syns_have_no_answer(tmp_path: Path) -> None:
    record = connection(tmp_path, server="echo", plan="send=10", before="add rule ip t in tcp dport 18081 drop")
    assert kind(record) == "syn_unanswered"
    assert record["handshake"]["syn_retransmissions"] >= 1
    assert record["icmp_errors"] == []


def test_an_icmp_error_of_the_host_is_joined_to_the_connection(tmp_path: Path) -> None:
    rule = "add rule ip t in tcp dport 18081 reject with icmp type host-unreachable"
    record = connection(tmp_path, server="echo", plan="send=10", before=rule, what="tcp or icmp")
    assert kind(record) == "syn_unanswered"
    assert {(error["type"], error["code"]) for error in record["icmp_errors"]} == {(3, 1)}
    assert "unreachable" in record["outcome"]["sentence"]


def test_a_server_that_resets_in_mid_stream_is_named(tmp_path: Path) -> None:
    record = connection(tmp_path, server="reset", plan="send=50 receive=5000 wait=1 send=10 wait=0.2")
    assert kind(record) == "reset_by_server"


def test_a_peer_behind_which_the_network_ends_is_silent(tmp_path: Path) -> None:
    record = connection(
        tmp_path,
        server="echo",
        plan="send=20000 receive=20000 mark send=20000 wait=4",
        at_mark="add rule ip t in tcp dport 18081 drop; add rule ip t in tcp sport 18081 drop",
    )
    assert kind(record) == "peer_silent"


def test_a_receiver_that_stops_reading_is_named(tmp_path: Path) -> None:
    record = connection(tmp_path, server="deaf", plan="push=20000000")
    assert kind(record) == "receiver_stopped_reading"


def test_a_path_that_loses_large_segments_alone_is_a_black_hole(tmp_path: Path) -> None:
    rule = "add rule ip t in tcp dport 18081 meta length > 900 drop"
    record = connection(tmp_path, server="echo", plan="send=300 receive=300 push=60000 wait=6", before=rule)
    assert kind(record) == "large_segments_lost"
    assert "MSS" in record["outcome"]["remedy"]
