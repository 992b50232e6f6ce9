"""`python -m vmtrace.lab`: the same as `vmtrace lab`."""

import sys

from vmtrace.lab import command

if __name__ == "__main__":
    sys.exit(command.run(command.build_parser().parse_args()))
