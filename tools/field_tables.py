"""Writes the tables of fields into docs/json.md, as the list of fields has them (`make docs-write`).

A table stands between `<!-- fields: SECTION -->` and `<!-- end of fields -->`.
"""

import re
from itertools import groupby
from pathlib import Path

from vmtrace.analyze.tables.fields import Field, Section, sections

ROOT = Path(__file__).parents[1]
DOCUMENTS = (ROOT / "docs/json.md",)
_BLOCK = re.compile(r"(<!-- fields: (\w+) -->\n).*?(<!-- end of fields -->\n)", re.DOTALL)


def table(section: Section) -> str:
    """Its fields in Markdown: those of one meaning in one row."""
    head = f"| {'field' if section.places else 'column'} | unit | meaning |\n|---|---|---|\n"
    return head + "".join(_row(list(fields)) for _, fields in groupby(section.fields, _said))


def _said(field: Field) -> tuple[str, bool]:
    return field.sentence, field.there == "always"


def _row(fields: list[Field]) -> str:
    names = ", ".join(f"`{field.path}`" for field in fields)
    units = ", ".join(dict.fromkeys(field.unit for field in fields if field.unit))
    left_out = "" if fields[0].there == "always" else "† "
    return f"| {names} | {units} | {left_out}{fields[0].sentence} |\n".replace("|  |", "| |")


def written(text: str) -> str:
    """A document with its tables as they should be."""
    known = {section.name: section for section in sections()}
    return _BLOCK.sub(lambda block: block[1] + table(known[block[2]]) + block[3], text)


def main() -> None:
    """Write them."""
    for document in DOCUMENTS:
        document.write_text(written(document.read_text()))


if __name__ == "__main__":
    main()
