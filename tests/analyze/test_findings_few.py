"""How many connections make a finding, and how close together: the bounds of rules, from both sides."""

from dataclasses import replace
from itertools import accumulate
from typing import Any

import pytest

from tests.analyze.findings_made import START_NS, Record, connection, direction, entry, outcome, request, verdict
from vmtrace.analyze.findings.facts import Facts
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.rules import (
    Rule,
    accept_queue,
    causes,
    health_checks,
    http2,
    icmp_not_matched,
    incast,
    path_mtu,
    ports,
    resets,
    shared_limits,
)
from vmtrace.analyze.findings.vocabulary import KINDS


def facts(*connections: Record) -> Facts:
    return Facts.of_document({"connections": list(connections)})


def reset(number: int, at_s: float, to: str = "198.18.0.9:443") -> Record:
    return connection(number, 0.0, at_s, close="reset", outcome=outcome("reset_by_server", 0.8), server=to)


@pytest.mark.parametrize(("count", "last_s", "findings"), [(3, 5.1, 1), (3, 5.2, 0), (2, 5.0, 0), (4, 9.0, 1)])
def test_three_resets_within_a_tenth_of_a_second_are_one_moment(count: int, last_s: float, findings: int) -> None:
    some = [reset(number, 5.0) for number in range(1, count)]
    assert len(list(resets.find(facts(*some, reset(count, last_s))))) == findings


@pytest.mark.parametrize(
    ("to", "said"), [("198.18.0.9:443", "to 198.18.0.9:443 "), ("198.18.0.8:443", "to 2 servers ")]
)
def test_resets_at_one_moment_name_the_server_if_it_is_one(to: str, said: str) -> None:
    [one] = resets.find(facts(reset(1, 5.0), reset(2, 5.0), reset(3, 5.0, to)))
    assert said in one.sentence
    assert (one.owner, one.confidence, list(one.connections)) == ("server_host", 0.8, [1, 2, 3])


def unanswered(number: int, at_s: float) -> Record:
    silent = {"complete": False, "syn_retransmissions": 4, "rtt_s": None}
    more: Record = {"outcome": outcome("syn_unanswered"), "server_to_client": direction(packets=0)}
    return connection(number, at_s, 15.0, handshake=silent, close="open", **more)


@pytest.mark.parametrize(("alive", "failed", "findings"), [(3, 3, 1), (2, 3, 0), (3, 2, 0)])
def test_three_that_fail_beside_three_that_live_lack_ports(alive: int, failed: int, findings: int) -> None:
    living = [connection(number, 0.0, 30.0, close="open") for number in range(1, alive + 1)]
    failing = [unanswered(number, 5.0) for number in range(11, failed + 11)]
    assert len(list(ports.find(facts(*living, *failing)))) == findings


@pytest.mark.parametrize(("close", "until_s", "findings"), [("fin", 20.0, 1), ("fin", 19.9, 0), ("open", 19.9, 1)])
def test_a_connection_lives_while_another_fails_unless_it_ended_before(
    close: str, until_s: float, findings: int
) -> None:
    living = [connection(number, 0.0, until_s, close=close) for number in range(1, 4)]
    assert len(list(ports.find(facts(*living, *(unanswered(number, 5.0) for number in range(11, 14)))))) == findings


def rules(find: Rule, *connections: Record) -> list[Finding]:
    return list(find(facts(*connections)))


def at_the_queue(waits_s: float, rtt_s: float = 0.01, number: int = 1, **more: Any) -> Record:
    """A connection whose request was served so long after a SYN was ignored at 1 s."""
    asked = {"requests": [request(0.5, 0.5 + waits_s)], "handshake": {"complete": True, "rtt_s": rtt_s}}
    return connection(number, 0.0, 9.0, **{**asked, **more})


def ignored(**more: Any) -> Record:
    handshake = {"complete": True, "syn_retransmissions": 1, "rtt_s": 0.01}
    return connection(9, 1.0, 3.0, **{"handshake": handshake, "account": [entry("setup", 1.0, 0.9)], **more})


