"""What limited connections, for people: the names of the factors, and equal causes counted together.

One connection has its sentence. Of several, each cause has a line: how many it limited, and the sentence of the
largest of them; the cause of most bytes comes first.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from vmtrace.analyze.factors import COLUMN_LABELS, LABELS, label_by_sentence
from vmtrace.analyze.outcomes import SHORT_NAMES as OUTCOMES
from vmtrace.analyze.units import ABSENT, printable, share
from vmtrace.analyze.verdict import is_open

if TYPE_CHECKING:
    from vmtrace.analyze.trace import Trace

_CAUSES_SHOWN = 4
_COLUMNS = ("verdict_factor", "verdict_confidence", "verdict_sentence")

_OPEN = "Undecided: "
"""How the engine's sentence begins where the line says so already."""

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


def cause_lines(trace: "Trace", rows: Sequence[int]) -> Iterator[str]:
    """What limited the connections; `rows` are those that are shown: sentences are about them where they can be."""
    if len(trace) == 1:
        row = trace.row(0)
        if row.get("verdict_sentence"):
            yield f"{row['id']}: {_sentence(row)}"
        return
    trace.load(_COLUMNS)
    causes = [_cause(*values) for values in zip(*map(trace.values, _COLUMNS), strict=True)]
    counted = Counter(cause for cause in causes if cause is not None)
    if not counted:
        return
    sizes = Counter[str]()
    for cause, size in zip(causes, trace.values("ledger_wire_bytes"), strict=True):
        sizes[cause or ""] += size or 0
    order = sorted(counted, key=lambda cause: sizes[cause], reverse=True)
    first = _first_of_each(causes, (*rows, *trace.largest()))
    for cause in order[:_CAUSES_SHOWN]:
        row = trace.row(first[cause])
        said = _sentence(row).removeprefix(_OPEN)
        yield f"{counted[cause]:,} of {len(trace):,}: {cause}. Connection {row['id']}: {said}"
    rest = [f"{counted[cause]:,} {cause}" for cause in order[_CAUSES_SHOWN:]]
    silent = len(trace) - counted.total()
    rest += [f"{silent:,} without a verdict"] if silent else []
    if rest:
        yield f"others: {', '.join(rest)}"


def _cause(factor: str | None, confidence: float | None, sentence: str | None) -> str | None:
    if factor is None:
        return None
    return "undecided" if is_open(confidence) else factor_name(factor, sentence)


def _first_of_each(causes: Sequence[str | None], rows: Sequence[int]) -> dict[str, int]:
    """The first of these rows that each cause has; `rows` end with all."""
    found: dict[str, int] = {}
    for row in rows:
        cause = causes[row]
        if cause is not None:
            found.setdefault(cause, row)
    return found


def _sentence(row: Row) -> str:
    return f"{printable(row['verdict_sentence'])} Confidence {share(row.get('verdict_confidence'))}."
