"""The limiting factors by name and in words, as the engine declares them (docs/verdict.md)."""

from collections.abc import Sequence

from vmtrace.analyze._engine import factor_labels, factors

FACTORS = tuple(name for name, _, holds_back in factors() if holds_back)
"""That can hold a transfer back, in the order of the contract; `idle`, waiting for the other side, cannot."""

IN_WORDS = {name: words for name, words, _ in factors()} | {"unknown": "a stop at a host or on the path"}
"""Factors as nouns, for sentences; `unknown` is a stop that one capture cannot place."""

LABELS = {name: label for name, label, _, _ in factor_labels()}
"""Factors in tables and lists: `handshake`, `timeouts`."""

COLUMN_LABELS = {name: label for name, _, label, _ in factor_labels()}
"""The same where a column is narrow."""

_BY_BEGINNING = {name: beginnings for name, _, _, beginnings in factor_labels()}


def label_by_sentence(name: str, sentence: str | None) -> str | None:
    """The label of what a sentence of the engine says of a factor; None if the factor has but one."""
    found = (label for beginning, label in _BY_BEGINNING.get(name, ()) if (sentence or "").startswith(beginning))
    return next(found, None)


def in_words(names: Sequence[str]) -> str:
    """Factors as people say them: `slow start or the receiver's window`."""
    return " or ".join(IN_WORDS.get(name, name.replace("_", " ")) for name in names)
