"""What `vmtrace analyze` does: read, print, write, judge. Owns the order of these and the exit status.

Heavy libraries are imported where their output is asked for: the plain table of a small capture must come at once.
"""

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.analyze.read import capture_files
from vmtrace.analyze.read.sources import can_be_read_again
from vmtrace.analyze.read.stores import is_url
from vmtrace.analyze.trace import Trace, TraceError, read
from vmtrace.analyze.words.beyond_tcp import protocol_text
from vmtrace.commands.outputs import Afterwards, opened, printed, wanted, write_all
from vmtrace.commands.request import Request
from vmtrace.commands.thresholds import check_oversize_abs, parsed_condition
from vmtrace.errors import CommandError, Exit, UsageError, complain, describe
from vmtrace.formats import STANDARD_OUTPUT
from vmtrace.formats.quantities import plural
from vmtrace.progress import Bar

if TYPE_CHECKING:
    from rich.console import Console

    from vmtrace.analyze.charts.packet_series import SeriesOf
    from vmtrace.analyze.findings.allowances.findings import Findings
    from vmtrace.analyze.findings.allowances.published import Allowance
    from vmtrace.analyze.findings.fail_if import Condition
    from vmtrace.analyze.findings.providers import Provider
    from vmtrace.analyze.findings.services.ranges import AddressRanges
    from vmtrace.analyze.reports.run.results import RunResults
    from vmtrace.analyze.tables.provenance import Provenance
    from vmtrace.analyze.words.document import Record

_WIDTH, _PROVIDERS_WIDTH = 120, 160
"""Of the answer where it goes to no terminal."""
_DRAWN_AT_MOST = 3
_MORE_MEMORY = "give more (--memory), read less (--filter), or use vmtrace corpus analyze, which needs less"
_DRAWN_SHARE = 0.05
"""Of the connections nobody chose, those with this share of all bytes are drawn, up to `_DRAWN_AT_MOST`."""


def run(request: Request) -> int:
    """Do what was asked; returns the exit status."""
    _check_places(request)
    check_oversize_abs(request.oversize_abs_ms)
    condition = parsed_condition(request.fail_if)
    allowance = _allowance(request)
    ranges = _address_ranges(request)
    found = capture_files.find(request.names, request.endpoint_url)
    failures = list(found.problems)
    for problem in failures:
        complain(problem)
    paths = _readable(found.paths, failures)
    if not paths:
        return Exit.FAILED
    with Bar(paths, wanted=not request.quiet) as bar:
        trace = _read(paths, request, bar, allowance, failures)
        if trace is None:
            return Exit.FAILED
        _check_connections(trace, request.connections)
        failures += _say_empty(trace)
        trace.keep_until_exit()
        outputs = Outputs(trace, request, bar, allowance, ranges)
        # Who asks for JSON has a program read it, not eyes.
        if not request.quiet and not request.is_piped:
            failures += outputs.print()
        failures += outputs.write()
        failures += outputs.push()
        crossed = condition is not None and _judge(trace, request.fail_if or "", condition)
        for problem in trace.index_problems:
            complain(problem)
    if trace.unanswered:
        attempts = plural(trace.unanswered, "unanswered SYN")
        complain(f"{attempts} are summed by source and server to save memory (unanswered_syns in the JSON; --memory)")
    if trace.exhausted:
        complain(f"stopped because memory is missing: the results cover the part that was read; {_MORE_MEMORY}")
        return Exit.FAILED
    if trace.interrupted:
        complain("interrupted: the results cover the part that was read")
        return Exit.INTERRUPTED
    if failures:
        return Exit.FAILED
    return Exit.CROSSED if crossed else Exit.DONE


def _check_places(request: Request) -> None:
    """Raises `UsageError` for outputs that would take each other's place, or a capture's.

    An option that takes a file takes a capture, too, where its own value was forgotten: `--json *.pcap`.
    """
    out = [
        option
        for option, there in (
            ("--json -", request.json == STANDARD_OUTPUT),
            ("--json-lines", request.json_lines),
            ("--report -", str(request.report) == STANDARD_OUTPUT),
        )
        if there
    ]
    if len(out) > 1:
        raise UsageError(f"{' and '.join(out[:2])}: standard output can hold one of them, not both")
    if request.json not in (None, STANDARD_OUTPUT) and request.report is not None:
        json = os.path.realpath(request.json)
        if json == os.path.realpath(request.report) and not Path(json).is_char_device():
            raise UsageError(f"--json and --report: {request.report} can hold one of them, not both")
    for option, place in (("--json", request.json), ("--report", request.report)):
        if place is not None and capture_files.is_capture(Path(place)):
            raise UsageError(f"{option} {place}: this is a capture, which is not overwritten; name another file")


