"""Discovery runs as a test wants them: folders with the lines that `vmtrace discover run` writes."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vmtrace.analyze.findings.services.ranges import AddressRanges
from vmtrace.analyze.reports.discovery.records import DiscoveryRun
from vmtrace.analyze.reports.discovery.report import Report, measured, report_of
from vmtrace.analyze.reports.discovery.run_folder import read_discovery_run

START_NS = 1_795_000_000_000_000_000
SECOND_NS = 1_000_000_000
LAUSANNE, NEW_YORK, HONG_KONG = (46.52, 6.57), (40.71, -74.01), (22.28, 114.17)
DUBLIN = {"name": "s3.dub.example", "provider": "made", "region": "dub", "label": "Ireland", "city": "Dublin",
          "country": "IE", "iata": "DUB"}  # fmt: skip


class MadeRun:
    """One run's folder; each call adds lines."""

    def __init__(self, folder: Path, vantage: str, at: tuple[float, float] | None, **state: Any) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        position = None if at is None else {"lat": at[0], "lon": at[1]}
        self.state = {
            "schema": "vmtrace.discovery_run/1", "status": "complete", "vantage": vantage, "position": position,
            "start_ns": START_NS, "port": 443, "names": [DUBLIN], "resolvers": [], "landmarks": [], "captures": [],
            "set_aside": [], "given_up": [], "notes": [], "addresses_left_out": 0, **state,
        }  # fmt: skip
        self.write()

    def write(self, **state: Any) -> None:
        """`run.json`."""
        self.state |= state
        (self.folder / "run.json").write_text(json.dumps(self.state))

    def lines(self, name: str, *records: Mapping[str, Any]) -> None:
        """Lines of a file."""
        with (self.folder / f"{name}.jsonl").open("a") as file:
            file.writelines(json.dumps(one) + "\n" for one in records)

    def answer(self, resolver: str, *addresses: str, at_s: float = 0.0, **more: Any) -> None:
        """A reply."""
        record = {"time_ns": START_NS + round(at_s * 1e9), "name": DUBLIN["name"], "kind": "A", "resolver": resolver,
                  "status": "answered" if addresses else "no_data", "addresses": list(addresses), "aliases": [],
                  "ttl_s": 60}  # fmt: skip
        self.lines("answers", record | more)

    def round_trips(self, address: str, *rtts_s: float | None, method: str = "icmp") -> None:
        """Echoes to an address."""
        self.lines("round_trips", *({"front_end": address, "port": 443, "method": method, "time_ns": START_NS,
                                     "rtt_s": one} for one in rtts_s))  # fmt: skip

    def trace(self, address: str, *hops: tuple[str, float], method: str = "icmp") -> None:
        """A route whose last hop is the address itself."""
        found = [{"ttl": ttl, "address": hop, "rtt_s": rtt_s} for ttl, (hop, rtt_s) in enumerate(hops, 1)]
        self.lines("traces", {"address": address, "method": method, "tool": "made", "reached": True, "hops": found})

    def called(self, **names: str | None) -> None:
        """Reverse names; addresses with `_` for `.`."""
        self.lines("reverse_names", *({"address": one.strip("_").replace("_", "."), "name": name}
                                      for one, name in names.items()))  # fmt: skip

    def read(self) -> DiscoveryRun:
        """As the report reads it."""
        return read_discovery_run(self.folder)


def reported(runs: Iterable[MadeRun]) -> Report:
    """The report of these runs."""
    problems: list[str] = []
    return report_of(measured([one.read() for one in runs], problems, lambda _: None), AddressRanges(), problems)


def three_vantages(folder: Path, rtts_s: Sequence[float], address: str = "198.18.16.1") -> list[MadeRun]:
    """An address seen from Lausanne, New York and Hong Kong, each with its round trip."""
    places = {"lausanne": LAUSANNE, "new-york": NEW_YORK, "hong-kong": HONG_KONG}
    made = []
    for (vantage, at), rtt_s in zip(places.items(), rtts_s, strict=True):
        run = MadeRun(folder / vantage, vantage, at)
        run.answer("192.0.2.1", address)
        run.round_trips(address, rtt_s, rtt_s + 0.001, None)
        made.append(run)
    return made
