"""`python3 -m capture`: `vmtrace capture` where nothing is installed."""

from __future__ import annotations

import sys

from capture.command import build_parser, run


def main() -> int:
    """Read the command line and record."""
    parser = build_parser()
    parser.prog = "python3 -m capture"
    return run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
