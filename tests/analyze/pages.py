"""Pages with plots, opened: the data in their source, and a visit in a browser."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vmtrace.analyze.pages.blocks import Block, Fold, Group, Lines, Shares, Text
from vmtrace.analyze.tables.table import Cell, Table


def data_of(page: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match
    data: dict[str, Any] = json.loads(match[1])
    return data


def words(blocks: Iterable[Block]) -> str:
    """All texts of blocks, a line each."""
    return "\n".join(text for block in blocks for text in _texts(block))


def _texts(block: Block) -> list[str]:
    match block:
        case Text():
            return [block.text]
        case Lines():
            return [block.title, *block.troubles, *block.items]
        case Table():
            cells = [cell.text if isinstance(cell, Cell) else cell for row in block.rows for cell in row.cells]
            return [*(column.title for column in block.columns), *cells]
        case Fold():
            return [block.summary, words(block.blocks)]
        case Group():
            return [block.title, words(block.blocks)]
        case Shares():
            return [block.label, *(f"{part.name} {part.text}" for part in block.parts)]
        case _:
            return []


class Visit:
    """A page with all that it complained of and asked for."""

    def __init__(self, browser: Any, path: Path, scheme: str = "light", width: int = 1200) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.set_default_timeout(180_000)  # others may keep the machine busy
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_load_state("load")

    def drawn(self) -> None:
        """Wait until what was asked for is drawn: a page hears of its size and medium with its next frame."""
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def media(self, name: str) -> None:
        """Show the page on paper ("print") or on a screen."""
        self.page.emulate_media(media=name)
        self.drawn()
