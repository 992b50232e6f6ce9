"""`python3 -m vmtrace.receiver`."""

from __future__ import annotations

import sys

from vmtrace.receiver.command import build_parser, run
from vmtrace.sender.wire.program import main

if __name__ == "__main__":
    sys.exit(main(build_parser, run))
