"""What a report on storage runs computes, from runs made in the open."""

import numpy as np
import pytest

from tests.analyze.storage_made import (
    MS,
    SERVICE,
    START_NS,
    connection,
    echo,
    exchange,
    measured,
    run_of,
    stored,
    use,
)
from vmtrace.analyze.reports.storage.connections import connection_rows, most_at_once
from vmtrace.analyze.reports.storage.document import transaction_rows
from vmtrace.analyze.reports.storage.groups import block_pairs
from vmtrace.analyze.reports.storage.limits import limit_rows
from vmtrace.analyze.reports.storage.measured import Lookup, MeasuredTransaction
from vmtrace.analyze.reports.storage.overhead import SPLIT, agreement_row, left_out, overhead_rows
from vmtrace.analyze.reports.storage.records import Counters
from vmtrace.analyze.reports.storage.round_trips import round_trip_rows
from vmtrace.analyze.reports.storage.tables import Report
from vmtrace.analyze.reports.storage.texts import tables, trouble
from vmtrace.analyze.reports.storage.throughput import throughput_rows
from vmtrace.analyze.reports.storage.time_ledger import login_times, object_times, time_rows
from vmtrace.analyze.reports.storage.troubles import trouble_rows


def test_throughput_is_of_the_time_from_the_first_objects_start_to_the_last_ones_end() -> None:
    pair = [stored(exchange(100, 150, 200, use(1))), stored(exchange(250, 280, 300, use(1)), number=2)]
    (row,) = throughput_rows(run_of(measured(pair, login=exchange(0, 50, 90, use(1)))))
    assert row.throughput_bps.value == pytest.approx(2000 * 8 / 0.2)
    assert row.object_time_s.value == pytest.approx(0.075)
    assert row.login_s.value == pytest.approx(0.09)


def test_a_transaction_with_a_failed_object_has_no_throughput() -> None:
    failed = measured([stored(exchange(0, 1, 2, use(1)), outcome="failed", moved_bytes=0)], status="failed")
    (row,) = throughput_rows(run_of(failed))
    assert (row.planned, row.whole, row.throughput_bps.value) == (1, 0, None)


def test_roles_follow_from_what_the_log_says_a_connection_carried() -> None:
    objects = [
        stored(exchange(10, 20, 30, use(1))),
        stored(exchange(30, 60, 70, use(2, opened=True)), number=2),
    ]
    one = measured(objects, [connection(1, 0), connection(2, 31), connection(3, 0)], login=exchange(0, 5, 9, use(1)))
    (row,) = connection_rows(run_of(one))
    assert row.by_role == {"control": 0, "data": 1, "control and data": 1, "unlogged": 1}
    assert row.opened.value == 3
    assert (row.manner, row.at_once, row.objects_at_once) == ("sequential", 3, 1)
    assert (row.objects_per_data_connection, row.reused_share) == (1, 0.5)
    assert (row.tls_connections, row.tls_resumed, row.tls_unknown) == (3, 0, 0)


def test_a_connection_that_was_open_before_the_capture_was_not_opened_in_it() -> None:
    refused = connection(2, 0, syn_retransmissions=3)
    older = connection(3, 0, opened=False, downloaded_bytes=31)
    (row,) = connection_rows(run_of(measured(connections=[connection(1, 0), refused, older])))
    assert (row.opened.value, row.syn_retransmissions) == (2, 3)


def test_objects_that_overlap_are_parallel() -> None:
    objects = [stored(exchange(start, 50, 60, use(port)), number=port) for start, port in ((0, 1), (10, 2), (55, 3))]
    (row,) = connection_rows(run_of(measured(objects, [connection(port, 0) for port in (1, 2, 3)])))
    assert row.manner == "up to 3 in parallel"


@pytest.mark.parametrize(
    ("spans", "most"),
    [([], 0), ([(0, 10)], 1), ([(0, 10), (10, 20)], 1), ([(0, 10), (9, 20)], 2), ([(5, 5), (5, 5)], 2)],
)
def test_what_begins_where_another_ends_is_not_at_once(spans: list[tuple[int, int]], most: int) -> None:
    assert most_at_once(spans) == most


LEDGER = {
    "link_bytes": 140, "ip_bytes": 200, "tcp_header_bytes": 200, "tcp_option_bytes": 120, "pure_ack_bytes": 66,
    "retransmitted_bytes": 40, "tls_handshake_bytes": 500, "tls_record_bytes": 60, "application_bytes": 1700,
}  # fmt: skip


