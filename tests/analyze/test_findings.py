"""Findings: one ranked list over everything a document holds, each cause once."""

from typing import Any

import pytest

from tests.analyze.findings_made import START_NS, connection, direction, entry, outcome, request, verdict
from vmtrace.analyze.findings.finding import MOST_LISTED, Finding
from vmtrace.analyze.findings.lines import answer_lines, finding_line, finding_lines
from vmtrace.analyze.findings.ranking import of_document
from vmtrace.analyze.findings.selection import COLUMNS, MOST_CONNECTIONS, chosen
from vmtrace.analyze.findings.vocabulary import KINDS, label

Record = dict[str, Any]


def found(*connections: Record, **more: Any) -> list[Finding]:
    return of_document({"connections": list(connections), **more})


def kinds(*connections: Record, **more: Any) -> list[str]:
    return [one.kind for one in found(*connections, **more)]


def test_the_costliest_comes_first_and_what_cost_nothing_last() -> None:
    fast = connection(1, 0, 2.0, account=[entry("server_wait", 1.0, 1.0, "server_application")])
    slow = connection(2, 0, 9.0, server="198.18.0.8:80", account=[entry("loss_recovery", 5.0, 4.0)])
    reset = connection(3, 5, 1.0, close="reset", outcome=outcome("reset_by_server"))
    assert [(one.kind, one.cost_s) for one in found(fast, slow, reset)] == [
        ("loss_recovery", 4.0),
        ("server_wait", 1.0),
        ("reset_by_server", None),
    ]


def test_equal_causes_of_one_server_are_one_finding_with_their_sum() -> None:
    waits = [
        connection(number, number, 2.0, account=[entry("server_wait", 1.5, 1.5, "server_application")])
        for number in range(1, 31)
    ]
    [one] = found(*waits)
    assert one.cost_s == pytest.approx(45.0)
    assert one.share == pytest.approx(0.75)
    assert one.owner == "server_application"
    assert (
        one.sentence
        == "30 connections to 198.18.0.9:443: the server's application took 45.0 s to respond (75.0 % of the time)."
    )
    record = one.as_record()
    assert (len(record["connections"]), record["connections_count"]) == (MOST_LISTED, 30)


def test_the_verdict_s_sentence_is_the_finding_s_of_one_connection() -> None:
    one = connection(1, 0, 5.0, account=[entry("loss_recovery", 2.0, 2.0)], verdict=verdict("loss_recovery", 2.0))
    [finding] = found(one)
    assert finding.sentence == "Connection 1: It was loss_recovery."
    assert finding.confidence == 0.9
    assert finding.evidence[0]["frames"] == [1]


def test_what_saves_next_to_nothing_is_no_finding() -> None:
    assert kinds(connection(1, 0, 5.0, account=[entry("slow_start", 1.0, 0.1), entry("idle", 3.0, 3.0)])) == []


@pytest.mark.parametrize(("rested_s", "told"), [(0.5, ["congestion_window", "rest"]), (0.3, ["congestion_window"])])
@pytest.mark.parametrize("rest", ["client_wait", "application"])
def test_rests_that_are_a_part_of_the_time_count_beside_another_verdict(
    rest: str, rested_s: float, told: list[str]
) -> None:
    judged = {**verdict("congestion_window", 1.0), "runner_up": "token_bucket"}
    account = [entry("congestion_window", 2.0, 1.0), entry(rest, rested_s, rested_s, "client_application")]
    assert kinds(connection(1, 0.0, 3.0, verdict=judged, account=account)) == [
        rest if kind == "rest" else kind for kind in told
    ]
    assert kinds(connection(1, 0.0, 3.0, account=account[1:])) == [], "nobody waits for a control connection"


def full_queue(side: str) -> list[Record]:
    there = {"side": side, "confidence": 0.95}
    served = [
        connection(n, 0.01 * n, 1.2 * n, vantage=there, requests=[request(0.02, 1.2 * n)],
                   account=[entry("server_wait", 1.2 * n, 1.2 * n)])
        for n in range(1, 4)
    ]  # fmt: skip
    handshake = {"complete": True, "syn_retransmissions": 3, "rtt_s": 0.01}
    late = [
        connection(n, 0.05, 9.0, vantage=there, handshake=handshake, outcome=outcome("syn_unanswered"),
                   account=[entry("setup", 5.1, 5.1)])
        for n in (4, 5)
    ]  # fmt: skip
    return [*served, *late]


