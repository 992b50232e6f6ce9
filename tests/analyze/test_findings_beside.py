"""Findings beside connections (names, datagrams, echoes, QUIC, neighbours): what they say, bounds from both sides."""

from typing import Any

import pytest

from tests.analyze.findings_made import START_NS, Record, connection, direction
from vmtrace.analyze.findings.facts import Facts
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.rules import datagrams, echoes, lookups, neighbours, quic, tunnels


def facts(**document: Any) -> Facts:
    return Facts.of_document(document)


def flow(number: int = 1, **more: Any) -> Record:
    known: Record = {"id": number, "protocol": "udp", "application": None, "client": "198.18.0.1:5000",
                     "server": "198.18.0.9:9000", "duration_s": 2.0, "start_ns": START_NS, "first_frame": 7,
                     "client_to_server": {"packets": 10}, "server_to_client": {"packets": 10}}  # fmt: skip
    return {**known, **more}


def of_flows(*flows: Record, **more: Any) -> list[Finding]:
    return list(datagrams.find(facts(flows=list(flows), **more)))


@pytest.mark.parametrize(
    ("more", "findings"),
    [
        ({}, 1),
        ({"client_to_server": {"packets": 2}}, 1),
        ({"client_to_server": {"packets": 1}}, 0),
        ({"unanswered": False}, 0),
        ({"application": "rtp"}, 0),
        ({"application": "dns"}, 0),
        ({"protocol": "quic"}, 0),
        ({"protocol": "esp"}, 1),
        ({"protocol": "icmp_echo"}, 0),
    ],
)
def test_datagrams_without_a_reply_are_two_or_more_of_what_replies(more: Record, findings: int) -> None:
    assert len(of_flows(flow(**{"unanswered": True, **more}))) == findings


def test_flows_of_one_server_without_a_reply_are_one_finding() -> None:
    [one] = of_flows(flow(1, unanswered=True, application="wireguard2"), flow(2, unanswered=True, duration_s=None))
    assert one.sentence == "198.18.0.9:9000 replied to none of 20 datagrams (WIREGUARD2)."
    assert (one.kind, one.cost_s, one.waited_s, one.flows) == ("udp_unanswered", 2.0, 2.0, [1, 2])
    assert one.evidence[0]["frames"] == [7, 7]
    [many] = of_flows(*(flow(number, unanswered=True, first_frame=number) for number in range(1, 30)))
    assert many.evidence[0]["frames"] == list(range(1, 21))


def test_what_icmp_refuses_is_counted_by_server_and_never_silent_too() -> None:
    some = [flow(number, unanswered=True, icmp_errors=[{}] * number) for number in (1, 2)]
    [one] = of_flows(*some, flow(3, application="dns", icmp_errors=[{}]))
    assert one.sentence == "198.18.0.9:9000 refused 2 datagram flows: 3 ICMP errors, nothing listens there."
    assert (one.kind, one.cost_s, one.flows) == ("udp_refused", 4.0, [1, 2])


@pytest.mark.parametrize(("packets", "lost", "findings"), [(999, 1, 1), (1_000, 1, 0), (10, 0, 0)])
def test_one_datagram_lost_of_a_thousand_is_a_loss(packets: int, lost: int, findings: int) -> None:
    way = {"packets": packets, "lost": lost}
    found = of_flows(flow(server_to_client=way))
    assert len(found) == findings
    assert of_flows(flow(server_to_client=way, protocol="quic")) == []
    for one in found:
        assert one.sentence == "UDP from 198.18.0.9:9000 lost 1 of 1,000 datagrams (0.1 %), by its own numbers."
        assert (one.cost_s, one.waited_s, one.confidence) == (None, 0.0, 0.9)


@pytest.mark.parametrize(
    ("limit", "lost", "text", "confidence"),
    [
        ({"queue_s": 0.05, "confidence": 0.7}, 10, ", behind a queue of 50.0 ms; 50.0 % are lost.", 0.7),
        ({}, 0, ".", 0.8),
    ],
)
def test_a_flow_that_stands_flat_at_a_rate_is_limited(limit: Record, lost: int, text: str, confidence: float) -> None:
    way = {"packets": 10, "lost": lost, "rate_limit": {"rate_bps": 1e6, **limit}}
    [one] = of_flows(flow(application="iperf3", client_to_server=way))
    assert one.sentence == f"iperf3 from 198.18.0.1:5000 stands at 1.00 Mbit/s{text}"
    assert (one.kind, one.confidence) == ("udp_rate_limited", confidence)