@pytest.mark.parametrize(
    ("waits_s", "rtt_s", "findings"), [(0.21, 0.01, 1), (0.2, 0.01, 0), (0.41, 0.04, 1), (0.39, 0.04, 0)]
)
def test_two_that_wait_for_a_fifth_of_a_second_and_ten_round_trips_fill_a_queue(
    waits_s: float, rtt_s: float, findings: int
) -> None:
    waiting = [at_the_queue(waits_s, rtt_s, number) for number in (1, 2)]
    assert len(rules(accept_queue.find, *waiting, ignored())) == findings
    assert rules(accept_queue.find, waiting[0], ignored()) == [], "one alone may be a slow request"
    assert rules(accept_queue.find, ignored(), ignored()) == [], "nobody was served"


def test_who_was_sent_a_request_and_no_response_waits_until_its_end() -> None:
    sent: Record = {"requests": None, "server_to_client": direction(unique_payload_bytes=0)}
    silent = [at_the_queue(0, number=number, **sent) for number in (1, 2)]
    [one] = rules(accept_queue.find, *silent, ignored(vantage={"side": "server"}))
    assert (one.cost_s, one.waited_s, one.confidence) == (0.9, 21.0, 0.9)
    assert one.sentence == (
        "198.18.0.9:443: the accept queue was full: SYNs of 1 connection reached the server's host and were ignored, "
        "while 2 were open and not served (900 ms in all)."
    )
    assert rules(accept_queue.find, *[{**one, "server_to_client": direction()} for one in silent], ignored()) == []
    answered = [at_the_queue(0, number=number, requests=None, client_to_server=direction(unique_payload_bytes=0))
                for number in (1, 2)]  # fmt: skip
    assert rules(accept_queue.find, *answered, ignored()) == []


def test_a_syn_that_came_before_or_after_the_wait_says_nothing_of_a_queue() -> None:
    waiting = [at_the_queue(0.5, number=number) for number in (1, 2)]
    at_begin = [{**one, "start_ns": START_NS + 10**9} for one in waiting]
    assert len(rules(accept_queue.find, *at_begin, ignored())) == 1
    assert rules(accept_queue.find, *[{**one, "start_ns": START_NS + 10**9 + 1} for one in waiting], ignored()) == []
    assert rules(accept_queue.find, *waiting, {**ignored(), "start_ns": START_NS + 2 * 10**9}) == []


def test_where_every_syn_was_ignored_at_first_nobody_was_served_in_between() -> None:
    late = {"complete": True, "syn_retransmissions": 1, "rtt_s": 0.01}
    waiting = [at_the_queue(0.5, number=number, handshake=late) for number in (1, 2)]
    assert rules(accept_queue.find, *waiting, ignored()) == []


def test_syns_that_a_nat_kept_back_are_of_no_queue() -> None:
    some = [*(at_the_queue(0.5, number=number) for number in (1, 2)), ignored()]
    assert list(accept_queue.find(replace(facts(*some), kept_back=frozenset({9})))) == []
    assert len(list(accept_queue.find(replace(facts(*some), kept_back=frozenset({8}))))) == 1


def check(number: int, at_s: float, duration_s: float = 0.1, payload: int = 2_000, **more: Any) -> Record:
    ways = {
        "client_to_server": direction(unique_payload_bytes=500),
        "server_to_client": direction(unique_payload_bytes=payload - 500),
    }
    return connection(number, at_s, duration_s, **{**ways, **more})


@pytest.mark.parametrize(
    ("more", "findings"),
    [
        ({}, 1),
        ({"duration_s": 1.0}, 1),
        ({"duration_s": 1.1}, 0),
        ({"payload": 2_001}, 0),
        ({"close": "open"}, 0),
        ({"close": "reset"}, 1),
    ],
)
def test_six_small_connections_at_a_fixed_interval_are_health_checks(more: Record, findings: int) -> None:
    checks = [check(number, 5.0 * number, **more) for number in range(1, 7)]
    found = rules(health_checks.find, *checks)
    assert len(found) == findings
    assert rules(health_checks.find, *checks[1:]) == []
    if found:
        assert found[0].sentence == "6 health checks of 198.18.0.9:443 by 198.18.0.1, one each 5.00 s: no fault."


@pytest.mark.parametrize(("interval_s", "findings"), [(1.0, 1), (0.99, 0)])
def test_checks_are_a_second_apart_or_more(interval_s: float, findings: int) -> None:
    checks = [check(number, interval_s * number, 0.1) for number in range(1, 8)]
    assert len(rules(health_checks.find, *checks)) == findings


