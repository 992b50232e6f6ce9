"""Values of `--option NAME=VALUE`, read for the services."""

from collections.abc import Iterable, Mapping, Sequence

from vmtrace.providers.errors import UsageError


def parsed_options(words: Iterable[str]) -> dict[str, str]:
    """`NAME=VALUE` each; raises `UsageError`."""
    options: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name or not value:
            raise UsageError(f"--option {word}: expected NAME=VALUE")
        if name in options:
            raise UsageError(f"--option {name}: given twice")
        options[name] = value
    return options


def whole_number(options: Mapping[str, str], name: str, least: int, most: int) -> int:
    """The value of an option that is given, as a number within bounds."""
    text = options[name]
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise UsageError(f"--option {name}={text}: expected a whole number from {least} to {most}")
    return int(text)


def choice(options: Mapping[str, str], name: str, words: Sequence[str]) -> str:
    """The value of an option that is given, as one of some words."""
    if options[name] not in words:
        raise UsageError(f"--option {name}={options[name]}: must be one of {', '.join(words)}")
    return options[name]
