"""The lab world: drawn, carried, answered, discovered; the score counts what it should."""

import json
import shutil
import socket
import struct
from pathlib import Path
from typing import Any

import pytest
from dnslib import QTYPE, DNSRecord

from tests import golden_texts
from vmtrace.capture.icmp import internet_checksum
from vmtrace.lab.world import plan, servers
from vmtrace.lab.world.__main__ import lines, main, score_of
from vmtrace.lab.world.emulator import Crossing, Way, crossing_from, ipv4, time_exceeded
from vmtrace.lab.world.geography import CITIES, FIBRE_KM_PER_S, SITES, VANTAGES, distance_km, one_way_s
from vmtrace.lab.world.load import load_of
from vmtrace.lab.world.plan import World
from vmtrace.lab.world.running import landmarks_file, look_at, names_file, resolvers_file
from vmtrace.lab.world.score import NEAR_KM, score
from vmtrace.lab.world.standing import ways

SIZE = {"seed": 1, "sites": 4, "per_site": 3, "resolvers": 16}
VANTAGE, FRONT_END, ROUTER = (socket.inet_aton(one) for one in ("198.19.1.2", "198.18.16.1", "198.18.64.1"))


@pytest.fixture(scope="module")
def world() -> World:
    return plan.draw(**SIZE)


def test_a_seed_gives_one_world_with_shares_of_every_kind(world: World) -> None:
    assert plan.draw(**SIZE) == world
    assert plan.draw(**{**SIZE, "seed": 3}) != world
    assert len({one.address for one in world.front_ends}) == 12
    whole = plan.draw(1)
    kinds = [one.reverse_kind for one in whole.front_ends]
    assert (len(kinds), len(whole.resolvers), len(whole.vantages)) == (60, 40, 3)
    assert (kinds.count(plan.TRUE), kinds.count(plan.MISSING), kinds.count(plan.LYING)) == (30, 15, 15)
    assert sum(one.behaviour != plan.HONEST for one in whole.resolvers) == 8
    assert {one.name_kind for routers in whole.routers.values() for one in routers} == {
        plan.TRUE,
        plan.MISSING,
        plan.LYING,
    }


def test_no_round_trip_is_shorter_than_light_in_fibre_takes(world: World) -> None:
    for vantage, at in VANTAGES.items():
        for place in (*(site.place for site in SITES[:4]), *CITIES):
            assert world.one_way_s(vantage, place) >= one_way_s(distance_km(at, place), 1.0)
    assert distance_km(VANTAGES["lausanne"], VANTAGES["new-york"]) == pytest.approx(6230, rel=0.01)
    assert pytest.approx(199_861.6, rel=1e-6) == FIBRE_KM_PER_S


def test_a_lying_name_claims_another_site(world: World) -> None:
    for one in world.front_ends:
        own = world.site(one.site).place.iata
        assert {plan.TRUE: one.claims == own, plan.MISSING: one.claims is None,
                plan.LYING: one.claims not in {own, None}}[one.reverse_kind]  # fmt: skip


def packet(source: bytes, target: bytes, ttl: int, protocol: int = 6) -> bytes:
    made = ipv4(source, target, protocol, struct.pack("!HHI", 40000, 443, 7) + bytes(12))
    return made[:8] + bytes([ttl]) + made[9:]


@pytest.fixture
def crossing() -> Crossing:
    way = Way(5_000_000, ((ROUTER, 4_000_000),))
    return Crossing([{FRONT_END: way}], {VANTAGE: 1}, Way(1_000_000, ()))


def test_a_packet_is_delayed_both_ways_and_loses_a_hop(crossing: Crossing) -> None:
    there = crossing.of(1, packet(VANTAGE, FRONT_END, 64))
    back = crossing.of(0, packet(FRONT_END, VANTAGE, 64))
    assert there is not None
    assert back is not None
    assert (there[0], there[1], there[2][8]) == (0, 5_000_000, 63)
    assert (back[0], back[1], back[2][8]) == (1, 5_000_000, 63)
    assert internet_checksum(there[2][:20]) == 0
    assert there[2][20:] == packet(VANTAGE, FRONT_END, 64)[20:]


