"""Cases from other people's networks: the finding that costs most is the right one."""

from pathlib import Path
from typing import NamedTuple

import pytest

from vmtrace.analyze.compare.comparison import compare
from vmtrace.analyze.compare.qlog import read_qlog
from vmtrace.analyze.compare.with_endpoint import compare_with_endpoint
from vmtrace.analyze.trace import Options, read

FIELD = Path(__file__).parents[3] / "shared/field2"

pytestmark = pytest.mark.skipif(not FIELD.is_dir(), reason="shared/field2 is not beside the repository")


class Case(NamedTuple):
    """A capture, and what must come first of it."""

    file: str
    kind: str
    cost_s: float | None
    keys: str | None = None


CASES = (
    Case("A05-client-pauses-between-requests/client.pcap.gz", "client_wait", 2.10),
    Case("A07-no-sack/client.pcap.gz", "sack_not_agreed", 8.83),
    Case("A09-expect-100/client.pcap.gz", "expect_continue", 10.02),
    Case("C01-dns-5s-aaaa/client.pcap", "dns_unanswered", 10.04),
    Case("C03-dns-pps-limit/client.pcap.gz", "dns_rate_limited", None),
    Case("C07-quic-blocked-fallback/client.pcap", "quic_unanswered", 5.15),
    Case("C09-iperf3-udp-queue/server.pcap.gz", "udp_rate_limited", None),
    Case("C13-accept-queue/server.pcap", "accept_queue_full", 43.8),
    Case("C15-h2-stream-window/clear.pcap.gz", "http2_window", 0.73),
    Case("C15-h2-stream-window/tls-server.pcap.gz", "http2_window", 0.94, "C15-h2-stream-window/keys.log"),
    Case("C23-icmp-quotes-other-tuple/client.pcap", "icmp_not_matched", 13.97),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.file.split("/")[0])
def test_the_costliest_finding_is_the_right_one(case: Case) -> None:
    keys = str(FIELD / case.keys) if case.keys else None
    first = read(FIELD / case.file, options=Options(key_log=keys)).findings[0]
    assert first.kind == case.kind
    assert first.cost_s == (None if case.cost_s is None else pytest.approx(case.cost_s, rel=0.02))


def test_a_path_s_mtu_and_a_limit_of_echoes_are_among_the_findings() -> None:
    mtu = read(FIELD / "A11-path-mtu/client.pcap.gz").findings
    assert any("MTU is 1,400 bytes" in one.sentence for one in mtu if one.kind == "path_mtu")
    echoes = read(FIELD / "C11-icmp-rate-limit/client.pcap.gz").findings
    assert any("71.6 %" in one.sentence for one in echoes if one.kind == "icmp_rate_limited")


def test_both_ends_of_a_loss_of_quic_agree_with_the_path() -> None:
    case = FIELD / "C05-quic-loss"
    trace = read(case / "server.pcap.gz", options=Options(key_log=str(case / "keys.log")))
    quic = trace.json()["flows"][0]["quic"]
    assert quic["packets"]["server"]["sent"] == 159
    assert quic["lost"]["server"]["behind_capture_point"] == 10
    # At the client: two of the 11 packets lost were in one of the 10 datagrams.
    client = read(case / "client.pcap.gz", options=Options(key_log=str(case / "keys.log"))).json()["flows"][0]["quic"]
    assert client["packets"]["server"]["sent"] == 159
    assert client["lost"]["server"] == {
        "before_capture_point": 11,
        "before_capture_point_one_rtt": 9,
        "behind_capture_point": 0,
    }


def test_datagrams_of_two_captures_and_of_an_endpoint_s_log_are_lost_as_the_path_says() -> None:
    case = FIELD / "C05-quic-loss"
    options = Options(datagrams=True, key_log=str(case / "keys.log"))
    client, server = (read(case / f"{name}.pcap.gz", options=options) for name in ("client", "server"))
    [flow] = compare(client, server).flows
    assert [part.lost_in_network for part in flow.directions()] == [0, 10]
    [log] = (case / "qlog-s").iterdir()
    found = compare_with_endpoint(client, read_qlog(log))
    assert (found.sent.in_log, found.sent.lost, found.received.in_log, found.received.lost) == (159, 11, 110, 0)
    case = FIELD / "C09-iperf3-udp-queue"
    client, server = (read(case / f"{name}.pcap.gz", options=options) for name in ("client", "server"))
    [flow] = compare(client, server).flows
    assert [part.lost_in_network for part in flow.directions()] == [429, 0]
