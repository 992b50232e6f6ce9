"""`python3 -m vmtrace.sender` is `vmtrace send`."""

import sys

from vmtrace.sender.command import build_parser, run
from vmtrace.sender.wire.program import main

if __name__ == "__main__":
    sys.exit(main(build_parser, run))
