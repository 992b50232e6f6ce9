"""Requests of curl to nginx: packets say what curl measured, in the clear and inside TLS, at both ends, however cut."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.analyze import curl_nginx
from tests.analyze.curl_nginx import Asked
from tests.busy_machine import too_busy
from vmtrace.analyze.trace import read
from vmtrace.lab.edit.capture import parse_capture, pcap_bytes
from vmtrace.lab.edit.missing import CutFrames
from vmtrace.lab.namespaces import missing_requirement

_MISSING = missing_requirement() or curl_nginx.missing()

pytestmark = [pytest.mark.root, pytest.mark.skipif(bool(_MISSING), reason=f"curl and nginx: {_MISSING}")]

RTT_S = 0.02
WITHIN_S = 0.05
"""How far curl's clock may lie from the packets on a busy machine."""
COMPLETE = 262_144
SNAP_LENGTHS = [64, 96, 128, COMPLETE]
UNDECIDED = {("h2tls13", "server", 96), ("h2tls13", "server", 128)}
"""Here settings cross requests, so that HTTP/2 is not always recognised (docs/json.md)."""
SEEN = [
    (kind, end, snap_length)
    for kind in curl_nginx.PORTS
    for end in ("client", "server")
    for snap_length in SNAP_LENGTHS
    if (kind, end, snap_length) not in UNDECIDED
]
TOO_BUSY_S = 0.15
"""curl itself was not scheduled for so long: its clock is no truth."""

PAGES = ["/f500", "/wait/0.3/200", "/f10000", "/f1", "/wait/0.1/50000", "/wait/0/1"]
DOWNLOADS = ["/f1000000"] * 3

Ports = tuple[int, int]
"""The client's and the server's: a kernel gives one port of its own to connections to two servers."""
Connections = dict[Ports, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Seen:
    """Connections by their ports, for each end and snap length, and what curl measured by case."""

    connections: dict[tuple[str, int], Connections]
    asked: dict[str, list[Asked]]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """All cases in one capture of each end."""
    folder = tmp_path_factory.mktemp("curl")
    folder.chmod(0o755)
    for size in (1, 500, 10_000, 1_000_000, 4_000_000):
        (folder / f"f{size}").write_bytes(b"x" * size)
    (folder / "upload").write_bytes(b"u" * 300_000)
    (folder / "short").write_bytes(b"u" * 300)
    asked: dict[str, list[Asked]] = {}
    with curl_nginx.site(folder, RTT_S) as there:
        for kind in curl_nginx.PORTS:
            version = [] if kind.startswith("h2") else ["--http1.1"]
            post = [*version, "--data-binary", f"@{folder / 'upload'}", "-H"]
            for case, paths, options in (
                ("pages", PAGES, version),
                ("download", ["/f4000000"], version),
                ("downloads", DOWNLOADS, version),
                ("upload", ["/wait/0.1/50"] * 2, [*post, "Expect:"]),
                ("continue", ["/wait/0.1/50"], [*post, "Expect: 100-continue"]),
                ("forms", ["/wait/0.05/50"] * 3, [*version, "--data-binary", f"@{folder / 'short'}"]),
            ):
                asked[f"{kind} {case}"] = curl_nginx.curl(there, kind, paths, options)
        for kind in ("h2tls12", "h2tls13"):
            asked[f"{kind} streams"] = curl_nginx.curl(there, kind, PAGES, ["-Z"])
            # The slow page first: curl may come late to the second, but not as late as that.
            asked[f"{kind} two streams"] = curl_nginx.curl(there, kind, PAGES[1::-1], ["-Z"])
            asked[f"{kind} large streams"] = curl_nginx.curl(there, kind, DOWNLOADS, ["-Z"])
    captures = {end: folder / f"{end}.pcap" for end in ("client", "server")}
    connections = {(end, snap): cut_to(captures[end], snap) for end in captures for snap in SNAP_LENGTHS}
    return Seen(connections, asked)


def cut_to(capture: Path, snap_length: int) -> Connections:
    """The records of all connections of the capture with so many bytes of each packet."""
    path = capture
    if snap_length != COMPLETE:
        cut, _ = CutFrames(snap_length).apply(parse_capture(capture.read_bytes()), Random(0))
        path = capture.with_suffix(f".{snap_length}.pcap")
        path.write_bytes(pcap_bytes(cut))
    return {(port_of(one["client"]), port_of(one["server"])): one for one in read(path).json()["connections"]}


def port_of(endpoint: str) -> int:
    return int(endpoint.rpartition(":")[2])


def record_of(seen: Seen, case: str, end: str, snap_length: int) -> dict[str, Any]:
    (port,) = {one.port for one in seen.asked[case]}
    return seen.connections[end, snap_length][port, curl_nginx.PORTS[case.split(maxsplit=1)[0]]]


def assert_is(one: dict[str, Any], truth: Asked, end: str, case: str) -> None:
    """The exchange is the request that curl measured, one round trip nearer at the server."""
    away_s = RTT_S if end == "server" else 0.0
    duration_s = one["duration_s"] + away_s
    if truth.duration_s - duration_s > TOO_BUSY_S:
        too_busy("curl stood still")
    within_s = WITHIN_S + (3 * RTT_S if end == "server" else 0.0) + 0.05 * truth.duration_s
    assert duration_s == pytest.approx(truth.duration_s, abs=within_s), truth
    if case == "pages":  # of an upload curl means the first byte of whatever comes, of a long record its last
        first_byte_s = one["request_s"] + one["first_byte_s"] + away_s
        assert first_byte_s == pytest.approx(truth.until_first_byte_s, abs=WITHIN_S), truth
    assert one["response_bytes"] == pytest.approx(truth.response_bytes, rel=0.012, abs=250)
    assert one["request_bytes"] == pytest.approx(truth.request_bytes, rel=0.012, abs=450)


@pytest.mark.parametrize(("kind", "end", "snap_length"), SEEN)
@pytest.mark.parametrize("case", ["pages", "download", "downloads", "upload", "continue", "forms"])
def test_packets_say_what_curl_measured(seen: Seen, kind: str, case: str, end: str, snap_length: int) -> None:
    asked = seen.asked[f"{kind} {case}"]
    record = record_of(seen, f"{kind} {case}", end, snap_length)
    if kind != "plain" and snap_length == 64:
        assert (record["requests"], record["requests_reason"]) == (None, "snap_length")
        return
    assert record.get("requests_reason") is None
    assert record["request_totals"]["count"] == len(record["requests"]) == len(asked)
    for truth, one in zip(asked, record["requests"], strict=True):
        assert_is(one, truth, end, case)


@pytest.mark.parametrize(("kind", "end", "snap_length"), [one for one in SEEN if one[0].startswith("h2")])
@pytest.mark.parametrize("case", ["streams", "two streams", "large streams"])
def test_streams_side_by_side_are_not_told_apart(seen: Seen, kind: str, case: str, end: str, snap_length: int) -> None:
    record = record_of(seen, f"{kind} {case}", end, snap_length)
    assert record["requests"] is None
    assert record["requests_reason"] in ("overlapping", "snap_length")