def _allowance(request: Request) -> "Allowance | None":
    if request.allowance is None and request.instance_type is None:
        return None
    from vmtrace.analyze.findings.allowances import published

    if request.allowance is not None and request.instance_type is not None:
        raise UsageError("--instance-type and --allowance: give one of them")
    try:
        if request.allowance is not None:
            return published.of_rate(published.parse_bps(request.allowance))
        return published.of_instance_type(request.instance_type or "")
    except published.RateError as error:
        raise UsageError(f"--allowance {error}") from None
    except published.UnknownInstanceTypeError:
        raise UsageError(
            f"--instance-type {request.instance_type}: no bandwidth of this type is known; --allowance RATE takes one"
        ) from None


def _address_ranges(request: Request) -> "AddressRanges | None":
    """Read before the captures, so that a mistake shows at once."""
    if not request.by_provider:
        if request.address_ranges:
            raise UsageError("--address-ranges identifies providers: give --by provider with it")
        return None
    from vmtrace.analyze.findings.services import ranges

    try:
        return ranges.read(request.address_ranges)
    except OSError as error:
        raise CommandError(f"--address-ranges {describe(error)}") from None
    except ranges.RangesError as error:
        raise CommandError(f"--address-ranges {error}") from None


def _readable(paths: Sequence[str], failures: list[str]) -> list[str]:
    """The files that can be opened; the others are told of, one line each."""
    readable = []
    for path in paths:
        try:
            # Not a pipe: opening one could wait for ever, or take what is in it.
            if can_be_read_again(path) and not is_url(path):
                os.close(os.open(path, os.O_RDONLY))
            readable.append(path)
        except (OSError, ValueError) as error:
            failures.append(f"{path}: {error.strerror}" if isinstance(error, OSError) else f"{path!r}: {error}")
            complain(failures[-1])
    return readable


def check_filter(expression: str) -> None:
    """Raises `UsageError` for what is no filter."""
    from vmtrace.analyze.read.filter import FilterError, checked

    try:
        checked(expression)
    except FilterError as error:
        raise UsageError(str(error)) from None


def _read(
    paths: list[str], request: Request, bar: Bar, allowance: "Allowance | None", failures: list[str]
) -> Trace | None:
    """Read what can be read: an input that is no capture is told of and left out."""
    if request.filter is not None:
        check_filter(request.filter)
    trace: Trace | None = None
    problems: list[Exception]
    try:
        options = request.options
        if allowance is not None:
            options = options._replace(allowed_bps=allowance.most_of_a_connection_bps)
        trace = read(*paths, options=options, progress=bar)
    except (TraceError, OSError) as error:
        if isinstance(error, TraceError) and error.kind == "filter":
            raise UsageError(error.reason) from None
        problems = [error, *getattr(error, "others", ())]
        if request.debug:
            _print_traceback()
    else:
        problems = trace.errors
    for problem in map(describe, problems):
        failures.append(problem)
        complain(problem)
    return trace


def _check_connections(trace: Trace, wanted: Sequence[int]) -> None:
    known = set(trace.values("id")) if wanted else set()
    for number in wanted:
        if number not in known:
            there = f"they are numbered {min(known)} to {max(known)}" if known else "there are none"
            raise CommandError(f"no connection {number}: {there}")


_READ = ("not_ip", "not_tcp", "encrypted_ipsec", "fragment_joined", "left_out_by_filter")
"""Reasons of frames that were read and are no TCP; of several files it is not known what else each holds."""


def _say_empty(trace: Trace) -> list[str]:
    """One line for each input without TCP. One of which nothing could be analysed is a failure."""
    if len(trace.paths) == 1 and len(trace) > 0:
        return []  # its header need not be read: that takes longer than a small capture
    failures = []
    for header in trace.header().get("inputs", ()):
        if header["format"] is None or header["tcp_packets"] or trace.interrupted:
            continue
        undecoded = header["undecoded_packets"]
        if _has_other(trace.header()) and (len(trace.paths) == 1 or _holds_datagrams(undecoded)):
            continue
        # Of a single file it is known what else is in it.
        there = protocol_text(trace.header()) if len(trace.paths) == 1 else ""
        reasons = there or ", ".join(f"{name.replace('_', ' ')}: {number:,}" for name, number in undecoded.items())
        seen = f"no TCP in {plural(header['packets'], 'packet')}" if header["packets"] else "it holds no packets"
        what = f"{header['path']}: {seen}" + (f" ({reasons})" if reasons else "")
        complain(what)
        read = ("left_out_by_filter",) if len(trace.paths) == 1 else _READ
        if header["packets"] and not any(undecoded.get(name) for name in read):
            failures.append(what)
    return failures


