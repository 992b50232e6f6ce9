"""Pages with plots, opened: the data in their source, and a visit in a browser."""

import json
import re
from pathlib import Path
from typing import Any


def data_of(page: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match
    data: dict[str, Any] = json.loads(match[1])
    return data


class Visit:
    """A page with all that it complained of and asked for."""

    def __init__(self, browser: Any, path: Path, scheme: str = "light") -> None:
        self.page = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme=scheme)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_load_state("load")
