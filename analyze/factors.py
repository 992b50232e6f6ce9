"""The limiting factors by name and in words, as the engine declares them (docs/verdict.md)."""

from collections.abc import Sequence

from analyze._engine import factors

FACTORS = tuple(name for name, _, holds_back in factors() if holds_back)
"""That can hold a transfer back, in the order of the contract; `idle`, waiting for the other side, cannot."""

IN_WORDS = {name: words for name, words, _ in factors()} | {"unknown": "a stop at a host or on the path"}
"""Factors as nouns, for sentences; `unknown` is a stop that one capture cannot place."""


def in_words(names: Sequence[str]) -> str:
    """Factors as people say them: `slow start or the receiver's window`."""
    return " or ".join(IN_WORDS.get(name, name.replace("_", " ")) for name in names)
