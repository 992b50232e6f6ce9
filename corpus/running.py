"""A run over a corpus, stage by stage: split, buckets, numbering, tables. What is done already is not done again.

split      runs of captures to slices; those that cannot stand apart are split again as one
buckets    slices to connections; once more those that others concern (limits that hosts share, ICMP errors)
           where hosts were recorded late, both once more with that taken away
beyond TCP frames without TCP, with the connections that followed
merging    numbers, header, small tables, document
tables     the connection table of each bucket, with the numbers
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from vmtrace.analyze.findings.lines import finding_lines
from vmtrace.corpus import beyond, results
from vmtrace.corpus.beyond import BeyondTask, read_beyond
from vmtrace.corpus.buckets import BucketTask, analyze_bucket, is_as_asked
from vmtrace.corpus.engine import Record
from vmtrace.corpus.folder import PARTS, Folder, folder
from vmtrace.corpus.icmp import errors_of, given
from vmtrace.corpus.inputs import CapturesFound
from vmtrace.corpus.joining import checked, in_time_order, runs_to_join
from vmtrace.corpus.merging import lags_of
from vmtrace.corpus.planning import Plan, joined, keep, planned, resumed
from vmtrace.corpus.results import TableTask, write_table
from vmtrace.corpus.splitting import MANIFESTS, SLICES, Manifest, SplitTask, manifests, split
from vmtrace.corpus.workers import Workers


class Display(Protocol):
    """Whom the progress is reported to."""

    def stage(self, name: str, total_bytes: int) -> None:
        """A stage begins, in which so many bytes will be read."""

    def done(self, bytes_read: int) -> None:
        """So many more of them are done."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run is asked for."""

    out: str
    endpoint_url: str | None
    buckets: int | None
    memory_bytes: int
    json: bool
    keep_slices: bool
    filter: str | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """A run that is over."""

    answer: tuple[str, ...]
    header: Record
    connections: int
    input_bytes: int
    slice_bytes: int
    runs: int
    buckets: int
    problems: tuple[str, ...]
    """Of captures that could not be read to their end, one line each."""


@dataclass(frozen=True, slots=True)
class _Buckets:
    """What all buckets gave."""

    records: Sequence[Record]
    crossing: results.Crossing


