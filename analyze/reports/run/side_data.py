"""What a run folder holds beside packets: host counters of both sides and CloudWatch's table, on the sender's clock."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from vmtrace.analyze.read.records.run_folder import inside
from vmtrace.analyze.read.side.cloudwatch import read_cloudwatch
from vmtrace.analyze.read.side.host import host_files, read_host
from vmtrace.analyze.read.side.metrics import Periods
from vmtrace.analyze.reports.run.results import RunResults, measured

Source = Literal["host", "cloudwatch"]


_FAR_S = 1e9
"""No clock is a generation away; times moved by more would not fit."""
CLOUDWATCH_FILE = "cloudwatch.csv"


@dataclass(frozen=True, slots=True)
class Absent:
    """What was not recorded, or cannot be used."""

    name: str
    label: str
    source: Source
    reason: str


@dataclass(frozen=True, slots=True)
class SideData:
    """Metrics over time, and what of them is not there, with the reason."""

    metrics: tuple[Periods, ...]
    absent: tuple[Absent, ...]

    def of(self, source: Source) -> list[Periods]:
        """The metrics of one source."""
        return [one for one in self.metrics if one.metric.source == source]

    def named(self, name: str) -> Periods | None:
        """The first metric of this name."""
        return next((one for one in self.metrics if one.metric.name == name), None)


def side_data(results: RunResults) -> SideData:
    """Read once for each run; a file that cannot be read is absent."""
    return results.once("side_data", lambda: _read(results))


def receiver_ahead_s(results: RunResults) -> float | None:
    """By how much the receiver's clock is ahead: by the packets of both sides, else as the run noted at its start."""
    offsets = measured(results.transfers, lambda one: one.clock_offset_s)
    known = offsets[~np.isnan(offsets)]
    return float(np.median(known)) if len(known) else results.run.record.clock_offset_s


def _read(results: RunResults) -> SideData:
    metrics, absent = list[Periods](), list[Absent]()
    sources: tuple[tuple[str, str, Source, Callable[[RunResults], list[Periods]]], ...] = (
        ("sender_host", "counters of the sender's host", "host", _of_sender),
        ("receiver_host", "counters of the receiver's host", "host", _of_receiver),
        ("cloudwatch", "CloudWatch's metrics", "cloudwatch", _of_cloudwatch),
    )
    for name, label, source, read in sources:
        try:
            metrics += read(results)
        except _AbsentError as why:
            absent.append(Absent(name, label, source, str(why)))
        except OSError as error:
            absent.append(Absent(name, label, source, f"cannot be read: {error.strerror}"))
    return SideData(tuple(metrics), tuple(absent))


class _AbsentError(Exception):
    """There is nothing to join; the message says why."""


def _host(results: RunResults, side: str) -> list[Periods]:
    folder = results.run.folder
    paths = [path for path in host_files(folder / "host", side) if inside(folder, f"host/{path.name}")]
    found = read_host(paths, side)
    if not found:
        raise _AbsentError("not in the run folder" if not paths else "its files hold none")
    return found


def _of_sender(results: RunResults) -> list[Periods]:
    return _host(results, "sender")


def _of_receiver(results: RunResults) -> list[Periods]:
    found = _host(results, "receiver")
    ahead_s = receiver_ahead_s(results)
    if ahead_s is None or abs(ahead_s) > _FAR_S:
        raise _AbsentError("the offset of its clock is not known, so they cannot be aligned with the transfers")
    return [one.moved(-round(ahead_s * 1e9)) for one in found]


def _of_cloudwatch(results: RunResults) -> list[Periods]:
    path = inside(results.run.folder, CLOUDWATCH_FILE)
    if path is None:
        raise _AbsentError("not fetched (vmtrace cloudwatch fetch)")
    found = read_cloudwatch(path)
    if not found:
        raise _AbsentError("the table holds none that is known")
    return found