def test_an_application_that_the_verdict_has_second_is_a_finding_and_one_that_rests_is_none() -> None:
    account = [entry("setup", 1.0, 1.0), entry("application", 0.5, 0.5, "client_application")]
    judged = {**verdict("setup", 1.0), "runner_up": "application"}
    waiting = connection(1, 0.0, 3.0, verdict=judged, account=account)
    resting = connection(1, 0.0, 6.0, verdict={**judged, "runner_up": None}, account=account)
    assert kinds(waiting) == ["setup", "application"]
    assert kinds(resting) == ["setup"]


def test_syns_ignored_while_others_wait_are_a_full_accept_queue() -> None:
    [at_server] = found(*full_queue("server"))
    assert at_server.kind == "accept_queue_full"
    assert "reached the server's host and were ignored" in at_server.sentence
    assert at_server.cost_s == pytest.approx(2 * 5.1 + 1.2 * (1 + 2 + 3))
    [at_client] = found(*full_queue("client"))
    assert "probably" in at_client.sentence
    assert at_client.confidence < at_server.confidence


def test_a_lost_syn_beside_quick_requests_is_no_accept_queue() -> None:
    quick = [connection(n, 0.0, 0.1, requests=[request(0.02, 0.02)]) for n in range(1, 4)]
    handshake = {"complete": True, "syn_retransmissions": 1, "rtt_s": 0.01}
    late = connection(4, 0.01, 1.1, handshake=handshake, account=[entry("setup", 1.0, 1.0)])
    assert kinds(*quick, late) == ["setup"]


def dead(number: int, at_s: float) -> Record:
    handshake = {"complete": False, "syn_retransmissions": 4, "rtt_s": None}
    return connection(
        number, at_s, 15.0, handshake=handshake, close="open", outcome=outcome("syn_unanswered"),
        server_to_client=direction(packets=0),
    )  # fmt: skip


def test_connections_that_fail_while_others_live_have_no_source_port() -> None:
    alive = [connection(n, 0.0, 30.0, close="open") for n in range(1, 9)]
    failed = [dead(n, 5.0) for n in range(9, 15)]
    [one] = found(*alive, *failed)
    assert (one.kind, one.cost_s, one.connections) == ("ports_exhausted", 90.0, [9, 10, 11, 12, 13, 14])


def test_a_dead_server_is_no_lack_of_ports() -> None:
    assert kinds(*(dead(n, 0.0) for n in range(1, 7))) == ["syn_unanswered"]


def test_checks_at_a_fixed_interval_are_one_line_and_no_fault() -> None:
    checks = [connection(n, 5.0 * n, 0.01, close="reset", outcome=outcome("reset_by_client")) for n in range(1, 57)]
    request_that_waits = connection(99, 40.0, 8.0, account=[entry("server_wait", 7.0, 7.0)])
    assert kinds(*checks, request_that_waits) == ["server_wait", "health_checks"]


def test_connections_opened_at_random_are_no_health_checks() -> None:
    times = (0, 1, 9, 11, 30, 31, 77, 80)
    some = [connection(n, at, 0.01, close="reset", outcome=outcome("reset_by_client")) for n, at in enumerate(times, 1)]
    assert "health_checks" not in kinds(*some)


def test_resets_at_one_moment_are_one_finding() -> None:
    reset = [
        connection(n, 0.1 * n, 10.0 - 0.1 * n, close="reset", outcome=outcome("reset_by_middlebox"))
        for n in range(1, 6)
    ]
    later = connection(6, 0.0, 20.0, close="reset", outcome=outcome("reset_by_middlebox"))
    together, alone = found(*reset, later)
    assert together.connections == [1, 2, 3, 4, 5]
    assert alone.connections == [6]


def interval(factor: str, start_s: float, end_s: float) -> Record:
    return {"factor": factor, "start_ns": START_NS + round(start_s * 1e9), "end_ns": START_NS + round(end_s * 1e9)}


