"""What crosses buckets, rule by rule."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.corpus.test_joining import manifest
from vmtrace.corpus.engine import parsed
from vmtrace.corpus.merging import (
    distinct_steps,
    lags_of,
    merged_header,
    merged_protocols,
    merged_syns,
    merged_top,
    numbered,
)


@given(st.lists(st.lists(st.integers(0, 2**60), max_size=6), max_size=5))
def test_connections_are_numbered_by_their_first_packets(orders: list[list[int]]) -> None:
    orders = [sorted(one) for one in orders]
    ids = numbered([np.array(one, "<u8").tobytes() for one in orders])
    pairs = sorted(
        (order, int(number))
        for one, numbers in zip(orders, ids, strict=True)
        for order, number in zip(one, numbers, strict=True)
    )
    assert [number for _, number in pairs] == list(range(1, len(pairs) + 1)) or len({o for o, _ in pairs}) < len(pairs)
    assert sorted(number for _, number in pairs) == list(range(1, len(pairs) + 1))


def test_steps_within_a_second_are_one() -> None:
    assert [distinct_steps(times) for times in ([], [5], [5, 6], [5, 2_000_000_000], [3_000_000_001, 5])] == [
        0,
        1,
        1,
        2,
        2,
    ]


def capture(**values: Any) -> dict[str, Any]:
    return {"duplicates": 0, "unseen_acked_bytes": 0, "clock_steps": 0, "dropped_by_kernel": None} | values


def test_what_connections_show_of_a_capture_is_added_up() -> None:
    run = manifest("a", 0, 10)
    run.header[0]["capture"] = capture(clock_steps=1, dropped_by_kernel=7, packets_without_time=0)
    buckets = [
        {"header": [{"capture": capture(duplicates=2, new_key=3)}], "clock_steps": [[0, 5], [0, 9_000_000_000]]},
        {"header": [{"capture": capture(duplicates=5, new_key=4)}], "clock_steps": [[0, 6]]},
    ]
    [header] = merged_header([run], buckets)
    assert header["capture"] == capture(
        duplicates=7, new_key=7, clock_steps=2, dropped_by_kernel=7, packets_without_time=0
    )


def test_the_longest_lag_of_a_capture_counts() -> None:
    run = manifest("a", 0, 10)
    run.header[0]["capture"] = capture(packets_without_time=0)
    lag = [
        {"header": [{"capture": capture(lag_s=parsed(text), lag_removed=False)}], "clock_steps": []}
        for text in ("0.005", "0.25")
    ]
    assert merged_header([run], lag)[0]["capture"]["lag_s"].text == "0.25"
    run.header[0]["capture"] |= {"lag_s": parsed("0.1"), "lag_removed": True}
    assert merged_header([run], lag)[0]["capture"]["lag_removed"] is True
    records = [{"lags": [["a", "0a000001", 5]]}, {"lags": [["a", "0a000001", 9], ["b", "0a000001", 1]]}]
    assert lags_of(records) == (("a", "0a000001", 9), ("b", "0a000001", 1))


def test_lists_beside_connections_are_joined_and_renumbered() -> None:
    tops = [
        {"top": {"schema": "x", "interrupted": False, "groups": [{"connections": [1, 2], "rate_bps": 5}]}},
        {"top": {"schema": "x", "interrupted": True, "groups": [{"connections": [1], "rate_bps": 6}]}},
    ]
    merged = merged_top(tops, [np.array([4, 2], np.uint32), np.array([3], np.uint32)])
    assert merged == {
        "schema": "x",
        "interrupted": True,
        "groups": [{"connections": [2, 4], "rate_bps": 5}, {"connections": [3], "rate_bps": 6}],
    }


def test_syns_are_summed_second_by_second() -> None:
    row = {"second_ns": 0, "syn": 1, "syn_ack": 1, "syn_retransmissions": 0, "established": 1, "reset": 0}
    merged = merged_syns([{"syns": [row]}, {"syns": [row | {"reset": 2}, row | {"second_ns": -5}]}])
    assert [one["second_ns"] for one in merged] == [-5, 0]
    assert merged[1]["syn"] == 2
    assert merged[1]["reset"] == 2


def of_frames(protocols: Sequence[tuple[str, int, int]]) -> dict[str, Any]:
    """What a run says: packets and bytes by protocol."""
    return {
        "protocols": tuple(
            {"protocol": name, "packets": packets, "wire_bytes": wire_bytes} for name, packets, wire_bytes in protocols
        )
    }


def test_frames_of_all_runs_are_added_up_by_protocol() -> None:
    runs = [
        replace(manifest("a", 0, 10), **of_frames([("tcp", 5, 500), ("udp", 2, 80)])),
        replace(manifest("b", 10, 20), **of_frames([("arp", 1, 60), ("udp", 9, 900), ("lldp", 1, 60)])),
    ]
    assert [(one["protocol"], one["packets"], one["wire_bytes"]) for one in merged_protocols(runs)] == [
        ("udp", 11, 980),
        ("tcp", 5, 500),
        ("arp", 1, 60),
        ("lldp", 1, 60),
    ]
