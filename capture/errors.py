"""What goes wrong with a capture, told in one line: what, where, what to do."""

from __future__ import annotations


class CaptureError(Exception):
    """A capture cannot be made, or a file cannot be written; the message is one line for a person."""