@pytest.mark.parametrize(("odd_s", "findings"), [(11.5, 1), (11.6, 0)])
def test_half_of_the_intervals_are_near_the_median(odd_s: float, findings: int) -> None:
    starts_s = accumulate([0.0, 8.0, 8.6, 9.9, 10.0, odd_s, odd_s])
    checks = [check(number, at_s) for number, at_s in enumerate(starts_s, 1)]
    assert len(rules(health_checks.find, *checks)) == findings


ERROR: Record = {"type": 3, "code": 4, "mtu": None, "from": "198.18.0.5", "frame": 7}


@pytest.mark.parametrize(
    ("error", "size"),
    [
        ({}, "less than the segments"),
        ({"type": 2, "code": 0, "mtu": 1280}, "1,280 bytes"),
        ({"code": 3}, None),
        ({"type": 4}, None),
    ],
)
def test_errors_that_name_an_mtu_or_need_a_fragment_are_of_the_path(error: Record, size: str | None) -> None:
    account = [entry("path_mtu", 1.0, 0.5)]
    found = rules(path_mtu.find, connection(1, 0, 3.0, icmp_errors=[{**ERROR, **error}], account=account))
    said = f"Connection 1: the path's MTU is {size}, as 1 ICMP error from 198.18.0.5 said; it cost 500 ms."
    assert [one.sentence for one in found] == ([] if size is None else [said])
    assert all((one.cost_s, one.waited_s, one.evidence[0]["frames"]) == (0.5, 3.0, [7]) for one in found)


def test_errors_that_quote_another_tuple_are_not_translated() -> None:
    related = [{**ERROR, "mtu": 1400, "quotes": "192.0.2.1:9"}, {**ERROR, "frame": 8}]
    [one] = rules(icmp_not_matched.find, connection(1, 0, 3.0, icmp_errors_related=related), connection(2, 0, 1.0))
    assert one.sentence == (
        "Connection 1: 2 ICMP errors (MTU 1,400 bytes) did not reach it: they quote 192.0.2.1:9. "
        "A NAT or load balancer does not translate them."
    )
    assert (one.cost_s, one.waited_s, one.connections, one.evidence[0]["frames"]) == (3.0, 3.0, [1], [7, 8])


@pytest.mark.parametrize(
    ("limited_s", "duration_s", "findings"), [(0.01, 0.1, 1), (0.0099, 0.1, 0), (0.5, 10.0, 1), (0.49, 10.0, 0)]
)
def test_a_window_of_http2_counts_for_a_twentieth_of_the_time(
    limited_s: float, duration_s: float, findings: int
) -> None:
    frames = {"window_limited_s": limited_s, "window_limited_times": 9, "initial_window_bytes": 65_535,
              "data_sender": "client", "complete": True}  # fmt: skip
    found = rules(http2.find, connection(1, 0, duration_s, http2=frames))
    assert [(one.kind, one.owner, one.confidence) for one in found] == [
        ("http2_window", "server_application", 0.95)
    ] * findings
    assert all("window (65.5 kB) was used up 9 times" in one.sentence for one in found)
    assert all(one.waited_s == duration_s for one in found)
    partly = rules(http2.find, connection(1, 0, duration_s, http2={**frames, "complete": False, "data_sender": None}))
    assert [(one.owner, one.confidence) for one in partly] == [("client_application", 0.8)] * findings


@pytest.mark.parametrize(("code", "findings"), [("PROTOCOL_ERROR", 1), (2, 1), (0, 0), ("NO_ERROR", 0), (None, 0)])
@pytest.mark.parametrize(("side", "owner"), [("client", "client_application"), ("server", "server_application")])
def test_a_goaway_with_an_error_is_of_its_side(side: str, owner: str, code: object, findings: int) -> None:
    found = rules(http2.find, connection(1, 0, 1.0, http2={"goaway": {"code": code, "side": side}}))
    assert [(one.kind, one.owner) for one in found] == [("goaway", owner)] * findings
    assert all(f"the {side} ended HTTP/2 with error {code}." in one.sentence for one in found)


def caused(*connections: Record) -> list[tuple[str, float | None, float]]:
    return [(one.kind, one.cost_s, one.confidence) for one in rules(causes.find, *connections)]


