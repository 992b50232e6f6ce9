"""Outcomes of connections drawn at random, kind by kind, with the truth beside: numbers, times, options, vantage vary.

Each kind has controls: the same connection without its fault has no outcome.
"""

from dataclasses import replace
from ipaddress import ip_address
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analyze.outcome_made import Ends, Wire, backoff, closed, exchanged, opened

few = settings(max_examples=25, deadline=None)


@st.composite
def ends(draw: st.DrawFn) -> Ends:
    """Addresses, numbers near their wrap, options, TTLs."""
    number = st.integers(0, 2**32 - 1) | st.integers(2**32 - 3000, 2**32 - 1)
    six = draw(st.booleans())
    return Ends(
        client="2001:db8::1" if six else "198.18.0.1",
        server="2001:db8::2" if six else "198.18.0.2",
        ports=(draw(st.integers(10000, 60000)), draw(st.sampled_from([22, 80, 443, 5432]))),
        isn=(draw(number), draw(number)),
        ttl=(draw(st.sampled_from([64, 128, 61])), draw(st.integers(40, 64))),
        timestamps=draw(st.booleans()),
        sack=draw(st.booleans()),
        mss=draw(st.sampled_from([1460, 1380, 8960, 1220])),
    )


@st.composite
def wires(draw: st.DrawFn) -> Wire:
    """An empty capture, with or without VLAN tags."""
    return Wire(draw(ends()), vlans=draw(st.integers(0, 2)))


rtts = st.floats(0.0005, 0.2)
vantages = st.booleans()


def found(wire: Wire) -> tuple[str | None, dict[str, Any]]:
    """Kind and outcome of the first connection; its frames must be frames of the capture."""
    outcome = wire.outcome()
    if outcome is None:
        return None, {}
    frames = [frame for one in outcome["evidence"] for frame in one["frames"]]
    assert frames
    assert all(0 < frame <= len(wire.records) for frame in frames)
    assert 0 < outcome["confidence"] <= 1
    assert outcome["remedy"]
    assert all(len(sentence.split()) <= 35 for sentence in outcome["sentence"].split(". "))
    return outcome["kind"], outcome


@few
@given(wires(), rtts, vantages, st.integers(1, 4), st.booleans())
def test_a_connection_that_opened_moved_its_data_and_ended_has_none(
    wire: Wire, rtt_s: float, near_client: bool, exchanges: int, to_the_end: bool
) -> None:
    at_s, sent, got = opened(wire, rtt_s, near_client=near_client), 0, 0
    for _ in range(exchanges):
        at_s, sent, got = exchanged(wire, at_s + 0.01, sent, got, rtt_s)
    if to_the_end:
        closed(wire, at_s + 0.5, sent, got, rtt_s)
    wire.other(at_s + 100)
    assert found(wire)[0] is None


@few
@given(wires(), st.integers(2, 7), st.sampled_from([1.0, 3.0]))
def test_unanswered_syns_are_counted(wire: Wire, count: int, first_s: float) -> None:
    times_s = [0.0, *backoff(first_s, count - 1)]
    for time_s in times_s:
        wire.tcp(time_s, True, "S")
    kind, outcome = found(wire)
    assert kind == "syn_unanswered"
    assert f"No reply to {count} SYNs in {times_s[-1]:.0f} s" in outcome["sentence"]
    assert len(outcome["evidence"][0]["frames"]) == count


@few
@given(wires(), st.floats(0, 1))
def test_a_syn_at_the_end_of_the_capture_is_merely_cut(wire: Wire, more_s: float) -> None:
    wire.tcp(0, True, "S").other(more_s)
    assert found(wire)[0] is None


@few
@given(wires(), rtts, st.integers(1, 3))
def test_a_refusal_is_one_however_often_it_is_tried(wire: Wire, rtt_s: float, tries: int) -> None:
    for number in range(tries):
        wire.tcp(number * 0.5, True, "S").tcp(number * 0.5 + rtt_s, False, "RA", 0, 0, number=0)
    assert found(wire)[0] == "syn_refused"


