"""What was asked of `vmtrace analyze`: the command line as values, whoever parsed it."""

from pathlib import Path
from typing import NamedTuple

from vmtrace.analyze.read.grouping import Grouping
from vmtrace.analyze.trace import Options


class Request(NamedTuple):
    """The command line, checked by the parser. Option names as in `vmtrace analyze --help`."""

    names: tuple[str, ...]
    json: str | None = None
    json_lines: bool = False
    csv: Path | None = None
    parquet: Path | None = None
    report: Path | None = None
    figures: Path | None = None
    filter: str | None = None
    connections: tuple[int, ...] = ()
    by_provider: bool = False
    address_ranges: tuple[Path, ...] = ()
    fail_if: str | None = None
    oversize_abs_ms: float | None = None
    instance_type: str | None = None
    allowance: str | None = None
    threads: int = 0
    limit: int = 20
    sort: str = "notable"
    separate: bool | None = None
    endpoint_url: str | None = None
    indexes: str | None = None
    keylog: str | None = None
    memory_bytes: int | None = None
    otlp: str | None = None
    services: int = 1
    anonymize: bool = False
    quiet: bool = False
    no_color: bool = False
    debug: bool = False

    @property
    def is_piped(self) -> bool:
        """True if a program reads standard output, or a document takes the answer's place."""
        return self.json is not None or self.json_lines or str(self.report) == "-"

    @property
    def draws(self) -> bool:
        """True if the packets of connections are wanted that are only known after a first pass."""
        return (self.report is not None or self.figures is not None) and not self.connections

    @property
    def options(self) -> Options:
        """The part that the reading needs."""
        return Options(
            filter=self.filter,
            threads=self.threads,
            oversize_abs_ms=self.oversize_abs_ms,
            packets_of=self.connections if self._writes_packets else (),
            grouping=self._grouping,
            keep_input=self.draws,
            anonymize=self.anonymize,
            indexes=self.indexes,
            key_log=self.keylog,
            memory_bytes=self.memory_bytes,
        )

    @property
    def _grouping(self) -> Grouping:
        if self.separate is None:
            return Grouping.AUTO
        return Grouping.SEPARATE if self.separate else Grouping.MERGE

    @property
    def _writes_packets(self) -> bool:
        return any(place is not None for place in (self.csv, self.parquet, self.report, self.figures))
