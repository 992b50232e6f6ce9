"""The packets of one connection as the series that plots show: times in seconds from its start, by role.

Every number is the engine's; this only sorts rows into series and thins them out for drawing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vmtrace.analyze.words.document import Record
from vmtrace.analyze.words.verdict import is_on_the_clients_data

if TYPE_CHECKING:
    from vmtrace.analyze.trace import Trace

Floats = NDArray[np.float64]

_PACKETS_AT_ONCE = 1 << 22
"""So many packets of several connections are read together, or those of one. Each takes about 50 bytes, and 300 more
while its connection is drawn."""
_COLUMNS = (
    "input", "frame", "time_ns", "from_client", "kind", "trigger", "sequence", "acknowledgement", "payload_bytes",
    "flags", "window_bytes", "flight_bytes", "rtt_s", "rtt_lengthened_by", "recovery_rtt_s", "spacing_s",
)  # fmt: skip
"""Those that series, events and the page's table of packets are made of."""

SENT_KINDS = ("data", "retransmission", "reordered", "duplicate", "window_probe", "keep_alive")
LENGTHENED_BY = ("delayed_acknowledgement", "host_stall")


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one kind: `time_s` from the connection's start, and what the plot shows over it."""

    time_s: Floats
    value: Floats

    def __len__(self) -> int:
        return len(self.time_s)

    def thinned(self, limit: int) -> "Series":
        """At most about `limit` points, with the first, last, lowest and highest of each stretch of time kept."""
        kept = keep_extremes(self.time_s, self.value, limit)
        return Series(self.time_s[kept], self.value[kept])


@dataclass(frozen=True, slots=True)
class ConnectionSeries:
    """One connection, seen from the direction that carries most of its payload."""

    record: Record
    direction: str
    sent: dict[str, Series]
    """End of each data packet in sequence space (bytes), by kind of packet."""
    acknowledged: Series
    """Cumulative acknowledgement (bytes)."""
    allowed: Series
    """Right edge of the receiver's window (bytes)."""
    rtt_s: Series
    lengthened_rtt_s: dict[str, Series]
    """Those of `rtt_s` that a host lengthened, by `LENGTHENED_BY`."""
    recovery_rtt_s: Series
    """Round trips that SACK or timestamps tell while losses are repaired."""
    spacing_s: Series
    window_bytes: Series
    flight_bytes: Series
    delivered_bytes: Series
    """Payload of each packet, without repeats."""
    throughput_bps: Series
    """Payload bits seen per bin, without repeats."""
    bin_s: float
    packets: pa.Table
    """The rows that all of this comes from, in time order, with the columns that are needed."""

    @property
    def title(self) -> str:
        """Which connection and direction this is."""
        record = self.record
        ends = (record["client"], record["server"])
        source, target = ends if self.direction == "client_to_server" else ends[::-1]
        return f"connection {record['id']}: {source} → {target}"

    def without_packets(self) -> "ConnectionSeries":
        """The same without its rows, for whoever keeps several: they are half of what it takes."""
        return replace(self, packets=self.packets.schema.empty_table())

    def anomalies(self) -> Series:
        """Oversize spacings, each at the packet that ends it."""
        start_ns = self.record["start_ns"]
        gaps = [gap for gap in self.record[self.direction]["spacing"]["anomalies"] if gap["gap_s"] > 0]
        ends_s = [(gap["start_ns"] - start_ns) / 1e9 + gap["gap_s"] for gap in gaps]
        return Series(np.array(ends_s, np.float64), np.array([gap["gap_s"] for gap in gaps], np.float64))