@few
@given(wires(), rtts, st.integers(3, 7))
def test_a_late_opening_says_how_late(wire: Wire, rtt_s: float, lost: int) -> None:
    late_s = list(backoff(1.0, lost))[-1]
    for time_s in (0.0, *list(backoff(1.0, lost - 1))):
        wire.tcp(time_s, True, "S")
    at_s = opened(wire, rtt_s, late_s)
    at_s, sent, got = exchanged(wire, at_s + 0.001, 0, 0, rtt_s)
    closed(wire, at_s, sent, got, rtt_s)
    kind, outcome = found(wire)
    assert kind == "syn_unanswered"
    assert f"opened {late_s:.0f} s late: {lost} SYNs got no reply" in outcome["sentence"]


@few
@given(wires(), st.integers(1, 4), rtts)
def test_syn_acks_without_an_acknowledgement(wire: Wire, repeats: int, rtt_s: float) -> None:
    wire.tcp(0, True, "S")
    for time_s in (0.0, *backoff(1.0, repeats)):
        wire.tcp(time_s + rtt_s, False, "SA")
    assert found(wire)[0] == "handshake_incomplete"


@few
@given(wires(), rtts, vantages, st.integers(3, 9), st.integers(1, 12))
def test_full_segments_in_vain_are_a_black_hole(
    wire: Wire, rtt_s: float, near_client: bool, repeats: int, flight: int
) -> None:
    at_s = opened(wire, rtt_s, near_client=near_client) + 0.001
    wire.tcp(at_s, True, "PA", 0, 0, 300).tcp(at_s + rtt_s, False, "A", 0, 300)
    at_s += rtt_s + 0.001
    full = wire.ends.full
    for number in range(flight):
        wire.tcp(at_s + number * 1e-5, True, "A", 300 + number * full, 0, full)
    for later_s in backoff(0.25 + 2 * rtt_s, repeats):
        wire.tcp(at_s + later_s, True, "A", 300, 0, full)
    kind, outcome = found(wire)
    assert kind == "large_segments_lost"
    assert f"{full + wire.ends.headers:,} bytes and more" in outcome["sentence"]


@few
@given(wires(), rtts, st.integers(3, 8))
def test_small_segments_that_pass_prove_a_black_hole(wire: Wire, rtt_s: float, repeats: int) -> None:
    wire = Wire(replace(wire.ends, sack=True), wire.vlans)
    at_s = opened(wire, rtt_s) + 0.001
    full = wire.ends.full
    wire.tcp(at_s, True, "A", 0, 0, full).tcp(at_s + 1e-5, True, "PA", full, 0, 100)
    wire.tcp(at_s + rtt_s, False, "A", 0, 0, sack=(full, full + 100))
    for later_s in backoff(0.25 + 2 * rtt_s, repeats):
        wire.tcp(at_s + later_s, True, "A", 0, 0, full)
    kind, outcome = found(wire)
    assert (kind, outcome["confidence"]) == ("large_segments_lost", 0.95)


def after_exchanges(wire: Wire, rtt_s: float, *, near_client: bool = True) -> tuple[float, int, int]:
    """Opened, two exchanges, and a full segment of the client that was acknowledged."""
    at_s, sent, got = opened(wire, rtt_s, near_client=near_client), 0, 0
    for _ in range(2):
        at_s, sent, got = exchanged(wire, at_s + 0.01, sent, got, rtt_s)
    full = wire.ends.full
    wire.tcp(at_s + 0.01, True, "PA", sent, got, full).tcp(at_s + 0.01 + rtt_s, False, "A", got, sent + full)
    return at_s + 0.01 + rtt_s, sent + full, got


