"""`vmtrace corpus query`: a question in SQL over the results of a run.

Exit status: 0 answered; 1 it could not be asked; 2 wrong usage.
"""

import argparse

from vmtrace.commands.options import add_endpoint_url
from vmtrace.errors import Exit

NAME = "query"
LINE = "Query the results in SQL (DuckDB): tables connections, syns, lookups."
EXAMPLES = """  vmtrace corpus query results "SELECT verdict_factor, count(*) FROM connections GROUP BY 1"
  vmtrace corpus query s3://bucket/results "SELECT * FROM syns ORDER BY syn DESC LIMIT 5" --format csv
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    add = parser.add_argument
    add("results", metavar="OUT", help="results of vmtrace corpus analyze")
    add("question", metavar="SQL", help="the query; its columns are those of docs/json.md")
    add("--format", choices=("table", "csv", "json"), default="table", help="how to print the rows (default: table)")
    add_endpoint_url(parser)


def run(arguments: argparse.Namespace) -> int:
    """Ask; returns the exit status."""
    from vmtrace.analyze.tables.query import shown
    from vmtrace.commands.outputs import answer
    from vmtrace.corpus.query import ask

    rows = ask(arguments.results, arguments.question, arguments.endpoint_url)
    with answer():
        print(shown(rows, arguments.format), end="")
    return Exit.DONE
