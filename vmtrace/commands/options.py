"""Options that mean the same in several subcommands, each declared once; and the parser that they are added to.

Those that sender, receiver and capture have, too, are in `vmtrace.capture.options`.

The parser of a command that must start at once: argparse makes a formatter for each option that it is given, and by
itself measures the terminal for each.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from vmtrace.capture.options import (
    above,
    add_duration,
    add_filter,
    add_interface,
    add_json_printed,
    add_no_capture,
    add_quiet,
    whole,
)
from vmtrace.commands.values import instant_ns
from vmtrace.errors import UsageError
from vmtrace.formats.quantities import size_bytes

if TYPE_CHECKING:
    from vmtrace.analyze.read.records.window import Window
    from vmtrace.providers.plan_options import Option

_LONGEST_MS = 1e12
_SERVICES = 100
_LEAST_MEMORY = 128 << 20
_PLAIN = partial(argparse.RawDescriptionHelpFormatter, width=80)
T = TypeVar("T")


def new_parser(name: str, operands: str, description: str, examples: str) -> argparse.ArgumentParser:
    """An empty parser of `vmtrace NAME`; `examples` are lines of their own, indented by two."""
    return argparse.ArgumentParser(
        prog=f"vmtrace {name}",
        usage=f"vmtrace {name} [OPTION ...] {operands}",
        description=description,
        epilog=f"examples:\n{examples}",
        formatter_class=_PLAIN,
        allow_abbrev=False,
    )


def add_file(parser: argparse._ActionsContainer, option: str, what: str, metavar: str = "FILE") -> None:
    """An output that is a file or a folder."""
    parser.add_argument(option, metavar=metavar, type=Path, help=what)


def add_html(parser: argparse._ActionsContainer, what: str, *other: str, metavar: str = "FILE") -> None:
    """A page; `other` are names that it has besides."""
    parser.add_argument(*other, "--html", metavar=metavar, type=Path, help=what)


def add_figures(parser: argparse._ActionsContainer, what: str) -> None:
    """Figures for print."""
    add_file(parser, "--figures", what, "DIR")


def add_csv(parser: argparse._ActionsContainer, what: str) -> None:
    """Tables as text."""
    add_file(parser, "--csv", f"{what} as CSV files in this folder", "DIR")


def add_parquet(parser: argparse._ActionsContainer, what: str) -> None:
    """Tables as they are in memory."""
    add_file(parser, "--parquet", f"{what} as Parquet files in this folder", "DIR")


def run_folder(out: Path | None, resume: str | None) -> Path | None:
    """Of `--out` and `--resume`: the run's folder; wrong usage where they name two, or a run to resume has none."""
    if resume and out not in {None, Path(resume)}:
        raise UsageError(f"--resume {resume} and --out {out} name two folders")
    if resume == "" and out is None:
        raise UsageError("--resume: name the folder of the run, as in --resume RUN")
    return Path(resume) if resume else out


def add_json(parser: argparse._ActionsContainer) -> None:
    """Everything for a program."""
    parser.add_argument(
        "--json", metavar="OUT|-", help="write everything measured as JSON (- is standard output), and print no table"
    )


def add_window(parser: argparse._ActionsContainer) -> None:
    """Which part of a run's time a report is about."""
    add = parser.add_argument
    add("--from", dest="from_ns", metavar="TIME", type=_instant, help="only what began at that time or later (UTC)")
    add("--until", dest="until_ns", metavar="TIME", type=_instant, help="only what began before that time (UTC)")


