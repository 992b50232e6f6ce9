"""The engine beside an independent count in plain Python, over every capture that the tests have.

Each pair of ends must have as many unique bytes, each capture as many packets and complete handshakes. Where they
differ on purpose, `JUDGED` says why.
"""

import ipaddress
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cut import cut
from tests.in_process import vmtrace_here
from tests.traces.plain_count import Count, Ends, count

SAMPLES = Path(__file__).parents[2] / "samples"
ROOTS = {"samples": sorted(path.name for path in SAMPLES.iterdir() if ".pcap" in path.name)}

# File, number: why the engine says something else.
JUDGED: dict[tuple[str, str], str] = {}


def _judge(name: str, why: str, *numbers: str) -> None:
    JUDGED.update({(name, number): why for number in numbers})


_TUNNEL = "the plain count reads no tunnels, and no PPPoE"
_judge("PcapPlusPlus__pcapng-example.pcapng", _TUNNEL, "packets", "unique bytes")
_judge("mercury__geneve.pcap", _TUNNEL, "packets", "handshakes", "unique bytes")
_judge("nDPI__vxlan.pcap", _TUNNEL, "packets", "handshakes", "unique bytes")
_judge("zeek__gre-aruba.pcap", _TUNNEL, "packets", "unique bytes")
_judge("zeek__pppoe-over-qinq.pcap", _TUNNEL, "packets", "handshakes", "unique bytes")
_judge("zeek__kerberos_tso.pcapng", "segments of IP length 0 are as long as their frame", "packets", "unique bytes")
_judge("nDPI__fuzz-2006-09-29-28586.pcap", "fuzzed numbers: SYN-ACKs that acknowledge other SYNs", "handshakes")
_judge("tcptrace__dsack.dmp.gz", "an edited D-SACK reports a retransmission as a copy of the network's", "packets")
_judge("damaged.pcap", "dpkt ends at the first damaged stretch", "packets", "unique bytes")


# Packets that a direction does not count as its own.
LEFT_OUT = ("unacceptable_packets", "network_duplicates")


def _ends(text: str) -> Ends:
    address, _, port = text.rpartition(":")
    return ipaddress.ip_address(address.strip("[]")).packed, int(port)


def _document(path: Path) -> dict[str, Any]:
    done = vmtrace_here("analyze", path, "--json", "-")
    known: dict[str, Any] = json.loads(done.stdout)
    return known


def of_engine(document: dict[str, Any]) -> dict[str, Any]:
    """What the engine says, in the count's words."""
    unique: Counter[tuple[Ends, Ends]] = Counter()
    packets = handshakes = 0
    for connection in document["connections"]:
        client, server = _ends(connection["client"]), _ends(connection["server"])
        handshakes += connection["handshake"]["complete"]
        for way, ends in (("client_to_server", (client, server)), ("server_to_client", (server, client))):
            direction = connection[way]
            packets += direction["packets"] + sum(direction["loss"][key] or 0 for key in LEFT_OUT)
            unique[ends] += direction["unique_payload_bytes"] or 0
    packets += sum(one["capture"]["duplicates"] for one in document["inputs"])
    return {"packets": packets, "handshakes": handshakes, "unique bytes": {k: v for k, v in unique.items() if v}}


def of_count(counted: Count) -> dict[str, Any]:
    """The same of the independent count."""
    unique: Counter[tuple[Ends, Ends]] = Counter()
    for pair, talk in counted.talks.items():
        for ends, other in (pair, pair[::-1]):
            unique[ends, other] += talk.unique(ends)
    handshakes = sum(talk.handshakes for talk in counted.talks.values())
    return {
        "packets": counted.segments,
        "handshakes": handshakes,
        "unique bytes": {k: v for k, v in unique.items() if v},
    }


def differences(path: Path) -> dict[str, tuple[Any, Any]]:
    """What the engine and the count say differently of a file; ValueError where dpkt does not read it."""
    counted = count(path)
    document = _document(path)
    own, other = of_engine(document), of_count(counted)
    different = {name: (own[name], other[name]) for name in own if own[name] != other[name]}
    if "unique bytes" in different:
        ours, theirs = different["unique bytes"]
        keys = [key for key in {*ours, *theirs} if ours.get(key, 0) != theirs.get(key, 0)]
        different["unique bytes"] = ([ours.get(key, 0) for key in keys], [theirs.get(key, 0) for key in keys])
    return different


@pytest.mark.parametrize("name", ROOTS["samples"])
def test_samples_are_counted_as_by_plain_python(name: str) -> None:
    found = differences(SAMPLES / name)
    assert {number for number in found if (name, number) not in JUDGED} == set(), found


@pytest.mark.parametrize("most_bytes", cut([1_000_000, 1 << 40], 1), ids=["small", "all"])
def test_collected_captures_are_counted_as_by_plain_python(traces: Path, most_bytes: int) -> None:
    unread, found = [], {}
    chosen = [path for path in sorted(traces.iterdir()) if path.stat().st_size <= most_bytes]
    for path in chosen:
        if path.suffix == ".tsv":
            continue
        try:
            different = differences(path)
        except ValueError:
            unread.append(path.name)
            continue
        found.update({(path.name, number): pair for number, pair in different.items()})
    assert len(unread) < 15, unread
    assert {key: pair for key, pair in found.items() if key not in JUDGED} == {}
    assert [key for key in JUDGED if key not in found and key[0] in {path.name for path in chosen}] == []
