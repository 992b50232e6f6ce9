"""A campaign that is no benchmark, read and measured: its log, its steps, its packets, and every table of its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from vmtrace.analyze.reports.storage.availability import AvailabilityRow, availability_rows, outage_rows, retry_rows
from vmtrace.analyze.reports.storage.change_points import ChangePoint
from vmtrace.analyze.reports.storage.hedging import HedgingRow, hedging_rows
from vmtrace.analyze.reports.storage.hours import hour_test_rows
from vmtrace.analyze.reports.storage.locations import LocationRow, location_rows
from vmtrace.analyze.reports.storage.network_events import NetworkEvent, network_events
from vmtrace.analyze.reports.storage.packet_facts import PacketFacts, captures_of_campaign, dropped_by, facts_of
from vmtrace.analyze.reports.storage.probes import (
    Lateness,
    address_rows,
    daily_rows,
    hourly_rows,
    lateness,
    size_rows,
    successive_rows,
)
from vmtrace.analyze.reports.storage.records import BENCHMARK, StorageRun
from vmtrace.analyze.reports.storage.requests import Progress, Requests, read_requests
from vmtrace.analyze.reports.storage.step_evidence import StepEvidence, step_evidence
from vmtrace.analyze.reports.storage.steps import SurgeStep, SweepStep, surge_steps, sweep_steps
from vmtrace.analyze.reports.storage.surge import SurgeKnee, SurgeRow, knees, ports_of, surge_rows
from vmtrace.analyze.reports.storage.sweep import SweepRow, merge_rows, sweep_knee_rows, sweep_rows
from vmtrace.formats.quantities import plural

PROBES, SURGE, AVAILABILITY, LOCATIONS, SWEEP = "probes", "surge", "availability", "locations", "sweep"
CLOCKS_APART_S = 1.0
_LISTS = ("surge", "locations", "sweep", "merge", "availability", "outages", "hedging")
Record = dict[str, Any]
_Row = TypeVar("_Row")
_Step = TypeVar("_Step", SurgeStep, SweepStep)


def _of_requests(rows: Callable[[Requests], list[_Row]]) -> cached_property[list[_Row]]:
    """A table of a campaign that is made from its requests; empty without them."""
    return cached_property(lambda campaign: [] if campaign.requests is None else rows(campaign.requests))


def _of_sweep(rows: Callable[[Sequence[SweepStep]], list[_Row]]) -> cached_property[list[_Row]]:
    """A table of a campaign that is made from the steps of its sweep."""
    return cached_property(lambda campaign: rows(campaign.sweep_steps))


@dataclass
class Campaign:
    """One run; each table is made when it is first asked for."""

    run: StorageRun
    requests: Requests | None
    surge_steps: tuple[SurgeStep, ...] = ()
    sweep_steps: tuple[SweepStep, ...] = ()
    facts: PacketFacts | None = None
    evidence: dict[int, StepEvidence] = field(default_factory=dict)
    """Of a surge or sweep: what the packets of each step say."""
    problems: tuple[str, ...] = ()
    at_least_bps: float = 0.0
    """Slower requests count as not available."""

    @property
    def place(self) -> str:
        """The location by the user's word, else the name of the run."""
        return self.run.location or self.run.name

    @property
    def host(self) -> str:
        """For a surge."""
        return self.run.location or self.run.host or self.run.name

    sizes = _of_requests(size_rows)  # Figs 4 to 6 of Garfinkel
    daily = _of_requests(daily_rows)  # Fig. 1
    hourly = _of_requests(hourly_rows)  # Figs 2 and 3
    hour_tests = _of_requests(hour_test_rows)  # of every pair of hours
    successive = _of_requests(successive_rows)  # Fig. 7
    addresses = _of_requests(address_rows)  # Table 1

    @cached_property
    def events(self) -> list[NetworkEvent]:
        """What is behind the steps; of a surge, whose load changes by plan, none are looked for."""
        if self.requests is None or self.run.kind == SURGE:
            return []
        return network_events(self.requests, self.facts)

    @property
    def change_points(self) -> list[ChangePoint]:
        """The steps of all events."""
        return [step for event in self.events for step in event.steps]

    @cached_property
    def lateness(self) -> Lateness | None:
        """Late probes."""
        return lateness(self.requests, self.run.late_after_s) if self.requests is not None else None

    @cached_property
    def availability(self) -> list[AvailabilityRow]:
        """By retries."""
        return availability_rows(self.requests, self.at_least_bps) if self.requests is not None else []

    @cached_property
    def hedging(self) -> list[HedgingRow]:
        """More requests for an object; of a surge, whose load changes by plan, nothing."""
        return [] if self.requests is None or self.run.kind == SURGE else hedging_rows(self.requests)

    outages = _of_requests(outage_rows)  # failures joined
    retries = _of_requests(retry_rows)  # retries and errors told apart

    @cached_property
    def locations(self) -> list[LocationRow]:
        """Table 2."""
        if self.requests is None or self.run.kind == SURGE:
            return []
        return location_rows(self.requests, self.place)

    @cached_property
    def surge(self) -> list[SurgeRow]:
        """Fig. 8."""
        return surge_rows(self.requests, self.surge_steps, self.evidence, self.host)

    @cached_property
    def surge_knees(self) -> list[SurgeKnee]:
        """For each direction."""
        return knees(self.requests, self.surge_steps, self.host)

    @cached_property
    def sweep(self) -> list[SweepRow]:
        """By connections, part size and source."""
        return sweep_rows(self.sweep_steps, self.evidence)

    sweep_knees = _of_sweep(sweep_knee_rows)  # by part size and source
    merge = _of_sweep(merge_rows)  # by parts

    @property
    def dropped(self) -> int:
        """Packets that the capture missed."""
        if self.facts is not None:
            return self.facts.dropped
        return sum(map(dropped_by, captures_of_campaign(self.run.folder)))


