"""vmtrace: what crossed the wire, measured exactly. The few names that a notebook imports.

import vmtrace
t = vmtrace.read("x.pcap")
t.connections   # into pyarrow.table(), polars.DataFrame(), pandas.DataFrame.from_arrow() or a DuckDB query
t.packets(0)
"""

from vmtrace.analyze.trace import Options, Trace, TraceError, read, version

__all__ = ["Options", "Trace", "TraceError", "read"]

__version__ = version()
