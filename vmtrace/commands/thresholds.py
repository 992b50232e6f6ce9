"""Thresholds as the commands that have them take them: `--fail-if`, `--oversize-abs`."""

from typing import TYPE_CHECKING

from vmtrace.analyze.read.options import MOST_OVERSIZE_ABS_MS
from vmtrace.analyze.trace import connection_columns
from vmtrace.errors import UsageError

if TYPE_CHECKING:
    from vmtrace.analyze.findings.fail_if import Condition, Expression


def check_oversize_abs(milliseconds: float | None) -> None:
    """Raises `UsageError` for what is no length of a spacing."""
    if milliseconds is not None and not 0 < milliseconds <= MOST_OVERSIZE_ABS_MS:
        raise UsageError(f"--oversize-abs {milliseconds:g}: give milliseconds, up to {MOST_OVERSIZE_ABS_MS:,.0f}")


def parsed_condition(text: str | None) -> "Condition | None":
    """The expression on the columns of the connection table; None if there is none. Raises `UsageError`."""
    expression = parsed_threshold(text)
    if expression is None:
        return None
    from vmtrace.analyze.findings import fail_if

    columns = connection_columns()
    try:
        return fail_if.bind(expression, columns.names, texts=columns.texts)
    except fail_if.ExpressionError as error:
        raise UsageError(f"--fail-if: {error}") from None


def parsed_threshold(text: str | None) -> "Expression | None":
    """The expression; None if there is none. Raises `UsageError`."""
    if text is None:
        return None
    from vmtrace.analyze.findings import fail_if

    try:
        return fail_if.parse(text)
    except fail_if.ExpressionError as error:
        raise UsageError(f"--fail-if {error}") from None