@pytest.mark.parametrize(("saves_s", "duration_s", "findings"), [(0.05, 1.0, 1), (0.049, 1.0, 0), (0.001, 0.0, 1)])
def test_what_saves_a_twentieth_of_the_time_and_a_millisecond_is_a_cause(
    saves_s: float, duration_s: float, findings: int
) -> None:
    account = [entry("loss_recovery", 1.0, saves_s)]
    assert caused(connection(1, 0, duration_s, account=account)) == [("loss_recovery", saves_s, 0.6)] * findings
    assert caused(connection(1, 0, 0.0, account=[entry("loss_recovery", 1.0, 0.0009)])) == []


def test_beside_a_verdict_the_confidence_is_the_verdict_s_and_at_most_what_that_allows() -> None:
    account = [entry("loss_recovery", 2.0, 0.5), entry("loss_recovery", 1.0, 0.5), entry("timeout_wait", 2.0, 1.0)]
    sure, unsure = verdict("timeout_wait", 1.5), verdict("timeout_wait", 1.5, 0.3)
    of = [connection(1, 0, 5.0, account=account, verdict=sure)]
    assert caused(*of) == [("loss_recovery", 1.0, 0.6), ("timeout_wait", 1.5, 0.9)]
    assert caused(connection(1, 0, 5.0, account=account, verdict=unsure))[0] == ("loss_recovery", 1.0, 0.3)


def test_an_opening_is_a_cause_where_it_is_the_verdict_or_late() -> None:
    late = {"complete": True, "syn_retransmissions": 1, "rtt_s": 0.01}
    account = [entry("setup", 1.0, 1.0)]
    assert caused(connection(1, 0, 2.0, account=account)) == []
    assert caused(connection(1, 0, 2.0, account=account, handshake=late)) == [("setup", 1.0, 0.6)]
    assert caused(connection(1, 0, 2.0, account=account, verdict=verdict("setup", 0.5))) == [("setup", 1.0, 0.9)]


@pytest.mark.parametrize(
    ("second", "kinds"), [("application", ["timeout_wait", "application"]), ("setup", ["timeout_wait"])]
)
def test_what_the_verdict_has_second_is_a_cause_if_it_is_a_rest(second: str, kinds: list[str]) -> None:
    judged = {**verdict("timeout_wait", 3.0), "runner_up": second}
    account = [entry("timeout_wait", 3.0, 3.0), entry(second, 0.6, 0.6)]
    assert [kind for kind, _, _ in caused(connection(1, 0, 10.0, account=account, verdict=judged))] == kinds


@pytest.mark.parametrize(
    ("kind", "account", "owner", "remedy"),
    [
        ("timeout_wait", [entry("timeout_wait", 3.0, 3.0, "device")], "device", KINDS["timeout_wait"].remedy),
        ("timeout_wait", [], "path", KINDS["timeout_wait"].remedy),
        ("made_up", [], "unknown", ""),
    ],
)
def test_the_owner_is_the_accounts_then_the_kinds(kind: str, account: list[Record], owner: str, remedy: str) -> None:
    judged = {**verdict(kind, 3.0), "what_if": [{"rtt_s": 0.1}]}
    one, other = (connection(number, 0, 10.0, account=account, verdict=judged) for number in (1, 2))
    [alone], [both] = rules(causes.find, one), rules(causes.find, one, other)
    assert (alone.owner, alone.remedy, alone.what_if) == (owner, remedy, judged["what_if"])
    assert (both.owner, both.what_if) == (owner, ())


@pytest.mark.parametrize(
    ("cost_s", "time_s", "words"),
    [
        (1.0, 4.0, "repairing losses took 1.00 s (25.0 % of the time)"),
        (5.0, 4.0, "repairing losses took 5.00 s (100 % of the time)"),
        (0.1, 0.4, "repairing losses took 100 ms (25.0 % of the time)"),
        (1.0, 0.0, "repairing losses took 1.00 s"),
    ],
)
def test_a_part_of_the_time_is_said_where_there_is_one(cost_s: float, time_s: float, words: str) -> None:
    assert causes.cost_words("loss_recovery", cost_s, time_s) == words
    assert causes.cost_words("made_up", 1.0, 0.0) == "made up cost 1.00 s"


