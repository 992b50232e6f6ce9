"""The packets of one capture as arrays, in the order of capture. Reads them by the engine; finds out nothing.

Positions are bytes from the beginning of each direction, as the engine unwraps them; a SYN lies before the first byte
and a FIN behind the last, so that each takes a position of its own (RFC 9293 section 3.4).
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analyze.compare.arrays import Booleans, Integers
from analyze.trace import Trace

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
    table = pa.table(trace.packets(range(1, len(trace) + 1)))
    flags = _integers(table, "flags")
    payload = _integers(table, "payload_bytes")
    syn, fin = (flags & SYN) != 0, (flags & FIN) != 0
    return Packets(
        connection=_integers(table, "connection"),
        frame=_integers(table, "frame"),
        time_ns=_integers(table, "time_ns"),
        from_client=np.asarray(table["from_client"].to_numpy(zero_copy_only=False), np.bool_),
        start=_integers(table, "sequence") - syn,
        payload_bytes=payload,
        taken=payload + syn + fin,
        control=flags & (SYN | FIN | RST),
        acknowledgement=_integers(table, "acknowledgement", NOTHING_ACKNOWLEDGED),
        raw_sequence=_integers(table, "raw_sequence"),
        tsval=_integers(table, "tsval"),
        tsecr=_integers(table, "tsecr"),
        identification=_integers(table, "identification"),
        wire_bytes=_integers(table, "wire_bytes"),
    )


def _integers(table: pa.Table, name: str, absent: int = ABSENT) -> Integers:
    column = pc.fill_null(table[name].cast(pa.int64()), absent)
    values: Integers = column.to_numpy()
    return values