def _has_other(header: "Record") -> bool:
    """What is no TCP is shown instead."""
    return any(header.get(key) for key in ("flows", "lookups", "neighbours"))


def _holds_datagrams(undecoded: "Record") -> bool:
    """Of one among several files: all its packets are read and no TCP, as those of flows and lookups are."""
    left = {name for name, number in undecoded.items() if number}
    return "not_tcp" in left and left <= {"not_tcp", "fragment_joined", "left_out_by_filter"}


def _print_traceback() -> None:
    import traceback

    traceback.print_exc()


def _judge(trace: Trace, text: str, condition: "Condition") -> bool:
    """Tell of the first connection in which the expression holds; true if there is one."""
    from vmtrace.analyze.findings.fail_if import OUTCOME

    trace.load(condition.columns())
    columns = {name: trace.values(name) for name in condition.columns()}
    crossings = list(condition.crossings(columns))
    if not crossings:
        unknown = [name for name, values in columns.items() if len(trace) and all(v is None for v in values)]
        # A connection without an outcome was judged: nothing went wrong with it.
        if len(unknown) == len(columns) and OUTCOME not in unknown:
            complain(f"--fail-if {text}: could not be judged, {', '.join(unknown)} was not measured in any connection")
        return False
    first = crossings[0]
    row = trace.row(first.row)
    direction = f", {first.direction.replace('_', ' ')}" if first.direction else ""
    values = ", ".join(_said(metric, value) for metric, value in first.values.items() if value is not None)
    others = len({crossing.row for crossing in crossings}) - 1
    more = f" (and {plural(others, 'more connection')})" if others else ""
    where = f"connection {row['id']} ({row['client']} to {row['server']}{direction})"
    complain(f"--fail-if {text}: {where}: {values}{more}")
    return True


def _said(metric: str, value: float | str) -> str:
    if isinstance(value, str):
        return f"outcome {value}"
    return f"{metric} = {value:.6g}"


