"""What `vmtrace discover` reports, held against the truth of the world. Pure: reads a report, starts nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from vmtrace.lab.world import plan
from vmtrace.lab.world.geography import FIBRE_KM_PER_S, Place, distance_km
from vmtrace.lab.world.plan import World

NEAR_KM = 150.0
_HINT_SLACK_KM = 50.0
"""As far from a city's middle a hint may still be true: the same bound that the report uses."""
_GOOD_VANTAGES = 2


@dataclass(frozen=True, slots=True)
class Score:
    """All counts; `good` is whether everything that must hold does."""

    addresses: int
    addresses_found: int
    never_given: tuple[str, ...]
    """Found, but given by no honest resolver."""
    with_good_vantages: int
    located: int
    located_near: int
    errors_km: tuple[float, ...]
    hints_lying: int
    hints_refutable: int
    hints_refuted: int
    true_hints_refuted: tuple[str, ...]
    liars: int
    liars_set_aside: int
    honest_set_aside: tuple[str, ...]
    questions: int
    answerable_unanswered: int
    answerable: int
    steered_seen: bool | None

    @property
    def share_near(self) -> float:
        """Of the addresses with two or more good vantage points."""
        return self.located_near / self.with_good_vantages if self.with_good_vantages else 0.0

    def failures(self) -> list[str]:
        """What does not hold, a line each."""
        held = {
            "every address found": self.addresses_found == self.addresses,
            "no address of a liar reported": not self.never_given,
            "nine of ten located within 150 km": self.share_near >= 0.9,
            "every lying hint refuted that physics refutes": self.hints_refuted == self.hints_refutable,
            "no true hint refuted": not self.true_hints_refuted,
            "every liar set aside": self.liars_set_aside == self.liars,
            "no honest resolver set aside": not self.honest_set_aside,
            "at most 1 % of the answerable unanswered": self.answerable_unanswered <= 0.01 * self.answerable,
            "steering by place seen": self.steered_seen is not False,
        }
        return [what for what, holds in held.items() if not holds]

    def as_record(self) -> dict[str, Any]:
        """For a file."""
        return {**asdict(self), "share_near": self.share_near, "failures": self.failures()}


def score(world: World, report: Mapping[str, Any], answers: Iterable[Mapping[str, Any]]) -> Score:
    """`answers` are the lines of `answers.jsonl` of all runs."""
    rows = {row["address"]: row for name in report["names"] for row in name["addresses"] if "." in row["address"]}
    truth = {one.address: one for one in world.front_ends}
    located, errors = _located(world, rows)
    lying, refutable, refuted, wrongly = _hints(world, rows)
    honest = {one.address for one in world.resolvers if one.behaviour in {plan.HONEST, plan.TRUNCATES}}
    liars = {one.address for one in world.resolvers if one.behaviour in {plan.LIES, plan.FLOODS}}
    aside = {label for vantage in report["vantages"] for label in vantage["set_aside"]}
    questions, answerable, unanswered = _answered(answers, honest)
    steered = next((name for name in report["names"] if name["name"] == plan.STEERED), None)
    return Score(
        addresses=len(truth),
        addresses_found=len(truth.keys() & rows.keys()),
        never_given=tuple(sorted(rows.keys() - truth.keys())),
        with_good_vantages=sum(_vantages_of(row) >= _GOOD_VANTAGES for row in rows.values()),
        located=located,
        located_near=sum(error <= NEAR_KM for error in errors),
        errors_km=tuple(round(error, 1) for error in sorted(errors)),
        hints_lying=lying,
        hints_refutable=refutable,
        hints_refuted=refuted,
        true_hints_refuted=tuple(wrongly),
        liars=len(liars),
        liars_set_aside=len(liars & aside),
        honest_set_aside=tuple(sorted(aside - liars)),
        questions=questions,
        answerable_unanswered=unanswered,
        answerable=answerable,
        steered_seen=None if steered is None else steered["depends_on_resolver_place"]["depends"],
    )


def _vantages_of(row: Mapping[str, Any]) -> int:
    return len({trip["vantage"] for trip in row["round_trips"] if trip["min_s"] is not None})


def _located(world: World, rows: Mapping[str, Mapping[str, Any]]) -> tuple[int, list[float]]:
    truth = {one.address: world.site(one.site).place for one in world.front_ends}
    errors = []
    for address, place in truth.items():
        found = rows.get(address, {}).get("location")
        if found is not None and _vantages_of(rows[address]) >= _GOOD_VANTAGES:
            errors.append(distance_km(place, Place("", "", "", found["lat"], found["lon"])))
    return len(errors), errors


def _hints(world: World, rows: Mapping[str, Mapping[str, Any]]) -> tuple[int, int, int, list[str]]:
    """Lying reverse names, those that the delays of the world refute, those refuted; and true ones refuted."""
    places = {site.place.iata: site.place for site in world.sites}
    lying = refutable = refuted = 0
    wrongly = []
    for one in world.front_ends:
        evidence = rows.get(one.address, {}).get("evidence", [])
        own = [line for line in evidence if line["kind"] == "reverse_name"]
        is_refuted = bool(own) and all(line["refuted"] for line in own)
        if one.reverse_kind == plan.TRUE and is_refuted:
            wrongly.append(one.reverse)
        if one.reverse_kind == plan.LYING and one.claims is not None:
            lying += 1
            impossible = _impossible(world, one.site, places[one.claims])
            refutable += impossible
            refuted += impossible and is_refuted
    return lying, refutable, refuted, wrongly


def _impossible(world: World, site: str, claimed: Place) -> bool:
    """Whether some vantage point's round trip is too short for the claim, with a margin for the carrier's own time.

    The report holds the airport against the round trip, which stands some km from the city: the margin covers it.
    """
    for vantage, at in world.vantages.items():
        rtt_s = 2 * world.one_way_s(vantage, world.site(site).place) + 0.001
        if distance_km(at, claimed) - 2 * _HINT_SLACK_KM > rtt_s / 2 * FIBRE_KM_PER_S:
            return True
    return False


def _answered(answers: Iterable[Mapping[str, Any]], honest: set[str]) -> tuple[int, int, int]:
    asked = answerable = unanswered = 0
    for one in answers:
        asked += 1
        if one["resolver"] in honest:
            answerable += 1
            unanswered += one["status"] not in {"answered", "no_data", "no_such_name"}
    return asked, answerable, unanswered
