"""Which display a campaign gets: for a person at a terminal, a log, a script, or nobody.

Each form is a module of its own (`live`, `plain`, `json_lines`) and is imported only where it is chosen.
"""

from __future__ import annotations

import importlib.util
import sys

from vmtrace.sender.display.view import Display


def choose_display(*, quiet: bool, json_lines: bool) -> Display:
    """The form for this standard output and error."""
    if json_lines:
        from vmtrace.sender.display.json_lines import JsonLines

        return JsonLines(sys.stdout)
    if quiet:
        return Display()
    if sys.stderr.isatty() and importlib.util.find_spec("rich") is not None:
        from vmtrace.sender.display.live import RichDisplay

        return RichDisplay()
    from vmtrace.sender.display.plain import PlainDisplay

    return PlainDisplay(sys.stderr, sys.stdout)
