"""`python3 -m receiver`."""

from __future__ import annotations

import sys

from receiver.command import build_parser, run
from sender.wire.program import main

if __name__ == "__main__":
    sys.exit(main(build_parser, run))