@few
@given(wires(), rtts, vantages, st.integers(3, 9), st.sampled_from([0.05, 8.0, 60.0, 900.0]))
def test_a_peer_that_is_gone_is_silent_and_after_idle_it_says_so(
    wire: Wire, rtt_s: float, near_client: bool, repeats: int, idle_s: float
) -> None:
    at_s, sent, got = after_exchanges(wire, rtt_s, near_client=near_client)
    at_s += idle_s
    wire.tcp(at_s, True, "PA", sent, got, 500)
    for later_s in backoff(0.25 + 2 * rtt_s, repeats):
        wire.tcp(at_s + later_s, True, "PA", sent, got, 500)
    kind, outcome = found(wire)
    assert kind == ("idle_then_silent" if idle_s > 5 else "peer_silent")
    assert f"the first of it {repeats + 1} times" in outcome["sentence"]


@few
@given(wires(), rtts, vantages)
def test_data_under_way_at_the_end_of_the_capture_is_merely_cut(wire: Wire, rtt_s: float, near_client: bool) -> None:
    at_s, sent, got = after_exchanges(wire, rtt_s, near_client=near_client)
    wire.tcp(at_s + 0.01, True, "PA", sent, got, 500)
    wire.other(at_s + 0.01 + rtt_s)
    assert found(wire)[0] is None


@few
@given(wires(), rtts, st.integers(3, 8))
def test_a_window_that_stays_closed(wire: Wire, rtt_s: float, repeats: int) -> None:
    at_s, sent, got = after_exchanges(wire, rtt_s)
    full = wire.ends.full
    wire.tcp(at_s + 0.01, True, "A", sent, got, full).tcp(at_s + 0.01 + rtt_s, False, "A", got, sent + full, window=0)
    at_s += 0.01 + rtt_s
    last_s = 0.0
    for later_s in backoff(0.5, repeats):
        wire.tcp(at_s + later_s, True, "A", sent + full - 1, got)
        wire.tcp(at_s + later_s + rtt_s, False, "A", got, sent + full, window=0)
        last_s = later_s + rtt_s
    kind, outcome = found(wire)
    assert kind == "receiver_stopped_reading"
    assert f"{last_s:.1f}".removesuffix(".0") in outcome["sentence"] or last_s > 99
    wire.tcp(at_s + last_s + 0.1, False, "A", got, sent + full, window=900)
    assert found(wire)[0] is None


@few
@given(wires(), rtts, vantages, st.booleans())
def test_a_reset_names_its_side(wire: Wire, rtt_s: float, near_client: bool, by_client: bool) -> None:
    at_s, sent, got = after_exchanges(wire, rtt_s, near_client=near_client)
    wire.tcp(at_s + 0.1, True, "PA", sent, got, 700)
    if by_client:
        wire.tcp(at_s + 0.2, True, "RA", sent + 700, got)
    else:
        wire.tcp(at_s + 0.2, False, "RA", got, sent)
    assert found(wire)[0] == ("reset_by_client" if by_client else "reset_by_server")


@few
@given(wires(), rtts, st.integers(1, 20))
def test_a_reset_with_another_ttl_is_of_a_device(wire: Wire, rtt_s: float, nearer: int) -> None:
    wire = Wire(replace(wire.ends, ttl=(64, 40)), wire.vlans)
    at_s, sent, got = after_exchanges(wire, rtt_s)
    wire.tcp(at_s + 0.1, True, "PA", sent, got, 700).tcp(at_s + 0.1 + rtt_s / 3, False, "R", got, sent, ttl=40 + nearer)
    kind, outcome = found(wire)
    assert kind == "reset_by_middlebox"
    assert f"Its TTL is {40 + nearer}, that of the server's packets 40" in outcome["sentence"]


