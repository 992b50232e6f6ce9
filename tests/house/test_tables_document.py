"""docs/tables.md describes the tables: every column of packets and seconds, in their order, and no other."""

import re
from pathlib import Path

import pyarrow as pa
import pytest

from vmtrace.analyze.tables import FINDINGS
from vmtrace.analyze.trace import read

ROOT = Path(__file__).parents[2]


def described(table: str) -> list[str]:
    """Names in the first column of the page's section on `table`."""
    section = (ROOT / "docs/tables.md").read_text().split(f"\n## `{table}`\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ((?:`[a-z_]+`(?:, )?)+) \|", section, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


@pytest.fixture(scope="module")
def lossy() -> dict[str, pa.Table]:
    trace = read(ROOT / "samples/lossy-sender.pcap")
    tables = {"packets": pa.table(trace.packets([1])), "syns": pa.table(trace.syns)}
    return {**tables, "findings": pa.Table.from_batches([], FINDINGS)}


@pytest.mark.parametrize("table", ["packets", "syns", "findings"])
def test_every_column_is_described_and_no_other(lossy: dict[str, pa.Table], table: str) -> None:
    assert lossy[table].column_names == described(table)


def test_values_of_columns_are_among_those_described(lossy: dict[str, pa.Table]) -> None:
    text = (ROOT / "docs/tables.md").read_text()
    for column in ("kind", "trigger", "rtt_rejected", "recovery_rtt_method"):
        line = next(line for line in text.splitlines() if line.startswith("|") and f"`{column}`" in line)
        values = set(lossy["packets"][column].to_pylist()) - {None}
        assert values
        assert values <= set(re.findall(r"`([^`]+)`", line))
