"""What was measured, what was promised, and both as text. Measures nothing itself."""

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bench.measure import Cost


@dataclass(frozen=True, slots=True)
class Row:
    """One program on one capture. `packets` is what it was given, a prefix of the capture for slow ones."""

    capture: str
    program: str
    packets: int
    whole: bool
    cost: Cost

    @property
    def cpu_ns_per_packet(self) -> float:
        """CPU time of a packet."""
        return self.cost.cpu_s * 1e9 / self.packets

    @property
    def wall_ns_per_packet(self) -> float:
        """Wall time of a packet."""
        return self.cost.wall_s * 1e9 / self.packets


@dataclass(frozen=True, slots=True)
class Promise:
    """A number that was promised: measured, and the bound it must keep ('>=' or '<=')."""

    what: str
    measured: float
    bound: str
    limit: float
    unit: str = ""

    @property
    def kept(self) -> bool:
        """True if the measured value is within the bound."""
        return self.measured >= self.limit if self.bound == ">=" else self.measured <= self.limit


def table(rows: Iterable[Row]) -> str:
    """A Markdown table: one line a program, with its CPU time as a multiple of vmtrace's on the same capture."""
    rows = list(rows)
    own = {row.capture: row for row in rows if row.program == "vmtrace"}
    lines = [
        "| capture | program | packets | M packets/s wall | M packets/s CPU | peak memory, MiB | CPU, vmtrace = 1 |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        ratio = row.cpu_ns_per_packet / own[row.capture].cpu_ns_per_packet if row.capture in own else float("nan")
        packets = f"{row.packets:,}" + ("" if row.whole else " (the first)")
        lines.append(
            f"| {row.capture} | {row.program} | {packets} | {_rate(row.wall_ns_per_packet)} "
            f"| {_rate(row.cpu_ns_per_packet)} | {row.cost.peak_bytes / 2**20:,.0f} | {ratio:,.2f} |"
        )
    return "\n".join(lines)


def promises_table(promises: Iterable[Promise]) -> str:
    """A Markdown table of what was promised and what was measured."""
    lines = ["| promise | bound | measured | kept |", "|---|---:|---:|---|"]
    for promise in promises:
        unit = f" {promise.unit}" if promise.unit else ""
        bound = "at least" if promise.bound == ">=" else "at most"
        kept = "yes" if promise.kept else "**no**"
        lines.append(f"| {promise.what} | {bound} {promise.limit:g}{unit} | {promise.measured:.3g}{unit} | {kept} |")
    return "\n".join(lines)


class Figures:
    """The measured numbers by capture and program; a KeyError for what was not measured."""

    def __init__(self, rows: Iterable[Row], single: dict[str, Cost]) -> None:
        self._rows = {(row.capture, row.program): row for row in rows}
        self._single = single

    def cpu(self, capture: str, program: str = "vmtrace") -> float:
        """CPU nanoseconds of a packet."""
        return self._rows[capture, program].cpu_ns_per_packet

    def cost(self, capture: str, program: str = "vmtrace") -> Cost:
        """The cost of the whole run."""
        return self._rows[capture, program].cost

    def times_slower(self, capture: str, program: str) -> float:
        """CPU time of a program as a multiple of vmtrace's."""
        return self.cpu(capture, program) / self.cpu(capture)

    def times_longer(self, capture: str, program: str) -> float:
        """Wall time of vmtrace as a multiple of a program's."""
        return self.cost(capture).wall_s / self.cost(capture, program).wall_s

    def speed_up(self, capture: str) -> float:
        """Wall time of vmtrace on one processor as a multiple of that on all."""
        return self._single[capture].wall_s / self.cost(capture).wall_s

    def peak_mib(self, capture: str) -> float:
        """Peak memory of vmtrace, MiB."""
        return self.cost(capture).peak_bytes / 2**20


TCPTRACE, MINIMAL = "tcptrace -l -r -n", "minimal pass"
# What is promised, the bound, and how it follows from the figures: ratios to programs of the same run, waits, memory.
# Packets per second do not travel between machines, nor do ratios to tshark, which other parts of a machine bound.
_RULES: tuple[tuple[str, str, float, str, Callable[[Figures], float]], ...] = (
    (f"few: CPU of {TCPTRACE} / vmtrace", ">=", 3, "", lambda f: f.times_slower("few", TCPTRACE)),
    (f"few: CPU of vmtrace / {MINIMAL}", "<=", 6, "", lambda f: 1 / f.times_slower("few", MINIMAL)),
    ("few: CPU of vmtrace / bare walk (aim: 3)", "<=", 6, "", lambda f: 1 / f.times_slower("few", "bare walk")),
    ("few: peak memory", "<=", 150, "MiB", lambda f: f.peak_mib("few")),
    (f"short: CPU of {TCPTRACE} / vmtrace", ">=", 20, "", lambda f: f.times_slower("short", TCPTRACE)),
    (f"short: CPU of vmtrace / {MINIMAL}", "<=", 8, "", lambda f: 1 / f.times_slower("short", MINIMAL)),
    ("full: wall time of vmtrace / cat", "<=", 2, "", lambda f: f.times_longer("full", "cat")),
    ("full: wall time of vmtrace / reading 1 MiB at a time", "<=", 2, "", lambda f: f.times_longer("full", "read")),
    ("full: peak memory", "<=", 150, "MiB", lambda f: f.peak_mib("full")),
    ("CPU of vmtrace, pcapng / pcap", "<=", 1.3, "", lambda f: f.cpu("few-pcapng") / f.cpu("few")),
    ("many: wall time, one processor / all", ">=", 1.6, "", lambda f: f.speed_up("many")),
    ("one: wall time, one processor / all", ">=", 1, "", lambda f: f.speed_up("one")),
    ("million: peak memory", "<=", 1536, "MiB", lambda f: f.peak_mib("million")),
    ("open: peak memory", "<=", 1536, "MiB", lambda f: f.peak_mib("open")),
    ("small: answer after, start-up included", "<=", 0.5, "s", lambda f: f.cost("small").wall_s),
)


def promises(figures: Figures) -> list[Promise]:
    """Every promise whose measurements are there."""
    found = []
    for what, bound, limit, unit, measure in _RULES:
        with contextlib.suppress(KeyError):
            found.append(Promise(what, measure(figures), bound, limit, unit))
    return found


def _rate(ns_per_packet: float) -> str:
    return f"{1e3 / ns_per_packet:,.3g}"
