"""Answers on terminals of 60 to 120 columns: no cell is cut, no number is hidden, no title stands without rows."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests.vmtrace.test_progress import LOSSY, OTHER_END, SAMPLES, inputs
from vmtrace import cli

__all__ = ["inputs"]
WIDTHS = (60, 80, 100, 120)
WIDE = 240
ANSWERS: dict[str, tuple[str, ...]] = {
    "analyze": ("analyze", LOSSY, str(SAMPLES / "ipv6.pcapng"), str(SAMPLES / "tls13.pcap")),
    "analyze --by provider": ("analyze", str(SAMPLES / "tls13.pcap"), "--by", "provider"),
    "analyze --connection": ("analyze", str(SAMPLES / "tls13.pcap"), "--connection", "1"),
    "compare": ("compare", LOSSY, OTHER_END),
    "report": ("report", "run", "--all"),
    "compare-runs": ("compare-runs", "run", "other"),
    "query": ("query", "SELECT client, server, duration_s, verdict_factor, handshake_rtt_s FROM connections", LOSSY),
    "cost": ("cost", "dzero", "--prices", "palankar2008"),
    "storage report": ("storage", "report", "storage", "--all"),
    "queue report": ("queue", "report", "queue", "--all"),
    "swarm report": ("swarm", "report", "swarm", "--all"),
    "discover report": ("discover", "report", "discovery", "--all"),
}
DETAILS = {"compare-runs": {"2/2", "0.00"}, "analyze": {"0", "14", "40.9", "1.3"}}
"""What a narrow table leaves to a card and to files: how many transfers, and Cliff's delta; the median RTT, counts of
segments and the version of TLS."""


class Terminal(StringIO):
    """Standard output as a terminal that remembers."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def answer(words: tuple[str, ...], width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    for name, value in {"COLUMNS": str(width), "TERM": "xterm", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    with redirect_stdout(Terminal()) as out:
        assert cli.run(list(words)) == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()


@pytest.mark.parametrize("name", ANSWERS)
def test_nothing_is_cut_or_hidden(name: str, inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(inputs)
    wide = numbers(answer(ANSWERS[name], WIDE, monkeypatch))
    assert len(wide) > 3
    for width in WIDTHS:
        lines = answer(ANSWERS[name], width, monkeypatch)
        assert [line for line in lines if "…" in line] == []
        assert wide - numbers(lines) - DETAILS.get(name, set()) == set(), f"hidden at {width}"
        assert lines[-1].strip(), "no title without rows at the end"


def numbers(lines: list[str]) -> set[str]:
    """With their unit's letters, where these follow at once."""
    return {found.strip(".,/") for line in lines for found in re.findall(r"\d[\d.,/]*", line)}


def test_every_table_is_laid_out_by_one_module() -> None:
    root = Path(__file__).parents[2]
    rooms = ("analyze", "capture", "cloudwatch", "corpus", "lab", "providers", "receiver", "sender", "vmtrace/commands")
    own = [
        str(path.relative_to(root))
        for room in rooms
        for path in sorted((root / room).rglob("*.py"))
        if "rich.table" in path.read_text()
    ]
    # A record with its values on both sides: three columns, of which no cell is wider than a third of 60.
    assert own == ["analyze/tables/detail_view.py", "analyze/tables/terminal_table.py"]


def test_a_table_without_rows_has_no_title() -> None:
    from rich.console import Console

    from vmtrace.analyze.pages.on_terminal import show
    from vmtrace.analyze.tables.table import of_texts

    out = StringIO()
    parts: list[Any] = [of_texts("t", "Nothing here", ("a", "b"), ())]
    show(parts, Console(file=out, width=80))
    assert out.getvalue() == ""