class Outputs:
    """What is printed and written of one trace. Each output that fails is told of; the others are still made."""

    def __init__(
        self, trace: Trace, request: Request, bar: Bar, allowance: "Allowance | None", ranges: "AddressRanges | None"
    ) -> None:
        self._trace = trace
        self._request = request
        self._allowance = allowance
        self._ranges = ranges
        self._bar = bar

    def print(self) -> list[str]:
        """The human answer on standard output; returns what went wrong."""
        width = _PROVIDERS_WIDTH if self._request.by_provider else _WIDTH
        return printed(self._show, no_color=self._request.no_color, piped_width=width, making=self._bar.making)

    def _show(self, console: "Console") -> None:
        from vmtrace.analyze.tables import human_table
        from vmtrace.commands import both_sides

        if self._request.connections:
            from vmtrace.analyze.tables import detail_view

            for record in self._trace.records(self._request.connections):
                header = self._trace.header()
                detail_view.show(record, header["reasons"], console, self._trace.findings, header.get("lookups", ()))
        elif self._request.by_provider:
            human_table.show_providers(self._providers, console)
        else:
            human_table.show(self._trace, console, limit=self._request.limit, sort=self._request.sort)
            both_sides.show(self._runs, console)
        if self._findings is not None:
            from vmtrace.analyze.findings.allowances import findings

            for line in findings.lines(self._findings, self._request.limit):
                console.print(line, soft_wrap=True)

    def write(self) -> list[str]:
        """Every file asked for; returns one line for each that failed."""
        request, endpoint_url = self._request, self._request.endpoint_url
        tasks = (
            *wanted(request.json, self._write_json, endpoint_url),
            *wanted(STANDARD_OUTPUT if request.json_lines else None, self._write_json_lines),
            *wanted(request.csv, self._write_csv, endpoint_url),
            *wanted(request.parquet, self._write_parquet, endpoint_url),
            *wanted(request.figures, self._write_figures, endpoint_url),
            *wanted(request.report, self._write_report, endpoint_url),
        )
        then = Afterwards("vmtrace fields", quiet=request.quiet)
        return write_all(tasks, debug=request.debug, making=self._bar.making, then=then)

    def _write_json(self, place: str) -> None:
        with opened(place) as write:
            self._json_into(write)

    def _write_json_lines(self, place: str) -> None:
        from vmtrace.analyze.words.document import as_bytes

        with opened(place) as write:
            for record in self._trace.json_lines():
                write(as_bytes(record))

    def _json_into(self, write: Callable[[bytes], object]) -> None:
        if not self._request.by_provider and not self._runs and self._findings is None:
            self._trace.write_json(write)
            return
        from vmtrace.analyze.words.document import Appending

        appending, more = Appending(write), dict[str, object]()
        self._trace.write_json(appending)
        if self._request.by_provider:
            more["by_provider"] = [provider.as_record() for provider in self._providers]
        if self._findings is not None:
            more["allowance"] = self._findings.as_record()
        if self._runs:
            from vmtrace.analyze.reports.run.table_records import two_sides_records

            records = map(two_sides_records, self._runs)
            more["runs"] = [self._trace.shown_run(record) for record in records]
        appending.finish(more)

    def _write_csv(self, folder: Path) -> None:
        from vmtrace.analyze.tables import write as tables

        tables.write_csv(self._trace, folder, self._packets_of, self._provenance)
        if self._request.by_provider:
            tables.write_providers_csv([p.as_record() for p in self._providers], folder)

    def _write_parquet(self, folder: Path) -> None:
        from vmtrace.analyze.tables import write as tables

        tables.write_parquet(self._trace, folder, self._packets_of, self._provenance)

    def _write_figures(self, folder: Path) -> None:
        from vmtrace.analyze.charts.figures.write import write_figures

        write_figures(self._series, folder)

    def _write_report(self, path: Path) -> None:
        from vmtrace.analyze.reports.capture.write import write_report

        write_report(self._trace, self._series, self._provenance, path)

    def push(self) -> list[str]:
        """The figures to a collector, if one was named; returns what went wrong."""
        if self._request.otlp is None:
            return []
        from vmtrace.commands.exporting import Exporting

        exporting = Exporting(self._request.otlp, None, self._request.services)
        exporting.end(self._trace)
        return [] if exporting.close() else [self._request.otlp]

    @cached_property
    def _runs(self) -> "list[RunResults]":
        """The run folders among what was named, that have both sides. A filter would be about other packets."""
        from vmtrace.commands import both_sides

        if self._request.filter is not None or self._trace.interrupted:
            return []
        return both_sides.runs_of(self._request.names)

    @property
    def _packets_of(self) -> tuple[int, ...]:
        return self._request.connections

    @cached_property
    def _providers(self) -> "list[Provider]":
        from vmtrace.analyze.findings import providers
        from vmtrace.analyze.findings.services.ranges import AddressRanges

        if self._trace.lookups_not_kept:
            not_kept = plural(self._trace.lookups_not_kept, "answer")
            complain(f"too many DNS lookups to keep: {not_kept} at the end of the capture named no connection")
        return providers.of_trace(self._trace, self._ranges or AddressRanges())

    @cached_property
    def _findings(self) -> "Findings | None":
        if self._allowance is None:
            return None
        from vmtrace.analyze.findings.allowances import findings

        return findings.find(self._trace, self._allowance)

    @cached_property
    def _provenance(self) -> "Provenance":
        from vmtrace.analyze.tables import provenance

        return provenance.of(self._trace, anonymous=self._request.anonymize)

    @cached_property
    def _series(self) -> "SeriesOf":
        """The connections to draw: those chosen, else the largest."""
        from vmtrace.analyze.charts.packet_series import of_connections

        if self._trace.interrupted and not self._request.connections:
            complain("interrupted: packets are not drawn, because the files would have to be read once more")
            return of_connections(self._trace, [])
        return of_connections(self._trace, list(self._request.connections) or self._largest())

    def _largest(self) -> list[int]:
        ids, sizes = self._trace.values("id"), self._trace.values("ledger_wire_bytes")
        whole = sum(size or 0 for size in sizes)
        rows = self._trace.largest(_DRAWN_AT_MOST)
        return [ids[row] for number, row in enumerate(rows) if number == 0 or (sizes[row] or 0) >= whole * _DRAWN_SHARE]