def test_a_limit_without_a_rate_leaves_the_loss() -> None:
    way = {"packets": 10, "lost": 10, "rate_limit": {"rate_bps": None}}
    assert [one.kind for one in of_flows(flow(client_to_server=way))] == ["udp_loss"]


def echo(sent: int, back: int, **more: Any) -> Record:
    ways = {"client_to_server": {"packets": sent}, "server_to_client": {"packets": back}}
    return flow(protocol="icmp_echo", client="198.18.0.1", server="198.18.0.9", **{**ways, **more})


@pytest.mark.parametrize(("sent", "back", "findings"), [(50, 49, 1), (51, 50, 0), (50, 50, 0), (50, 51, 0)])
def test_two_of_a_hundred_echoes_without_a_reply_are_a_finding(sent: int, back: int, findings: int) -> None:
    found = list(echoes.find(facts(flows=[echo(sent, back), flow(unanswered=True)])))
    assert [one.sentence for one in found] == ["1 of 50 echoes to 198.18.0.9 got no reply."] * findings
    assert all((one.kind, one.flows) == ("icmp_unanswered", [1]) for one in found)


def test_what_the_engine_counted_as_lost_goes_before_the_difference() -> None:
    counted = echo(50, 0, client_to_server={"packets": 50, "lost": 0})
    assert list(echoes.find(facts(flows=[counted]))) == []


@pytest.mark.parametrize(
    ("lost", "ends", "fine"),
    [
        (None, ("198.18.0.1:40001", "198.18.0.9:443"), True),
        (0, ("198.18.0.9:40001", "198.18.0.7:443"), True),
        (1, ("198.18.0.1:40001", "198.18.0.9:443"), False),
        (None, ("198.18.0.1:40001", "198.18.0.7:443"), False),
    ],
)
def test_a_limit_of_echoes_says_whether_tcp_to_the_host_was_fine(
    lost: int | None, ends: tuple[str, str], fine: bool
) -> None:
    losses = direction(loss={"lost_segments_inferred": lost})
    one = connection(1, 0, 1.0, client=ends[0], server=ends[1], server_to_client=losses)
    limited = echo(100, 60, rate_limit={"rate_per_s": 10.0, "confidence": 0.9})
    [found] = echoes.find(facts(flows=[limited], connections=[one]))
    more = " TCP to the same host lost nothing." if fine else ""
    assert found.sentence == f"198.18.0.9 replies to 10 echoes per second at most: 40.0 % of 100 got no reply.{more}"
    assert (found.kind, found.confidence) == ("icmp_rate_limited", 0.9)


def test_a_limit_may_stand_with_the_replies_alone() -> None:
    limited = echo(1, 0, server_to_client={"packets": 0, "rate_limit": {"rate_per_s": 10.0}})
    [found] = echoes.find(facts(flows=[limited]))
    assert "100 % of 1 got no reply" in found.sentence
    assert (found.kind, found.confidence) == ("icmp_rate_limited", 0.85)


@pytest.mark.parametrize(("requests", "replies", "findings"), [(2, 0, 1), (1, 0, 0), (2, 1, 0)])
def test_two_requests_without_a_reply_are_a_neighbour_that_is_away(requests: int, replies: int, findings: int) -> None:
    one = {"address": "198.18.0.9", "requests": requests, "replies": replies, "asked_by": ["198.18.0.1", "198.18.0.2"]}
    said = [found.sentence for found in neighbours.find(facts(neighbours=[one]))]
    assert said == ["198.18.0.9 did not reply to 2 requests for its link address by 198.18.0.1, 198.18.0.2."] * findings


def lookup(name: str = "a.test", **more: Any) -> Record:
    known: Record = {"name": name, "client": "198.18.0.1:5353", "resolver": "198.18.0.53", "asked_ns": 0, "tries": 1,
                     "answered_ns": 1, "waited_s": 0.01, "rcode": "NOERROR", "searched": [], "frames": [1, 2, 3],
                     "connections": []}  # fmt: skip
    return {**known, **more}


def names(*some: Record, **more: Any) -> list[Finding]:
    return list(lookups.find(facts(lookups=list(some), **more)))


SILENT: Record = {"answered_ns": None, "tries": 3, "waited_s": 10.0}


