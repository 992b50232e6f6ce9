"""Logs of QUIC endpoints, in the forms that stacks write."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vmtrace.analyze.compare.qlog import QlogError, is_qlog, read_qlog

HEAD = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ"}


def event(name: str, time_ms: float, **data: Any) -> dict[str, Any]:
    return {"name": name, "time": time_ms, "data": data}


def packet(kind: str, number: int) -> dict[str, Any]:
    return {"header": {"packet_type": kind, "packet_number": number}}


EVENTS = [
    event("transport:packet_sent", 1000.5, **packet("initial", 0)),
    event("quic:packet_received", 1001.0, **packet("handshake", 0)),
    event("transport:packet_sent", 1002.0, **packet("1RTT", 7)),
    event("recovery:packet_lost", 1003.0, **packet("1RTT", 7)),
    event("recovery:metrics_updated", 1004.0, min_rtt=20.5, smoothed_rtt=22.0, latest_rtt=23.0),
    event("transport:datagrams_sent", 1005.0, count=3),
    event("transport:datagrams_received", 1006.0, raw=[{"length": 1200}, {"length": 40}]),
    {"name": "unknown", "time": "soon", "data": None},
]
COMMON = {"ODCID": "0011223344556677", "reference_time": 500.0, "time_format": "relative"}


def document(common: dict[str, Any], events: list[Any]) -> bytes:
    trace = {"common_fields": common, "vantage_point": {"type": "server"}, "events": events}
    return json.dumps({"qlog_version": "0.3", "traces": [trace]}).encode()


def sequence(common: dict[str, Any], events: list[Any]) -> bytes:
    head = HEAD | {"trace": {"common_fields": common, "vantage_point": {"type": "server"}}}
    return b"".join(b"\x1e" + json.dumps(one).encode() + b"\n" for one in (head, *events))


@pytest.mark.parametrize("made", [document, sequence])
@pytest.mark.parametrize("packed", [False, True])
def test_a_log_gives_packets_losses_and_round_trips(tmp_path: Path, made: Any, packed: bool) -> None:
    content = made(COMMON, EVENTS)
    path = tmp_path / ("server.qlog.gz" if packed else "server.qlog")
    path.write_bytes(gzip.compress(content) if packed else content)
    found = read_qlog(path)
    assert (found.is_server, found.original_id) == (True, "0011223344556677")
    assert found.sent == {(0, 0): 1_500_500_000, (2, 7): 1_502_000_000}
    assert found.received == {(1, 0): 1_501_000_000}
    assert (found.declared_lost, found.datagrams_sent, found.datagrams_received) == ([(2, 7)], 3, 2)
    assert (found.min_rtt_s, found.smoothed_rtt_s, found.latest_rtt_s) == (0.0205, 0.022, [0.023])


def test_times_may_count_from_the_event_before(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlog"
    events = [event("packet_sent", 10.0, **packet("1RTT", number)) for number in range(3)]
    path.write_bytes(sequence({"reference_time": 1000, "time_format": "delta"}, events))
    assert [ns // 1_000_000 for ns in read_qlog(path).sent.values()] == [1010, 1020, 1030]


def test_events_may_be_lists(tmp_path: Path) -> None:
    path = tmp_path / "old.qlog"
    common = {"event_fields": ["relative_time", "category", "event", "data"]}
    path.write_bytes(document(common, [[12.5, "transport", "packet_sent", packet("initial", 3)]]))
    assert read_qlog(path).sent == {(0, 3): 12_500_000}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no qlog"),
        (b"not json at all", "no qlog"),
        (b'{"qlog_version": "0.3", "traces": [{"events": "none"}, 5]}', "no packet_sent"),
        (b'{"qlog_version": "0.3", "traces": ' + b"[" * 100_000, "no qlog"),
        (b"\x1f\x8b\x08\x00broken", "x.qlog: "),
        (document({}, [event("packet_sent", float("inf"), header={"packet_type": [], "packet_number": {}})]), "no pac"),
    ],
)
def test_what_is_no_log_is_said(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "x.qlog"
    path.write_bytes(content)
    with pytest.raises(QlogError, match=said):
        read_qlog(path)


def test_a_log_is_known_by_name_or_content(tmp_path: Path) -> None:
    for name, content, expected in (
        ("a.qlog", b"", True),
        ("a.sqlog.gz", b"", True),
        ("a.json", document({}, []), True),
        ("b.json", sequence({}, []), True),
        ("c.json", b'{"other": 1}', False),
        ("d.pcap", b"\xd4\xc3\xb2\xa1", False),
    ):
        (tmp_path / name).write_bytes(content)
        assert is_qlog(tmp_path / name) == expected, name
    assert not is_qlog(tmp_path / "not-there.pcap")


def vmtrace(*words: object) -> "subprocess.CompletedProcess[str]":
    call = [sys.executable, "-m", "vmtrace", *map(str, words)]
    return subprocess.run(call, capture_output=True, text=True, timeout=120, check=False)


def test_a_log_needs_a_capture(tmp_path: Path) -> None:
    log = tmp_path / "a.qlog"
    log.write_bytes(document(COMMON, EVENTS))
    assert vmtrace("compare", log, log).returncode == 2
    assert vmtrace("compare", tmp_path / "x.pcap", log, "--csv", tmp_path / "x").returncode == 2
    gone = vmtrace("compare", tmp_path / "x.pcap", log)
    assert (gone.returncode, gone.stderr.count("\n")) == (1, 1)
