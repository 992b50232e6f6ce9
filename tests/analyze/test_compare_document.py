"""What a comparison writes: JSON as its schema and its page say, CSV with provenance, a table, figures."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from tests.analyze.schemas import properties
from tests.analyze.two_ends import Path, pcap, transfer
from vmtrace.analyze.charts.on_paper import write_charts
from vmtrace.analyze.compare.comparison import Comparison, compare
from vmtrace.analyze.compare.document import document, write_csv
from vmtrace.analyze.compare.figures import charts
from vmtrace.analyze.compare.gaps import Location, Reason
from vmtrace.analyze.compare.human import show
from vmtrace.analyze.tables.schema import load
from vmtrace.analyze.trace import read
from vmtrace.analyze.words.document import as_bytes

SCHEMA = load("vmtrace.comparison.1")
PAGE = FilePath(__file__).parents[2] / "docs/report.md"
"""Its part `Comparing two captures`."""

# The contract as it is published: a key may be added, none may go.
CONTRACT = {
    "": "schema vmtrace matched_packets clock sender_to_receiver receiver_to_sender connections",
    "direction": "sent_segments lost_in_network lost_rate not_captured one_way_delay",
    "delay": "min_s mean_s median_s p99_s max_s",
    "clock": "offset_s offset_error_s skew_ppm steps",
}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    made = transfer(Path(lost=frozenset((600, 601)), pauses=((100, 0.3),)), segments=1500)
    return compare(read(pcap(made.sender)), read(pcap(made.receiver)))


@pytest.fixture(scope="module")
def one_way() -> Comparison:
    made = transfer(Path(lost=frozenset((20, 21))))
    outward = [
        [record for record in records if record[1][26:30] == bytes((10, 0, 0, 1))]
        for records in (made.sender, made.receiver)
    ]
    return compare(*(read(pcap(records)) for records in outward))


def enumerated(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from node.get("enum", ())
        for value in node.values():
            yield from enumerated(value)


def names(node: Any) -> set[str]:
    if isinstance(node, dict):
        return set(node).union(*map(names, node.values()))
    return set().union(*map(names, node)) if isinstance(node, list) else set()


def test_the_schema_is_one_and_requires_every_field() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert [name for name, required in properties(SCHEMA) if name not in required] == []


@pytest.mark.parametrize("name", CONTRACT)
def test_every_key_of_the_contract_is_required(name: str) -> None:
    part = SCHEMA["$defs"][name] if name else SCHEMA
    assert set(CONTRACT[name].split()) <= set(part["required"])


def test_a_comparison_is_written_as_the_schema_says(comparison: Comparison, one_way: Comparison) -> None:
    for one in (comparison, one_way):
        content = json.loads(as_bytes(document(one)))
        errors = [f"{e.json_path}: {e.message}" for e in jsonschema.Draft202012Validator(SCHEMA).iter_errors(content)]
        assert errors == []
        assert names(content) - {name for name, _ in properties(SCHEMA)} == set()


def test_what_cannot_be_measured_is_null_with_a_reason(one_way: Comparison) -> None:
    content = document(one_way)
    assert content["clock"]["offset_s"] is None
    assert content["clock"]["reason"] == "packets of one direction only: they do not separate delay from offset"
    assert content["sender_to_receiver"]["one_way_delay"]["mean_s"] is None
    assert content["sender_to_receiver"]["one_way_delay"]["reason"] == content["clock"]["reason"]
    assert content["receiver_to_sender"]["lost_rate"] is None, "nothing was sent, so nothing has a rate"
    assert content["sender_to_receiver"]["lost_in_network"] == 2


def test_the_schema_lists_every_location_and_reason() -> None:
    assert {*Location, *Reason, "sender", "receiver", "unknown"} == set(enumerated(SCHEMA))


def test_every_field_and_value_of_the_schema_is_described_and_every_row_is_in_it() -> None:
    page = re.split(r"^## ", PAGE.read_text().partition("\n## Comparing two captures\n")[2], flags=re.MULTILINE)[0]
    code = {word for text in re.findall(r"`([^`\n]+)`", page) for word in re.findall(r"[a-z0-9_]+", text)}
    known = {name for name, _ in properties(SCHEMA)}
    assert (known | set(enumerated(SCHEMA))) - code == set()
    section = page[page.index("### JSON") :]
    rows = re.findall(r"^\| ((?:`[a-z0-9_.]+`(?:, )?)+) \|", section, re.MULTILINE)
    described = {part for row in rows for name in re.findall(r"`([^`]+)`", row) for part in name.split(".")}
    assert len(described) > 20
    assert described - known == set()


def test_tables_have_a_row_for_each_direction_gap_and_step(comparison: Comparison, tmp_path: FilePath) -> None:
    write_csv(comparison, tmp_path / "tables")
    tables = {
        path.stem: list(csv.DictReader(io.StringIO(path.read_text()))) for path in (tmp_path / "tables").glob("*.csv")
    }
    assert {name: len(rows) for name, rows in tables.items()} == {"connections": 2, "gaps": 1, "clock-steps": 0}
    assert (tables["connections"][0]["lost_in_network"], tables["gaps"][0]["location"]) == ("2", "sender")
    facts = json.loads((tmp_path / "tables/provenance.json").read_text())
    assert (facts["schema"], facts["clock"]["steps"]) == ("vmtrace.comparison/1", [])


def printed(comparison: Comparison, width: int = 120) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    show(comparison, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_the_answer_is_short_and_names_clock_loss_and_gap(comparison: Comparison) -> None:
    lines = printed(comparison)
    assert lines[0] == "<bytes> and <bytes>: 1 connection in both, 3,003 packets matched"
    assert lines[1].startswith("clock: the receiver's is ")
    assert "(± 20.0 ms), skew " in lines[1]
    (row,) = (line.split() for line in lines if "→" in line)
    assert row[:5] == ["1", "10.0.0.1:40000", "→", "1,504", "2"]
    assert lines[-1].startswith(
        "pause of 301 ms in connection 1: sender (sender paused); at the sender 301 ms, at the rec"
    )


def test_the_answer_says_what_is_not_known(one_way: Comparison) -> None:
    lines = printed(one_way)
    assert lines[1] == "clock: not known (packets of one direction only: they do not separate delay from offset)"
    (row,) = (line.split() for line in lines if "→" in line)
    assert row[-4:-1] == ["-", "-", "-"]
    assert any(line.startswith("- means: the delay is not known") for line in lines)


def test_pauses_are_counted_by_where_they_were_made(comparison: Comparison) -> None:
    assert "pauses: 1 made at the sender, 0 on the path, 0 at the receiver, 0 unclear" in printed(comparison)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_narrow_terminal_keeps_every_column(comparison: Comparison, width: int) -> None:
    lines = printed(comparison, width)
    at = next(place for place, line in enumerate(lines) if "1 10.0.0.1:40000" in line)
    shown = " ".join(lines[at - 2 : at + 7])
    assert [name for name in ("sent", "lost", "rate", "median", "p99", "pauses") if name not in shown] == []
    assert len(lines[at].rstrip()) <= width


def test_figures_show_delays_both_ways_and_spacing_at_both_ends(comparison: Comparison, tmp_path: FilePath) -> None:
    delay, spacing = charts(comparison)
    assert [len(panel.series[0].x) for panel in delay.panels] == [1502, 1501]
    assert [one.name for one in spacing.panels[0].series] == ["at the sending end", "at the receiving end"]
    assert [len(one.x) for one in spacing.panels[0].series] == [1501, 1499]
    assert spacing.panels[0].series[0].y.max() == pytest.approx(0.301)
    paths = write_charts([delay, spacing], tmp_path)
    assert sorted(path.name for path in paths) == [
        f"connection-1-{kind}.{form}" for kind in ("one-way-delay", "spacing") for form in ("csv", "png", "svg")
    ]
