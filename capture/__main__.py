"""`python3 -m vmtrace.capture`: `vmtrace capture` where nothing is installed."""

from __future__ import annotations

import os
import sys

from vmtrace.capture.command import build_parser, run


def main() -> int:
    """Read the command line and record; returns the exit status."""
    parser = build_parser()
    parser.prog = "python3 -m vmtrace.capture"
    arguments = parser.parse_args()
    try:
        return run(arguments)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Python flushes standard output once more at exit, which would complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, ValueError) as error:
        shown = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        print(f"vmtrace: {' '.join(shown.split())}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
