"""Answers a shell that asks how a command line goes on, by argcomplete: subcommands, options, choices, and names.

`vmtrace completion SHELL` makes a shell ask. What completes is the argparse tree itself; a new subcommand adds nothing
here, unless an option of it has names that are no choices of argparse.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import argcomplete
from argcomplete.completers import BaseCompleter, FilesCompleter

from vmtrace.command_line import tree


def answer_shell(line: str) -> None:
    """Answer a shell that asks how `line` goes on, and end the process."""
    argcomplete.autocomplete(tree(line.split()[1:]), always_complete_options=False, default_completer=_Values())
    raise AssertionError("argcomplete ends the process")


class _Values(BaseCompleter):
    """The values of options that have names, of one command or of all; of all others, files."""

    def __call__(
        self, *, prefix: str, action: argparse.Action, parser: argparse.ArgumentParser, parsed_args: argparse.Namespace
    ) -> Iterable[str]:
        del parsed_args
        command = (*parser.prog.split(), "")[1]
        found = _NAMES.get(f"{action.dest} of {command}") or _NAMES.get(action.dest)
        names = found() if found is not None else ()
        # A plan is a name or a file.
        return names if names and action.dest != "plan" else [*names, *FilesCompleter()(prefix)]


def _profiles() -> Iterable[str]:
    from vmtrace.lab.profiles import PROFILES

    return PROFILES


def _plans() -> Iterable[str]:
    from vmtrace.sender.plans import BUILT_IN

    return BUILT_IN


def _storage_plans() -> Iterable[str]:
    from vmtrace.providers.plans import BUILT_IN

    return BUILT_IN


def _queue_plans() -> Iterable[str]:
    from vmtrace.providers.queues.plans import BUILT_IN

    return BUILT_IN


def _providers() -> Iterable[str]:
    from vmtrace.providers.registry import names

    return names()


def _queue_providers() -> Iterable[str]:
    from vmtrace.providers.queues.registry import names

    return names()


def _thresholds() -> Iterable[str]:
    from vmtrace.analyze.findings.fail_if import SHORT_NAMES
    from vmtrace.analyze.words.outcomes import CLAUSES

    # Bash takes "=" for the end of a word; what follows is completed by name.
    return ["outcome", *(f"outcome={kind}" for kind in CLAUSES), *SHORT_NAMES]


def _instance_types() -> Iterable[str]:
    from vmtrace.analyze.findings.allowances.published import known_types

    return known_types()


def _interfaces() -> Iterable[str]:
    return [path.name for path in Path("/sys/class/net").iterdir()]


_NAMES: Mapping[str, Callable[[], Iterable[str]]] = {
    "profile": _profiles,
    "plan": _plans,
    "plan of storage": _storage_plans,
    "plan of queue": _queue_plans,
    "provider of storage": _providers,
    "provider of queue": _queue_providers,
    "instance_type": _instance_types,
    "fail_if of analyze": _thresholds,
    "interface": _interfaces,
}