class Run:
    """One run."""

    def __init__(self, settings: Settings, workers: Workers, display: Display) -> None:
        self._settings = settings
        self._workers = workers
        self._display = display
        self._out: Folder = folder(settings.out, settings.endpoint_url)

    def of(self, found: CapturesFound) -> Done:
        """From captures to results. Raises `CorpusError`, `OSError` and `TraceError`."""
        settings = self._settings
        plan = planned(found, self._workers.count, settings.buckets, settings.memory_bytes, settings.filter)
        plan = resumed(self._out, plan, buckets_given=settings.buckets is not None)
        runs, plan = self._split(plan, ())
        buckets = self._analyze(runs, plan.buckets, settings.out)
        lags = lags_of(buckets.records)
        if lags:
            runs, plan = self._split(plan, lags)
            buckets = self._analyze(runs, plan.buckets, settings.out)
        return self._finish(runs, buckets, plan.input_bytes, settings.out)

    def of_split(self, split_url: str) -> Done:
        """From slices that were made by single commands to results."""
        runs = checked(manifests(split_url, self._settings.endpoint_url))
        buckets = self._analyze(runs, runs[0].buckets, split_url)
        input_bytes = sum(header["captured_bytes"] for run in runs for header in run.header)
        return self._finish(runs, buckets, input_bytes, split_url)

    def _split(self, plan: Plan, lags: tuple[tuple[str, str, int], ...]) -> tuple[list[Manifest], Plan]:
        settings = self._settings
        while True:
            tasks = [
                SplitTask(
                    inputs=tuple(plan.inputs[position] for position in run),
                    buckets=plan.buckets,
                    to=settings.out,
                    endpoint_url=settings.endpoint_url,
                    lags=tuple(lag for lag in lags if lag[0] in {plan.inputs[position].name for position in run}),
                    memory_bytes=settings.memory_bytes,
                    filter=plan.filter,
                )
                for run in plan.runs
            ]
            self._do("split", split, tasks, [task.input_bytes for task in tasks])
            found = manifests(settings.out, settings.endpoint_url, [task.manifest_name for task in tasks])
            together = runs_to_join(in_time_order(found), lagging=bool(lags))
            if len(together) == len(found):
                return [one for some in together for one in some], plan
            plan = joined(plan, [[name for one in some for name in one.names] for some in together])
            keep(self._out, plan)

    def _analyze(self, runs: Sequence[Manifest], buckets: int, split_url: str) -> _Buckets:
        settings = self._settings
        names = tuple(one.name for one in runs)
        tasks = [
            BucketTask(
                split=split_url,
                bucket=bucket,
                out=settings.out,
                endpoint_url=settings.endpoint_url,
                manifest_names=names,
                json=settings.json,
                memory_bytes=settings.memory_bytes,
            )
            for bucket in range(buckets)
        ]
        self._do("buckets", analyze_bucket, tasks, [_bucket_bytes(runs, bucket) for bucket in range(buckets)])
        records = results.records_of(self._out, buckets)
        crossing = results.crossing(self._out, records)
        known = zip(tasks, records, given(errors_of(runs), records), crossing.shared, strict=True)
        again = [
            replace(task, icmp=icmp, shared=shared)
            for task, record, icmp, shared in known
            if not is_as_asked(record, icmp, shared)
        ]
        if again:
            sizes = [_bucket_bytes(runs, one.bucket) for one in again]
            self._do("buckets that others concern", analyze_bucket, again, sizes)
            records = results.records_of(self._out, buckets)
        return _Buckets(records, crossing)

    def _finish(self, runs: Sequence[Manifest], buckets: _Buckets, input_bytes: int, split_url: str) -> Done:
        settings, out, records = self._settings, self._out, buckets.records
        ids = results.number(out, records)
        names = tuple(one.name for one in runs)
        rest = BeyondTask(split_url, settings.out, len(records), settings.endpoint_url, names)
        self._do("beyond TCP", read_beyond, [rest], [beyond.size_bytes(runs, len(records))])
        no_tcp = beyond.record_of(out)
        of = ",".join(one.key for one in runs)
        tables = [TableTask(settings.out, bucket, of, settings.endpoint_url) for bucket in range(len(records))]
        self._do("tables", write_table, tables, list(map(results.table_bytes, records, range(len(records)))))
        results.write_small_tables(out, runs, records, no_tcp)
        header = results.header(runs, records, ids, buckets.crossing, no_tcp)
        found = results.write_document(out, header, ids, no_tcp) if settings.json else []
        overview = results.write_page(out, header, len(records), found)
        slice_bytes = sum(one.slice_bytes for one in runs)
        problems = tuple(problem for one in runs for problem in one.problems)
        connections = sum(map(len, ids))
        answer = tuple(finding_lines(found)) or overview.answer()
        done = Done(answer, header, connections, input_bytes, slice_bytes, len(runs), len(records), problems)
        results.put_manifest(out, manifest_of_run(done))
        if not settings.keep_slices:
            for below in (SLICES, PARTS, MANIFESTS):
                out.remove(below)
        return done

    def _do(self, name: str, work: Callable[..., str], tasks: Sequence[Any], sizes: Sequence[int]) -> None:
        self._display.stage(name, sum(sizes))
        size_of = dict(zip(tasks, sizes, strict=True))
        # Large ones first: what begins last should not be what takes longest.
        for task in self._workers.each(work, sorted(tasks, key=lambda one: -size_of[one])):
            self._display.done(size_of[task])


def manifest_of_run(done: Done) -> Record:
    """What was done, for people and programs."""
    from vmtrace.analyze.trace import version

    return {
        "schema": "vmtrace.corpus/1",
        "vmtrace": version(),
        "captures": len(done.header["inputs"]),
        "connections": done.connections,
        "input_bytes": done.input_bytes,
        "slice_bytes": done.slice_bytes,
        "runs": done.runs,
        "buckets": done.buckets,
        "answer": list(done.answer),
        "problems": list(done.problems),
    }


def _bucket_bytes(runs: Sequence[Manifest], bucket: int) -> int:
    return sum(size for one in runs for _, size in one.slices.get(bucket, ()))