def test_a_router_answers_where_the_time_to_live_ends(crossing: Crossing) -> None:
    found = crossing.of(1, packet(VANTAGE, FRONT_END, 1))
    assert found is not None
    side, delay_ns, reply = found
    assert (side, delay_ns) == (1, 8_000_000)
    assert (reply[12:16], reply[16:20], reply[9], reply[20]) == (ROUTER, VANTAGE, 1, 11)
    assert internet_checksum(reply[20:]) == 0
    assert reply[28 + 12 : 28 + 20] == VANTAGE + FRONT_END  # the packet that it is about


def test_no_error_is_sent_about_an_error() -> None:
    about = ipv4(VANTAGE, FRONT_END, 1, bytes([11, 0]) + bytes(40))
    assert time_exceeded(about, ROUTER) is None


@pytest.mark.parametrize("data", [b"", b"\x60" + bytes(39), bytes(40)])
def test_what_is_no_packet_of_this_world_goes_nowhere(crossing: Crossing, data: bytes) -> None:
    assert crossing.of(1, data) is None
    assert crossing.of(0, packet(FRONT_END, FRONT_END, 64)) is None


def test_the_carriers_settings_hold_every_address(world: World) -> None:
    found = ways(world)
    crossing = crossing_from(json.loads(json.dumps(found)))
    for one in world.front_ends:
        there = crossing.of(1, packet(socket.inet_aton("198.19.1.2"), socket.inet_aton(one.address), 64))
        assert there is not None
        assert there[1] == pytest.approx(1e9 * world.one_way_s("lausanne", world.site(one.site).place), abs=2)


def asked(world: World, resolver: plan.Resolver, name: str, kind: str = "A", protocol: str = "udp") -> DNSRecord:
    class Handler:
        pass

    handler = Handler()
    handler.protocol = protocol  # type: ignore[attr-defined]
    return servers.resolver_for(servers.Answers(world), resolver).resolve(DNSRecord.question(name, kind), handler)


def addresses(reply: DNSRecord) -> list[str]:
    return [str(one.rdata) for one in reply.rr if one.rtype == QTYPE.A]


def test_resolvers_answer_by_place(world: World) -> None:
    def near(city: str) -> set[str]:
        place = next(one for one in CITIES if one.city == city)
        got = addresses(asked(world, plan.Resolver("192.0.2.1", place, plan.HONEST), plan.STEERED))
        return {one.site for one in world.front_ends if one.address in got}

    assert (near("Madrid"), near("Helsinki")) == ({"eu-west-2"}, {"eu-north-1"})


@pytest.mark.parametrize(
    ("behaviour", "count"), [(plan.HONEST, 3), (plan.LIES, 1), (plan.FLOODS, 1000), (plan.REFUSES, 0)]
)
def test_bad_resolvers_behave_badly(world: World, behaviour: str, count: int) -> None:
    resolver = plan.Resolver("198.18.32.9", CITIES[0], behaviour)
    reply = asked(world, resolver, world.names()[0])
    assert len(addresses(reply)) == count
    truth = {one.address for one in world.front_ends}
    assert set(addresses(reply)) <= truth or behaviour in {plan.LIES, plan.FLOODS}


def test_a_truncated_reply_is_whole_over_tcp(world: World) -> None:
    resolver = plan.Resolver("198.18.32.9", CITIES[0], plan.TRUNCATES)
    assert asked(world, resolver, world.names()[0]).header.tc == 1
    assert len(addresses(asked(world, resolver, world.names()[0], protocol="tcp"))) == 3


def test_reverse_names_are_answered(world: World) -> None:
    address, name = next(iter(world.reverse_names().items()))
    pointer = ".".join(reversed(address.split("."))) + ".in-addr.arpa"
    reply = servers.reverse_resolver(world.reverse_names()).resolve(DNSRecord.question(pointer, "PTR"), None)
    assert str(reply.rr[0].rdata).rstrip(".") == name


def test_the_files_say_what_the_provider_and_the_resolvers_say(world: World, tmp_path: Path) -> None:
    names = names_file(world, tmp_path).read_text()
    golden_texts.check("the-files-say-what-the-provider-and-the-resolvers-say", names)
    assert len(resolvers_file(world, tmp_path).read_text().splitlines()) == 17
    assert len(landmarks_file(world, tmp_path).read_text().splitlines()) == 8