def asked(number: int, *intervals: Record, **more: Any) -> Record:
    costs = [entry(one["factor"], 0.2, 0.2) for one in intervals]
    return connection(
        number, 0.0, 2.0, server=f"198.18.1.{number}:80", server_to_client=direction(limit_intervals=[*intervals]),
        account=costs, verdict=verdict(intervals[0]["factor"], 0.2), **more,
    )  # fmt: skip


def test_a_host_that_asks_many_at_once_and_waits_for_the_timer_of_one_has_incast() -> None:
    slow = asked(1, interval("timeout_wait", 1.0, 1.2), interval("client_wait", 1.201, 1.202))
    quick = [asked(number, interval("client_wait", 0.99, 1.2 + 0.001 * number)) for number in range(2, 7)]
    [incast] = found(slow, *quick)
    assert incast.sentence.startswith("Incast: 198.18.0.1 asks 6 senders at once")
    assert (incast.kind, incast.connections) == ("timeout_wait", [1, 2, 3, 4, 5, 6])
    assert incast.cost_s == pytest.approx(0.2)
    assert incast.evidence[0]["frames"] == [1]


@pytest.mark.parametrize(
    "quick",
    [
        [asked(number, interval("client_wait", 0.99, 1.2 + 0.1 * number)) for number in range(2, 7)],  # each by itself
        [asked(number, interval("client_wait", 1.3, 1.8)) for number in range(2, 7)],  # the client itself waited
        [asked(2, interval("client_wait", 0.99, 1.2))],  # two senders
    ],
)
def test_rests_of_another_reason_are_no_incast(quick: list[Record]) -> None:
    slow = asked(1, interval("timeout_wait", 1.0, 1.2), interval("client_wait", 1.201, 1.202))
    assert not any(one.sentence.startswith("Incast") for one in found(slow, *quick))


def test_a_shared_limit_explains_what_it_does_to_its_members() -> None:
    members = [
        connection(n, 0, 10.0, account=[entry("timeout_wait", 2.0, 2.0), entry("congestion_window", 5.0, 1.0)],
                   verdict=verdict("timeout_wait", 2.0))
        for n in (1, 2)
    ]  # fmt: skip
    limit = {"connections": [1, 2], "kind": "token_bucket", "rate_bps": 1e7, "burst_bytes": None, "from_ns": 0,
             "to_ns": 10**10, "confidence": 0.9}  # fmt: skip
    [one] = found(*members, shared_limits=[limit])
    assert (one.kind, one.cost_s, one.connections) == ("token_bucket", 4.0, [1, 2])


def test_a_queue_that_an_upload_fills_is_named_by_who_fills_it() -> None:
    trips = {"min_s": 0.02, "median_s": 0.30}
    upload = connection(1, 0, 20.0, client_to_server=direction(rtt=trips, goodput_bps=8e6))
    page = connection(2, 5, 6.0, server="198.18.0.7:80", client_to_server=direction(rtt=trips, goodput_bps=1e4))
    [one] = found(upload, page)
    assert (one.kind, one.connections) == ("queue_shared", [1, 2])
    assert one.cost_s == pytest.approx(6.0 * 0.28 / 0.30)
    calm = connection(2, 5, 6.0, client_to_server=direction(rtt={"min_s": 0.02, "median_s": 0.021}, goodput_bps=1e4))
    assert found(upload, calm) == []


@pytest.mark.parametrize(("rtt_s", "server", "side", "waits"), [
    (0.32, "198.18.0.9:80", "client", True),
    (0.32, "198.18.0.9:80", "middle", True),
    (0.32, "198.18.0.7:80", "client", True),
    (0.32, "198.18.0.7:80", "middle", False),
    (0.03, "198.18.0.9:80", "client", False),
])  # fmt: skip
def test_acks_of_a_download_wait_behind_an_upload_of_its_host(
    rtt_s: float, server: str, side: str, waits: bool
) -> None:
    there = {"side": side, "confidence": 0.95}
    trips = {"min_s": 0.02, "median_s": 0.30}
    upload = connection(1, 0, 20.0, vantage=there, client_to_server=direction(rtt=trips, goodput_bps=8e5),
                        account=[entry("bottleneck_bandwidth", 15.0, 1.0)])  # fmt: skip
    download = connection(2, 5, 6.0, vantage=there, server=server, handshake={"complete": True, "rtt_s": rtt_s},
                          server_to_client=direction(unique_payload_bytes=3_000_000, goodput_bps=4e6),
                          account=[entry("slow_start", 4.0, 0.2), entry("server_wait", 2.0, 2.0)])  # fmt: skip
    queued = [one for one in found(upload, download) if one.kind == "queue_shared"]
    assert [one.connections for one in queued] == ([[1, 2]] if waits else [])
    if waits:
        assert queued[0].cost_s == pytest.approx(4.0 * 0.28 / 0.32), "what round trips took, as far as they were longer"
        assert "the ACKs of 1 more wait in it" in queued[0].sentence


