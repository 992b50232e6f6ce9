"""The one exception of this room besides those of `sender.wire`; its message is the one line that a user reads."""

from __future__ import annotations


class SenderError(RuntimeError):
    """A plan, a run folder or an option is not what it must be: what, where, and what to do."""
