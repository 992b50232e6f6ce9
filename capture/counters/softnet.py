"""The kernel's receive queues of each processor, and what was dropped there: /proc/net/softnet_stat."""

from __future__ import annotations

from vmtrace.capture.counters.source import Reading, Source, TextFile, Where

# Places in a line of net/core/net-procs.c. Each counter has 32 bits: it begins again at 2**32.
COUNTERS = {"processed": 0, "dropped": 1, "time_squeeze": 2, "flow_limit": 10}
_LEAST_WORDS = 3  # kernels before 2.6.30 or so have nine, none fewer than these


def parse(text: str) -> Reading:
    """Each counter summed over processors, and of the processor where it is largest."""
    rows = [row for row in map(_row, text.splitlines()) if row is not None]
    found: Reading = {}
    for name, place in COUNTERS.items():
        values = [row[place] for row in rows if place < len(row)]
        if values:
            found[f"softnet_{name}"] = sum(values)
            found[f"softnet_{name}_worst_cpu"] = max(values)
    return found


def _row(line: str) -> list[int] | None:
    try:
        row = [int(word, 16) for word in line.split()]
    except ValueError:
        return None
    return row if len(row) >= _LEAST_WORDS else None


class Softnet(Source):
    """/proc/net/softnet_stat: of the machine, whatever the namespace."""

    def __init__(self, where: Where) -> None:
        super().__init__(where)
        self._file = TextFile(where.root / "proc/thread-self/net/softnet_stat")

    def read(self) -> Reading:
        """Packets and events since boot."""
        return parse(self._file.text())

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


SOURCE = Softnet
