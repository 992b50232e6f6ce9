"""`vmtrace extcap`: speaks Wireshark's extcap, so that streams that `vmtrace watch` watches are interfaces there.

Exit status: 0 done; 1 the stream is not watched any more; 2 wrong usage.
"""

import argparse
from pathlib import Path

from vmtrace.commands.options import new_parser
from vmtrace.commands.watch_offer import fetched, offered
from vmtrace.errors import CommandError, Exit, UsageError

_DESCRIPTION = (
    "Show in Wireshark what `vmtrace watch` watches: each is an interface that gives the last packets (--keep)."
    " Wireshark calls this by a script of its own extcap folder."
)
_EXAMPLES = """\
  vmtrace extcap --extcap-interfaces                       what is watched just now
  vmtrace extcap --install ~/.local/lib/wireshark/extcap   the script that Wireshark calls
"""
_VERSION = "1.0"


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace extcap`."""
    parser = new_parser("extcap", "", _DESCRIPTION, _EXAMPLES)
    add = parser.add_argument
    add("--install", metavar="DIR", type=Path, help="write the script into this extcap folder of Wireshark")
    add("--extcap-interfaces", action="store_true", help="list what is watched")
    add("--extcap-version", metavar="V", nargs="?", help="Wireshark's version")
    add("--extcap-interface", metavar="IF", help="one of what is watched")
    add("--extcap-dlts", action="store_true", help="its link types")
    add("--extcap-config", action="store_true", help="its options: none")
    add("--capture", action="store_true", help="give its last packets")
    add("--fifo", metavar="FIFO", type=Path, help="where they are written to, as pcapng")
    add("--extcap-capture-filter", metavar="BPF", help="not supported: what is watched was filtered")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Do what Wireshark asks; returns the exit status."""
    if arguments.install is not None:
        return _install(arguments.install)
    if arguments.extcap_interfaces:
        print(f"extcap {{version={_VERSION}}}{{display=vmtrace}}")
        for one in offered():
            print(f"interface {{value={one.value}}}{{display=vmtrace watch {one.name}}}")
    elif arguments.extcap_dlts:
        # The file says it; Wireshark wants one before.
        print("dlt {number=1}{name=EN10MB}{display=as captured}")
    elif arguments.capture:
        _give(arguments)
    elif not arguments.extcap_config:
        raise UsageError("name one of --extcap-interfaces, --extcap-dlts, --extcap-config, --capture, --install")
    return Exit.DONE


def _give(arguments: argparse.Namespace) -> None:
    if arguments.fifo is None or arguments.extcap_interface is None:
        raise UsageError("--capture: --extcap-interface and --fifo say what, and where to")
    path = next((one.path for one in offered() if one.value == arguments.extcap_interface), None)
    if path is None:
        raise CommandError(f"{arguments.extcap_interface}: not watched any more")
    with arguments.fifo.open("wb") as out:
        for piece in fetched(path):
            out.write(piece)


def _install(folder: Path) -> int:
    import shlex
    import sys

    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "vmtrace"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m vmtrace extcap "$@"\n')
    script.chmod(0o755)
    print(f"wrote {script}")
    return Exit.DONE