def test_queries_without_a_reply_are_counted_by_tries() -> None:
    late = lookup("b.test", tries=2, waited_s=5.0, asked_ns=60 * 10**9, connections=[4])
    [one] = names(lookup(**SILENT, connections=[5, 4]), late, lookup("c.test"))
    assert one.sentence == "198.18.0.53 left 4 queries unanswered: 15.0 s of waiting for names."
    assert (one.kind, one.cost_s, one.lookups, one.connections) == ("dns_unanswered", 15.0, [0, 1], [4, 5])
    assert one.evidence[0]["frames"] == [1, 2, 1, 2]
    [never] = names(*(lookup(**SILENT, frames=[number]) for number in range(30)))
    assert never.sentence.startswith("198.18.0.53 left 90 queries for a.test unanswered")
    assert never.evidence[0]["frames"] == list(range(20))


@pytest.mark.parametrize(("apart_ns", "cost_s"), [(999_999_999, 10.0), (1_000_000_000, 20.0)])
def test_a_and_aaaa_asked_within_a_second_are_one_wait(apart_ns: int, cost_s: float) -> None:
    [one] = names(lookup(**SILENT, asked_ns=apart_ns), lookup(**SILENT))
    assert (one.cost_s, "for a.test unanswered" in one.sentence) == (cost_s, True)
    [three] = names(*(lookup(**SILENT, asked_ns=5 * 10**9 + part * apart_ns // 3) for part in range(3)))
    assert three.cost_s == 10.0, "what is asked within a second of the first"


@pytest.mark.parametrize(("client", "cost_s"), [("198.18.0.2:5353", 20.0), ("198.18.0.1:9", 10.0)])
def test_a_wait_is_of_one_host_whatever_its_ports(client: str, cost_s: float) -> None:
    [one] = names(lookup(**SILENT), lookup(**SILENT, client=client))
    assert one.cost_s == cost_s


@pytest.mark.parametrize(("waited_s", "kinds"), [(0.2, ["dns_slow"]), (0.199, []), (None, [])])
def test_a_response_after_a_fifth_of_a_second_is_slow(waited_s: float | None, kinds: list[str]) -> None:
    assert [one.kind for one in names(lookup(waited_s=waited_s))] == kinds


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"rcode": "SERVFAIL"}, "by SERVFAIL"),
        ({"icmp_errors": [{}], **SILENT}, "by ICMP"),
        ({"rcode": "REFUSED", "waited_s": 3.0}, "by REFUSED"),
    ],
)
def test_a_refusal_is_neither_silent_nor_slow(more: Record, text: str) -> None:
    [one] = names(lookup(**more))
    assert one.sentence == f"198.18.0.53 refused 1 lookup {text}."


def test_fragments_that_were_lost_are_neither_silent_nor_slow() -> None:
    [one] = names(lookup(fragments_lost=True, **SILENT))
    assert (one.kind, one.cost_s) == ("dns_fragments_lost", 10.0)
    assert one.sentence == "Fragments of 1 response of 198.18.0.53 were lost: 10.0 s of waiting."


def test_suffixes_tried_in_vain_cost_what_they_took() -> None:
    searched = lookup(searched=["a.test.corp", "a.test.lan"], searched_s=0.06)
    [one] = names(searched, lookup("b.test", searched=["b.test.corp"]))
    assert one.sentence == "3 search suffixes tried in vain before 2 names: 60.0 ms."
    assert (one.kind, one.cost_s, one.waited_s) == ("dns_search_list", 0.06, 0.02)


def test_a_limit_before_a_resolver_goes_before_its_silence() -> None:
    limit = {"resolver": "198.18.0.53", "rate_per_s": 1024.0, "queries": 4000, "unanswered": 1000, "confidence": 0.8}
    totals = {"rate_limits": [limit]}
    [one] = names(lookup(**SILENT), lookup("b.test"), lookup_totals=totals)
    assert one.sentence == "198.18.0.53 answers 1024 queries per second at most: 1,000 of 4,000 (25.0 %) got no reply."
    assert (one.kind, one.confidence, one.lookups) == ("dns_rate_limited", 0.8, [0])
    few = {"rate_limits": [{**limit, "queries": 1, "unanswered": 1}]}
    assert "1 of 1 (100 %) got no reply." in names(lookup(**SILENT), lookup_totals=few)[0].sentence
    [none_silent] = names(lookup(), lookup("b.test"), lookup_totals=totals)
    assert none_silent.lookups == [0, 1]
    assert [found.kind for found in names(lookup(**SILENT, resolver="198.18.0.54"), lookup_totals=totals)] == [
        "dns_unanswered"
    ]


