"""Where the time of the calls goes: path, service and client, from the packets of the connections they used.

An exchange is what the client says in one turn and the response to it, also inside TLS (docs/json.md). Of its time
to the first byte one round trip is the path's, the shortest that the connection saw; what is beyond is the service's.
Bytes under way and retransmissions are the path's, too, and so are handshakes within a call. What a call takes beyond
its exchanges is the client's: the SDK's own work, and waiting for a processor.

A process talks to the service before its first call, too: a call has so many exchanges as it made requests by the log,
each of the mean of its connections.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vmtrace.analyze.reports.queues.calls import DELETE, DELETER, RECEIVE, RECEIVER, SEND, SENDER, TAKER, ProcessLog

COLUMNS = (
    "start_ns",
    "request_totals_count",
    "request_totals_request_s",
    "request_totals_first_byte_s",
    "request_totals_response_s",
    "request_totals_retransmitting_s",
    "request_totals_handshake_s",
    "request_totals_tls_s",
    "request_totals_server_loop_s",
)
OPERATIONS_OF = {SENDER: (SEND,), RECEIVER: (RECEIVE,), DELETER: (DELETE,), TAKER: (RECEIVE, DELETE)}
_SERVICE_WORDS = {
    SENDER: "takes the message",
    RECEIVER: "looks for messages, or waits for one",
    DELETER: "removes the message",
    TAKER: "looks for messages, and removes them",
}


@dataclass(frozen=True, slots=True)
class CallPartsRow:
    """The calls of one role in one stage and session; the parts are means of a call, and sum to it."""

    stage: int
    session: int
    role: str
    calls: int
    """That began and ended while packets were recorded."""
    exchanges: int
    """Requests that these calls made."""
    call_s: float
    path_s: float
    service_s: float
    client_s: float
    service_does: str
    """What the service's part is: of receivers, the wait of a long poll is in it."""


@dataclass(slots=True)
class Exchanged:
    """The exchanges of some connections summed up."""

    exchanges: int = 0
    path_s: float = 0.0
    service_s: float = 0.0
    opened: list[tuple[int, float]] = field(default_factory=list)
    """When each connection began, and how long its handshakes took."""
    unknown: int = 0
    """Connections whose exchanges or round trip do not show."""

    def add(self, row: Sequence[Any]) -> None:
        """A connection, as `COLUMNS`."""
        start_ns, count, request_s, first_s, response_s, again_s, handshake_s, tls_s, loop_s = row
        if not count or loop_s is None:
            self.unknown += 1
            return
        again_s = again_s or 0.0
        within_s = max((first_s or 0.0) - again_s, 0.0)
        waited_s = min(count * loop_s, within_s)
        self.exchanges += int(count)
        self.path_s += (request_s or 0.0) + (response_s or 0.0) + again_s + waited_s
        self.opened.append((start_ns, (handshake_s or 0.0) + (tls_s or 0.0)))
        self.service_s += within_s - waited_s


def call_parts(
    place: tuple[int, int, str], found: Exchanged, logs: Iterable[ProcessLog], begin_ns: int | None, end_ns: int | None
) -> CallPartsRow | None:
    """A row of stage, session and role; None where exchanges are missing, or take longer than the calls did."""
    stage, session, role = place
    if role not in OPERATIONS_OF or found.unknown or not found.exchanges or begin_ns is None or end_ns is None:
        return None
    count, requests, total_s, path_s = 0, 0, 0.0, 0.0
    for log in logs:
        for operation in OPERATIONS_OF[role] if log.role == role else ():
            starts, ends = (np.array(getattr(log.calls[operation], name), np.int64) for name in ("start_ns", "end_ns"))
            within = (starts >= begin_ns) & (ends <= end_ns)
            if not within.all():
                return None
            count += len(starts)
            requests += log.calls[operation].requests
            path_s += sum(
                took_s for opened_ns, took_s in found.opened if ((starts <= opened_ns) & (opened_ns < ends)).any()
            )
            total_s += float((ends - starts).sum()) / 1e9
    path_s += found.path_s / found.exchanges * requests
    service_s = found.service_s / found.exchanges * requests
    client_s = total_s - path_s - service_s
    if not count or requests > found.exchanges or client_s < 0:
        return None
    return CallPartsRow(
        stage=stage,
        session=session,
        role=role,
        calls=count,
        exchanges=requests,
        call_s=total_s / count,
        path_s=path_s / count,
        service_s=service_s / count,
        client_s=client_s / count,
        service_does=_SERVICE_WORDS[role],
    )
