"""A run's own numbers: those of the programs always, those of the packets where a report left them."""

from pathlib import Path
from typing import Any

import pytest

from tests.cloudwatch.made import NS
from vmtrace.cloudwatch.errors import CloudWatchError
from vmtrace.cloudwatch.transfer_metrics import values_of


def measured(folder: Path, *rows: dict[str, Any]) -> None:
    import pyarrow as pa
    from pyarrow.parquet import write_table

    (folder / "analysis").mkdir(exist_ok=True)
    write_table(pa.Table.from_pylist(list(rows)), folder / "analysis/transfers.parquet")


def test_without_a_report_there_are_the_program_s_and_the_kernel_s_numbers(new_run: Any) -> None:
    run = new_run()
    run.pair(1)
    notes: list[str] = []
    found = values_of(run.folder, notes)
    assert {(value.part, value.metric, value.value) for value in found} == {
        ("probe", "goodput_bps", 1e6),
        ("data", "goodput_bps", 2e6),
        *((part, "ping_mean_s", 0.021) for part in ("probe", "data")),
        *((part, "kernel_min_rtt_s", 0.02) for part in ("probe", "data")),
        *((part, "kernel_retransmission_rate", 0.02) for part in ("probe", "data")),
    }
    assert [value.time_ns for value in found if value.metric == "goodput_bps"] == [run.start_ns, run.start_ns + 5 * NS]
    assert "are there after `vmtrace report" in notes[0]


def test_a_report_s_measures_are_loss_rtt_and_spacing(new_run: Any) -> None:
    run = new_run()
    run.pair(1)
    numbers = {"loss_rate": 0.01, "rtt_mean_s": 0.03, "spacing_mean_s": 1e-4, "oversize": 3, "rtt_max_s": None}
    measured(run.folder, {"sequence": 1, "role": "data", "key": "k", **numbers})
    notes: list[str] = []
    found = {value.metric: value for value in values_of(run.folder, notes) if value.part == "data"}
    assert {name: found[name].value for name in ("loss_rate", "rtt_mean_s", "spacing_mean_s", "oversize")} == {
        "loss_rate": 0.01,
        "rtt_mean_s": 0.03,
        "spacing_mean_s": 1e-4,
        "oversize": 3,
    }
    assert "rtt_max_s" not in found
    assert (found["rtt_mean_s"].unit, found["loss_rate"].unit) == ("Seconds", "None")
    assert notes == []


def test_failed_pairs_and_strange_numbers_give_no_values(new_run: Any) -> None:
    run = new_run()
    run.pair(1, status="failed")
    run.pair(2, probe=None, data={"start_ns": 5, "goodput_bps": "fast", "tcp": {"segments_out": 0}}, rtt=None)
    assert values_of(run.folder, []) == []


@pytest.mark.parametrize("limits", ["[" * 100_000, '{"idle": [1%s, 0]}' % ("0" * 400), '{"idle": [true, []]}', "{"])
def test_limits_that_make_no_sense_give_no_shares(new_run: Any, limits: str) -> None:
    run = new_run()
    run.pair(1)
    measured(run.folder, {"sequence": 1, "role": "data", "limits": limits})
    assert "limited_time_share" not in {value.metric for value in values_of(run.folder, [])}


def test_a_damaged_measure_is_one_line(new_run: Any) -> None:
    run = new_run()
    run.pair(1)
    (run.folder / "analysis").mkdir()
    (run.folder / "analysis/transfers.parquet").write_bytes(b"PAR1 nonsense PAR1")
    with pytest.raises(CloudWatchError, match=r"transfers\.parquet: .+: remove it, and `vmtrace report` recreates it"):
        values_of(run.folder, [])
