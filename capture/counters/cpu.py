"""Processor time by state, steal included, and how much there was to run: /proc/stat."""

from __future__ import annotations

import os

from vmtrace.capture.counters.source import Reading, Source, TextFile, Where, numbers, pick

# proc_stat(5), in order. The kernel counts guest time in user, and guest_nice in nice, too.
STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
EACH_CPU = ("idle", "softirq", "steal")  # what tells a processor that the hypervisor or the network keeps busy
MOST_CPUS = 32  # beyond, the row would be mostly processors: the total alone is kept
_SINGLE = {"ctxt": "context_switches", "procs_running": "processes_running", "procs_blocked": "processes_blocked"}


def parse(text: str, ticks_per_s: int) -> Reading:
    """The columns of one reading of /proc/stat."""
    lines = {words[0]: words[1:] for words in map(str.split, text.splitlines()) if words}
    found: Reading = {}
    cpus = [name for name in lines if name.startswith("cpu") and name[3:].isdecimal()]
    for name in ("cpu", *(cpus if len(cpus) <= MOST_CPUS else ())):
        ticks = numbers(lines.get(name, []))
        if ticks is None:
            continue
        wanted = STATES if name == "cpu" else EACH_CPU
        times = {state: value / ticks_per_s for state, value in zip(STATES, ticks)}
        found.update({f"{name}_{state}_s": times[state] for state in wanted if state in times})
    single = {name: counts[0] for name in _SINGLE if (counts := numbers(lines.get(name, [])))}
    found.update(pick(single, _SINGLE))
    return found


class Cpu(Source):
    """/proc/stat, in seconds."""

    def __init__(self, where: Where) -> None:
        super().__init__(where)
        self._file = TextFile(where.root / "proc/stat")
        self._ticks_per_s = os.sysconf("SC_CLK_TCK")

    def read(self) -> Reading:
        """Seconds since boot in each state."""
        return parse(self._file.text(), self._ticks_per_s)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


SOURCE = Cpu