def test_overhead_is_split_into_parts_that_sum_to_all_bytes() -> None:
    one = measured([stored(exchange(0, 1, 2, use(1)))], [connection(1, 0, parts=LEDGER)])
    (row,) = overhead_rows(run_of(one, one))
    assert row.parts_bytes == {
        "workload": 2000, "signalling": 1400, "tls_record": 120, "tls_handshake": 1000, "headers": 1320, "acks": 132,
        "retransmissions": 80,
    }  # fmt: skip
    assert tuple(row.parts_bytes) == SPLIT
    assert sum(row.parts_bytes.values()) == row.wire_bytes == 2 * sum(LEDGER.values())
    assert sum(row.shares.values()) == pytest.approx(1)
    assert row.tcp_payload_ratio == (500 + 60 + 1700) / 1000
    assert row.overhead_ratio == (sum(LEDGER.values()) - 1000) / 1000


def test_what_only_retransmissions_brought_was_delivered_and_is_no_repeat() -> None:
    """Captured at the receiver: 30 of the 1,700 application bytes were lost before, and came with the second copy."""
    ledger = LEDGER | {"application_bytes": 1670, "retransmitted_bytes": 70}
    one = measured([stored(exchange(0, 1, 2, use(1)), 1700)], [connection(1, 0, parts=ledger, carried=500 + 60 + 1700)])
    (row,) = overhead_rows(run_of(one))
    assert (row.parts_bytes["workload"], row.parts_bytes["signalling"]) == (1700, 0)
    assert row.parts_bytes["retransmissions"] == 40
    assert sum(row.parts_bytes.values()) == row.wire_bytes == sum(ledger.values())
    assert row.tcp_payload_bytes == 2260


def test_record_headers_beyond_the_snap_length_make_their_share_a_lower_bound() -> None:
    objects = [stored(exchange(0, 1, 2, use(1)))]
    whole, cut = (
        measured(objects, [connection(1, 0, parts=LEDGER, tls_records_measured=all_)]) for all_ in (True, False)
    )
    assert [overhead_rows(run_of(one))[0].tls_record_is_least for one in (whole, cut)] == [False, True]
    (row,) = overhead_rows(run_of(whole, cut))
    assert row.tls_record_is_least


def test_transactions_that_a_capture_missed_something_of_have_no_overhead() -> None:
    objects, found = [stored(exchange(0, 1, 2, use(1)))], [connection(1, 0, parts=LEDGER)]
    less = [connection(1, 0, parts=LEDGER | {"application_bytes": 900})]
    runs = run_of(
        measured(objects, found),
        measured(objects, found, capture_dropped=3),
        measured(objects, found, status="failed"),
        measured(objects, less),
        measured(objects, packets=None),
    )
    (row,) = overhead_rows(runs)
    assert (row.transactions, row.left_out) == (1, 4)
    assert [(one.transactions, one.of, one.reason.split()[0]) for one in left_out(runs)] == [
        (1, 5, "packets"), (1, 5, "not"), (1, 5, "TLS"), (1, 5, "not"),
    ]  # fmt: skip
    (said,) = (line for line in trouble(Report(runs)) if "could not be followed" in line)
    assert "overhead leaves out 1 of 5 transactions" in said


def test_captures_are_compared_with_the_counters_of_a_quiet_interface() -> None:
    counted = [(100, 10_000, True), (101, 10_060, True), (500, 90_000, False)]
    ones = [measured(counters=Counters(*counters), packets=100, wire_bytes=10_000) for counters in counted]
    row = agreement_row(run_of(*ones))
    assert row is not None
    assert (row.transactions, row.packets_agree, row.bytes_agree, row.packets_apart, row.bytes_apart) == (
        2,
        1,
        1,
        1,
        60,
    )
    loopback = measured(counters=Counters(200, 2 * (10_000 - 1400), True), packets=100, wire_bytes=10_000)
    row = agreement_row(run_of(loopback, interface="lo"))
    assert row is not None
    assert row.bytes_agree == row.packets_agree == 1
    assert agreement_row(run_of(measured())) is None


def test_every_nanosecond_of_an_object_is_in_one_part() -> None:
    said = exchange(0, 70, 100, use(1, opened=True))
    asked = Lookup("s3.example", START_NS + 2 * MS, START_NS + 12 * MS)
    one = measured([stored(said)], [connection(1, 15)], [asked])
    (times,) = object_times(one)
    expected = {
        "name_lookup": 0.010, "tcp_handshake": 0.010, "tls_handshake": 0.020, "request_to_first_byte": 0.025,
        "transfer": 0.030, "idle": 0.005,
    }  # fmt: skip
    assert times.parts_s == pytest.approx(expected)
    assert sum(value for value in times.parts_s.values() if value is not None) == pytest.approx(times.duration_s)


