"""vmtrace: what crossed the wire, measured exactly. The few names that a notebook imports.

import vmtrace
t = vmtrace.read("x.pcap")   # a file, a folder, a pattern, a URL, a list of them
t.narrow        # id, client, server, goodput_bps, rtt_min_s, cause, saves_s, outcome
t.connections   # into pyarrow.table(), polars.DataFrame(), pandas.DataFrame.from_arrow() or a DuckDB query
t.packets(0)

The links in this folder are the rooms beside it, imported as `vmtrace.<room>`. They work without the engine, on Python
3.9 in the agent's file, too: nothing is loaded before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vmtrace.analyze.trace import Options, Trace, TraceError, read

    __version__: str
else:

    def __getattr__(name):
        if name not in {*__all__, "__version__"}:
            raise AttributeError(f"module 'vmtrace' has no attribute {name!r}")
        from vmtrace.analyze import trace

        return trace.version() if name == "__version__" else getattr(trace, name)


__all__ = ["Options", "Trace", "TraceError", "read"]
