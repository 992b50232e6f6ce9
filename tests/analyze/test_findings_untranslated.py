"""A packet under another address, and the connection that dies of it: from packets, and rule by rule."""

from pathlib import Path
from typing import Any

from tests.analyze.findings_made import connection, direction, outcome
from tests.corpus import captures_made as made
from vmtrace.analyze.findings.facts import Facts
from vmtrace.analyze.findings.rules.untranslated import find
from vmtrace.analyze.trace import read

CLIENT, SERVICE, POD = "10.0.0.5", "10.96.0.10", "10.244.1.7"


def test_a_packet_from_behind_a_service_resets_the_connection(tmp_path: Path) -> None:
    frames = made.frames_of(made.Talk(CLIENT, SERVICE, 43_210, made.START_NS))
    frames = [frame for frame in frames if frame.time_ns <= frames[14].time_ns]
    at_ns = frames[-1].time_ns
    for late_ns, ends, ports, flags, content in (
        (1_000, (POD, CLIENT), (8_080, 43_210), made.ACK, b"x" * 1000),
        (50_000, (CLIENT, POD), (43_210, 8_080), made.RST, b""),
        (700_000, (SERVICE, CLIENT), (443, 43_210), made.RST, b""),
    ):
        segment = made.tcp(*ends, *ports, flags, 9001 if flags == made.ACK else 1006, 1006, content)
        frames.append(made.Frame(at_ns + late_ns, made.ip(*ends, segment)))
    path = tmp_path / "service.pcap"
    path.write_bytes(made.pcap(frames))
    first, *_ = read(str(path)).json()["findings"]
    assert first["kind"] == "untranslated_packet"
    assert first["owner"] == "device"
    assert first["connections"] == [1, 2]
    assert f"came untranslated from {POD}:8080" in first["sentence"]
    assert abs(first["cost_s"] - 0.000_699) < 1e-6
    assert first["evidence"][0]["frames"] == [16]


def stray(number: int, at_s: float, **more: Any) -> dict[str, Any]:
    """Data without a SYN that is answered by a reset."""
    known = {
        "handshake": {"complete": False, "syn_retransmissions": None},
        "close": "reset",
        "client_to_server": direction(packets=1, unique_payload_bytes=0),
        "server_to_client": direction(packets=1, unique_payload_bytes=900),
    }
    return connection(number, at_s, 0.001, **{**known, **more})


def kinds(*connections: dict[str, Any]) -> list[tuple[int, ...]]:
    return [tuple(one.connections) for one in find(Facts(connections=connections))]


def test_the_end_that_resets_is_one_of_the_connection() -> None:
    died = connection(1, 0.0, 10.0, outcome=outcome("reset_by_server"))
    at_client = stray(2, 4.0, client=died["client"], server="10.9.9.9:8080")
    assert kinds(died, at_client) == [(1, 2)]
    # At the server, data comes from behind the client's NAT, with its port.
    to_server = {
        "client_to_server": direction(packets=2, unique_payload_bytes=900),
        "server_to_client": direction(packets=2, unique_payload_bytes=0),
    }
    assert kinds(died, stray(2, 4.0, client="192.168.1.9:40001", **to_server)) == [(1, 2)]
    assert kinds(died, stray(2, 4.0, client="192.168.1.9:50505", **to_server)) == []
    assert kinds(died, stray(2, 4.0, client="198.18.0.1:50505", server="10.9.9.9:8080")) == []


def test_what_only_looks_like_it_is_none() -> None:
    died = connection(1, 0.0, 10.0, outcome=outcome("peer_silent"))
    elsewhere = {"client": died["client"], "server": "10.9.9.9:8080"}
    assert kinds(died, stray(2, 11.0, **elsewhere)) == [], "after its end"
    assert kinds(connection(1, 0.0, 10.0), stray(2, 4.0, **elsewhere)) == [], "it lived"
    with_syn = {"handshake": {"complete": False, "syn_retransmissions": 0}}
    assert kinds(died, stray(2, 4.0, **elsewhere, **with_syn)) == []
    both = {"client_to_server": direction(packets=1, unique_payload_bytes=5)}
    assert kinds(died, stray(2, 4.0, **elsewhere, **both)) == []
    assert kinds(died, stray(2, 4.0, **elsewhere, close="fin")) == []
    many = {"server_to_client": direction(packets=90, unique_payload_bytes=900)}
    assert kinds(died, stray(2, 4.0, **elsewhere, **many)) == []
