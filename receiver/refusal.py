"""Saying no to a client that has the key."""

from __future__ import annotations


class Refusal(Exception):  # noqa: N818 - an answer, not a defect
    """A question that is answered with no; the message says why, and the session goes on."""

    busy = False


class BusyRefusal(Refusal):
    """No for now: to ask again later may help."""

    busy = True