@few
@given(wires(), rtts, st.floats(6, 4000), st.booleans())
def test_a_reset_after_idle_says_how_long(wire: Wire, rtt_s: float, idle_s: float, asked: bool) -> None:
    at_s, sent, got = after_exchanges(wire, rtt_s)
    at_s += idle_s
    if asked:
        wire.tcp(at_s, True, "PA", sent, got, 100)
        at_s += rtt_s
    wire.tcp(at_s, False, "RA", got, sent)
    kind, outcome = found(wire)
    assert kind == "idle_then_reset"
    assert "dle for" in outcome["sentence"]


@few
@given(wires(), rtts)
def test_a_close_that_ends_with_a_reset_is_none(wire: Wire, rtt_s: float) -> None:
    at_s, sent, got = after_exchanges(wire, rtt_s)
    wire.tcp(at_s + 0.1, True, "FA", sent, got).tcp(at_s + 0.1 + rtt_s, False, "PA", got, sent + 1, 31)
    wire.tcp(at_s + 0.1 + rtt_s + 1e-4, True, "R", sent + 1)
    assert found(wire)[0] is None


@few
@given(wires(), rtts, st.booleans(), vantages)
def test_one_direction_alone_is_named(wire: Wire, rtt_s: float, of_client: bool, near_client: bool) -> None:
    after_exchanges(wire, rtt_s, near_client=near_client)
    source = wire.ends.client if of_client else wire.ends.server
    own = ip_address(source).packed
    link_bytes = 14 + 4 * wire.vlans if wire.vlans else 0
    place = link_bytes + {4: 12, 16: 8}[len(own)]
    kept = [one for one in wire.records if one[1][place : place + len(own)] == own]
    assert 0 < len(kept) < len(wire.records)
    assert found(Wire(wire.ends, wire.vlans, kept))[0] == "one_direction_only"


@few
@given(wires(), st.sampled_from([(3, 1), (3, 0), (3, 13), (11, 0)]), st.booleans(), st.integers(4, 40))
def test_icmp_errors_come_to_their_connection(
    wire: Wire, error: tuple[int, int], translated: bool, quoted_bytes: int
) -> None:
    six = ":" in wire.ends.client
    kind, code = {(3, 1): (1, 3), (3, 0): (1, 0), (3, 13): (1, 1), (11, 0): (3, 0)}[error] if six else error
    sender = "2001:db8::99" if six else "192.0.2.1"
    quoted = replace(wire.ends, client="2001:db8::77" if six else "192.0.2.77", ports=(7, wire.ends.ports[1]))
    wire.tcp(0, True, "S").tcp(1, True, "S")
    wire.icmp(1.5, kind, code, sender=sender, quoted=quoted if translated else None, quoted_bytes=quoted_bytes)
    errors = wire.connection()["icmp_errors"]
    if translated and quoted_bytes < 8:
        assert errors == []
        return
    assert [(one["type"], one["code"], one["from"], one["frame"]) for one in errors] == [(kind, code, sender, 3)]
    assert found(wire)[0] == "syn_unanswered"


@few
@given(wires(), st.integers(600, 1400), rtts)
def test_the_mtu_of_an_error_stands_in_the_evidence(wire: Wire, mtu: int, rtt_s: float) -> None:
    six = ":" in wire.ends.client
    at_s = opened(wire, rtt_s) + 0.001
    full = wire.ends.full
    wire.tcp(at_s, True, "A", 0, 0, full)
    for later_s in backoff(0.3, 4):
        wire.tcp(at_s + later_s, True, "A", 0, 0, full)
        kind, code = (2, 0) if six else (3, 4)
        wire.icmp(at_s + later_s + 1e-3, kind, code, sender="2001:db8::99" if six else "192.0.2.1", mtu=mtu, start=0)
    kind_found, outcome = found(wire)
    assert (kind_found, outcome["confidence"]) == ("large_segments_lost", 0.95)
    assert any(f"no packet above {mtu:,} bytes passes" in one["text"] for one in outcome["evidence"])
    assert {one["mtu"] for one in wire.connection()["icmp_errors"]} == {mtu}