def _instant(text: str) -> int:
    try:
        return instant_ns(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def window_of(arguments: argparse.Namespace) -> "Window":
    """Of `--from` and `--until`; wrong usage where nothing can be between them."""
    from vmtrace.analyze.read.records.window import Window

    found = Window(arguments.from_ns, arguments.until_ns)
    if found.from_ns is not None and found.until_ns is not None and found.from_ns >= found.until_ns:
        raise UsageError("--from and --until: the first is not before the second")
    return found


def filled(kind: type[T], arguments: argparse.Namespace, **given: object) -> T:
    """A request: its fields as given, else as the options of their names, else as they are by default."""
    named = {name: getattr(arguments, name) for name in kind.__annotations__ if hasattr(arguments, name)}
    return kind(**{**named, **given})


def add_oversize_abs(parser: argparse._ActionsContainer, what: str) -> None:
    """A fixed length instead of the adaptive rule for pauses."""
    parser.add_argument("--oversize-abs", metavar="MS", type=above(0, _LONGEST_MS), help=what)


def add_keylog(parser: argparse._ActionsContainer) -> None:
    """Keys of what is protected in a capture."""
    parser.add_argument(
        "--keylog",
        metavar="FILE",
        help="secrets in NSS's key log format (SSLKEYLOGFILE): open QUIC, and HTTP/2 inside TLS (default: those that a"
        " pcapng file holds)",
    )


def add_memory(parser: argparse._ActionsContainer, what: str, default: int | None) -> None:
    """How much memory may be taken."""
    parser.add_argument("--memory", metavar="SIZE", type=_memory, default=default, help=what)


def _memory(text: str) -> int:
    """Bytes of `1.5GiB`, `512MiB`."""
    try:
        size = size_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if size < _LEAST_MEMORY:
        raise argparse.ArgumentTypeError(f"{text}: at least 128MiB")
    return size


def add_endpoint_url(parser: argparse._ActionsContainer) -> None:
    """Where an object store is, if it is not the public one."""
    parser.add_argument(
        "--endpoint-url", metavar="URL", help="server of s3://, gs:// and az:// URLs (default: the provider's)"
    )


def add_display(parser: argparse._ActionsContainer) -> None:
    """What is printed, and how."""
    add_quiet(parser, "print no table and no progress")
    parser.add_argument("--no-color", action="store_true", help="no colour, even on a terminal")
    parser.add_argument("--debug", action="store_true", help="on an error, print its traceback")


def add_service_client(parser: argparse._ActionsContainer) -> None:
    """How a service's own SDK is used."""
    add_ca_bundle(parser)
    parser.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="option of the SDK (a wrong name lists them)",
    )


def add_ca_bundle(parser: argparse._ActionsContainer, default: str = "") -> None:
    """Whom TLS trusts."""
    known = f" (default: {default})" if default else ""
    parser.add_argument(
        "--ca-bundle", metavar="FILE", type=Path, help=f"certificate authorities to trust for TLS{known}"
    )


def add_plan_option(to: argparse._ActionsContainer, declared: "Option", kinds: tuple[str, ...] = ()) -> None:
    """An option that plans declare; `kinds` of plans have it, and no others."""
    shown = f"{', '.join(kinds)}: {declared.what}" if kinds else declared.what
    if declared.destination == "duration":
        add_duration(to, shown)
    else:
        to.add_argument(declared.spelling, metavar=declared.metavar, help=shown)


def add_charge_limits(parser: argparse.ArgumentParser, moved: str, table: str) -> None:
    """When a run stops by itself: `moved` says which bytes count, `table` names a built-in table of prices."""
    add = parser.add_argument_group("limits").add_argument
    add("--max-bytes", metavar="SIZE", help=f"move at most so much{moved}")
    add("--max-cost", metavar="AMOUNT", help="stop before the charges by --prices exceed this")
    add("--prices", metavar="NAME|FILE", help=f"table of prices: a TOML file, or {table}")


def add_recording(parser: argparse._ActionsContainer, towards: str) -> None:
    """Where packets are recorded, if they are."""
    add_interface(parser, f"interface to record (default: the one towards the {towards})")
    add_no_capture(parser)


def add_snap_length(parser: argparse._ActionsContainer) -> None:
    """How much of each packet is recorded."""
    parser.add_argument(
        "--snaplen", metavar="N", help="bytes kept of each packet (default: headers, and complete TLS handshakes)"
    )


def add_recorded_packets(parser: argparse._ActionsContainer) -> None:
    """Which packets of a service are recorded."""
    add_filter(parser, "packets to record (default: the service's ports, DNS, ICMP and ARP)")


def add_read_packets(parser: argparse._ActionsContainer) -> None:
    """Which packets of captures are read."""
    add_filter(parser, "read only packets that match, e.g. 'tcp port 443'")


def add_run_output(parser: argparse.ArgumentParser, *, named: bool = True) -> None:
    """What a run prints, and what reports call it."""
    output = parser.add_argument_group("output")
    if named:
        output.add_argument("--name", metavar="NAME", help="name of the data set in reports (default: the folder's)")
    add_json_printed(output, "print run.json at the end")
    add_quiet(output)


def add_otlp(parser: argparse._ActionsContainer) -> None:
    """Figures by service to a collector of metrics."""
    parser.add_argument(
        "--otlp", metavar="URL", help="push metrics to this OpenTelemetry collector (http://localhost:4318)"
    )
    parser.add_argument(
        "--services",
        metavar="N",
        type=whole(1, 100_000),
        default=_SERVICES,
        help=f"servers with metrics of their own; the rest are 'other' (default: {_SERVICES})",
    )
