"""The narrow view of connections, and the sources that a notebook names: lists, folders, patterns."""

import re
from pathlib import Path

import pytest

import vmtrace
from vmtrace.analyze.findings.fail_if import SHORT_NAMES
from vmtrace.commands.analyze import _FAIL_IF_HELP

SAMPLES = Path(__file__).parents[2] / "samples"
NAMES = ["id", "client", "server", "goodput_bps", "rtt_min_s", "cause", "saves_s", "outcome"]


def test_a_row_says_what_is_asked_for_first() -> None:
    trace = vmtrace.read(SAMPLES / "lossy-sender.pcap")
    assert trace.narrow.column_names[: len(NAMES)] == NAMES
    (row,) = trace.narrow.to_pylist()
    (record,) = trace.records([1])
    assert round(row["goodput_bps"]) == record["client_to_server"]["goodput_bps"], "of the direction of the data"
    assert row["cause"] == record["verdict"]["factor"]
    assert row["saves_s"] == record["verdict"]["saves_s"] > 0
    assert 0 < row["rtt_min_s"] <= trace.row(0)["handshake_rtt_s"]
    assert (row["client"], row["outcome"]) == (record["client"], None)


def test_what_fail_if_knows_by_short_names_are_columns_of_the_datas_direction() -> None:
    trace = vmtrace.read(SAMPLES / "lossy-sender.pcap")
    (row,) = trace.narrow.to_pylist()
    assert set(SHORT_NAMES) <= set(row)
    promised = re.findall(
        r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b", re.sub(r".*Metrics:|or any column.*", "", _FAIL_IF_HELP)
    )
    assert len(promised) > 15
    assert [name for name in promised if name not in row] == []
    (record,) = trace.records([1])
    loss = record["client_to_server"]["loss"]
    assert row["loss_rate"] == pytest.approx(loss["loss_rate"])
    assert row["lost_segments"] == loss["lost_segments_inferred"]
    assert row["oversize"] == record["client_to_server"]["spacing"]["oversize"]
    assert row["duration_s"] == pytest.approx(record["duration_s"])


def test_a_list_is_read_as_its_files_are() -> None:
    one, other = SAMPLES / "tls12.pcap", SAMPLES / "tls13.pcap"
    assert vmtrace.read([one, str(other)]).narrow == vmtrace.read(one, other).narrow


def test_a_folder_and_a_pattern_are_read(tmp_path: Path) -> None:
    for name in ("tls12.pcap", "tls13.pcap"):
        (tmp_path / name).write_bytes((SAMPLES / name).read_bytes())
    for source in (tmp_path, str(tmp_path), tmp_path / "*.pcap", [tmp_path / "tls*.pcap"]):
        assert len(vmtrace.read(source)) == 2


def test_a_folder_without_captures_is_an_error(tmp_path: Path) -> None:
    for source in (tmp_path, tmp_path / "*.pcap"):
        with pytest.raises(FileNotFoundError):
            vmtrace.read(source)


def test_a_file_with_the_letters_of_a_pattern_is_a_file(tmp_path: Path) -> None:
    place = tmp_path / "a[1].pcap"
    place.write_bytes((SAMPLES / "tls12.pcap").read_bytes())
    assert len(vmtrace.read(place)) == 1
