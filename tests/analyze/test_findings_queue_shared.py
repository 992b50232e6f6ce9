"""A queue that one connection fills and others wait in: bounds from both sides."""

from typing import Any

import pytest

from tests.analyze.findings_made import Record, connection, direction, entry
from vmtrace.analyze.findings.facts import Facts
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.rules import queue_shared


def found(*connections: Record) -> list[Finding]:
    return list(queue_shared.find(Facts.of_document({"connections": list(connections)})))


def trips(min_s: float, median_s: float) -> Record:
    return {"min_s": min_s, "median_s": median_s}


def upload(
    rtt: Record | None = None, *, number: int = 1, at_s: float = 0.0, lasts_s: float = 20.0, **more: Any
) -> Record:
    way = direction(rtt=rtt or trips(0.05, 0.15), goodput_bps=8e6)
    return connection(number, at_s, lasts_s, **{"client_to_server": way, **more})


def page(
    rtt: Record | None = None, *, at_s: float = 5.0, lasts_s: float = 6.0, bps: float = 1e4, **more: Any
) -> Record:
    way = direction(rtt=rtt or trips(0.05, 0.15), goodput_bps=bps)
    return connection(9, at_s, lasts_s, **{"server_to_client": way, **more})


@pytest.mark.parametrize(
    ("rtt", "findings"),
    [
        (trips(0.05, 0.1), 1),
        (trips(0.05, 0.099), 0),
        (trips(0.0, 0.02), 1),
        (trips(0.0, 0.0199), 0),
        ({"min_s": 0.05, "median_s": None}, 0),
        ({"min_s": None, "median_s": 0.15}, 0),
    ],
)
def test_round_trips_that_double_and_rise_by_20_ms_show_a_queue(rtt: Record, findings: int) -> None:
    assert len(found(upload(rtt), page(trips(0.01, 0.04)))) == findings


@pytest.mark.parametrize(
    ("rtt", "findings"),
    [(trips(0.0, 0.0625), 1), (trips(0.0, 0.062), 0), (trips(0.0, 0.25), 1), (trips(0.0, 0.251), 0)],
)
def test_who_waits_has_half_to_twice_the_queue(rtt: Record, findings: int) -> None:
    assert len(found(upload(trips(0.0625, 0.1875)), page(rtt))) == findings


@pytest.mark.parametrize(("rise_s", "findings"), [(0.02, 1), (0.0199, 0)])
def test_who_waits_waits_20_ms_at_least(rise_s: float, findings: int) -> None:
    assert len(found(upload(trips(0.0, 0.03)), page(trips(0.0, rise_s)))) == findings


@pytest.mark.parametrize(("bps", "findings"), [(2e6, 1), (2.1e6, 0)])
def test_who_fills_carries_four_times_as_much(bps: float, findings: int) -> None:
    assert len(found(upload(), page(bps=bps))) == findings


@pytest.mark.parametrize(
    ("at_s", "lasts_s", "findings"),
    [(17.0, 6.0, 1), (17.1, 6.0, 0), (-3.0, 6.0, 1), (-3.1, 6.0, 0), (20.0, 0.0, 0), (5.0, 0.9, 1)],
)
def test_both_overlap_for_half_of_the_shorter(at_s: float, lasts_s: float, findings: int) -> None:
    assert len(found(upload(), page(at_s=at_s, lasts_s=lasts_s))) == findings


@pytest.mark.parametrize(
    ("client", "server", "findings"),
    [
        ("198.18.0.1:9", "198.18.0.7:80", 1),
        ("198.18.0.3:9", "198.18.0.9:80", 1),
        ("198.18.0.9:9", "198.18.0.3:80", 1),
        ("198.18.0.3:9", "198.18.0.7:80", 0),
    ],
)
def test_both_have_a_host_in_common(client: str, server: str, findings: int) -> None:
    assert len(found(upload(), page(client=client, server=server))) == findings


def test_the_sentence_names_queue_sender_and_rate_and_the_cost_is_the_queues_part() -> None:
    [one] = found(upload(), page(), page(trips(0.1, 0.2), id=8))
    assert one.sentence == (
        "Connection 1 fills a queue of 100 ms from 198.18.0.1:40001 at 8.00 Mbit/s; 2 more wait in it (7.00 s)."
    )
    assert (one.connections, one.waited_s) == ([1, 8, 9], 12.0)
    assert one.cost_s == pytest.approx(6 * 0.1 / 0.15 + 6 / 2)
    assert one.explains == {(kind, n) for kind in ("queue_shared", "bottleneck_bandwidth") for n in (8, 9)}


