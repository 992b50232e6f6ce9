"""`vmtrace agent`: writes sender, receiver and capture into one file that any Python 3.9 runs, with nothing installed.

The file is a zip archive (`zipapp`). The same sources give the same bytes: two people can compare what they run.
"""

import argparse
import importlib.util
import sys
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path, PurePosixPath

import vmtrace
from vmtrace.capture.afterwards import command, show_afterwards
from vmtrace.formats import STANDARD_OUTPUT
from vmtrace.formats.durable import write_aside

_ROOMS = ("capture", "formats", "receiver", "sender")
_SHEBANG = b"#!/usr/bin/env python3\n"
_MAIN = '''"""The vmtrace agent: sender, receiver and capture in one file."""

import sys

from vmtrace.sender.agent import main

sys.exit(main())
'''
# The earliest instant that a zip archive can hold: contents alone decide about the bytes.
_WRITTEN = (1980, 1, 1, 0, 0, 0)
_EXECUTABLE = 0o755
_EXAMPLES = """examples:
  vmtrace agent --write vmtrace-agent.pyz
  scp vmtrace-agent.pyz vmtrace.key vm:
  ssh vm python3 vmtrace-agent.pyz send 198.51.100.7 --key-file vmtrace.key --out run1

The VM needs Python 3.9 or newer, and libpcap for captures; nothing is installed there.
"""


def build_parser() -> argparse.ArgumentParser:
    """Its options."""
    parser = argparse.ArgumentParser(
        prog="vmtrace agent",
        description="Write one file that sends, receives, captures and fetches on a machine with a bare Python 3.9.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--write",
        metavar="FILE",
        type=Path,
        required=True,
        help="file to write, e.g. vmtrace-agent.pyz; -: standard output",
    )
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Write the file, whole or not at all."""
    from vmtrace.formats.provenance import vmtrace_version

    data = agent_bytes(vmtrace_version())
    if arguments.write == Path(STANDARD_OUTPUT):
        sys.stdout.buffer.write(data)
        return 0
    write_aside(arguments.write, data)
    arguments.write.chmod(_EXECUTABLE)
    show_afterwards([arguments.write], command("python3", arguments.write, "--help"))
    return 0


def agent_bytes(version: str) -> bytes:
    """The archive."""
    buffer = BytesIO()
    buffer.write(_SHEBANG)
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(_contents(version)):
            entry = zipfile.ZipInfo(name, _WRITTEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


def _contents(version: str) -> Iterator[tuple[str, bytes]]:
    yield "__main__.py", _MAIN.encode()
    yield "vmtrace/formats/VERSION", f"{version}\n".encode()
    yield "vmtrace/__init__.py", Path(vmtrace.__file__).read_bytes()
    for room in _ROOMS:
        spec = importlib.util.find_spec(f"vmtrace.{room}")
        if spec is None or not spec.submodule_search_locations:
            raise FileNotFoundError(f"the folder {room} of this installation is missing")
        folder = Path(spec.submodule_search_locations[0])
        for path in folder.rglob("*.py"):
            yield str(PurePosixPath("vmtrace", room, *path.relative_to(folder).parts)), path.read_bytes()
