"""The round trip through both ends of a connection, whose two halves meet at the capture point: what tables show of it.

A direction's own RTT runs from its data at the capture point to the acknowledgement there: at the host that receives,
that is only the host's own delay. The two halves together are the path's, wherever it was captured.
"""

from collections.abc import Mapping
from typing import Any

_SENDER = {"client_to_server": "client", "server_to_client": "server"}


def path_rtt_min_s(row: Mapping[str, Any]) -> float | None:
    """The shortest round trip in seconds: of the handshake (SYN to ACK), or the least of both directions together.

    `row` is one of the table of connections. Beside the host that sends, its direction alone is the path. None where
    neither that, nor the handshake, nor acknowledged data of both directions was seen.
    """
    halves = {direction: row.get(f"{direction}_rtt_min_s") for direction in _SENDER}
    known = [half for half in halves.values() if half is not None]
    found = [row.get("handshake_rtt_s"), sum(known) if len(known) == len(halves) else None]
    found += [half for direction, half in halves.items() if row.get("vantage_side") == _SENDER[direction]]
    return min((rtt for rtt in found if rtt is not None), default=None)


def median_of_path_s(row: Mapping[str, Any], direction: str) -> float | None:
    """The median of the direction's RTT; none where the path's round trip is not known, or longer than that."""
    median, least = row.get(f"{direction}_rtt_median_s"), path_rtt_min_s(row)
    return None if median is None or least is None or median < least else median
