"""Two runs that are one: a host sent, another one received, and packets that both recorded set their clocks.

The connections between the hosts (`providers.queues.two_hosts`) are matched as `compare` matches any two captures. What
the receiving host noted is then moved to the sending host's clock, by its offset and its skew.
"""

from array import array
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np

from vmtrace.analyze.compare.clock import Clock
from vmtrace.analyze.compare.comparison import NothingInCommonError, compare
from vmtrace.analyze.reports.queues.calls import Ints, ProcessLog
from vmtrace.analyze.reports.queues.records import BOTH, RECEIVES, SENDS, QueueRun
from vmtrace.analyze.reports.queues.wire import captures_of
from vmtrace.analyze.trace import TraceError, read

_TIMES = ("start_ns", "end_ns")


def with_joined(runs: Sequence[QueueRun]) -> list[QueueRun]:
    """The runs, and behind them each that two of them make together; or why they cannot, as their problem."""
    receiving = {run.id: run for run in runs if run.half == RECEIVES}
    found = list(runs)
    for place, run in enumerate(runs):
        if run.half == SENDS and run.id in receiving:
            clocks, problems = _clocks(run, receiving[run.id])
            if problems:
                found[place] = replace(run, problems=(*run.problems, *problems))
            else:
                found.append(_joined(run, receiving[run.id], clocks))
    return found


def _joined(sends: QueueRun, receives: QueueRun, clocks: dict[int, Clock]) -> QueueRun:
    logs = [_moved(deepcopy(log), clocks[log.stage]) for log in receives.logs if log.stage in clocks]
    errors_s = [clock.offset_error_s or 0.0 for clock in clocks.values()]
    stages = zip(sends.stages, receives.stages, strict=False)
    return replace(
        sends,
        name=f"{sends.name} to {receives.name}",
        half=BOTH,
        location=" to ".join(run.location or "?" for run in (sends, receives)),
        stages=tuple(replace(one, receivers=two.receivers, deleters=two.deleters) for one, two in stages),
        ends=(),
        logs=(*sends.logs, *logs),
        round_trips_s=(),
        collected=receives.collected,
        clock_moved_s=max(errors_s, default=0.0) + (sends.clock_moved_s or 0.0) + (receives.clock_moved_s or 0.0),
        left_behind=0,
        charges=None,
        problems=("bytes on the wire, findings and charges are those of each host's own run",),
    )


def _clocks(sends: QueueRun, receives: QueueRun) -> tuple[dict[int, Clock], list[str]]:
    """The receiving host's clock in each stage, and why it is not known in others."""
    if sends.window:
        return {}, ["messages of two hosts are joined without --from and --until alone"]
    clocks: dict[int, Clock] = {}
    problems: list[str] = []
    theirs = {end.stage: path for end, path in captures_of(receives)}
    for end, path in captures_of(sends):
        try:
            clock = compare(read(path), read(theirs[end.stage])).clock
        except KeyError:
            problems.append(f"stage {end.stage}: the receiving host has no capture of it: clocks are not matched")
            continue
        except (NothingInCommonError, TraceError, OSError) as error:
            problems.append(f"stage {end.stage}: clocks are not matched: {error}")
            continue
        why = "a clock was set while it lasted" if clock.steps else clock.why_not
        if clock.offset_s is None or clock.steps:
            problems.append(f"stage {end.stage}: clocks are not matched: {why}")
        else:
            clocks[end.stage] = clock
    if not clocks and not problems:
        problems.append("clocks are not matched: no packets were recorded, give --clock and leave out --no-capture")
    return clocks, problems


def _moved(log: ProcessLog, clock: Clock) -> ProcessLog:
    """What a process of the receiving host noted, by the sending host's clock."""
    for calls in log.calls.values():
        calls.start_ns, calls.end_ns = _by(calls.start_ns, clock), _by(calls.end_ns, clock)
    for rows in (log.received, log.deleted):
        for name in _TIMES:
            rows.columns[name] = _by(rows.columns[name], clock)
    return log


def _by(times_ns: "array[int]", clock: Clock) -> "array[int]":
    found: Ints = np.array(times_ns, np.int64)
    offset_ns = round((clock.offset_s or 0.0) * 1e9)
    since_ns = found - offset_ns - clock.reference_ns
    drifted_ns = (since_ns.astype(np.float64) * (clock.skew_ppm or 0.0) * 1e-6).astype(np.int64)
    return array("q", (found - offset_ns - drifted_ns).tolist())
