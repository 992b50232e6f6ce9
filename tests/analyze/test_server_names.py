"""What a server is called, wherever it is shown: the name in TLS, the host of HTTP, or the name it was looked up by.

Subjects: analyze/words/server_names.py
"""

from pathlib import Path

import pytest
from scapy.layers.dns import DNS, DNSQR, DNSRR
from scapy.layers.inet import IP, TCP, UDP
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap

from tests.analyze.test_live_metrics import served
from vmtrace.analyze.findings.facts import Facts
from vmtrace.analyze.reports.live.metrics import Services
from vmtrace.analyze.trace import Options, Trace, read
from vmtrace.analyze.words.server_names import cell, server_name, with_name

CLIENT, RESOLVER, LOOKED_UP, ASKED = "198.18.0.1", "198.18.0.53", "198.18.1.1", "198.18.1.2"
REQUEST = b"GET / HTTP/1.1\r\nHost: web.example:8080\r\n\r\n"


def lookup(name: str, address: str) -> list[Packet]:
    question = IP(src=CLIENT, dst=RESOLVER) / UDP(sport=40_000, dport=53) / DNS(id=9, qd=[DNSQR(qname=name)])
    answer = IP(src=RESOLVER, dst=CLIENT) / UDP(sport=53, dport=40_000)
    found = [DNSRR(rrname=name, type="A", rdata=address)]
    return [question, answer / DNS(id=9, qr=1, qd=[DNSQR(qname=name)], an=found)]


def exchange(server: str, port: int, request: bytes) -> list[Packet]:
    """A handshake, a request, a response, an end; some milliseconds each."""
    out = IP(src=CLIENT, dst=server) / TCP(sport=50_000, dport=port, window=60_000)
    back = IP(src=server, dst=CLIENT) / TCP(sport=port, dport=50_000, window=60_000)
    response = b"x" * 400

    def one(base: Packet, flags: str, seq: int, ack: int, data: bytes = b"") -> Packet:
        packet = base.copy()
        packet[TCP].flags, packet[TCP].seq, packet[TCP].ack = flags, seq, ack
        return packet / Raw(data) if data else packet

    asked, said = 101 + len(request), 501 + len(response)
    return [
        one(out, "S", 100, 0),
        one(back, "SA", 500, 101),
        one(out, "A", 101, 501),
        one(out, "PA", 101, 501, request),
        one(back, "PA", 501, asked, response),
        one(out, "FA", asked, said),
        one(back, "FA", said, asked + 1),
        one(out, "A", asked + 1, said + 1),
    ]


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    names = [*lookup("unused.example", "198.18.1.9"), *lookup("db.example", LOOKED_UP)]
    packets = [*names, *exchange(LOOKED_UP, 5432, b"hello"), *exchange(ASKED, 80, REQUEST)]
    for number, packet in enumerate(packets):
        packet.time = 1_700_000_000 + 0.01 * number
    wrpcap(str(tmp_path / "x.pcap"), packets)
    return tmp_path / "x.pcap"


def names(trace: Trace) -> list[str | None]:
    return [server_name(record, trace.header()["lookups"]) for record in trace.records(trace.values("id"))]


def test_a_name_is_of_http_or_of_the_lookup_before_it(capture: Path) -> None:
    trace = read(capture)
    assert trace.values("server_name") == [None, "web.example"]
    assert names(trace) == ["db.example", "web.example"]
    assert [trace.named_row(index)["server_name"] for index in (0, 1)] == names(trace)


def test_a_name_in_tls_comes_first() -> None:
    trace = read(Path(__file__).parents[2] / "samples/tls13.pcap")
    assert trace.values("server_name") == trace.values("tls_sni") == ["server.lab.test"]
    assert "server.lab.test:5810" in trace.summary()


def test_the_table_metrics_and_findings_say_the_name(capture: Path) -> None:
    trace = read(capture)
    said = trace.summary(width=160)
    assert "db.example:5432" in said
    assert "web.example:80 " in said
    services = Services(10)
    services.take(trace, is_end=True)
    labels = {labels["name"] for (metric, pairs) in served(services) if (labels := dict(pairs)).get("name")}
    assert labels == {"db.example", "web.example"}
    facts = Facts.of_document(trace.json())
    assert facts.named(f"{LOOKED_UP}:5432") == f"db.example ({LOOKED_UP}:5432)"


def test_no_name_is_left_of_an_anonymous_capture(capture: Path) -> None:
    trace = read(capture, options=Options(anonymize=True))
    shown = [*names(trace), *(trace.named_row(index)["server_name"] for index in (0, 1)), trace.summary(width=160)]
    assert all(shown)
    assert not any(one in str(text) for text in shown for one in ("example", LOOKED_UP, ASKED))


def test_servers_that_are_called_differently_keep_their_address(capture: Path) -> None:
    document = read(capture).json()
    document["connections"][0]["server"] = document["connections"][1]["server"]
    facts = Facts.of_document(document)
    assert facts.named(f"{ASKED}:80") == f"{ASKED}:80"


def test_long_names_lose_their_middle_and_keep_their_port() -> None:
    name = f"{'a' * 40}.example"
    assert len(cell("192.0.2.1:443", name)) == len("443") + 33
    assert cell("192.0.2.1:443", name).endswith(".example:443")
    assert cell("[2001:db8::1]:443", "a.test") == "a.test:443"
    assert cell("192.0.2.1:443", None) == with_name("192.0.2.1:443", None) == "192.0.2.1:443"
    assert with_name("192.0.2.1:443", "a.test") == "a.test (192.0.2.1:443)"
