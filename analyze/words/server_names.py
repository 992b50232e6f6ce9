"""What a server is called: as its client calls it, else by the name that its address was looked up by.

Stands under tables, findings, pages and metrics, so that all of them use the same name for the same connection.
"""

from collections.abc import Sequence

from vmtrace.analyze.words.document import Record

_MOST_CELL = 32
"""Characters of a name in a table; longer ones lose their middle."""


def lookup_of(connection: Record, lookups: Sequence[Record]) -> Record | None:
    """The lookup that a connection of the JSON document followed, of `lookups` of the same document."""
    place = connection.get("lookup")
    return lookups[place] if place is not None and place < len(lookups) else None


def server_name(connection: Record, lookups: Sequence[Record]) -> str | None:
    """Of a connection of the JSON document; None for one without a name."""
    lookup = lookup_of(connection, lookups)
    return connection.get("server_name") or (lookup or {}).get("name") or None


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