def test_an_uploads_answer_cannot_be_told_from_its_transfer() -> None:
    one = measured([stored(exchange(0, 70, 100, use(1)))], [connection(1, -500)], direction="upload")
    (times,) = object_times(one)
    assert times.parts_s["request_to_first_byte"] is None
    assert times.parts_s["transfer"] == pytest.approx(0.1)
    (row,) = time_rows(run_of(one))
    assert row.shares["transfer"] == pytest.approx(1)
    assert row.shares["request_to_first_byte"] is None


def test_handshakes_at_the_same_time_count_once() -> None:
    said = exchange(0, 60, 100, use(1, opened=True), use(2, opened=True))
    one = measured([stored(said)], [connection(1, 0), connection(2, 5)])
    (times,) = object_times(one)
    assert times.parts_s["tcp_handshake"] == pytest.approx(0.015)
    assert times.parts_s["tls_handshake"] == pytest.approx(0.020)
    assert sum(value for value in times.parts_s.values() if value is not None) == pytest.approx(0.1)


def test_an_object_whose_connection_is_not_in_the_capture_is_left_out() -> None:
    one = measured([stored(exchange(0, 70, 100, use(1, opened=True)))], [connection(2, 1)])
    assert object_times(one) == []
    assert time_rows(run_of(one)) == []


def test_the_login_has_a_time_ledger_of_its_own() -> None:
    login = exchange(0, 45, 50, use(1, opened=True))
    one = measured([stored(exchange(50, 60, 70, use(1)))], [connection(1, 0)], login=login)
    times = login_times(one)
    assert times is not None
    assert times.parts_s["request_to_first_byte"] == pytest.approx(0.015)
    assert [row.what for row in time_rows(run_of(one))] == ["login", "object"]


def test_round_trips_are_by_front_end_and_method_and_lost_echoes_are_counted() -> None:
    echoes = (echo("192.0.2.1", "icmp", 0.010), echo("192.0.2.1", "icmp", None), echo("192.0.2.1", "icmp", 0.030))
    rows = round_trip_rows(run_of(measured(connections=[connection(1, 0)]), echoes=echoes))
    assert [(row.method, row.sent, row.lost, row.min_s, row.max_s) for row in rows] == [
        ("icmp", 3, 1, 0.010, 0.030),
        ("tcp handshake", 1, 0, 0.010, 0.010),
    ]


def test_the_limit_of_a_workload_is_weighed_by_bytes_and_open_verdicts_do_not_count() -> None:
    connections = [
        connection(1, 0, downloaded_bytes=9000, verdict_factor="receiver_window", verdict_confidence=0.9),
        connection(2, 0, downloaded_bytes=1000, verdict_factor="application", verdict_confidence=0.9),
        connection(3, 0, downloaded_bytes=90_000, verdict_factor="loss_recovery", verdict_confidence=0.3,
                   verdict_sentence="It is open."),
    ]  # fmt: skip
    (row,) = limit_rows(run_of(measured([stored(exchange(0, 1, 2, use(1)))], connections)))
    assert (row.connections, row.judged, row.factor, row.bytes_share) == (3, 2, "receiver_window", 0.9)
    assert row.slowest == "It is open."


