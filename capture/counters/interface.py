"""The kernel's counters of the interface: those of /sys/class/net/*/statistics, but right in any namespace."""

from __future__ import annotations

from vmtrace.capture.counters.source import Reading, Source, Where
from vmtrace.capture.link import LinkReader


class Interface(Source):
    """Packets, bytes, errors and drops of the interface that is looked at."""

    def __init__(self, where: Where) -> None:
        super().__init__(where)
        self._reader = None if where.interface is None else LinkReader()

    def read(self) -> Reading:
        """The counters; none while there is no such interface."""
        if self._reader is None or self.where.interface is None:
            return {}
        link = self._reader.link(self.where.interface)
        return {} if link is None else {f"interface_{name}": value for name, value in link.statistics.items()}

    def close(self) -> None:
        """Let go of the socket."""
        if self._reader is not None:
            self._reader.close()


SOURCE = Interface
