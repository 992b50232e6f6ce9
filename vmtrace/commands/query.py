"""`vmtrace query`: a question in SQL over captures, or over the results of a corpus.

Exit status: 0 answered; 1 it could not be asked, or a capture could not be read whole; 2 wrong usage.
"""

import argparse
from pathlib import Path

from vmtrace.commands.options import new_parser
from vmtrace.errors import CommandError, Exit, complain, describe
from vmtrace.progress import Bar

_DESCRIPTION = (
    "Ask in SQL (DuckDB) over captures, read as one: tables connections, flows, lookups, findings, syns, packets."
    " Over the results of vmtrace corpus analyze: connections, syns, lookups, echoes. Columns: vmtrace fields."
)
_EXAMPLES = """  vmtrace query "SELECT server, sum(ledger_wire_bytes) FROM connections GROUP BY 1" traces/*.pcap
  vmtrace query "SELECT kind, cost_s, sentence FROM findings" trace.pcap --format csv
  vmtrace query "SELECT frame, time_ns FROM packets WHERE kind = 'retransmission'" trace.pcap
"""


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace query`."""
    parser = new_parser("query", "SQL CAPTURE ...", _DESCRIPTION, _EXAMPLES)
    add = parser.add_argument
    add("question", metavar="SQL", help="the query; its columns are those of docs/json.md")
    add("sources", metavar="CAPTURE", nargs="+", help="captures, or one folder of results of vmtrace corpus analyze")
    add("--format", choices=("table", "csv", "json"), default="table", help="how to print the rows (default: table)")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Ask; returns the exit status."""
    from vmtrace.analyze.read.capture_files import captures_of
    from vmtrace.analyze.tables.query import QueryError, ask, shown, tables_of
    from vmtrace.analyze.trace import TraceError, read
    from vmtrace.commands.outputs import answer

    first, *others = arguments.sources
    problems: list[str] = []
    if not others and Path(first, "connections.parquet").exists() | Path(first, "connections").is_dir():
        from vmtrace.corpus import query

        with Bar(wanted=True).making("the answer"):
            rows = query.ask(first, arguments.question)
    else:
        try:
            captures = captures_of(arguments.sources)
            with Bar(captures, wanted=True) as bar:
                trace = read(*captures, progress=bar)
                problems = [describe(error) for error in trace.errors]
                with bar.making("the answer"):
                    rows = ask(lambda: tables_of(trace, arguments.question), arguments.question)
        except (TraceError, OSError) as error:
            raise CommandError(describe(error)) from None
        except QueryError as error:
            raise CommandError(str(error)) from None
    for problem in problems:
        complain(problem)
    with answer():
        print(shown(rows, arguments.format), end="")
    return Exit.FAILED if problems else Exit.DONE