def keep_extremes(time: Floats, value: Floats, limit: int) -> NDArray[np.intp]:
    """Indices of the points to draw: of each of `limit` / 4 stretches of time the first, last, lowest and highest.

    `time` must not fall by much (a few packets out of order do no harm); the indices come in rising order.
    """
    if len(time) <= limit:
        return np.arange(len(time))
    buckets = max(limit // 4, 1)
    span = time[-1] - time[0]
    bucket = np.zeros(len(time), np.int64) if span <= 0 else ((time - time[0]) / span * buckets).astype(np.int64)
    if np.any(np.diff(bucket) < 0):
        order = np.argsort(bucket, kind="stable")
        return np.unique(order[_ends_and_extremes(bucket[order], value[order])])
    return np.unique(_ends_and_extremes(bucket, value))


def _ends_and_extremes(bucket: NDArray[np.int64], value: Floats) -> NDArray[np.intp]:
    """Of each run of one bucket the first, the last, and the first that is lowest and highest."""
    starts = np.flatnonzero(np.diff(bucket, prepend=bucket[0] - 1))
    lengths = np.diff(np.append(starts, len(bucket)))
    run = np.repeat(np.arange(len(starts)), lengths)
    extremes = []
    for extreme in (np.fmin, np.fmax):
        hits = np.flatnonzero(value == extreme.reduceat(value, starts)[run])
        extremes.append(hits[np.diff(run[hits], prepend=-1) != 0])
    return np.concatenate((starts, starts + lengths - 1, *extremes))


class SeriesOf:
    """The series of some connections, made one after the other whenever they are gone through.

    Whoever goes through them should give up one before the next is made, as `map` does; a loop's variable keeps it.
    """

    def __init__(self, trace: "Trace", connections: Sequence[int]) -> None:
        self._trace = trace
        self._connections = tuple(connections)

    def __len__(self) -> int:
        return len(self._connections)

    def __iter__(self) -> Iterator[ConnectionSeries]:
        return map(self._of_one, self._in_turn())

    def _in_turn(self) -> Iterator[Record]:
        """The records of the connections; the packets of the one that is given are there."""
        for records in self._together():
            self._trace.load_packets([record["id"] for record in records])
            yield from records

    def _of_one(self, record: Record) -> ConnectionSeries:
        return of_packets(pa.table(self._trace.packets(record["id"], columns=_COLUMNS)), record)

    def _together(self) -> Iterator[list[Record]]:
        records: list[Record] = []
        number = 0
        for record in self._trace.records(self._connections):
            its_own = sum(record[direction]["packets"] for direction in ("client_to_server", "server_to_client"))
            if records and number + its_own > _PACKETS_AT_ONCE:
                yield records
                records, number = [], 0
            records.append(record)
            number += its_own
        if records:
            yield records


def of_connections(trace: "Trace", connections: Sequence[int]) -> SeriesOf:
    """The series of these connections."""
    return SeriesOf(trace, connections)


class Category:
    """A column of few different texts, by their codes: millions of Python's texts would take as much as all numbers."""

    def __init__(self, packets: pa.Table, name: str) -> None:
        column = packets[name].combine_chunks()
        self._texts: list[str | None] = [*column.dictionary.to_pylist(), None]
        codes = column.indices.fill_null(len(self._texts) - 1)
        self._codes: NDArray[np.uint16] = codes.to_numpy(zero_copy_only=False)

    def among(self, *texts: str) -> NDArray[np.bool_]:
        """Which rows have one of these texts."""
        codes = [code for code, text in enumerate(self._texts) if text in texts]
        return np.isin(self._codes, codes)

    def __getitem__(self, row: int) -> str | None:
        """The text of a row; None without one."""
        return self._texts[int(self._codes[row])]


def of_packets(packets: pa.Table, record: Record) -> ConnectionSeries:
    """Sort a connection's packets into series."""
    ways = ("client_to_server", "server_to_client")
    forth = is_on_the_clients_data(*(record[way]["unique_payload_bytes"] or 0 for way in ways))
    time_s = (packets["time_ns"].to_numpy() - record["start_ns"]) / 1e9
    from_sender = packets["from_client"].to_numpy() == forth
    kind = Category(packets, "kind")
    lengthened_by = Category(packets, "rtt_lengthened_by")

    def pick(mask: NDArray[np.bool_], value: Floats) -> Series:
        mask = mask & ~np.isnan(value)
        return Series(time_s[mask], value[mask])

    from_receiver = ~from_sender
    not_reset = from_receiver & ~kind.among("rst")
    not_opening = not_reset & ~kind.among("syn")
    new_data = from_sender & kind.among("data", "reordered")
    payload_bytes = _floats(packets, "payload_bytes")
    delivered = pick(new_data, payload_bytes)
    sequence_end = _floats(packets, "sequence") + payload_bytes
    sent = {name: pick(from_sender & kind.among(name), sequence_end) for name in SENT_KINDS}
    # A row tells what is in flight of the data that it carries, or else of the data that it acknowledges: a FIN or an
    # ACK without data, sent by the data's sender, is about the other direction.
    of_this_way = from_sender == (payload_bytes > 0)
    # Columns of a long connection are large: each is given up when what is made of it is there.
    del payload_bytes, sequence_end
    acknowledgement, window = _floats(packets, "acknowledgement"), _floats(packets, "window_bytes")
    acknowledged, window_bytes = pick(not_reset, acknowledgement), pick(not_opening, window)
    allowed = pick(not_opening, acknowledgement + window)
    del acknowledgement, window
    rtt_s = _floats(packets, "rtt_s")
    lengthened = {name: pick(from_receiver & lengthened_by.among(name), rtt_s) for name in LENGTHENED_BY}
    bin_s = throughput_bin_s(float(time_s.max(initial=0.0)))
    return ConnectionSeries(
        record=record,
        direction="client_to_server" if forth else "server_to_client",
        sent=sent,
        acknowledged=acknowledged,
        allowed=allowed,
        rtt_s=pick(from_receiver, rtt_s),
        lengthened_rtt_s=lengthened,
        recovery_rtt_s=pick(from_receiver, _floats(packets, "recovery_rtt_s")),
        spacing_s=pick(from_sender, _floats(packets, "spacing_s")),
        window_bytes=window_bytes,
        flight_bytes=pick(of_this_way, _floats(packets, "flight_bytes")),
        delivered_bytes=delivered,
        throughput_bps=throughput(delivered.time_s, delivered.value, bin_s),
        bin_s=bin_s,
        packets=packets,
    )


def throughput_bin_s(duration_s: float, wanted: int = 200) -> float:
    """A round width (1, 2 or 5 times a power of ten, at least 1 ms) that makes about `wanted` bins."""
    exact = max(duration_s / wanted, 1e-3)
    power = 10.0 ** np.floor(np.log10(exact))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= exact * 0.999))


def throughput(time_s: Floats, payload_bytes: Floats, bin_s: float) -> Series:
    """Bits per second in each bin, at the bin's middle; bins without a packet are 0.

    The last bin, which the transfer ends in, would show a rate that never was: it is left out if there are others.
    """
    if not len(time_s):
        return Series(np.empty(0), np.empty(0))
    index = np.maximum(time_s / bin_s, 0).astype(np.int64)
    bits = np.bincount(index, weights=payload_bytes * 8)
    bits = bits[:-1] if len(bits) > 1 else bits
    middles = (np.arange(len(bits), dtype=np.float64) + 0.5) * bin_s
    return Series(middles, (bits / bin_s).astype(np.float64))


def _floats(packets: pa.Table, name: str) -> Floats:
    """A column as floats, NaN where there is no value."""
    values: Floats = packets[name].cast(pa.float64()).to_numpy(zero_copy_only=False)
    return values
