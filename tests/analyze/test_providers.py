"""What the connections to each service cost, and that names and addresses tell the service."""

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest
from scapy.layers.dns import DNS, DNSQR, DNSRR
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap

from tests.in_process import vmtrace_here
from vmtrace.analyze.findings.providers import COLUMNS, by_provider, of_trace
from vmtrace.analyze.findings.services.identify import Answers
from vmtrace.analyze.findings.services.ranges import AddressRanges, read
from vmtrace.analyze.tables.schema import load
from vmtrace.analyze.trace import Options
from vmtrace.analyze.trace import read as read_captures

HOUR_NS = 1_700_000_000 * 10**9


def row(server: str, sni: str | None, rtt_s: float | None, tls_s: float | None, **ledger: int) -> tuple[object, ...]:
    """A row of `COLUMNS`: what is not named is 0, or not there."""
    values: dict[str, object] = {name: 0 for name in COLUMNS if name.startswith("ledger_")}
    values |= {f"ledger_{part}": size for part, size in ledger.items()}
    values |= {"client": "10.0.0.1:40000", "server": server, "start_ns": HOUR_NS, "tls_sni": sni}
    values |= {"handshake_rtt_s": rtt_s, "tls_handshake_s": tls_s, "handshake_complete": True}
    payload = ("application_bytes", "tls_record_bytes", "tls_handshake_bytes")
    values |= {"client_to_server_unique_payload_bytes": sum(ledger.get(part, 0) for part in payload)}
    values |= {"tls_version": "1.3" if sni else None, "tls_resumed": False if sni else None}
    return tuple(values.get(name) for name in COLUMNS)


def test_sums_are_by_service_and_the_largest_comes_first() -> None:
    rows = [
        row("1.2.3.4:443", "a.s3.eu-west-1.amazonaws.com", 0.010, 0.050, application_bytes=800, ip_bytes=200),
        row("1.2.3.5:443", "b.s3.amazonaws.com", 0.030, None, application_bytes=2400, tls_handshake_bytes=600),
        row("1.2.3.6:443", "sqs.eu-west-1.amazonaws.com", None, None, application_bytes=10),
        row("1.2.3.6:80", None, None, None, link_bytes=9000),
    ]
    first, second, third = by_provider(rows, Answers(), AddressRanges())
    assert (first.name, first.overhead.wire_bytes, first.as_record()["overhead_ratio"]) == (
        "no name, port 80", 9000, None,
    )  # fmt: skip
    assert (third.name, third.service) == ("AWS", "SQS")
    record = second.as_record()
    assert record["provider"] == "AWS"
    assert record["service"] == "S3"
    assert record["identified_by"] == "sni"
    assert record["regions"] == "eu-west-1"
    assert (record["connections"], record["server_addresses"], record["tls_full_handshakes"]) == (2, 2, 2)
    assert (record["wire_bytes"], record["application_bytes"]) == (4000, 3200)
    assert record["overhead_ratio"] == 0.25
    assert record["tcp_payload_ratio"] == 3800 / 3200
    assert (record["handshake_rtt_s"], record["tls_handshake_s"]) == (0.020, 0.050)


def conversation(client: str, server: str, port: int, at_s: float) -> list[Packet]:
    """A TCP connection with 100 bytes each way, without TLS."""
    ip = IPv6 if ":" in client else IP
    there, back = ip(src=client, dst=server), ip(src=server, dst=client)
    packets = [
        there / TCP(sport=port, dport=443, flags="S", seq=0),
        back / TCP(sport=443, dport=port, flags="SA", seq=0, ack=1),
        there / TCP(sport=port, dport=443, flags="A", seq=1, ack=1),
        there / TCP(sport=port, dport=443, flags="PA", seq=1, ack=1) / Raw(b"a" * 100),
        back / TCP(sport=443, dport=port, flags="PA", seq=1, ack=101) / Raw(b"b" * 100),
        there / TCP(sport=port, dport=443, flags="A", seq=101, ack=101),
    ]
    return [timed(packet, at_s + number / 1000) for number, packet in enumerate(packets)]


def answer(client: str, name: str, alias: str, address: str, at_s: float) -> Packet:
    records = [DNSRR(rrname=name, type="CNAME", rdata=alias), DNSRR(rrname=alias, type="A", rdata=address)]
    dns = DNS(id=7, qr=1, qd=[DNSQR(qname=name)], an=records)
    return timed(IP(src="10.0.0.53", dst=client) / UDP(sport=53, dport=5353) / dns, at_s)


def timed(packet: Packet, at_s: float) -> Packet:
    packet = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / packet
    packet.time = 1_700_000_000 + at_s
    return packet


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """One server known by the answer of a resolver, one by nothing but its address, one by nothing at all."""
    packets = [
        answer("10.0.0.1", "files.example.org", "d1.cloudfront.net", "192.0.2.1", 0.0),
        *conversation("10.0.0.1", "192.0.2.1", 40000, 1.0),
        *conversation("10.0.0.1", "192.0.2.2", 40001, 2.0),
        *conversation("2001:db8::1", "2001:db8:2::2", 40002, 3.0),
        *conversation("10.0.0.1", "192.0.2.3", 40003, 4.0),
    ]
    path = tmp_path / "mixed.pcap"
    wrpcap(str(path), packets)
    return path


@pytest.fixture
def ranges(tmp_path: Path) -> Path:
    path = tmp_path / "ranges.csv"
    path.write_text(
        "prefix,name,service,region\n192.0.2.2/31,Example Cloud,Objects,west\n2001:db8:2::/48,Example Cloud\n"
    )
    return path


def test_answers_and_address_ranges_tell_servers_without_a_name(capture: Path, ranges: Path) -> None:
    found = of_trace(read_captures(capture), read([ranges]))
    shown = {(one.name, one.service, tuple(one.identified_by)): one.overhead.connections for one in found}
    assert shown == {
        ("AWS", "CloudFront", ("dns",)): 1,
        ("Example Cloud", "Objects", ("range",)): 2,
        ("Example Cloud", None, ("range",)): 1,
    }
    assert all(one.overhead.application_bytes == 200 * one.overhead.connections for one in found)
    assert all(abs(sum(share for _, share in one.overhead.shares()) - 1) < 1e-12 for one in found)


def test_sums_are_the_same_where_names_and_addresses_are_replaced(capture: Path, ranges: Path) -> None:
    plain, masked = (
        [one.as_record() for one in of_trace(read_captures(capture, options=Options(anonymize=hidden)), read([ranges]))]
        for hidden in (False, True)
    )
    assert plain == masked


def test_the_command_takes_address_ranges_and_its_json_keeps_the_contract(capture: Path, ranges: Path) -> None:
    def vmtrace(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return vmtrace_here("analyze", capture, *arguments)

    options = ("--by", "provider", "--address-ranges", str(ranges))
    printed = vmtrace(*options)
    assert (printed.returncode, printed.stderr) == (0, "")
    assert "Example Cloud" in printed.stdout
    document = json.loads(vmtrace(*options, "--json", "-").stdout)
    jsonschema.validate(document, load())
    assert {one["identified_by"] for one in document["by_provider"]} == {"dns", "range"}
    wrong = vmtrace("--by", "provider", "--address-ranges", str(capture))
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr.count("\n") == 1
    assert "mixed.pcap" in wrong.stderr
    assert vmtrace("--address-ranges", str(ranges)).returncode == 2