def of_quic(number: int = 1, connections: tuple[Record, ...] = (), **more: Any) -> list[Finding]:
    unanswered, errors = more.pop("unanswered", None), more.pop("icmp_errors", None)
    one = flow(number, protocol="quic", quic={"version": 1, **more}, unanswered=unanswered, icmp_errors=errors)
    return list(quic.find(facts(flows=[one], connections=list(connections))))


def test_initials_without_a_reply_cost_until_tcp_followed() -> None:
    follower = connection(3, 1.5, 1.0)
    [one] = of_quic(
        connections=(follower,), unanswered=True, initials={"client": 4}, fallback_connection=3, sni="a.test"
    )
    assert one.sentence == (
        "QUIC to 198.18.0.9:9000 (a.test): 4 Initials got no reply; "
        "TCP to the same address followed after 1.50 s, and worked."
    )
    assert (one.kind, one.cost_s, one.waited_s, one.flows, one.connections) == ("quic_unanswered", 1.5, 2.0, [1], [3])
    [alone] = of_quic(unanswered=True)
    assert alone.sentence == "QUIC to 198.18.0.9:9000: 10 Initials got no reply."
    assert (alone.cost_s, list(alone.connections)) == (2.0, [])
    assert of_quic(unanswered=True, icmp_errors=[{}]) == []
    assert [list(one.connections) for one in of_quic(connections=(connection(1, 1.5, 1.0),), unanswered=True)] == [[]]


@pytest.mark.parametrize(("waited_s", "findings"), [(0.01, 1), (0.0099, 0)])
def test_a_hundredth_of_a_second_held_back_is_a_finding(waited_s: float, findings: int) -> None:
    held, controlled = of_quic(amplification_wait_s=waited_s), of_quic(flow_control={"client": {"limited_s": waited_s}})
    assert [one.kind for one in held] == ["quic_amplification_limit"] * findings
    assert [one.kind for one in controlled] == ["quic_flow_control"] * findings
    assert all(one.cost_s == waited_s for one in (*held, *controlled))


def test_lost_packets_of_quic_are_those_of_both_sides_of_the_capture_point() -> None:
    lost = {"client": {"before_capture_point": 1, "behind_capture_point": 2}, "server": {"before_capture_point": None}}
    [one] = of_quic(lost=lost)
    assert one.sentence == "QUIC to 198.18.0.9:9000 lost 3 packets, by their numbers."
    assert (one.kind, one.cost_s, one.waited_s) == ("quic_loss", None, 2.0)
    assert of_quic(lost={"client": {"before_capture_point": 0}}) == []


def test_a_flow_whose_frames_are_not_known_has_no_evidence() -> None:
    one = flow(protocol="quic", first_frame=None, quic={"close": {"code": 1}})
    assert [found.evidence for found in quic.find(facts(flows=[one]))] == [[]]


@pytest.mark.parametrize(("ports", "text"), [([], ""), ([1, 2, 3, 4, 5], " on port 1, 2, 3, 4"), (None, "")])
def test_what_looks_like_a_tunnel_names_four_ports(ports: list[int] | None, text: str) -> None:
    one = {"look": "wireguard", "packets": 9, "bytes": 1_500, "ports": ports}
    [found] = tunnels.find(facts(inputs=[{"packets": 99, "unread_tunnels": [one]}]))
    assert found.sentence == f"9 packets (1.50 kB){text} look like wireguard, which was not decoded."


@pytest.mark.parametrize(
    ("close", "said"),
    [
        ({"code": 0x101, "reason": "no"}, "257 (no)"),
        ({"code": 1}, "1"),
        ("PROTOCOL_VIOLATION", "PROTOCOL_VIOLATION"),
        ({"code": 0x100}, None),
        ({"code": 0}, None),
        ("NO_ERROR", None),
    ],
)
def test_a_close_with_an_error_is_a_finding(close: Any, said: str | None) -> None:
    closed = of_quic(close=close)
    assert all(one.evidence[0]["frames"] == [7] for one in closed)
    found = [one.sentence for one in closed]
    assert found == ([] if said is None else [f"QUIC to 198.18.0.9:9000 was closed with error {said}."])
