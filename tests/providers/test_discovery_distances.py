"""Round trips to many addresses at once."""

import socket
import threading
import time

import pytest

from vmtrace.providers.discovery import distances
from vmtrace.providers.discovery.distances import Distances, Spacing
from vmtrace.providers.discovery.side_by_side import side_by_side
from vmtrace.providers.round_trips import ICMP, TCP, Echo


def measured(
    addresses: list[str], port: int, spacing: Spacing, ended: threading.Event | None = None
) -> tuple[list[Echo], Distances]:
    found: list[Echo] = []
    made = Distances(port, spacing, ended or threading.Event())
    made.measure(addresses, found.append)
    return found, made


def test_each_address_has_as_many_of_each_kind_as_asked_for_and_spaced() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        began_s = time.monotonic()
        found, _ = measured(["127.0.0.1", "127.0.0.2"], server.getsockname()[1], Spacing(4, 0.1))
        took_s = time.monotonic() - began_s
    handshakes = [one for one in found if one.method == TCP and one.front_end == "127.0.0.1"]
    assert len(handshakes) == 4
    assert all(one.rtt_s is not None for one in handshakes)
    assert took_s >= 0.3
    assert {one.method for one in found} <= {TCP, ICMP}


def test_what_leaves_two_unanswered_is_asked_no_more() -> None:
    found, _ = measured(["127.0.0.1"], 1, Spacing(6, 0.0))
    assert [one.rtt_s for one in found if one.method == TCP] == [None, None]


def test_without_the_right_to_icmp_there_are_handshakes_and_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_address: str, _port: int = 0) -> float | None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(distances, "icmp_rtt_s", refused)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        found, made = measured(["127.0.0.1"], server.getsockname()[1], Spacing(3, 0.0))
    assert [one.method for one in found] == [TCP] * 3
    assert made.icmp_refused == "Operation not permitted"


def test_a_run_that_ended_measures_nothing_more() -> None:
    ended = threading.Event()
    ended.set()
    assert measured(["127.0.0.1"], 1, Spacing(5, 1.0), ended)[0] == []


def test_an_error_of_one_ends_the_others() -> None:
    ended = threading.Event()
    seen: list[int] = []

    def work(number: int) -> int:
        if number == 0:
            raise ValueError("first")
        ended.wait(30)
        seen.append(number)
        return number

    with pytest.raises(ValueError, match="first"):
        list(side_by_side(work, range(100), 4, ended))
    assert ended.is_set()
    assert len(seen) < 100


def test_results_come_in_the_order_of_the_items() -> None:
    def work(number: int) -> int:
        time.sleep(0.02 * (3 - number))
        return number

    assert list(side_by_side(work, range(3), 3)) == [0, 1, 2]