def test_eight_of_the_highest_rates_are_asked_about() -> None:
    way = direction(rtt=trips(0.05, 1.05), goodput_bps=9e6)
    small = [upload(number=number, client_to_server=way) for number in range(11, 18)]
    assert [one.connections for one in found(*small, upload(), page())] == [[1, 9]]
    assert found(*small, {**small[0], "id": 18}, upload(), page()) == []


def download(**more: Any) -> Record:
    """Its data comes to who uploads: its acknowledgements wait behind that."""
    known: Record = {"handshake": {"complete": True, "rtt_s": 0.05}, "vantage": {"side": "client"},
                     "server_to_client": direction(unique_payload_bytes=3_000_000, goodput_bps=8e6),
                     "account": [entry("slow_start", 2.0, None), entry("server_wait", 9.0, None)]}  # fmt: skip
    return connection(9, 5.0, 6.0, **{**known, **more})


def full(share: float = 0.3, **more: Any) -> Record:
    account = [entry("bottleneck_bandwidth", share * 20.0, None), entry("idle", 9.0, None)]
    return upload(account=account, vantage={"side": "client"}, **more)


@pytest.mark.parametrize(("share", "findings"), [(0.3, 1), (0.29, 0), (0.0, 0)])
def test_a_link_is_full_for_three_tenths_of_the_time(share: float, findings: int) -> None:
    queued = found(full(share), download())
    assert len(queued) == findings
    for one in queued:
        assert one.cost_s == pytest.approx(2.0 * 0.1 / 0.1), "its handshake was shorter than the queue"
        assert "the ACKs of 1 more wait in it" in one.sentence
        assert one.explains == {("queue_shared", 9), ("ack_path_full", 9)}


@pytest.mark.parametrize(("rtt_s", "findings"), [(0.05, 1), (0.049, 0), (None, 0)])
def test_a_handshake_behind_the_queue_took_half_of_it(rtt_s: float | None, findings: int) -> None:
    assert len(found(full(), download(handshake={"complete": True, "rtt_s": rtt_s}))) == findings


def test_half_of_the_queue_is_enough_to_the_last_bit() -> None:
    half = download(handshake={"complete": True, "rtt_s": 0.0625})
    assert len(found(full(rtt=trips(0.0625, 0.1875)), half)) == 1


def test_who_sends_at_no_known_rate_fills_nothing() -> None:
    assert found(upload(client_to_server=direction(rtt=trips(0.05, 0.15))), page()) == []


def test_without_round_trips_a_full_link_has_those_behind_it_whose_acks_show_it() -> None:
    shown = download(account=[entry("ack_path_full", 5.0, 1.0, "path_back")])
    blind = full(client_to_server=direction(goodput_bps=8e6))
    assert [one.connections for one in found(blind, shown, page(id=8))] == [[1, 9]]
    calm = full(client_to_server=direction(rtt=trips(0.05, 0.0625), goodput_bps=8e6))
    assert [one.connections for one in found(calm, shown, page(trips(0.0, 0.02), id=8))] == [[1, 9]]


def test_who_opened_before_the_queue_did_not_wait_in_it() -> None:
    late = full(at_s=5.0)
    assert len(found(full(at_s=4.999), download())) == 1
    assert found(late, download()) == []


@pytest.mark.parametrize(("saves_s", "findings"), [(0.25, 1), (0.24, 0), (0.0, 0)])
def test_acks_that_timestamps_show_waiting_cost_a_twentieth_of_the_time(saves_s: float, findings: int) -> None:
    shown = download(account=[entry("ack_path_full", 5.0, saves_s, "path_back")], handshake={"rtt_s": 0.01})
    queued = found(full(rtt=trips(0.05, 0.05), at_s=6.0, lasts_s=12.0), {**shown, "duration_s": 5.0})
    assert [one.cost_s for one in queued] == [saves_s] * findings
    assert all(one.sentence.startswith("Connection 1 fills the queue from 198.18.0.1:40001") for one in queued)


@pytest.mark.parametrize(
    ("server", "side", "findings"),
    [("198.18.0.9:80", "middle", 1), ("198.18.0.7:80", "client", 1), ("198.18.0.7:80", "server", 0)],
)
def test_with_other_hosts_the_capture_is_at_who_fills(server: str, side: str, findings: int) -> None:
    uploading = {**full(), "vantage": {"side": side}}
    assert len(found(uploading, download(server=server))) == findings


def test_data_that_goes_the_same_way_or_from_the_host_itself_has_no_acks_there() -> None:
    same_way = download(client_to_server=direction(unique_payload_bytes=4_000_000, goodput_bps=8e6))
    itself = download(server="198.18.0.1:80")
    assert found(full(), same_way) == found(full(), itself) == []
