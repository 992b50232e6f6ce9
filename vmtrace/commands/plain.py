"""The command lines that scripts use most, read without loading typer.

Plain is `analyze FILE...` with the options below, each spelled in full and given once. Whatever else a command line
holds (other options, help, a mistake) is left to typer: what is read here must mean the same there.
"""

from collections.abc import Sequence

from vmtrace.commands.request import Request

_TEXTS = ("--json", "--filter", "--fail-if")
"""Options whose value is any text: there is nothing to check or to convert."""
_SWITCHES = ("--anonymize", "--quiet", "--no-color", "--debug")
_SHORT_NAMES = {"-q": "--quiet"}


def parse(arguments: Sequence[str]) -> Request | None:
    """The request of a plain command line; None for one that typer must read."""
    if not arguments or arguments[0] != "analyze":
        return None
    names: list[str] = []
    given: dict[str, str] = {}
    rest = iter(arguments[1:])
    for argument in rest:
        option = _SHORT_NAMES.get(argument, argument)
        if _is_value(option):
            names.append(option)
            continue
        value = next(rest, "--") if option in _TEXTS else ""
        if option in given or option not in (*_TEXTS, *_SWITCHES) or not _is_value(value):
            return None
        given[option] = value
    return _request(names, given) if names else None


def _is_value(argument: str) -> bool:
    """False for what is, or may be, an option."""
    return argument == "-" or not argument.startswith("-")


def _request(names: Sequence[str], given: dict[str, str]) -> Request:
    return Request(
        names=tuple(names),
        json=given.get("--json"),
        filter=given.get("--filter"),
        fail_if=given.get("--fail-if"),
        anonymize="--anonymize" in given,
        quiet="--quiet" in given,
        no_color="--no-color" in given,
        debug="--debug" in given,
    )
