"""What the terminal says of each sample, as a whole (`make golden`)."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from tests import golden_texts
from vmtrace.analyze.tables import detail_view, human_table
from vmtrace.analyze.trace import read

SAMPLES = Path(__file__).parents[2] / "samples"
NAMES = sorted(path.name for path in SAMPLES.iterdir() if ".pcap" in path.name)


@pytest.mark.parametrize("name", NAMES)
def test_the_terminal_says_of_a_sample_what_its_golden_file_has(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLES)
    trace = read(name)
    out = io.StringIO()
    console = Console(file=out, width=100, no_color=True, highlight=False)
    human_table.show(trace, console, limit=5)
    for record in trace.records([1]):
        out.write("\n")
        detail_view.show(record, trace.header()["reasons"], console, trace.findings, trace.header().get("lookups", ()))
    golden_texts.check(name, out.getvalue())


def test_each_golden_file_of_a_sample_has_its_sample() -> None:
    kept = {path.stem for path in golden_texts.FOLDER.glob("*.pcap*.txt")}
    assert kept == set(NAMES)
