"""What the network driver counts, through ethtool: on AWS's ENA also what the instance's allowances held back."""

from __future__ import annotations

import re
from collections.abc import Mapping

from vmtrace.capture.counters.source import Reading, Source, Where
from vmtrace.capture.ethtool import Ethtool

MOST_COLUMNS = 256  # of drivers with thousands of counters the first ones are kept
# The number of a queue or CPU, as drivers write it: queue_3_tx_cnt, rx0_packets, rxq3_drops, tx_wake[3], [3]: cnt.
_NUMBER = re.compile(r"(?<=\[)\d+(?=\])|(?<=queue_)\d+|(?<=queue)\d+|(?<=[rt]xq)\d+|(?:(?<=^[rt]x)|(?<=^cpu))\d+(?=_)")
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9]+")


def columns_of(statistics: Mapping[str, int]) -> Reading:
    """The driver's counters as columns: the number of a queue becomes N, and the counters of all queues are summed."""
    found: Reading = {}
    for name, value in statistics.items():
        column = "nic_" + _NOT_A_NAME.sub("_", _NUMBER.sub("N", name)).strip("_")
        if column in found or len(found) < MOST_COLUMNS:
            found[column] = found.get(column, 0) + value
    return found


class Nic(Source):
    """ETHTOOL_GSTATS of the interface that is looked at."""

    def __init__(self, where: Where) -> None:
        super().__init__(where)
        self._nic = None if where.interface is None else Ethtool(where.interface)

    def read(self) -> Reading:
        """The counters; none of a driver that has none, and while there is no such interface."""
        statistics = None if self._nic is None else self._nic.statistics()
        return {} if statistics is None else columns_of(statistics)

    def close(self) -> None:
        """Let go of the socket."""
        if self._nic is not None:
            self._nic.close()


SOURCE = Nic
