"""`--fail-if`, as the commands that have it take it."""

from typing import TYPE_CHECKING

from vmtrace.errors import UsageError

if TYPE_CHECKING:
    from analyze.fail_if import Expression


def parsed_threshold(text: str | None) -> "Expression | None":
    """The expression; None if there is none. Raises `UsageError`."""
    if text is None:
        return None
    from analyze import fail_if

    try:
        return fail_if.parse(text)
    except fail_if.ExpressionError as error:
        raise UsageError(f"--fail-if {error}") from None
