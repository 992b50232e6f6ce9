"""Thresholds for scripts: `loss_rate>0.001 and goodput_bps<1e6` judged for every connection.

    expression = and-part {"or" and-part}
    and-part   = term {"and" term}
    term       = "(" expression ")" | metric operator number | outcome
    outcome    = "outcome" [("=" | "==" | "!=") kind]
    operator   = ">" | ">=" | "<" | "<=" | "==" | "!="

A metric is a column of the connection table (its JSON path joined with `_`). One that each direction has may be written
without its direction, and those of `SHORT_NAMES` shorter still: then the expression is tried for either direction, all
of its terms for the same one. A number that could not be measured crosses no threshold. `outcome` holds for a
connection that has one (docs/verdict.md), `outcome=KIND` for one of that kind, `outcome!=KIND` for one of another kind.
Nothing is ever evaluated as code.
"""

import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from vmtrace.analyze.words.outcomes import SHORT_NAMES as OUTCOMES

DIRECTIONS = ("client_to_server", "server_to_client")

SHORT_NAMES: Mapping[str, str] = {
    "loss_rate": "loss_loss_rate",
    "retransmission_rate": "loss_retransmission_rate",
    "retransmitted_segments": "loss_retransmitted_segments",
    "lost_segments": "loss_lost_segments_inferred",
    "zero_windows": "window_zero_windows",
    "window_limited": "window_limited_fraction",
    "oversize": "spacing_oversize",
    "oversize_time_s": "spacing_oversize_time_s",
    "overhead_ratio": "ledger_overhead_ratio",
    "syn_retransmissions": "handshake_syn_retransmissions",
}
"""Short spellings of what is asked for most."""

_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<word>[A-Za-z_]\w*)|(?P<operator>[<>]=?|[=!]=|=)"
    r"|(?P<bracket>[()]))"
)
_DEPTH_LIMIT = 50

OUTCOME = "outcome_kind"
"""The column that `outcome` asks for."""

Value = float | str | None
Values = Mapping[str, Value]


class ExpressionError(ValueError):
    """The expression cannot be understood; the message says where."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`metric operator number`."""

    metric: str
    symbol: str
    number: float

    def holds(self, values: Values) -> bool:
        """True if these values cross the threshold."""
        value = values.get(self.metric)
        return isinstance(value, int | float) and _OPERATORS[self.symbol](value, self.number)

    def metrics(self) -> list[str]:
        """The metrics that are compared."""
        return [self.metric]


@dataclass(frozen=True, slots=True)
class OutcomeIs:
    """`outcome`, alone or with a kind."""

    kind: str | None = None
    other: bool = False
    """Any but that kind."""

    def holds(self, values: Values) -> bool:
        """True if the connection has such an outcome."""
        value = values.get(OUTCOME)
        return value is not None and (self.kind is None or (value == self.kind) is not self.other)

    def metrics(self) -> list[str]:
        """The column of the outcomes."""
        return [OUTCOME]


@dataclass(frozen=True, slots=True)
class Combination:
    """Terms that must all hold (`and`) or of which one must (`or`)."""

    word: str
    terms: tuple["Expression", ...]

    def holds(self, values: Values) -> bool:
        """True if these values make the whole true."""
        together = all if self.word == "and" else any
        return together(term.holds(values) for term in self.terms)

    def metrics(self) -> list[str]:
        """The metrics that are compared."""
        return [metric for term in self.terms for metric in term.metrics()]


Expression = Comparison | OutcomeIs | Combination


@dataclass(frozen=True, slots=True)
class Crossing:
    """A connection (and the direction, if the metrics belong to one) in which the expression holds."""

    row: int
    direction: str | None
    values: Values