def sharing(*wanted: int, **more: Any) -> list[Finding]:
    limit = {"connections": list(wanted), "kind": "bottleneck_bandwidth", "rate_bps": 1e7, "from_ns": 10**9,
             "to_ns": 3 * 10**9, "confidence": 0.7, **more}  # fmt: skip
    members = [connection(number, 0, 10.0, account=[entry("loss_recovery", 2.0, 0.5 * number)]) for number in (1, 2, 3)]
    return list(shared_limits.find(Facts.of_document({"connections": members, "shared_limits": [limit]})))


def test_a_shared_limit_costs_the_most_of_what_it_looks_like() -> None:
    [one] = sharing(1, 2, 99)
    assert one.sentence == "2 connections share a link of 10.0 Mbit/s for 2.00 s."
    assert (one.cost_s, one.waited_s, one.connections, one.confidence) == (1.5, 20.0, [1, 2], 0.7)
    assert sharing(1, kind="token_bucket")[0].sentence.startswith("1 connection share a token bucket of")
    assert sharing(99) == []


def failing(*numbers: int, **more: Any) -> list[Record]:
    return [{**unanswered(number, 5.0), **more} for number in numbers]


LIVING = [connection(number, 5.0, 30.0, close="open") for number in (1, 2, 3)]


def test_a_capture_behind_the_nat_proves_that_ports_ran_out() -> None:
    some = facts(*LIVING, *failing(11, 12, 13))
    [likely] = ports.find(some)
    assert (likely.confidence, "source ports of a NAT, or a limit of connections" in likely.sentence) == (0.7, True)
    [proved] = ports.find(replace(some, kept_back=frozenset({11, 12, 13})))
    assert (proved.confidence, "a NAT kept their SYNs back" in proved.sentence) == (0.95, True)
    assert list(ports.find(replace(some, kept_back=frozenset({11, 12})))) == []


@pytest.mark.parametrize(
    "more",
    [
        {"server_to_client": direction(packets=1)},
        {"handshake": {"complete": True, "rtt_s": 0.01}},
        {"outcome": None},
        {"outcome": outcome("reset_by_server")},
    ],
)
def test_only_a_syn_without_any_reply_lacks_a_port(more: Record) -> None:
    assert rules(ports.find, *LIVING, *failing(11, 12, 13, **more)) == []


def span(factor: str, start_s: float, end_s: float) -> Record:
    return {"factor": factor, "start_ns": START_NS + round(start_s * 1e9), "end_ns": START_NS + round(end_s * 1e9)}


def sending(number: int, *spans: Record) -> Record:
    way = direction(limit_intervals=list(spans))
    return connection(number, 0.0, 2.0, server=f"198.18.1.{number}:80", server_to_client=way)


SLOW = sending(1, span("timeout_wait", 1.0, 1.2), span("client_wait", 1.201, 1.202))


def resting(*spans_s: tuple[float, float]) -> list[Record]:
    return [sending(number, span("client_wait", *at_s)) for number, at_s in enumerate(spans_s, 2)]


@pytest.mark.parametrize(
    ("quick", "findings"),
    [
        (resting(*[(0.99, 1.2)] * 3), 1),
        (resting(*[(0.99, 1.2)] * 2), 0),
        (resting(*((0.99, 1.202 + 0.02 * step) for step in range(1, 6))), 1),
        (resting(*((0.99, 1.202 + 0.021 * step) for step in range(1, 6))), 0),
        (resting(*[(0.8, 1.2)] * 5), 0),
        (resting(*[(0.79, 1.19)] * 5), 0),
        (resting(*[(0.99, 1.2)] * 3, *[(0.2, 1.2)] * 2), 1),
        (resting(*[(0.99, 1.2)] * 2, *[(0.2, 1.2)] * 3), 0),
        (resting(*[(0.99, 1.2)] * 3, *((0.99, 1.25 + 0.03 * step) for step in range(4))), 0),
        (resting(*[(0.99, 1.2)] * 3, *((0.99, 1.25 + 0.03 * step) for step in range(3))), 1),
    ],
    ids=[
        "four",
        "three",
        "20 ms",
        "21 ms",
        "half",
        "less",
        "half wait",
        "fewer wait",
        "half together",
        "most together",
    ],
)
def test_bounds_of_incast(quick: list[Record], findings: int) -> None:
    assert len(rules(incast.find, SLOW, *quick)) == findings
    explained = replace(facts(SLOW, *quick), explained=frozenset({("timeout_wait", 1)}))
    assert list(incast.find(explained)) == [], "nobody waits for a timer that is not explained"
