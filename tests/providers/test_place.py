"""Where a service is: the interface, the filter and the round trips, as a first exchange showed it."""

from typing import Any

import pytest

from vmtrace.capture.errors import CaptureError
from vmtrace.capture.settings import CaptureSettings
from vmtrace.providers import place as places
from vmtrace.providers.errors import ProvidersError
from vmtrace.providers.order import ServiceOrder
from vmtrace.providers.place import Place, check_place, check_rights, place_of, round_trips

HERE = "http://127.0.0.1:9000"


def order(**more: Any) -> ServiceOrder:
    """To a service on this machine."""
    return ServiceOrder(**{"provider": "s", "out": None, "plan": None, "endpoint_url": HERE, **more})


def test_the_interface_is_the_one_towards_the_service_and_the_filter_its_ports() -> None:
    place = place_of(order(), HERE, "eu", ["127.0.0.1:9000"])
    assert (place.interface, place.urls, place.tls) == ("lo", (HERE,), None)
    assert place.capture is not None
    assert "port 9000" in str(place.capture.filter)
    record = place.as_record()
    assert record["front_ends"] == ["127.0.0.1:9000"]
    assert record["capture"] == {"interface": "lo", "filter": place.capture.filter, "snaplen": None}


def test_what_the_user_names_is_used() -> None:
    place = place_of(order(interface="any", filter="udp", snaplen=99), HERE, None, [])
    assert place.capture == CaptureSettings("any", "udp", 99, also_tagged=True)


def test_without_a_capture_an_unknown_way_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_way(*_: object) -> str:
        raise ProvidersError("no route")

    monkeypatch.setattr(places, "interface_for", no_way)
    assert place_of(order(capture=False), HERE, None, []).interface is None
    with pytest.raises(ProvidersError, match="no route"):
        place_of(order(), HERE, None, [])


def test_tls_is_noted_with_whom_it_trusts() -> None:
    place = place_of(order(interface="lo", endpoint_url=None), "https://127.0.0.1:9000", None, [])
    assert place.tls == {"verified": True, "ca_bundle": None}


def test_missing_rights_name_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: CaptureSettings) -> None:
        raise CaptureError("no rights")

    monkeypatch.setattr(places, "check_capture", refused)
    with pytest.raises(ProvidersError, match=r"no rights \(or give --no-capture\)"):
        check_rights(order())
    check_rights(order(capture=False))


def test_packets_that_take_another_interface_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(places, "check_capture", lambda _: None)
    monkeypatch.setattr(places, "strays_from", lambda *_: "eth1")
    place = Place(HERE, None, (HERE,), (), "eth0", CaptureSettings("eth0", "tcp", None), None)
    check_place(place, "s3", warnings.append)
    assert warnings == [
        "packets are recorded on eth0, but those to s3 take eth1: give --interface eth1",
    ]
    check_place(Place(HERE, None, (), (), None, None, None), "s3", warnings.append)
    assert len(warnings) == 1


def test_round_trips_go_to_each_front_end_once() -> None:
    place = Place(HERE, None, (HERE,), (), "lo", None, None)
    lines = list(round_trips(place, ["127.0.0.1:9000", "127.0.0.1:9000"], 1))
    assert {line["front_end"] for line in lines} == {"127.0.0.1"}
    assert set(lines[0]) == {"time_ns", "front_end", "port", "method", "rtt_s"}
