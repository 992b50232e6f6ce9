"""What goes wrong in this room, told in one line: what, where, what to do."""


class CloudWatchError(RuntimeError):
    """Metrics cannot be had, read or put; the message is one line for a person."""


class UsageError(CloudWatchError):
    """The command line does not say what is needed, or says what cannot be: exit status 2."""
