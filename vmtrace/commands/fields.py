"""`vmtrace fields`: what the fields of results mean.

Exit status: 0 some were found; 1 none has such a name.
"""

import argparse
import json
from textwrap import wrap

from vmtrace.analyze.tables.schema import ANALYSIS, NAMES, load
from vmtrace.capture.options import add_json_printed
from vmtrace.commands.options import new_parser
from vmtrace.commands.outputs import answer
from vmtrace.errors import CommandError, Exit

_DESCRIPTION = (
    "What the fields of `vmtrace analyze --json` and the columns of CSV, Parquet and vmtrace.read mean: path, unit,"
    " meaning, values, and when they are null or left out."
)
_EXAMPLES = """  vmtrace fields
  vmtrace fields rtt                       all with "rtt" in their path
  vmtrace fields server_to_client_rtt_min_s    a column
  vmtrace fields --schema > vmtrace.analysis.1.schema.json"""
_WIDTH = 100


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace fields`."""
    parser = new_parser("fields", "[PATTERN]", _DESCRIPTION, _EXAMPLES)
    add = parser.add_argument
    add("pattern", metavar="PATTERN", nargs="?", default="", help="part of the name of a field or a column")
    add_json_printed(parser, "print a JSON list of records")
    add(
        "--schema",
        metavar="NAME",
        nargs="?",
        const=ANALYSIS,
        choices=NAMES,
        help=f"print the JSON Schema of a document: {', '.join(NAMES)} (default: {ANALYSIS})",
    )
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Print fields; returns the exit status."""
    with answer():
        print(_schema(arguments.schema) if arguments.schema else _found(arguments.pattern, as_json=arguments.json))
    return Exit.DONE


def _schema(name: str) -> str:
    return json.dumps(load(name), indent=2, ensure_ascii=False)


def _found(pattern: str, *, as_json: bool) -> str:
    found = [record for record in records() if _is_meant(str(record["path"]), pattern)]
    if not found:
        raise CommandError(f"no field has {pattern!r} in its path: try a shorter part of it")
    return json.dumps(found, indent=2, ensure_ascii=False) if as_json else "\n".join(map(_lines, found))


def _lines(record: dict[str, object]) -> str:
    unit = f"  [{record['unit']}]" if record["unit"] else ""
    return "\n    ".join([f"{record['path']}{unit}", *wrap(str(record["meaning"]), _WIDTH - 4)])


def records() -> list[dict[str, object]]:
    """One for each field. What is said of `client_to_server` holds for `server_to_client`, too."""
    from vmtrace.analyze.tables.fields import sections

    return [
        {
            "path": path,
            "unit": field.unit or None,
            "kind": field.kind,
            "meaning": field.plain,
            "values": list(field.values) or None,
            "null": field.null,
            "left_out": field.left_out or (None if field.there == "always" else field.there.replace("if", "unless")),
        }
        for section in sections()
        for path, field in section.paths()
    ]


def _is_meant(path: str, pattern: str) -> bool:
    """Whether a path, or the column that it is, has the pattern in it."""
    wanted = pattern.replace("server_to_client", "client_to_server")
    return wanted in path or wanted.replace(".", "_") in path.removeprefix("connections[].").replace(".", "_")
