"""What rules get: the plain records of a document, and what several rules ask of them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from vmtrace.analyze.words.server_names import server_name, with_name

Record = dict[str, Any]
_Item = TypeVar("_Item")

CLIENT, SERVER = "client_to_server", "server_to_client"


@dataclass(frozen=True)
class Facts:
    """Records as docs/json.md describes them; what a document does not have is empty."""

    connections: Sequence[Record] = ()
    lookups: Sequence[Record] = ()
    flows: Sequence[Record] = ()
    neighbours: Sequence[Record] = ()
    inputs: Sequence[Record] = ()
    shared_limits: Sequence[Record] = ()
    lookup_totals: Mapping[str, Any] = field(default_factory=dict)
    kept_back: frozenset[int] | None = None
    """Connections whose SYNs did not leave a NAT, as a capture behind it shows; None without one."""
    explained: frozenset[tuple[str, int]] = frozenset()
    """Kinds of connections whose cause an earlier rule has found."""

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> "Facts":
        """Of a document of `vmtrace.analysis/1`, as it was written or read."""
        lists = ("connections", "lookups", "flows", "neighbours", "inputs", "shared_limits")
        known: dict[str, Any] = {name: tuple(document.get(name) or ()) for name in lists}
        return cls(**known, lookup_totals=document.get("lookup_totals") or {})

    @cached_property
    def by_id(self) -> dict[int, Record]:
        """Connections by their numbers."""
        return {one["id"]: one for one in self.connections}

    def named(self, server: str) -> str:
        """`address:port` of a server with its name, if all that call it something call it the same."""
        names = {name for one in self.by_server[server] if (name := server_name(one, self.lookups))}
        return with_name(server, names.pop() if len(names) == 1 else None)

    def is_open(self, kind: str, connection: Record) -> bool:
        """Nothing has explained this of the connection yet."""
        return (kind, connection["id"]) not in self.explained

    @cached_property
    def by_server(self) -> dict[str, list[Record]]:
        """Connections by `address:port` of the server, in order of their start."""
        return grouped(sorted(self.connections, key=lambda one: one["start_ns"]), "server")


def grouped(records: Iterable[Record], key: str) -> dict[str, list[Record]]:
    """Records by the value of a key."""
    found: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        found[record[key]].append(record)
    return dict(found)


def moments(items: Iterable[_Item], at_ns: Callable[[_Item], int], within_ns: int) -> Iterator[list[_Item]]:
    """Items in order of their times, together as long as the next one comes within so many nanoseconds."""
    together: list[_Item] = []
    for item in sorted(items, key=at_ns):
        if together and at_ns(item) - at_ns(together[-1]) > within_ns:
            yield together
            together = []
        together.append(item)
    if together:
        yield together


def end_ns(connection: Record) -> int:
    """The last frame of a connection or a flow."""
    return int(connection["start_ns"]) + round((connection["duration_s"] or 0.0) * 1e9)


def address(endpoint: str) -> str:
    """The address of `address:port`."""
    return endpoint.rpartition(":")[0]


def side_of_capture(connection: Record) -> str:
    """Where the capture was made: `client`, `server`, `middle` or `unknown`."""
    return str((connection.get("vantage") or {}).get("side") or "unknown")


def outcome_kind(connection: Record) -> str | None:
    """What became of it, if it did not end well."""
    outcome = connection.get("outcome")
    return outcome["kind"] if outcome else None


def payload_bytes(connection: Record) -> int:
    """Of both directions, without retransmissions."""
    return sum((connection[side].get("unique_payload_bytes") or 0) for side in (CLIENT, SERVER))


def has_opened(connection: Record) -> bool:
    """A handshake was completed, or data was acknowledged: there was somebody who replied."""
    return bool(connection["handshake"].get("complete")) or (
        connection[SERVER]["packets"] > 0 and connection["close"] != "reset" and payload_bytes(connection) > 0
    )


def opened_late_s(connection: Record) -> float:
    """Time that went by between the first SYN and the last, where SYNs got no reply."""
    if not connection["handshake"].get("syn_retransmissions"):
        return 0.0
    entries = (one for one in connection.get("account") or () if one["kind"] == "setup")
    return float(sum(one.get("saves_s") or one["time_s"] for one in entries))


def first_byte_ns(connection: Record) -> int | None:
    """The first byte of the first response; None without requests."""
    requests = connection.get("requests") or ()
    first = min(requests, key=lambda one: int(one["start_ns"]), default=None)
    return None if first is None else int(first["start_ns"]) + round(first["first_byte_s"] * 1e9)


def saved_s(connection: Record, kind: str) -> float:
    """What the account says would be saved without a kind."""
    return float(sum(one.get("saves_s") or 0.0 for one in connection.get("account") or () if one["kind"] == kind))


def evidence(text: str, frames: Iterable[int]) -> Record:
    """Frames that show something, with a filter for Wireshark."""
    listed = list(frames)
    return {
        "text": text,
        "frames": listed,
        "display_filter": f"frame.number in {{{', '.join(map(str, listed))}}}" if listed else "",
    }


def of_connections(connections: Sequence[Record], text: str) -> Record:
    """Connections as evidence: their first frames."""
    return evidence(text, (one["first_frame"] for one in connections[:20] if one.get("first_frame") is not None))


def ids(connections: Iterable[Record]) -> list[int]:
    """Numbers of connections, in order."""
    return sorted(int(one["id"]) for one in connections)


def waited_s(connections: Iterable[Record]) -> float:
    """The time that these connections took."""
    return float(sum(one["duration_s"] or 0.0 for one in connections))
