"""Captures in, measurements out: tables, figures and report. The measuring itself is `analyze/engine` (Rust).

Knows nothing of how a capture was made. Import the module that is meant (`vmtrace.analyze.trace`,
`vmtrace.analyze.tables.write`, ...): nothing is imported here, so that starting the command stays quick.
"""

FLOORS = ("words", "read", "stats", "findings", "tables", "trace", "charts", "pages", "compare", "reports")
