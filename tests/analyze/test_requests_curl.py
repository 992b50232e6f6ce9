"""Requests of curl to nginx: packets say what curl measured, in the clear and inside TLS, whatever the snap length leaves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from analyze.trace import read
from lab.edit.capture import parse_capture, pcap_bytes
from lab.edit.missing import CutFrames
from lab.namespaces import missing_requirement
from tests.analyze import curl_nginx
from tests.analyze.curl_nginx import Asked
from tests.analyze.on_loopback import namespace, recorded

_MISSING = missing_requirement() or curl_nginx.missing()

pytestmark = [pytest.mark.root, pytest.mark.skipif(bool(_MISSING), reason=f"curl and nginx: {_MISSING}")]

WITHIN_S = 0.05
"""How far curl's clock may lie from the packets on a busy machine."""

PAGES = ["/f500", "/wait/0.3/200", "/f1000000", "/f1", "/wait/0.1/50000", "/f100000"]


@dataclass(frozen=True, slots=True)
class Seen:
    """The capture, and what curl measured by case."""

    capture: Path
    asked: dict[str, list[Asked]]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """All cases in one capture."""
    folder = tmp_path_factory.mktemp("curl")
    folder.chmod(0o755)
    for size in (1, 500, 100_000, 1_000_000, 8_000_000):
        (folder / f"f{size}").write_bytes(b"x" * size)
    (folder / "upload").write_bytes(b"u" * 300_000)
    post = ["--data-binary", f"@{folder / 'upload'}", "-H"]
    asked = {}
    capture = folder / "lo.pcap"
    with (
        namespace() as inside,
        curl_nginx.site(folder, inside),
        recorded(inside, capture, "tcp and not port 8000"),
    ):
        for kind in curl_nginx.PORTS:
            version = [] if kind.startswith("h2") else ["--http1.1"]
            asked[f"{kind} pages"] = curl_nginx.curl(inside, kind, PAGES, version)
            asked[f"{kind} download"] = curl_nginx.curl(inside, kind, ["/f8000000"], version)
            asked[f"{kind} upload"] = curl_nginx.curl(inside, kind, ["/wait/0.1/50"] * 2, [*version, *post, "Expect:"])
            expecting = [*version, *post, "Expect: 100-continue"]
            asked[f"{kind} continue"] = curl_nginx.curl(inside, kind, ["/wait/0.1/50"], expecting)
        asked["h2tls13 streams"] = curl_nginx.curl(inside, "h2tls13", PAGES, ["-Z"])
    return Seen(capture, asked)


def connection_of(asked: list[Asked], capture: Path) -> dict[str, Any]:
    """The record of the connection on which all was asked."""
    ports = {one.port for one in asked}
    (record,) = (one for one in read(capture).json()["connections"] if one["client"]["port"] in ports)
    return dict(record)


@pytest.mark.parametrize("case", ["pages", "download", "upload", "continue"])
@pytest.mark.parametrize("kind", curl_nginx.PORTS)
def test_packets_say_what_curl_measured(seen: Seen, kind: str, case: str) -> None:
    asked = seen.asked[f"{kind} {case}"]
    record = connection_of(asked, seen.capture)
    assert record.get("requests_reason") is None
    shown = record["requests"]
    assert record["request_totals"]["count"] == len(shown) == len(asked)
    for truth, one in zip(asked, shown, strict=True):
        assert one["duration_s"] == pytest.approx(truth.duration_s, abs=WITHIN_S), truth
        if case in ("pages", "download"):  # of an upload curl means the first byte of whatever comes
            first_byte_s = one["request_s"] + one["first_byte_s"]
            assert first_byte_s == pytest.approx(truth.until_first_byte_s, abs=WITHIN_S), truth
        assert one["response_bytes"] == pytest.approx(truth.response_bytes, rel=0.003, abs=200)
        assert one["request_bytes"] == pytest.approx(truth.request_bytes, rel=0.003, abs=100)


def test_streams_side_by_side_are_not_told_apart(seen: Seen) -> None:
    record = connection_of(seen.asked["h2tls13 streams"], seen.capture)
    assert (record["requests"], record["requests_reason"]) == (None, "overlapping")


@pytest.mark.parametrize("snap_length", [64, 96, 128, 200])
@pytest.mark.parametrize("kind", curl_nginx.PORTS)
def test_handshake_turns_are_no_requests_in_a_cut_capture(
    seen: Seen, tmp_path: Path, kind: str, snap_length: int
) -> None:
    cut, _ = CutFrames(snap_length).apply(parse_capture(seen.capture.read_bytes()), Random(0))
    path = tmp_path / "cut.pcap"
    path.write_bytes(pcap_bytes(cut))
    asked = seen.asked[f"{kind} pages"]
    record = connection_of(asked, path)
    if record["requests"] is None:
        assert (record["requests_reason"], kind == "plain") == ("snap_length", False)
        return
    # The first request is left out where the end of the handshake lies in its turn.
    truths = asked[-len(record["requests"]) :]
    assert len(truths) >= len(asked) - 1
    for truth, one in zip(truths, record["requests"], strict=True):
        assert one["duration_s"] == pytest.approx(truth.duration_s, abs=WITHIN_S), truth
        assert one["response_bytes"] == pytest.approx(truth.response_bytes, rel=0.01, abs=250)
