"""The log of every packet's fate: a compact binary file while the emulator runs, CSV for people afterwards.

The emulator's loop only stores the raw headers; they are decoded here, after the run, where time does not matter.
"""

from __future__ import annotations

import csv
import gzip
import heapq
import io
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import Any

from vmtrace.lab.impairments import Fate

HEADER_BYTES = 100  # IPv6 (40) and the longest TCP header (60)
RECORD = struct.Struct(f"<QQQIIBBH{HEADER_BYTES}s")  # in, due, out, waited, number, direction, fate, length, headers
LONGEST_WAIT_NS = (1 << 32) - 1
_Record = tuple[int, int, int, int, int, int, int, int, bytes]
_RECORDS_AT_ONCE = 4096
_TCP = 6
_IPV4 = struct.Struct("!BBHHHBBH4s4s")
_TCP_FIXED = struct.Struct("!HHIIBBHHH")

FLAG_FIN, FLAG_SYN, FLAG_RST, FLAG_PSH, FLAG_ACK = 1, 2, 4, 8, 16


@dataclass(frozen=True, slots=True)
class PacketFate:
    """One packet as the emulator saw it. Times are Unix nanoseconds; `time_out_ns` is 0 when it never left.

    At `time_in_ns` the emulator read it; `waited_ns` is how long it can have waited for that.
    """

    number: int
    direction: str
    fate: str
    time_in_ns: int
    time_due_ns: int
    time_out_ns: int
    ip_bytes: int
    ip_id: int
    source_port: int
    destination_port: int
    seq: int
    ack: int
    flags: int
    window: int
    payload_bytes: int
    tsval: int
    tsecr: int
    waited_ns: int = 0

    @property
    def lost(self) -> bool:
        """The packet never left the emulator."""
        return self.time_out_ns == 0

    @property
    def delay_error_ns(self) -> int:
        """At most so much longer than decided the packet was on the path: unread, and kept beyond its time."""
        return self.waited_ns + self.time_out_ns - self.time_due_ns


FIELDS = tuple(field.name for field in fields(PacketFate))
_values = attrgetter(*FIELDS)  # astuple copies deeply, and takes ten times as long
_TEXT_FIELDS = frozenset({"direction", "fate"})


def read_binary(path: Path, unix_offset_ns: int) -> list[PacketFate]:
    """Decode the emulator's binary log in order of entry; `unix_offset_ns` turns its clock into Unix time."""
    return list(stream_binary(path, unix_offset_ns))


def stream_binary(path: Path, unix_offset_ns: int) -> Iterator[PacketFate]:
    """The same, holding only as many packets as were on the path at a time.

    A packet is logged when its fate is done, so that a record is at most the longest stay on the path out of order.
    """
    longest_stay_ns = max((logged_ns - record[0] for logged_ns, record in _logged(path)), default=0)
    waiting: list[tuple[int, int, int, bool, int, _Record]] = []
    for serial, (logged_ns, record) in enumerate(_logged(path)):
        entered_ns, number, direction, fate = record[0], *record[4:7]
        heapq.heappush(waiting, (entered_ns, direction, number, fate == Fate.DUPLICATE, serial, record))
        while waiting[0][0] < logged_ns - longest_stay_ns:
            yield _decode(heapq.heappop(waiting)[-1], unix_offset_ns)
    while waiting:
        yield _decode(heapq.heappop(waiting)[-1], unix_offset_ns)


def _logged(path: Path) -> Iterator[tuple[int, _Record]]:
    """Each whole record and the instant at which it was logged, as far as the log tells."""
    logged_ns = 0
    with path.open("rb") as file:
        while content := file.read(RECORD.size * _RECORDS_AT_ONCE):
            whole = len(content) - len(content) % RECORD.size
            for record in RECORD.iter_unpack(content[:whole]):
                logged_ns = max(logged_ns, record[0], record[2])
                yield logged_ns, record


def write_csv(rows: Iterable[PacketFate], path: Path) -> None:
    """Write `fates.csv` or, by its name, `fates.csv.gz`."""
    for _ in csv_writer(rows, path):
        pass


def csv_writer(rows: Iterable[PacketFate], path: Path) -> Iterator[PacketFate]:
    """The same, row by row: yields each row once it is written, so that one pass can also count."""
    with path.open("wb") as raw:
        packed = gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) if path.suffix == ".gz" else raw
        with io.TextIOWrapper(packed, newline="") as text:
            writer = csv.writer(text)
            writer.writerow(FIELDS)
            for row in rows:
                writer.writerow(_values(row))
                yield row


def read_csv(path: Path) -> Iterator[PacketFate]:
    """Read a log that `write_csv` wrote."""
    with gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="") as text:
        for line in csv.DictReader(text):
            values: dict[str, Any] = {name: line[name] if name in _TEXT_FIELDS else int(line[name]) for name in FIELDS}
            yield PacketFate(**values)


def _decode(record: _Record, offset_ns: int) -> PacketFate:
    time_in, due, out, waited, number, direction, fate, length, headers = record
    common = (
        number,
        "reverse" if direction else "forward",
        Fate(fate).name.lower(),
        time_in + offset_ns,
        due + offset_ns if due else 0,
        out + offset_ns if out else 0,
        length,
    )
    ip_id, protocol, start = _network(headers)
    if protocol != _TCP:
        return PacketFate(*common, ip_id, 0, 0, 0, 0, 0, 0, 0, 0, 0, waited)
    source, destination, seq, ack, offset, flags, window, _, _ = _TCP_FIXED.unpack_from(headers, start)
    header_bytes = (offset >> 4) * 4
    tsval, tsecr = _timestamps(headers[start + 20 : start + header_bytes])
    payload = length - start - header_bytes
    return PacketFate(*common, ip_id, source, destination, seq, ack, flags, window, payload, tsval, tsecr, waited)


def _network(headers: bytes) -> tuple[int, int, int]:
    if headers[0] >> 4 == 4:
        first, _, _, ip_id, _, _, protocol, *_ = _IPV4.unpack_from(headers)
        return ip_id, protocol, (first & 15) * 4
    return 0, headers[6], 40


def _timestamps(options: bytes) -> tuple[int, int]:
    at = 0
    while at < len(options):
        kind = options[at]
        if kind == 0:
            break
        if kind == 1:
            at += 1
            continue
        if at + 1 >= len(options) or options[at + 1] < 2:
            break
        if kind == 8 and at + 10 <= len(options):
            value, echo = struct.unpack_from("!II", options, at + 2)
            return int(value), int(echo)
        at += options[at + 1]
    return 0, 0
