"""The packets of one capture as arrays, in the order of capture. Reads them by the engine; finds out nothing.

Positions are bytes from the beginning of each direction, as the engine unwraps them; a SYN lies before the first byte
and a FIN behind the last, so that each takes a position of its own (RFC 9293 section 3.4).
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vmtrace.analyze.compare.arrays import Booleans, Integers
from vmtrace.analyze.trace import Trace

FIN, SYN, RST = 0x01, 0x02, 0x04
ABSENT = -1
"""Where a packet has no such field."""
_WRAP = 2**32


@dataclass(frozen=True, slots=True)
class Packets:
    """One value for each packet in each array."""

    connection: Integers
    frame: Integers
    time_ns: Integers
    from_client: Booleans
    start: Integers
    """First position it takes."""
    payload_bytes: Integers
    taken: Integers
    """Positions it takes: payload, and one for a SYN or FIN."""
    control: Integers
    """Those of SYN, FIN and RST that are set."""
    acknowledgement: Integers
    """Position in the other direction, or `NOTHING_ACKNOWLEDGED`."""
    raw_sequence: Integers
    tsval: Integers
    tsecr: Integers
    identification: Integers
    wire_bytes: Integers

    def __len__(self) -> int:
        """How many packets."""
        return len(self.time_ns)

    def select(self, which: Booleans | Integers) -> "Packets":
        """These packets alone."""
        return Packets(*(getattr(self, name)[which] for name in self.__slots__))

    @property
    def acknowledges(self) -> Booleans:
        """True where a packet acknowledges something."""
        there: Booleans = self.acknowledgement != NOTHING_ACKNOWLEDGED
        return there

    def first_raw(self) -> Integers:
        """Raw sequence number of position 0 of each packet's direction."""
        first: Integers = (self.raw_sequence - self.start) % _WRAP
        return first


NOTHING_ACKNOWLEDGED = -(2**62)


def read_packets(trace: Trace) -> Packets:
    """All packets of all connections."""
    numbers = range(1, len(trace) + 1)
    trace.load_packets(numbers)

    def column(name: str) -> pa.ChunkedArray:
        # One by one: the table with all of them takes more than what is made of it.
        return pa.table(trace.packets(numbers, columns=[name]))[name]

    flags = _integers(column("flags"))
    payload = _integers(column("payload_bytes"))
    syn, fin = (flags & SYN) != 0, (flags & FIN) != 0
    packets = Packets(
        connection=_integers(column("connection")),
        frame=_integers(column("frame")),
        time_ns=_integers(column("time_ns")),
        from_client=np.asarray(column("from_client").to_numpy(zero_copy_only=False), np.bool_),
        start=_integers(column("sequence")) - syn,
        payload_bytes=payload,
        taken=payload + syn + fin,
        control=flags & (SYN | FIN | RST),
        acknowledgement=_integers(column("acknowledgement"), NOTHING_ACKNOWLEDGED),
        raw_sequence=_integers(column("raw_sequence")),
        tsval=_integers(column("tsval")),
        tsecr=_integers(column("tsecr")),
        identification=_integers(column("identification")),
        wire_bytes=_integers(column("wire_bytes")),
    )
    trace.forget_packets()
    return packets


def _integers(column: pa.ChunkedArray, absent: int = ABSENT) -> Integers:
    values: Integers = pc.fill_null(column.cast(pa.int64()), absent).to_numpy()
    return values
