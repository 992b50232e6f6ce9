"""What a service's protocol costs (Fig. 6b): the bytes on the wire of each workload, by what they were for.

Every byte of the connections to the service is in one part, so the parts sum to 100 %. Counted are transactions that
were captured without drops and whose objects were all transferred.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from vmtrace.analyze.findings.overhead import Overhead
from vmtrace.analyze.reports.storage.measured import MeasuredRun, MeasuredTransaction
from vmtrace.analyze.reports.storage.records import RANDOM, Direction
from vmtrace.analyze.tables.schema.typed import Count, Positive, Share, bounds, keys

SPLIT = ("workload", "signalling", "tls_record", "tls_handshake", "headers", "acks", "retransmissions")
"""The parts: the objects' bytes; requests, responses and whatever else the application said; what TLS adds to each
record; its handshakes; link, IP and TCP headers with options; pure ACKs; what was sent again."""

_LOOPBACK = "lo"
_LINK_HEADER_BYTES = 14


@dataclass(frozen=True, slots=True)
class OverheadRow:
    """One workload in one direction, all its transactions together."""

    workload: str
    direction: Direction
    transactions: Count
    left_out: Count
    """Without a capture, with drops, or not complete."""
    workload_bytes: Count
    wire_bytes: Count
    parts_bytes: Annotated[dict[str, Count], keys(*SPLIT)]
    """They sum to wire_bytes."""
    """They sum to wire_bytes."""
    tcp_payload_bytes: Count
    """Carried by TCP, each byte once."""
    connections: Positive | None
    """Of a transaction."""
    tls_record_is_least: bool
    """The snap length cut headers of TLS records: some of signalling is tls_record."""

    DERIVED = ("overhead_ratio", "tcp_payload_ratio", "shares")

    @property
    def overhead_ratio(self) -> float | None:
        """Wire bytes beyond the workload's, over those; below zero where a client sends less."""
        return (self.wire_bytes - self.workload_bytes) / self.workload_bytes if self.workload_bytes else None

    @property
    def tcp_payload_ratio(self) -> Positive | None:
        """TCP payload over workload bytes, as in the study."""
        return self.tcp_payload_bytes / self.workload_bytes if self.workload_bytes else None

    @property
    def shares(self) -> Annotated[dict[str, Share], keys(*SPLIT, always=False)]:
        """Of wire_bytes; they sum to 1. Empty without any."""
        return {part: size / self.wire_bytes for part, size in self.parts_bytes.items()} if self.wire_bytes else {}


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """The captures of a run against the counters of its interface."""

    transactions: Count
    """With a capture, and counters of an interface that was quiet before and after."""
    packets_agree: Count
    bytes_agree: Count
    packets_apart: Count
    bytes_apart: Count
    """Summed over those that do not agree, without signs."""


def overhead_rows(run: MeasuredRun) -> list[OverheadRow]:
    """A row for each workload and direction of which something can be counted."""
    rows = []
    for (workload, direction), found in run.kinds().items():
        counted = [one for one in found if _why_not(one) is None]
        if counted:
            rows.append(_row(workload, direction, counted, len(found) - len(counted)))
    return rows


def agreement_row(run: MeasuredRun) -> AgreementRow | None:
    """How far captures and interface counters agree; none where there are no counters."""
    loopback = run.run.interface == _LOOPBACK
    apart: list[tuple[int, int]] = []
    for one in run.transactions:
        counters = one.transaction.counters
        if counters is None or not counters.quiet or one.packets is None or one.wire_bytes is None:
            continue
        packets, size = one.packets, one.wire_bytes
        if loopback:
            # Counted as sent and as received, without the link header; captured once.
            packets, size = 2 * packets, 2 * (size - _LINK_HEADER_BYTES * packets)
        apart.append((abs(counters.packets - packets), abs(counters.bytes - size)))
    if not apart:
        return None
    return AgreementRow(
        len(apart),
        sum(packets == 0 for packets, _ in apart),
        sum(size == 0 for _, size in apart),
        sum(packets for packets, _ in apart),
        sum(size for _, size in apart),
    )


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Transactions of one workload and direction of which no overhead can be told."""

    workload: str
    direction: str
    transactions: Annotated[int, bounds(minimum=1)]
    of: Annotated[int, bounds(minimum=1)]
    reason: str


def left_out(run: MeasuredRun) -> list[LeftOut]:
    """Why overhead is told of fewer transactions than there are: a row for each workload, direction and reason."""
    return [
        LeftOut(workload, direction, transactions, len(found), reason)
        for (workload, direction), found in run.kinds().items()
        for reason, transactions in Counter(map(_why_not, found)).items()
        if reason is not None
    ]


def _why_not(one: MeasuredTransaction) -> str | None:
    """What keeps a transaction's bytes from being told apart; None if nothing does."""
    if not one.captured:
        return "not captured"
    if one.transaction.capture_dropped:
        return "packets dropped while capturing"
    if one.unlogged_objects:
        return "objects that are not in the log"
    if not one.whole:
        return "not all objects were transferred"
    if one.transaction.command and not one.connections:
        return "none of the command's connections was seen open"
    # What the capture missed of the workload would be taken off the requests. A client may send less of what is not
    # random, where all that it sent was followed.
    followed = all(connection.tls_records_measured for connection in one.connections)
    less = _application_bytes(one.overhead) < _workload_bytes(one)
    if less and (one.transaction.content == RANDOM or not followed):
        return (
            "TLS records that could not be followed, after loss or beyond the snap length"
            " (--snaplen 65535 keeps packets whole)"
        )
    return None


def _application_bytes(total: Overhead) -> int:
    """With those that only retransmissions brought: whatever brought them, they were delivered."""
    return total.application_bytes + total.brought_by_retransmissions_bytes


def _workload_bytes(one: MeasuredTransaction) -> int:
    return sum(stored.moved_bytes for stored in one.objects)


def _row(workload: str, direction: str, found: Sequence[MeasuredTransaction], left_out: int) -> OverheadRow:
    total = Overhead()
    for one in found:
        total.merge(one.overhead)
    moved = sum(map(_workload_bytes, found))
    parts = total.parts
    headers = ("link_bytes", "ip_bytes", "tcp_header_bytes", "tcp_option_bytes")
    split = {
        "workload": min(moved, _application_bytes(total)),
        "signalling": max(_application_bytes(total) - moved, 0),
        "tls_record": parts["tls_record_bytes"],
        "tls_handshake": parts["tls_handshake_bytes"],
        "headers": sum(parts[name] for name in headers),
        "acks": parts["pure_ack_bytes"],
        "retransmissions": parts["retransmitted_bytes"] - total.brought_by_retransmissions_bytes,
    }
    return OverheadRow(
        workload, direction, len(found), left_out, moved, total.wire_bytes, split, total.tcp_payload_bytes,
        sum(len(one.connections) for one in found) / len(found),
        not all(connection.tls_records_measured for one in found for connection in one.connections),
    )  # fmt: skip