def measure_campaign(run: StorageRun, progress: Progress | None = None, at_least_bps: float = 0.0) -> Campaign | None:
    """None for a benchmark."""
    if run.kind == BENCHMARK:
        return None
    problems: list[str] = []
    if run.kind == SWEEP:
        steps = _steps_within(run, sweep_steps(run.folder, problems), problems)
        return Campaign(
            run, None, (), steps, None, step_evidence(run.folder, steps, progress, problems), tuple(problems)
        )
    requests = read_requests(run.folder, problems, run.window)
    facts = facts_of(run.folder, requests, progress) if requests is not None else None
    problems += facts.problems if facts is not None else []
    if run.stock_replaced:
        problems.append(f"{plural(run.stock_replaced, 'object')} of the stock disappeared and had to be recreated")
    found = _steps_within(run, surge_steps(run.folder, problems), problems) if run.kind == SURGE else ()
    ports = {} if requests is None else {step.number: ports_of(requests, step) for step in found}
    evidence = step_evidence(run.folder, found, None, problems, ports) if found else {}
    return Campaign(run, requests, found, (), facts, evidence, tuple(problems), at_least_bps)


def _steps_within(run: StorageRun, steps: tuple[_Step, ...], problems: list[str]) -> tuple[_Step, ...]:
    """Those that began in the part of its time that the report is about."""
    kept = run.window.of(steps, lambda step: step.start_ns)
    problems[:0] = run.window.said(len(kept), len(steps), "step")
    return kept


def has_anything(campaign: Campaign) -> bool:
    """Whether there is a request or a step to report on."""
    return bool(campaign.requests or campaign.surge_steps or campaign.sweep_steps)


def tables_of(campaign: Campaign | None) -> Record:
    """The keys of a run in the JSON document; empty where they are not of its kind."""
    if campaign is None:
        return {"campaign": None, "probes": None} | {name: [] for name in _LISTS}
    probes = campaign.run.kind in {PROBES, AVAILABILITY, LOCATIONS}
    return {
        "campaign": _about(campaign),
        "probes": _probes(campaign) if probes else None,
        **{name: _rows(getattr(campaign, name)) for name in _LISTS},
    }


def _probes(campaign: Campaign) -> Record:
    names = ("sizes", "daily", "hourly", "hour_tests", "successive", "addresses", "change_points")
    events = [{**asdict(one), "steps": len(one.steps)} for one in campaign.events]
    return {name: _rows(getattr(campaign, name)) for name in names} | {"events": events}


def _about(campaign: Campaign) -> Record:
    run, requests, late = campaign.run, campaign.requests, campaign.lateness
    return {
        "kind": run.kind,
        "location": run.location,
        "host": run.host,
        "clock_offset_s": run.clock_offset_s,
        "clock_error_s": run.clock_error_s,
        "at_least_bps": campaign.at_least_bps,
        "requests": None if requests is None else len(requests),
        "lateness": None if late is None else asdict(late),
        "retries": _rows(campaign.retries),
        "names": {} if requests is None else requests.names,
        "ttls_s": [] if requests is None else list(requests.ttls_s),
        "requests_in_captures": None if campaign.facts is None else campaign.facts.seen,
        "dropped_packets": campaign.dropped,
        "surge_knees": _rows(campaign.surge_knees),
        "sweep_knees": _rows(campaign.sweep_knees),
        "problems": list(campaign.problems),
    }


def _rows(rows: Iterable[Any]) -> list[Record]:
    return [asdict(row) for row in rows]


def between(campaigns: Sequence[Campaign]) -> list[str]:
    """What runs given together do not have in common, though it takes that to compare them."""
    found = []
    kinds = {one.run.kind for one in campaigns}
    for kind in sorted(kinds):
        same = [one for one in campaigns if one.run.kind == kind]
        if len({one.run.plan_record for one in same}) > 1:
            names = ", ".join(one.run.name for one in same)
            found.append(f"these runs have different plans of kind {kind}: {names}: compare with care")
    surges = [one.run for one in campaigns if one.run.kind == SURGE]
    if len({run.surge_start_ns for run in surges}) > 1:
        found.append("these surges did not begin at the same time: they were not in step (--start-at)")
    offsets = [(run.clock_offset_s, run.name) for run in surges if run.clock_offset_s is not None]
    if offsets and max(offsets)[0] - min(offsets)[0] > CLOCKS_APART_S:
        apart_s = max(offsets)[0] - min(offsets)[0]
        found.append(f"the clocks of {min(offsets)[1]} and {max(offsets)[1]} are {apart_s:.2f} s apart: not in step")
    return found
