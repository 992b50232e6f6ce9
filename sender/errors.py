"""The exceptions of this room besides those of `vmtrace.sender.wire`; the message is the one line that a user reads."""

from __future__ import annotations


class SenderError(ValueError):
    """A plan, a run folder or an option is not what it must be: what, where, and what to do."""


class UsageError(SenderError):
    """The command line does not say what is needed: exit status 2."""