def report_for(world: World, **changes: Any) -> dict[str, Any]:
    """A perfect report, but for the changes to its first address."""
    rows = []
    for one in world.front_ends:
        place = world.site(one.site).place
        kinds = [{"kind": "reverse_name", "text": "", "refuted": False}] if one.claims else []
        rows.append({"address": one.address, "location": {"lat": place.lat, "lon": place.lon}, "evidence": kinds,
                     "round_trips": [{"vantage": vantage, "min_s": 0.1} for vantage in VANTAGES]})  # fmt: skip
    rows[0] |= changes
    aside = {one.address: "" for one in world.resolvers if one.behaviour in {plan.LIES, plan.FLOODS}}
    return {"names": [{"name": "all", "addresses": rows}], "vantages": [{"set_aside": aside}]}


def test_the_score_counts_what_is_near_and_what_is_far(world: World) -> None:
    assert score(world, report_for(world), []).located_near == 12
    far = score(world, report_for(world, location={"lat": -33.0, "lon": 151.0}), [])
    assert (far.located, far.located_near, far.with_good_vantages) == (12, 11, 12)
    assert far.errors_km[-1] > NEAR_KM
    lost = score(world, report_for(world, location=None, round_trips=[]), [])
    assert (lost.located, lost.with_good_vantages) == (11, 11)


def test_the_score_fails_what_does_not_hold(world: World) -> None:
    perfect = report_for(world)
    refutable = score(world, perfect, []).hints_refutable
    assert refutable == 0 or "every lying hint refuted that physics refutes" in score(world, perfect, []).failures()
    stranger = report_for(world, address="203.0.113.1")
    assert {"every address found", "no address of a liar reported"} <= set(score(world, stranger, []).failures())
    silent = [{"resolver": world.resolvers[0].address, "status": "silent"}] * 2
    assert "at most 1 % of the answerable unanswered" in score(world, perfect, silent).failures()
    accused = report_for(world)
    accused["vantages"][0]["set_aside"][world.resolvers[0].address] = "x"
    assert "no honest resolver set aside" in score(world, accused, []).failures()


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.slow
@pytest.mark.usefixtures("real_hosts")
def test_a_small_world_is_found_and_located(tmp_path: Path) -> None:
    seen = look_at(SIZE, tmp_path / "world", ("--round-trips", "5"))
    found = score_of(seen)
    known_to_fail = set() if shutil.which("scamper") or shutil.which("mtr") else {"nine of ten located within 150 km"}
    assert set(found.failures()) - known_to_fail == set(), list(lines(found, seen.took_s))
    # A router of every site was seen, by both methods.
    traces = [json.loads(line) for line in (seen.runs["lausanne"] / "traces.jsonl").read_text().splitlines()]
    if traces:
        assert {one["method"] for one in traces if one["reached"]} == {"icmp", "tcp"}
    # Round trips are those of the world: never shorter, and a busy machine's time longer at most.
    world = seen.world
    for name in seen.report["names"]:
        for row in name["addresses"]:
            truth = next((one for one in world.front_ends if one.address == row["address"]), None)
            for trip in row["round_trips"] if truth is not None else ():
                assert truth is not None
                expected_s = 2 * world.one_way_s(trip["vantage"], world.site(truth.site).place)
                assert expected_s <= trip["min_s"] <= expected_s + 0.02
                assert trip["source"] == "packets"


def test_a_machine_that_cannot_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("vmtrace.lab.namespaces.missing_requirement", lambda: "the lab needs root")
    assert main(["--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err == "vmtrace: the lab needs root\n"


def test_the_load_counts_what_answerable_resolvers_left(world: World) -> None:
    honest = next(one.address for one in world.resolvers if one.behaviour == plan.HONEST)
    hanging = next(one.address for one in world.resolvers if one.behaviour == plan.HANGS)
    answers = [
        {"time_ns": 0, "resolver": honest, "status": "answered"},
        {"time_ns": 10**9, "resolver": honest, "status": "silent"},
        {"time_ns": 2 * 10**9, "resolver": hanging, "status": "silent"},
    ]
    found = load_of(world, answers, 50_000_000)
    assert (found.questions, found.answerable, found.unanswered, found.took_s) == (3, 2, 1, 2.0)
    assert "1 of 2 answerable unanswered; peak memory 50 MB" in found.line()
    assert load_of(world, [], 0).rate_per_s == 0
