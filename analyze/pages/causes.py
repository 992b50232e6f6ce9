"""Causes on pages: one name and one colour for each, and the bar of what limited connections or transfers."""

from collections.abc import Callable, Mapping

from vmtrace.analyze.pages.blocks import Share, Shares
from vmtrace.analyze.words.human_causes import factor_name
from vmtrace.analyze.words.palette import FACTORS
from vmtrace.analyze.words.units import share

UNDECIDED, NOT_JUDGED = "undecided", "not judged"
COLOURS = {factor: look.colour for factor, look in FACTORS.items()} | {UNDECIDED: "#777777", NOT_JUDGED: "#B0B0B0"}
"""By cause: a factor of the contract, or why there is none."""
_HATCHES = {factor: look.hatch for factor, look in FACTORS.items()} | {UNDECIDED: "dashes", NOT_JUDGED: "plain"}


def cause_shares(label: str, amounts: Mapping[str, float], text: Callable[[str], str]) -> Shares:
    """A bar of causes, the largest amount first; `text` says of a cause how much that is."""
    total = sum(amounts.values())
    parts = tuple(
        Share(
            factor_name(cause),
            amount / total if total else 0.0,
            f"{share(amount / total if total else None)}{text(cause)}",
            COLOURS.get(cause, COLOURS[UNDECIDED]),
            _HATCHES.get(cause, "dashes"),
        )
        for cause, amount in sorted(amounts.items(), key=lambda one: -one[1])
    )
    return Shares(label, parts)
