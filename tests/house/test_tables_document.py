"""The tables are as they are described: every column of packets and seconds, in their order, and no other."""

from pathlib import Path

import pyarrow as pa
import pytest

from vmtrace.analyze.tables.fields import sections
from vmtrace.analyze.tables.write import FINDINGS
from vmtrace.analyze.trace import read

ROOT = Path(__file__).parents[2]


def described(table: str) -> dict[str, tuple[str, ...]]:
    """Columns of a table in their order, with their values."""
    return next({one.path: one.values for one in found.fields} for found in sections() if found.name == table)


@pytest.fixture(scope="module")
def lossy() -> dict[str, pa.Table]:
    trace = read(ROOT / "samples/lossy-sender.pcap")
    tables = {"packets": pa.table(trace.packets([1])), "syns": pa.table(trace.syns)}
    return {**tables, "findings": pa.Table.from_batches([], FINDINGS)}


@pytest.mark.parametrize("table", ["packets", "syns", "findings"])
def test_every_column_is_described_and_no_other(lossy: dict[str, pa.Table], table: str) -> None:
    assert lossy[table].column_names == list(described(table))


def test_values_of_columns_are_among_those_described(lossy: dict[str, pa.Table]) -> None:
    for column in ("kind", "trigger", "rtt_rejected", "recovery_rtt_method"):
        values = set(lossy["packets"][column].to_pylist()) - {None}
        assert values
        assert values <= set(described("packets")[column])