@pytest.mark.parametrize("side", ["client", "server"], ids=["at the queue", "behind it"])
def test_acks_whose_wait_timestamps_show_are_of_the_upload_that_fills_their_queue(side: str) -> None:
    """The download was there first; behind the queue the upload's own round trips show none."""
    there = {"side": side, "confidence": 0.95}
    trips = {"min_s": 0.02, "median_s": 0.30} if side == "client" else {"min_s": 1e-5, "median_s": 1e-5}
    upload = connection(1, 0.5, 20.0, vantage=there, client_to_server=direction(rtt=trips, goodput_bps=8e5),
                        account=[entry("bottleneck_bandwidth", 15.0, 1.0)])  # fmt: skip
    waiting = entry("ack_path_full", 14.0, 9.0, "path_back")
    download = connection(2, 0, 21.0, vantage=there, account=[waiting], verdict=verdict("ack_path_full", 9.0),
                          server_to_client=direction(unique_payload_bytes=3_000_000, goodput_bps=4e6))  # fmt: skip
    first, *others = found(upload, download)
    assert (first.kind, first.connections, first.cost_s) == ("queue_shared", [1, 2], 9.0)
    assert "the ACKs of 1 more wait in it" in first.sentence
    assert [one.kind for one in others] == ["bottleneck_bandwidth"], "the upload's own, and no cause twice"
    [alone] = found(download)
    assert (alone.kind, alone.owner, alone.cost_s) == ("ack_path_full", "path_back", 9.0)


def test_one_who_waits_in_a_queue_is_reported_once_behind_the_largest() -> None:
    trips = {"min_s": 0.02, "median_s": 0.30}
    uploads = [connection(n, 0, 20.0, client_to_server=direction(rtt=trips, goodput_bps=n * 4e6)) for n in (1, 2, 3)]
    page = connection(9, 5, 6.0, client_to_server=direction(rtt=trips, goodput_bps=1e4))
    assert [one.connections for one in found(*uploads, page) if one.kind == "queue_shared"] == [[3, 9]]


def lookup(name: str, **more: Any) -> Record:
    known: Record = {"name": name, "client": "198.18.0.1", "resolver": "198.18.0.53", "asked_ns": 0, "tries": 1,
                     "answered_ns": 1, "waited_s": 0.01, "rcode": "NOERROR", "searched": [], "frames": [1, 2],
                     "connections": []}  # fmt: skip
    return {**known, **more}


def test_wrong_checksums_are_one_finding_for_each_host_that_sent_them() -> None:
    wrong = {"client_to_server": direction(loss={"bad_checksums": 2})}
    first, second = (
        found(connection(1, 0.0, 1.0, **wrong), connection(2, 0.0, 1.0, **wrong)),
        found(connection(1, 0, 1)),
    )
    said = [one.sentence for one in first if one.kind == "bad_checksums"]
    assert said == ["4 packets from 198.18.0.1 in 2 connections had a wrong TCP checksum: the receiver drops them."]
    assert not any(one.kind == "bad_checksums" for one in second)


@pytest.mark.parametrize(("in_fragments", "of", "is_said"), [(2, 4, False), (3, 30, True), (3, 31, False)])
def test_data_that_crosses_in_ip_fragments_is_one_finding(in_fragments: int, of: int, is_said: bool) -> None:
    cut = {"client_to_server": direction(packets_in_fragments=in_fragments, data_packets=of)}
    said = [one.sentence for one in found(connection(1, 0.0, 1.0, **cut)) if one.kind == "fragments"]
    sentence = "3 packets from 198.18.0.1 in 1 connection crossed in IP fragments: if one is lost, all is."
    assert said == [sentence] * is_said


