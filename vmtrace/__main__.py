"""`python -m vmtrace` is the `vmtrace` command."""

from vmtrace.cli import main

if __name__ == "__main__":
    main()
