"""`python3 -m sender` is `vmtrace send`."""

import sys

from sender.command import build_parser, run
from sender.wire.program import main

if __name__ == "__main__":
    sys.exit(main(build_parser, run))
