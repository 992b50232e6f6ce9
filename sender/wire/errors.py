"""What can go wrong between sender and receiver. The message of each is the one line that a user reads.

WireError
├── ReceiverGone       not reachable, or lost on the way: trying again later may help
│   └── ConnectionClosed   the other side closed the connection in an orderly way
├── ReceiverBusy       too many sessions or connections just now: trying again later may help
├── KeyRefused         the keys of both sides differ
├── VersionMismatch    the other side speaks another version of the protocol
└── ReceiverRefused    the receiver will not do what was asked (a limit of its own), or could not
"""

from __future__ import annotations


class WireError(Exception):
    """Base of all trouble with the receiver."""

    may_help_to_retry = False


class ReceiverGone(WireError):  # noqa: N818 - the state of the world, not a name for a class of defects
    """The receiver cannot be reached, or the connection to it broke."""

    may_help_to_retry = True


class ConnectionClosed(ReceiverGone):
    """The other side ended the connection."""


class ReceiverBusy(WireError):  # noqa: N818
    """The receiver serves as many clients as it may."""

    may_help_to_retry = True


class KeyRefused(WireError):  # noqa: N818
    """The receiver has another key, or is not a receiver at all."""


class VersionMismatch(WireError):  # noqa: N818
    """The two sides speak different versions of the protocol."""


class ReceiverRefused(WireError):  # noqa: N818
    """The receiver says no, and why."""
