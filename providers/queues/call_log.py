"""What one process did: a line for each call of the SDK, written before the next begins (docs/queue.md).

A line is one write: a process that is killed leaves a log that is right up to its last call.
"""

import json
import os
from pathlib import Path
from typing import Any, Self

from vmtrace.formats.durable import append_whole, open_to_append, repair_tail
from vmtrace.providers.errors import ServiceError
from vmtrace.providers.exchanges import Exchange


class CallLog:
    """Appends."""

    def __init__(self, path: Path) -> None:
        repair_tail(path)
        self._descriptor = open_to_append(path)

    def note(self, operation: str, **values: Any) -> None:
        """A line."""
        line = json.dumps({"operation": operation, **values}, separators=(",", ":")) + "\n"
        append_whole(self._descriptor, line.encode())

    def call(self, operation: str, exchange: Exchange, error: ServiceError | None, **values: Any) -> None:
        """A line about a call: when, with how many HTTP requests, over which new connection, and its error."""
        record: dict[str, Any] = {"start_ns": exchange.start_ns, "end_ns": exchange.end_ns, **values}
        if exchange.first_byte_ns is not None:
            record["response_ns"] = exchange.first_byte_ns
        record["requests"] = exchange.requests
        if exchange.retries:
            record["retry_causes"] = dict(exchange.retry_causes)
        opened = [[use.local, use.peer] for use in exchange.connections if use.opened]
        if opened:
            record["opened"] = opened
        if error is not None:
            record |= {"error_kind": str(error.kind), "error": str(error), "status": exchange.status}
        self.note(operation, **record)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
