"""One module for each subcommand of `vmtrace`."""
