"""`python -m lab`: the same as `vmtrace lab`."""

import sys

from lab import command

if __name__ == "__main__":
    sys.exit(command.run(command.build_parser().parse_args()))
