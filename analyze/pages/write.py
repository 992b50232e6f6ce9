"""Puts a page together: frame, body, style, scripts and data in one file.

Whatever comes from a capture or a file name is hostile. The templates escape every text; data is JSON that cannot end
its script element; and a content security policy forbids the page any load from elsewhere.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined
from markupsafe import Markup

from vmtrace.analyze.charts import on_page
from vmtrace.analyze.pages.blocks import Page, charts_of
from vmtrace.analyze.pages.drawn import drawn
from vmtrace.analyze.read.atomic import writing
from vmtrace.analyze.words.units import printable

REPORT_SCRIPTS = ("common.js", "marks.js", "canvas.js", "tables.js", "save.js", "charts.js")


@dataclass(frozen=True, slots=True)
class Template:
    """A page's body: a template of a package, in its folder `templates`."""

    package: str
    name: str


def write_report_page(page: Page, path: Path) -> None:
    """Write a report that is made of blocks alone."""
    page = drawn(page)
    charts = charts_of(page)
    values = {
        "page": page,
        "places": {id(chart): place for place, chart in enumerate(charts)},
        "provenance": json.dumps(page.provenance, indent=2),
        "data": in_script({"charts": [on_page.of_chart(chart) for chart in charts]}),
        "scripts": scripts("vmtrace.analyze.pages", *REPORT_SCRIPTS),
    }
    write_page(Template("vmtrace.analyze.pages", "report.html"), values, path)


def write_page(template: Template, values: Mapping[str, Any], path: Path) -> None:
    """Write a page of a template; what is not `Markup` in its values is escaped."""
    made = _environment().get_template(f"{template.package}/{template.name}")
    with writing(path) as out:
        for piece in made.generate(**values):
            # A name may hold what has no encoding (a lone surrogate of a file name): it is replaced, not refused.
            out.write(piece.encode("utf-8", "replace"))


def in_script(data: object) -> Markup:
    """JSON that neither ends a script element nor starts a comment in one."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    escaped = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(escaped)


def scripts(package: str, *names: str) -> Markup:
    """Scripts of a package's folder `scripts`, one after the other."""
    folder = files(package) / "scripts"
    return Markup("".join((folder / name).read_text(encoding="utf-8") for name in names))


@lru_cache(maxsize=1)
def _environment() -> Environment:
    packages = ("vmtrace.analyze.pages", "vmtrace.analyze.reports.capture")
    environment = Environment(
        # Each package's templates under its own name: `vmtrace.analyze.pages/frame.html`.
        loader=PrefixLoader({package: PackageLoader(package) for package in packages}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"id_of": id, "printable": printable}
    style = (files("vmtrace.analyze.pages") / "templates/page.css").read_text(encoding="utf-8")
    environment.globals["style"] = Markup(style)
    return environment
