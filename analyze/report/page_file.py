"""Puts a page together: frame, body, style, scripts and data in one file.

Whatever comes from a capture or a file name is hostile: it reaches the page as escaped text or as JSON that cannot end
its script element, and a content security policy forbids the page any load from elsewhere.
"""

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from analyze.atomic import writing


def write_page(body: str, parts: Mapping[str, str], path: Path) -> None:
    """Write `body` in the frame of all reports. `parts` fill the marks (`@@name@@`) of both, and are trusted."""
    known = {"style": resource("page.css"), "common": resource("common.js"), "library": "", **parts}
    template = resource("frame.html").replace("@@body@@", body)
    with writing(path) as out:
        # Pieces that hold other pieces' marks must not be searched for them: the page is cut at its marks once.
        for number, piece in enumerate(template.split("@@")):
            out.write((known[piece] if number % 2 else piece).encode("utf-8", "replace"))


def in_script(data: object) -> str:
    """JSON that neither ends a script element nor starts a comment in one."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def resource(name: str) -> str:
    """A file of this folder."""
    return (files(__package__) / name).read_text(encoding="utf-8")


def scripts(*names: str) -> str:
    """Scripts of this folder one after the other."""
    return "".join(map(resource, names))


def plotly() -> str:
    """The library of the charts of runs, to be the part `library`."""
    from plotly.offline import get_plotlyjs

    script: str = get_plotlyjs()
    return script.replace("</script", "<\\/script")
