"""iperf3, ping, an RTP sender, and glibc's resolver with dnsmasq: packets say what the programs and the path say."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.analyze import udp_path
from tests.busy_machine import too_busy
from vmtrace.analyze.compare.comparison import compare
from vmtrace.analyze.trace import Options, read
from vmtrace.lab.impairments import Impairments
from vmtrace.lab.namespaces import missing_requirement

_MISSING = missing_requirement() or next(
    (f"{name} not installed" for name in ("tcpdump", "iperf3", "ping", "dnsmasq") if shutil.which(name) is None), None
)

pytestmark = [pytest.mark.root, pytest.mark.skipif(bool(_MISSING), reason=f"programs over a path: {_MISSING}")]

RTT_S = 0.03
PLAIN = Impairments(delay_s=RTT_S / 2)
LOSSY = Impairments(delay_s=RTT_S / 2, loss=0.04)

_RTP = """
import socket, struct, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.connect((sys.argv[1], 5004))
begin = time.monotonic()
for number in range(400):
    time.sleep(max(0, begin + number / 100 - time.monotonic()))
    out.send(struct.pack(">BBHII", 0x80, 0, (65400 + number) % 65536, 80 * number, 77) + bytes(80))
"""
_SINK = """
import socket
sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sink.bind(("", 5004))
print("ready", flush=True)
while True: sink.recv(2048)
"""
_RESOLVE = """
import ctypes, json, socket, sys, time
# The resolver's settings are this program's alone.
libc = ctypes.CDLL(None, use_errno=True)
assert libc.unshare(0x00020000) == 0
assert libc.mount(b"none", b"/", None, 1 << 18 | 1 << 14, None) == 0
assert libc.mount(sys.argv[1].encode(), b"/etc/resolv.conf", None, 4096, None) == 0
found = []
for name in sys.argv[2:]:
    began = time.monotonic()
    try:
        socket.getaddrinfo(name, 80, type=socket.SOCK_STREAM)
    except OSError:
        pass
    found.append([name, time.monotonic() - began])
    time.sleep(0.1)
print(json.dumps(found))
"""


def flows(capture: Path, application: str) -> list[dict[str, Any]]:
    return [one for one in read(capture).json()["flows"] if one["application"] == application]


def compared(there: udp_path.Ends) -> Any:
    options = Options(datagrams=True)
    return compare(read(there.client_pcap, options=options), read(there.server_pcap, options=options))


def test_losses_of_iperf3_are_those_that_it_counts_and_the_path_drops(tmp_path: Path) -> None:
    with udp_path.ends(tmp_path, LOSSY, PLAIN) as there, there.serving(["iperf3", "-s", "--forceflush"], "listening"):
        with udp_path.recording(there):
            said = json.loads(there.run("iperf3", "-c", there.server, "-u", "-b", "3M", "-l", "1000", "-t", "4", "-J"))
        dropped = udp_path.lost(there.fates())
    [flow] = flows(there.server_pcap, "iperf3")
    done = compared(there)
    directions = [one.directions() for one in done.flows]
    assert [sum(ways[way].lost_in_network for ways in directions) for way in (0, 1)] == dropped
    # iperf3 does not count what it lost behind the last one that came; nor do numbers.
    total = said["end"]["sum"]
    assert flow["client_to_server"]["lost"] == total["lost_packets"]
    assert dropped[0] - 3 <= total["lost_packets"] <= dropped[0]
    # iperf3 counts what its program waited for a processor, packets do not.
    assert flow["client_to_server"]["jitter_s"] <= total["jitter_ms"] / 1e3 + 0.0005


def test_losses_of_rtp_are_those_of_the_path(tmp_path: Path) -> None:
    with udp_path.ends(tmp_path, LOSSY, PLAIN, seed=4) as there, there.serving(["python3", "-c", _SINK], "ready"):
        with udp_path.recording(there):
            there.python(_RTP, there.server)
        dropped = udp_path.lost(there.fates())
    assert dropped[0] > 5
    [flow] = compared(there).flows
    assert [part.lost_in_network + part.outside_capture for part in flow.directions()] == dropped
    [seen] = flows(there.server_pcap, "rtp")
    assert seen["client_to_server"]["lost"] == flow.sender_to_receiver.lost_in_network
    assert seen["client_to_server"]["sequence"] == "rtp_sequence_number"
    if seen["client_to_server"]["jitter_s"] > 0.005:
        too_busy("the RTP sender was not scheduled in time")


def test_echoes_without_a_reply_are_those_that_ping_counts(tmp_path: Path) -> None:
    with udp_path.ends(tmp_path, LOSSY, LOSSY, seed=3) as there:
        with udp_path.recording(there):
            said = there.run("ping", "-n", "-c", "120", "-i", "0.02", "-W", "1", there.server)
        dropped = udp_path.lost(there.fates())
    counts = re.search(r"(\d+) packets transmitted, (\d+) received", said)
    times = re.search(r"= ([\d.]+)/([\d.]+)/([\d.]+)/", said)
    assert counts is not None
    assert times is not None
    sent, received = map(int, counts.groups())
    [flow] = [one for one in read(there.client_pcap).json()["flows"] if one["protocol"] == "icmp_echo"]
    assert (flow["requests"], flow["unanswered_requests"]) == (sent, sent - received)
    assert sent - received == sum(dropped)
    [pair] = compared(there).flows
    assert [part.lost_in_network for part in pair.directions()] == dropped
    assert flow["client_to_server"]["rtt"]["min_s"] == pytest.approx(float(times[1]) / 1e3, abs=0.001)


def test_names_are_waited_for_as_long_as_glibc_says(tmp_path: Path) -> None:
    """Three names, two of which lose a query: the resolver asks again after a second."""
    settings = tmp_path / "resolv.conf"
    # The fourth and the seventh query are dropped: the AAAA of one name, and the A of another.
    forward = Impairments(delay_s=RTT_S / 2, drop_packets=(3, 6))
    names = [f"host{number}.lab.test" for number in range(6)]
    with udp_path.ends(tmp_path, forward, PLAIN) as there:
        settings.write_text(f"nameserver {there.server}\noptions timeout:1 attempts:3\n")
        words = ["dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--log-facility=-", "--user=root"]
        words += ["--pid-file", "--port=53", "--bind-interfaces", f"--listen-address={there.server}", "--no-daemon"]
        words += [f"--address=/lab.test/{there.server}", "--address=/lab.test/2001:db8::7"]
        with there.serving(words, "started"), udp_path.recording(there):
            measured = dict(json.loads(there.python(_RESOLVE, settings, *names)))
    header = read(there.client_pcap).json()
    found = {one["name"]: one for one in header["lookups"]}
    assert set(found) == set(names)
    late = [name for name in names if measured[name] > 0.9]
    assert len(late) == 2
    assert header["lookup_totals"]["unanswered"] == 2
    # Of the first one the program has to load what it resolves with.
    for name in names[1:]:
        apart_s = abs(found[name]["waited_s"] - measured[name])
        if apart_s > 0.001 and measured[name] > found[name]["waited_s"] and apart_s < 0.2:
            too_busy(f"the resolver's program was not scheduled for {apart_s:.4f} s")
        assert apart_s <= 0.001, (name, found[name], measured[name])
        assert found[name]["type"] == "A+AAAA"
        assert found[name]["tries"] == (2 if name in late else 1)