def transfers(address: str, seconds: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> list[MeasuredTransaction]:
    """Transactions of one object each, at one front end."""
    said = (exchange(0, 1, 1000 * time, use(1, peer=(address, 443))) for time in seconds)
    return [measured([stored(one, 10_000_000)]) for one in said]


def test_a_capped_block_of_front_ends_is_found_and_a_mere_other_block_is_not() -> None:
    dice = np.random.default_rng(7)
    fast = [transfers(f"178.236.0.{host}", dice.uniform(0.8, 1.2, 8)) for host in (1, 2, 200)]
    slow = [transfers(f"54.239.34.{host}", dice.uniform(3.2, 4.8, 8)) for host in (5, 99)]
    pairs = block_pairs(run_of(*(one for found in (*fast, *slow) for one in found)))
    differing = [(pair.first_block, pair.second_block) for pair in pairs if pair.differs]
    assert differing == [("54.239.34.0/25", "178.236.0.0/24")]
    assert len(pairs) == 4
    found = pairs[0]
    assert found.ratio_of_medians.value == pytest.approx(4, rel=0.3)
    assert found.p_adjusted is not None
    assert found.p_adjusted < 0.01


def test_a_cap_on_downloads_alone_is_reported_in_full() -> None:
    """As the study found: twice as slow in both directions together would be true of neither."""
    times = np.linspace(0.9, 1.1, 20)
    found = []
    for direction, seconds in (("upload", 1.0), ("download", 4.0)):
        capped, free = transfers("54.239.34.5", times * seconds), transfers("178.236.0.1", times)
        found += [measured(one.objects, direction=direction) for one in (*capped, *free)]
    pairs = block_pairs(run_of(*found))
    assert [(pair.direction, pair.differs) for pair in pairs] == [("download", True), ("upload", False)]
    assert pairs[0].ratio_of_medians.value == pytest.approx(4, rel=0.1)
    assert pairs[0].second_median_bps / pairs[0].first_median_bps == pytest.approx(4, rel=0.1)


def test_the_medians_of_blocks_are_of_the_workloads_that_both_served() -> None:
    times = np.linspace(0.9, 1.1, 12)
    first, second = transfers("192.0.2.1", times), transfers("198.51.100.1", times)
    alone = [measured(one.objects, workload="only here") for one in transfers("192.0.2.1", times * 100)]
    (pair,) = block_pairs(run_of(*first, *second, *alone))
    assert (pair.first_values, pair.second_values) == (12, 12)
    assert pair.first_median_bps == pair.second_median_bps


def test_blocks_are_compared_within_workloads_only() -> None:
    """One block served the large files, the other the small ones: no difference of blocks."""
    times = np.linspace(0.9, 1.1, 12)
    large, small = transfers("192.0.2.1", times), transfers("198.51.100.1", times * 10)
    renamed = [measured(one.objects, workload="small") for one in small]
    assert block_pairs(run_of(*large, *renamed)) == []


def test_retries_and_errors_are_told_apart() -> None:
    objects = [
        stored(exchange(0, 1, 2, use(1), retries=2, retry_causes=(("503", 2),))),
        stored(exchange(0, 1, 2, use(1)), number=2, outcome="write_error", moved_bytes=0, error_kind="digest"),
        stored(exchange(0, 1, 2, use(1)), number=3, outcome="failed", moved_bytes=0, error_kind="endpoint_gone"),
    ]
    nothing = measured((), direction="upload", status="failed", error_kind="credentials")
    (row,) = trouble_rows(run_of(measured(objects, direction="upload", status="failed"), nothing))
    assert (row.retries, row.retry_causes, row.retried_objects) == (2, {"503": 2}, 1)
    assert (row.errors, row.failed, row.failed_kinds) == (1, 1, {"endpoint_gone": 1, "credentials": 1})
    assert (row.transactions, row.transactions_failed) == (2, 2)
    assert row.availability == pytest.approx(1 / 3)


def test_availability_is_shown_by_the_number_of_retries_that_it_took() -> None:
    objects = [stored(exchange(0, 1, 2, use(1), retries=made)) for made in (0, 0, 0, 0, 0, 0, 2, 2)]
    objects.append(stored(exchange(0, 1, 2, use(1), retries=5), outcome="failed", moved_bytes=0))
    objects.append(stored(exchange(0, 1, 2, use(1)), outcome="read_error", moved_bytes=0))
    (row,) = trouble_rows(run_of(measured(objects)))
    assert row.availability_by_retries == pytest.approx({"0": 0.6, "1": 0.6, "2": 0.8})
    assert row.availability == pytest.approx(0.8)
    many = [stored(exchange(0, 1, 2, use(1), retries=made)) for made in (0, 10**15)]
    (row,) = trouble_rows(run_of(measured(many)))
    assert row.availability_by_retries == {"0": 0.5, str(10**15): 1.0}
    (row,) = trouble_rows(run_of(measured(objects[-1:])))
    assert (row.availability, row.availability_by_retries) == (0.0, {})


def test_a_cause_of_retries_and_of_failures_is_counted_with_both() -> None:
    objects = [
        stored(exchange(0, 1, 2, use(1), retries=5, retry_causes=(("timeout", 5),))),
        stored(exchange(0, 1, 2, use(1)), number=2, outcome="failed", moved_bytes=0, error_kind="timeout"),
        stored(exchange(0, 1, 2, use(1)), number=3, outcome="failed", moved_bytes=0, error_kind="endpoint_gone"),
    ]
    table = next(one for one in tables([Report(run_of(measured(objects)))]) if one.name == "troubles")
    assert table.rows[0].texts[-1] == "timeout: 6, endpoint_gone: 1"


def test_a_transaction_without_a_capture_is_shown_by_the_log_alone() -> None:
    one = measured([stored(exchange(0, 1, 2, use(1, peer=SERVICE)))], packets=None)
    (row,) = transaction_rows(run_of(one))
    assert (row.connections, row.wire_bytes, row.lookups) == (None, None, None)
    assert row.throughput_bps == pytest.approx(8000 / 0.002)
    assert connection_rows(run_of(one)) == []
    assert limit_rows(run_of(one)) == []
