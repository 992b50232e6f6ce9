"""An argparse parser as a command of typer: for help and shell completion, with the look of all other subcommands.

typer parses the words a second time only to complete them; what a command line means is argparse's to say. Uses typer's
public names alone, because what lies beneath them changes between its versions.
"""

import argparse
import inspect
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer
from rich.markup import escape


class OnlyDescribedError(Exception):
    """typer has found nothing in the words that it answers itself (`--help` is the value of an option to it)."""


def add_command(app: typer.Typer, name: str, parser: argparse.ArgumentParser) -> None:
    """Register what a parser describes, with its subcommands, if it has any, beneath it."""
    subparsers = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]  # noqa: SLF001
    if not subparsers:
        app.command(name, help=_paragraphs(parser.description), epilog=_epilog(parser.epilog))(_function(parser))
        return
    group = typer.Typer(
        name=name, help=_paragraphs(parser.description), epilog=_epilog(parser.epilog), no_args_is_help=True
    )
    for word, subparser in subparsers[0].choices.items():
        add_command(group, word, subparser)
    app.add_typer(group)


def _function(parser: argparse.ArgumentParser) -> Callable[..., None]:
    """A function whose signature has a parameter for each action, which is how typer learns of options."""
    parameters = [
        inspect.Parameter(f"p{number}", inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for number, (annotation, default) in enumerate(_parameters(parser))
    ]

    def described(**_values: object) -> None:
        raise OnlyDescribedError

    described.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    described.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return described


def _parameters(parser: argparse.ArgumentParser) -> Iterator[tuple[Any, Any]]:
    panels = {
        id(action): group.title
        for group in parser._action_groups  # noqa: SLF001
        for action in group._group_actions  # noqa: SLF001
        if group.title not in {"options", "optional arguments", "positional arguments"}
    }
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._HelpAction) or action.help == argparse.SUPPRESS:  # noqa: SLF001
            continue
        yield _option(action, panels.get(id(action)), parser) if action.option_strings else _argument(action, parser)


def _argument(action: argparse.Action, parser: argparse.ArgumentParser) -> tuple[Any, Any]:
    several = action.nargs in {"*", "+"}
    info = typer.Argument(metavar=_metavar(action), help=_help(action, parser), autocompletion=_completion(action))
    kind = list[str] if several else str
    if action.nargs in {"?", "*"}:
        return Annotated[kind | None, info], None
    return Annotated[kind, info], inspect.Parameter.empty


def _option(action: argparse.Action, panel: str | None, parser: argparse.ArgumentParser) -> tuple[Any, Any]:
    flag = action.nargs == 0
    info = typer.Option(
        *action.option_strings,
        metavar=None if flag else _metavar(action),
        help=_help(action, parser),
        rich_help_panel=panel,
        show_default=False,
        autocompletion=None if flag else _completion(action),
    )
    if flag:
        return Annotated[bool, info], False
    kind = list[str] if isinstance(action, argparse._AppendAction) else str  # noqa: SLF001
    if action.required:
        return Annotated[kind, info], inspect.Parameter.empty
    return Annotated[kind | None, info], None


def _completion(action: argparse.Action) -> Callable[[str], list[str]] | None:
    if action.choices is None:
        return None
    words = [str(choice) for choice in action.choices]

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


def _metavar(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        name = action.metavar
    elif action.choices is not None:
        name = "|".join(str(choice) for choice in action.choices)
    else:
        name = action.dest.upper()
    return f"[{name}]" if action.nargs == "?" and action.option_strings else name


def _help(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    values = {**vars(action), "prog": parser.prog}
    return escape((action.help or "") % values)


def _paragraphs(text: str | None) -> str | None:
    return None if text is None else escape(text)


def _epilog(text: str | None) -> str | None:
    """typer joins the lines of a paragraph; each example is made one of its own."""
    if text is None:
        return None
    paragraphs: list[str] = []
    for line in text.splitlines():
        continues = paragraphs and line[:1].strip() and paragraphs[-1][:1].strip() and not paragraphs[-1].endswith(":")
        if continues:
            paragraphs[-1] += f" {line}"
        elif line.strip():
            paragraphs.append(line)
    return "\n\n".join(map(escape, paragraphs))
