"""What a table calls the cause of a connection: its outcome, or the factor of its verdict."""

from typing import TYPE_CHECKING, Any

from vmtrace.analyze.words.factors import COLUMN_LABELS, LABELS, label_by_sentence
from vmtrace.analyze.words.outcomes import SHORT_NAMES as OUTCOMES
from vmtrace.analyze.words.units import ABSENT
from vmtrace.analyze.words.verdict import is_open

if TYPE_CHECKING:
    pass

Row = dict[str, Any]


def factor_name(factor: str, sentence: str | None = None) -> str:
    """What a factor is called; `sentence` is the engine's, which says what kept a congestion window small."""
    return label_by_sentence(factor, sentence) or LABELS.get(factor, factor.replace("_", " "))


def why(row: Row) -> str:
    """What became of a row of the table; else its cause, with a question mark where the verdict is undecided."""
    factor: str | None = row.get("verdict_factor")
    outcome: str | None = row.get("outcome_kind")
    if outcome is not None:
        return OUTCOMES.get(outcome, outcome)
    if factor is None:
        return ABSENT
    sentence = row.get("verdict_sentence")
    name = label_by_sentence(factor, sentence) or COLUMN_LABELS.get(factor) or factor_name(factor)
    return name + ("?" if is_open(row.get("verdict_confidence")) else "")
