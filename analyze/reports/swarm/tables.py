"""All tables of swarm runs in one place, so that terminal, page, CSV and JSON have the same rows."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from vmtrace.analyze.findings.joined import JoinedRow, joined
from vmtrace.analyze.reports.swarm.capacity import CapacityRow, capacity_rows
from vmtrace.analyze.reports.swarm.charges import ChargeRow, PerGb, charge_rows
from vmtrace.analyze.reports.swarm.comparison import PrivateRow, SeedsRow, private_rows, seeds_rows
from vmtrace.analyze.reports.swarm.measured import MeasuredDownload, MeasuredRun
from vmtrace.analyze.reports.swarm.records import SWARM
from vmtrace.analyze.reports.swarm.rows import RunRow, run_rows

Record = dict[str, Any]


@dataclass
class Report:
    """One run folder with its tables, each made when it is first asked for."""

    measured: MeasuredRun
    prices: PerGb | None = None

    @property
    def name(self) -> str:
        """Of the data set."""
        return self.measured.run.name

    @property
    def swarms(self) -> list[MeasuredDownload]:
        """The downloads that are no measurement of a capacity."""
        return [one for one in self.measured.downloads if one.download.purpose == SWARM]

    @cached_property
    def capacities(self) -> list[CapacityRow]:
        """Each source alone."""
        return capacity_rows(self.measured)

    @cached_property
    def runs(self) -> list[RunRow]:
        """Each download."""
        return run_rows(self.measured.run, self.measured.downloads, self.capacities)

    @cached_property
    def findings(self) -> list[JoinedRow]:
        """What held the downloads back, by the packets."""
        return joined([said for one in self.swarms for said in one.said], "download")

    @cached_property
    def by_seeds(self) -> list[SeedsRow]:
        """Fig. 5."""
        return seeds_rows(self.runs)

    @cached_property
    def private(self) -> list[PrivateRow]:
        """Fig. 6."""
        return private_rows(self.runs)

    @cached_property
    def charges(self) -> list[ChargeRow]:
        """By the table of prices."""
        return charge_rows(self.runs, self.measured.run.size_bytes, self.prices)


def over_time(report: Report) -> list[Record]:
    """Bytes and share of each source per bin of time, by packets, with the totals until then."""
    return [row for one in report.swarms if one.captured for row in _bins(one)]


def _bins(one: MeasuredDownload) -> list[Record]:
    found: list[Record] = []
    length = max((len(source.arrivals.bytes) for source in one.sources), default=0)
    sums = [0.0] * len(one.sources)
    for place in range(length):
        for number, source in enumerate(one.sources):
            sums[number] += float(source.arrivals.bytes[place]) if place < len(source.arrivals.bytes) else 0.0
        total = sum(sums)
        found += [
            {
                "download": one.download.number,
                "from_s": place * one.bin_s,
                "to_s": (place + 1) * one.bin_s,
                "kind": source.source.kind,
                "address": source.source.address,
                "bytes": int(source.arrivals.bytes[place]) if place < len(source.arrivals.bytes) else 0,
                "bytes_so_far": int(sums[number]),
                "share_so_far": sums[number] / total if total else None,
            }
            for number, source in enumerate(one.sources)
        ]
    return found


def tables(report: Report) -> dict[str, list[Record]]:
    """Every table but that of the runs themselves, as records."""
    named: dict[str, Sequence[Any]] = {
        "findings": report.findings,
        "capacities": report.capacities,
        "by_seeds": report.by_seeds,
        "public_against_forbidden": report.private,
        "charges": report.charges,
    }
    return {name: [asdict(row) for row in rows] for name, rows in named.items()}
