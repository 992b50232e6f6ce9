"""How help looks, for the parsers of all subcommands: rich-argparse, with texts as they are written."""

from typing import Any, ClassVar

from rich_argparse import RawDescriptionRichHelpFormatter


class Formatter(RawDescriptionRichHelpFormatter):
    """Texts hold brackets and percent signs that are no markup; examples keep their lines."""

    help_markup: ClassVar[bool] = False
    text_markup: ClassVar[bool] = False
    group_name_formatter: ClassVar[Any] = str.capitalize

    def __init__(self, prog: str, **more: Any) -> None:
        super().__init__(prog, **{"max_help_position": 30, **more})
