"""What a server is called: as its client calls it, else by the name that its address was looked up by.

Stands under tables, findings, pages and metrics, so that all of them use the same name for the same connection.
"""

from collections.abc import Mapping, Sequence
from typing import Any

_MOST_CELL = 32
"""Characters of a name in a table; longer ones lose their middle."""


def server_name(connection: Mapping[str, Any], lookups: Sequence[Mapping[str, Any]]) -> str | None:
    """Of a connection of the JSON document, whose lookups are `lookups`; None for one without a name."""
    place = connection.get("lookup")
    looked_up = lookups[place]["name"] if place is not None and place < len(lookups) else None
    return connection.get("server_name") or looked_up or None


def with_name(endpoint: str, name: str | None) -> str:
    """`address:port` with its name in front of it, for a sentence."""
    return f"{name} ({endpoint})" if name else endpoint


def cell(endpoint: str, name: str | None) -> str:
    """The name with the port of `address:port`, as short as a table needs it; without a name the whole of it."""
    if not name:
        return endpoint
    if len(name) > _MOST_CELL:
        half = (_MOST_CELL - 1) // 2
        name = f"{name[: _MOST_CELL - 1 - half]}…{name[-half:]}"
    return f"{name}:{endpoint.rpartition(':')[2]}"