@pytest.mark.parametrize(("packets", "of", "is_said"), [(2, 1_000, False), (3, 1_000, True), (1, 1, True)])
def test_one_packet_of_many_that_looks_like_a_tunnel_is_none(packets: int, of: int, is_said: bool) -> None:
    unread = {"look": "wireguard", "packets": packets, "bytes": 150 * packets, "ports": [30_000]}
    found = of_document({"inputs": [{"packets": of, "unread_tunnels": [unread]}]})
    assert ("tunnel_unread" in [finding.kind for finding in found]) is is_said


def test_names_with_braces_are_no_format() -> None:
    hostile = lookup("{0}.{time.__class__}.test", tries=2, waited_s=5.0)
    [one] = found(lookups=[hostile])
    assert (one.kind, one.cost_s) == ("dns_unanswered", 5.0)
    assert "for {0}.{time.__class__}.test unanswered: 5.00 s" in one.sentence


def test_flow_control_of_quic_counts_for_the_side_that_waited_longer() -> None:
    side = {"packets": 9}
    quic = {"flow_control": {"client": {"limited_s": 0.0}, "server": {"limited_s": 1.5}}}
    flow = {"id": 1, "protocol": "quic", "application": None, "server": "198.18.0.9:443", "duration_s": 3.0,
            "client_to_server": side, "server_to_client": side, "quic": quic, "first_frame": 1}  # fmt: skip
    [one] = found(flows=[flow])
    assert (one.kind, one.cost_s, one.flows) == ("quic_flow_control", 1.5, [1])


def test_where_nothing_is_wrong_it_says_so_and_what_was_looked_at() -> None:
    document = {"connections": [connection(1, 0, 1.0)], "lookups": [{}, {}]}
    assert answer_lines([], document, 1) == [
        "Nothing held these connections back beyond their own size (looked at: 1 connection, 2 lookups)."
    ]


def test_lines_say_cost_sentence_and_confidence_and_count_the_rest() -> None:
    slow = [
        connection(n, 0, 9.0, server=f"198.18.0.{n}:80", account=[entry("loss_recovery", 5.0, 4.0)])
        for n in range(1, 12)
    ]
    findings = found(*slow)
    assert finding_line(findings[0]).startswith("4.00 s (44.4 %): Connection 1 to 198.18.0.1:80: repairing losses took")
    assert finding_lines(findings)[-1] == "and 3 more findings of less cost (in the JSON: findings)"


def test_every_kind_has_a_name_a_short_name_and_a_remedy() -> None:
    assert all(one.label and one.short for one in KINDS.values())
    assert label("made_up_kind") == "made up kind"
    assert label("server_wait") == KINDS["server_wait"].label


def test_of_many_connections_those_that_may_have_cost_most_are_looked_at() -> None:
    count = MOST_CONNECTIONS + 500
    columns: dict[str, list[Any]] = {name: [None] * count for name in COLUMNS}
    columns |= {"id": list(range(1, count + 1)), "duration_s": [float(number) for number in range(count)]}
    columns["outcome_kind"][0] = "syn_refused"
    ids = chosen([columns[name] for name in COLUMNS])
    assert len(ids) == MOST_CONNECTIONS
    assert 1 in ids
    assert count in ids
    assert 2 not in ids


def test_owner_and_remedy_are_those_of_the_kind_where_a_rule_says_no_more() -> None:
    shown = Finding(kind="dns_slow", sentence="It took 1 s.", confidence=0.9)
    assert (shown.owner, shown.remedy) == (KINDS["dns_slow"].owner, KINDS["dns_slow"].remedy)
    own = Finding(kind="dns_slow", sentence="It took 1 s.", confidence=0.9, owner="path", remedy="Wait.")
    assert (own.owner, own.remedy) == ("path", "Wait.")
    assert Finding(kind="made_up", sentence="It was.", confidence=0.9).owner == "unknown"