def parse(text: str) -> Expression:
    """Raises `ExpressionError`."""
    parser = _Parser(text)
    expression = parser.expression(0)
    parser.end()
    return expression


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def expression(self, depth: int) -> Expression:
        return self._chain("or", depth)

    def end(self) -> None:
        if self._text[self._position :].strip():
            raise self._error("expected 'and', 'or' or the end")

    def _chain(self, word: str, depth: int) -> Expression:
        if depth > _DEPTH_LIMIT:
            raise self._error("too many brackets")
        following: Callable[[], Expression] = (
            (lambda: self._chain("and", depth)) if word == "or" else (lambda: self._term(depth))
        )
        terms = [following()]
        while self._accept("word", (word,)):
            terms.append(following())
        return terms[0] if len(terms) == 1 else Combination(word, tuple(terms))

    def _term(self, depth: int) -> Expression:
        if self._accept("bracket", ("(",)):
            inner = self.expression(depth + 1)
            if not self._accept("bracket", (")",)):
                raise self._error("expected ')'")
            return inner
        metric = self._accept("word")
        if not metric or metric in ("and", "or"):
            raise self._error("expected a metric")
        if metric == "outcome":
            return self._outcome()
        symbol = self._accept("operator", tuple(_OPERATORS))
        if not symbol:
            raise self._error("expected one of " + " ".join(_OPERATORS))
        number = self._accept("number")
        if not number:
            raise self._error("expected a number")
        return Comparison(metric, symbol, float(number))

    def _outcome(self) -> OutcomeIs:
        symbol = self._accept("operator", ("=", "==", "!="))
        if not symbol:
            return OutcomeIs()
        kind = self._accept("word")
        if kind not in OUTCOMES:
            close = get_close_matches(kind or "", OUTCOMES, n=3, cutoff=0.4) or OUTCOMES
            raise self._error(f"expected a kind of outcome: {', '.join(close)}")
        return OutcomeIs(kind, symbol == "!=")

    def _accept(self, kind: str, allowed: Sequence[str] = ()) -> str | None:
        match = _TOKEN.match(self._text, self._position)
        if not match or match.lastgroup != kind or (allowed and match[kind] not in allowed):
            return None
        self._position = match.end()
        return match[kind]

    def _error(self, what: str) -> ExpressionError:
        return ExpressionError(f"{self._text!r}: {what} at character {self._position + 1}")


@dataclass(frozen=True, slots=True)
class Condition:
    """An expression whose metrics were looked up in the columns that there are."""

    expression: Expression
    by_direction: Mapping[str | None, Mapping[str, str]]
    """For each direction to try (None: the connection as a whole), the column of each metric."""

    def columns(self) -> list[str]:
        """The columns that the condition reads."""
        return sorted({column for columns in self.by_direction.values() for column in columns.values()})

    def crossings(self, columns: Mapping[str, Sequence[Value]]) -> Iterable[Crossing]:
        """Every connection in which the expression holds, in the table's order, each direction on its own."""
        rows = len(next(iter(columns.values()), ()))
        for row in range(rows):
            for direction, names in self.by_direction.items():
                values = {metric: columns[column][row] for metric, column in names.items()}
                if self.expression.holds(values):
                    yield Crossing(row, direction, values)


def bind(
    expression: Expression, columns: Iterable[str], directions: Sequence[str] = DIRECTIONS, texts: Collection[str] = ()
) -> Condition:
    """Find the columns of the metrics. Raises `ExpressionError` for a metric that there is not, and for a text.

    `directions` are the first words of the columns that each metric has several of; `texts` are the columns that hold
    no numbers.
    """
    known = frozenset(columns)
    whole: dict[str, str] = {}
    directed: dict[str, str] = {}
    for metric in expression.metrics():
        name = SHORT_NAMES.get(metric, metric)
        of_direction = f"{directions[0]}_{name}"
        if name in known:
            whole[metric] = name
        elif of_direction in known:
            directed[metric] = name
        else:
            raise ExpressionError(_unknown(metric, known, directions))
        if metric != OUTCOME and (name in texts or of_direction in texts):
            raise ExpressionError(f"{metric!r} is text, which is no more and no less than a number")
    if not directed:
        return Condition(expression, {None: whole})
    return Condition(
        expression, {d: whole | {metric: f"{d}_{name}" for metric, name in directed.items()} for d in directions}
    )


def _unknown(metric: str, known: Iterable[str], directions: Sequence[str]) -> str:
    bare = {column.removeprefix(f"{d}_") for column in known for d in directions if column.startswith(d)}
    close = get_close_matches(metric, [*SHORT_NAMES, *bare, *known], n=3, cutoff=0.5)
    return f"no metric {metric!r}" + (f"; did you mean {' or '.join(dict.fromkeys(close))}?" if close else "")
