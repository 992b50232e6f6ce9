"""What became of connections, merged over buckets: by kind, then by server, most connections first.

Each bucket lists the first connections of its servers by its own numbers; `merging` has the numbers among all.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from vmtrace.corpus.engine import Record

_MOST_SERVERS = 100
_MOST_IDS = 20
"""What the engine lists of a kind, and of a server (`tcp/outcome/groups.rs`)."""


def merged_outcomes(parts: Iterable[tuple[Sequence[Record], NDArray[np.uint32]]]) -> list[Record]:
    """Of each bucket its `outcomes` and the numbers of its connections among all."""
    kinds: dict[str, list[Record]] = {}
    for outcomes, numbers in parts:
        for group in outcomes:
            servers = [one | {"ids": [int(numbers[old - 1]) for old in one["ids"]]} for one in group["servers"]]
            kinds.setdefault(group["kind"], []).append(group | {"servers": servers})
    # The engine lists kinds with as many connections in the order of their declaration, which each bucket keeps.
    return sorted(map(_merged_kind, kinds.values()), key=lambda group: -group["connections"])


def _merged_kind(groups: Sequence[Record]) -> Record:
    by_server: dict[str, list[Record]] = {}
    for server in (server for group in groups for server in group["servers"]):
        by_server.setdefault(server["server"], []).append(server)
    servers = sorted(map(_merged_server, by_server.values()), key=lambda one: (-one["connections"], one["ids"][0]))
    rest = servers[_MOST_SERVERS:]
    return groups[0] | {
        "connections": sum(group["connections"] for group in groups),
        "servers": servers[:_MOST_SERVERS],
        "servers_not_listed": len(rest) + sum(group["servers_not_listed"] for group in groups),
        "connections_not_listed": sum(one["connections"] for one in rest)
        + sum(group["connections_not_listed"] for group in groups),
    }


def _merged_server(parts: Sequence[Record]) -> Record:
    """The sentence is that of the first connection."""
    first = min(parts, key=lambda one: one["ids"][0])
    ids = sorted(number for one in parts for number in one["ids"])[:_MOST_IDS]
    return first | {"connections": sum(one["connections"] for one in parts), "ids": ids}
