"""aioquic and quic-go across a path: losses, round trips and windows of QUIC are those of the path and of their logs.

quic-go is built from `quic_go/` where Go is installed (`make test-long`).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.analyze import quic_programs, udp_path
from tests.busy_machine import too_busy
from tests.cut import cut
from vmtrace.analyze.compare.comparison import Comparison, compare
from vmtrace.analyze.compare.qlog import Endpoint, read_qlog
from vmtrace.analyze.compare.with_endpoint import EndpointComparison, compare_with_endpoint
from vmtrace.analyze.trace import Options, Trace, read
from vmtrace.analyze.words.document import Record
from vmtrace.lab.impairments import Impairments
from vmtrace.lab.namespaces import missing_requirement

_MISSING = missing_requirement() or next(
    (f"{name} not installed" for name in ("tcpdump", "openssl") if shutil.which(name) is None), None
)

pytestmark = [pytest.mark.root, pytest.mark.skipif(bool(_MISSING), reason=f"aioquic over a path: {_MISSING}")]

RTT_S = 0.04
RESPONSE_BYTES = 200_000
NARROW, WIDE = 6_000, 1 << 20
"""A window that holds less than the first flight of ten datagrams, and one that holds the response."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Captures and logs of all connections, and what the path dropped."""

    client: Trace
    server: Trace
    logs: list[Endpoint]
    dropped: list[int]

    def quic(self, trace: Trace) -> list[Record]:
        return [one["quic"] for one in trace.json()["flows"] if one["quic"]]

    def by_log(self, trace: Trace) -> list[EndpointComparison]:
        return [compare_with_endpoint(trace, log) for log in self.logs]


def words_of(stack: str, folder: Path) -> list[str]:
    """What runs the programs of a stack; both take the same words."""
    if stack == "aioquic":
        return [sys.executable, quic_programs.__file__]
    if shutil.which("go") is None:
        pytest.skip("go not installed")
    program = folder / "quicends"
    source = Path(__file__).with_name("quic_go")
    subprocess.run(["go", "build", "-o", program, "."], cwd=source, check=True, timeout=600)
    # Else the sender's capture has several datagrams in one frame (UDP segmentation offload), which nobody cuts.
    return ["env", "QUIC_GO_DISABLE_GSO=true", str(program)]


def transfers(folder: Path, stack: str, windows: list[int], loss: float) -> Seen:
    certificate, key = folder / "cert.pem", folder / "key.pem"
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=web.lab.test"
    subprocess.run([*words.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    (folder / "qlog").mkdir()
    program = words_of(stack, folder)
    way = Impairments(delay_s=RTT_S / 2, loss=loss)
    with udp_path.ends(folder, way, way, seed=7) as there:
        served = there.serving([*program, "server", folder / "qlog", certificate, key], "ready")
        with served, udp_path.recording(there, "udp"):
            there.run(*program, "client", folder, there.server, RESPONSE_BYTES, *windows)
        dropped = udp_path.lost(there.fates())
    options = Options(datagrams=True, key_log=str(folder / "keys.log"))
    client, server = (read(file, options=options) for file in (there.client_pcap, there.server_pcap))
    return Seen(client, server, [read_qlog(file) for file in sorted((folder / "qlog").iterdir())], dropped)


@pytest.fixture(scope="module", params=cut(["aioquic", "quic-go"], kept=1))
def stack(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def lossy(stack: str, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return transfers(tmp_path_factory.mktemp("lossy"), stack, [WIDE] * 3, 0.03)


@pytest.fixture(scope="module")
def windows(stack: str, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return transfers(tmp_path_factory.mktemp("windows"), stack, [NARROW, WIDE] * 6, 0.0)


def test_losses_of_two_captures_are_those_of_the_path(lossy: Seen) -> None:
    done: Comparison = compare(lossy.client, lossy.server)
    assert len(done.flows) == 3
    directions = [one.directions() for one in done.flows]
    lost = [sum(ways[way].lost_in_network + ways[way].outside_capture for ways in directions) for way in (0, 1)]
    assert lost == lossy.dropped
    assert min(lost) > 0


def test_losses_of_a_capture_and_a_log_are_those_of_the_packets_numbers(lossy: Seen) -> None:
    """The client's capture alone, by numbers and acknowledgements, and against the server's log."""
    for found in lossy.by_log(lossy.client):
        packets, lost = found.flow["quic"]["packets"]["server"], found.flow["quic"]["lost"]["server"]
        assert found.sent.matched is not None
        assert found.sent.lost is not None
        assert found.sent.in_log == found.sent.matched + found.sent.lost
        # The last packets of a connection leave no hole behind them.
        numbers = [number for space, number in found.endpoint.sent if space == 2]
        last = max(numbers)
        # A sender may leave numbers out (RFC 9000 section 21.4), as quic-go does: those look lost.
        left_out = last + 1 - len(numbers)
        seen_behind = found.sent.lost + left_out - lost["before_capture_point"]
        assert 0 <= seen_behind <= 3, (last, lost, found.sent)
        assert packets["seen"] == found.sent.matched
        assert found.sent.not_captured == found.received.not_captured == 0


def test_round_trips_are_those_that_the_endpoint_logs(windows: Seen) -> None:
    pairs = [
        (found.flow["quic"]["acknowledged_rtt"]["server"]["min_s"], found.endpoint.min_rtt_s or 0.0)
        for found in windows.by_log(windows.server)
    ]
    assert len(pairs) == 12
    for captured_s, logged_s in pairs:
        # The endpoint's clock runs on until its program is scheduled; the packets' does not.
        assert RTT_S <= captured_s <= logged_s
        if logged_s > captured_s * 1.02:
            too_busy(f"the endpoint was scheduled {logged_s - captured_s:.4f} s late")


def test_windows_are_found_where_they_hold_a_sender_back_and_nowhere_else(windows: Seen) -> None:
    held = [one["flow_control"]["server"] for one in windows.quic(windows.server)]
    assert len(held) == 12
    narrow, wide = held[::2], held[1::2]
    assert [one["times"] for one in wide] == [0] * 6
    for one in narrow:
        assert one["times"] >= 2
        assert one["window_of"] == "stream"
        assert one["limited_s"] > RTT_S / 2, "a program that comes late has used part of the round trip"


CLOSES = {
    "aioquic": ("client", "application", 0, ""),
    "quic-go": ("client", "application", 7, "enough"),
}
"""By whom, of what kind, with which code and words."""


def test_closes_are_those_of_the_programs(stack: str, windows: Seen) -> None:
    closes = [one["close"] for one in windows.quic(windows.client)]
    assert {(one["by"], one["kind"], one["code"], one["reason"]) for one in closes} == {CLOSES[stack]}
