"""Transfers of a run and what their captures say: the right capture, the right connection, the right direction."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from vmtrace.analyze.charts.packet_series import of_connections
from vmtrace.analyze.read.records.run import Connection, Run
from vmtrace.analyze.read.records.run_folder import read_run
from vmtrace.analyze.reports.run.measure import NotMeasuredError, flows_of, match
from vmtrace.analyze.reports.run.transfers.packets import packets_of
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer, Measuring
from vmtrace.analyze.trace import read

A, B = ("10.0.0.1", 40_000), ("10.0.0.2", 5001)


def measured(run: Run) -> dict[tuple[int, str], MeasuredTransfer]:
    return {(one.pair.sequence, one.transfer.role): one for one in Measuring(run).run()}


def one_pair(made: Any, **sides: str) -> dict[str, Any]:
    """A pair whose data transfer is captured at the sides named."""
    line: dict[str, Any] = made.pair(1)
    for side in sides.values():
        made.capture(line, "data", side)
    return line


def test_a_transfer_has_the_numbers_that_the_capture_has(small_run: Any) -> None:
    one = measured(read_run(small_run.folder))[1, "data"].measures
    path = small_run.folder / "packets/sender/0001-data.pcap"
    row = read(path).row(0)
    assert (one.captured_at, one.connections, one.matched_by, one.problem) == ("data sender", 1, "address", None)
    for mine, name in (
        ("rtt_mean_s", "rtt_mean_s"), ("rtt_p95_s", "rtt_p95_s"), ("rtt_samples", "rtt_samples"),
        ("loss_rate", "loss_loss_rate"), ("retransmitted_segments", "loss_retransmitted_segments"),
        ("spacing_mean_s", "spacing_mean_s"), ("spacing_max_s", "spacing_max_s"), ("oversize", "spacing_oversize"),
        ("window_mean_bytes", "window_mean_bytes"), ("window_limited_fraction", "window_limited_fraction"),
        ("capture_goodput_bps", "goodput_bps"), ("data_segments", "data_segments"),
    ):  # fmt: skip
        assert getattr(one, mine) == row[f"client_to_server_{name}"], mine
    # 50 segments and one sent again, 20 ms away: known from how it was made.
    assert (one.data_segments, one.retransmitted_segments) == (51, 1)
    assert one.rtt_mean_s == pytest.approx(0.020)
    assert one.handshake_rtt_s == pytest.approx(0.0201)


def test_a_download_is_measured_where_the_receiver_sent_it(new_run: Any) -> None:
    made = new_run()
    line = made.pair(1)
    made.capture(line, "data", "sender")
    made.capture(line, "data", "receiver")
    # Seen from the sender (which asks for the bytes) the connection is the same, and its bytes go the other way.
    line["data"]["connections"][0] |= {"direction": "download", "local": "10.0.0.2:5001", "peer": "10.0.0.1:40003"}
    made.add(line)
    run = read_run(made.folder)
    one = measured(run)[1, "data"]
    assert (one.measures.captured_at, one.measures.data_segments) == ("data sender", 51)
    flows, _ = flows_of(one.transfer, one.files)
    assert flows[0].trace.paths == [str((made.folder / "packets/receiver/0001-data.pcap").resolve())]


def test_without_the_senders_capture_the_receivers_shows_loss_and_no_rtt(new_run: Any) -> None:
    made = new_run()
    made.add(one_pair(made, only="receiver"))
    one = measured(read_run(made.folder))[1, "data"]
    assert one.measures.captured_at == "data receiver"
    assert one.measures.rtt_mean_s is one.measures.rtt_samples is None
    assert one.measures.retransmitted_segments == 1
    assert one.measures.handshake_rtt_s is not None, "the handshake shows the whole round trip anywhere"
    assert one.capture_trouble is None, "nobody said that the sender would capture"


def test_a_capture_that_was_made_and_is_not_here_is_trouble(new_run: Any) -> None:
    made = new_run()
    line = one_pair(made, one="sender", other="receiver")
    (made.folder / "packets/sender/0001-data.pcap").unlink()
    made.add(line)
    one = measured(read_run(made.folder))[1, "data"]
    assert one.measures.captured_at == "data receiver"
    assert one.capture_trouble == "the sender's capture is not in the folder"


def test_where_the_senders_capture_cannot_be_read_the_receivers_is_used_and_it_is_said(new_run: Any) -> None:
    made = new_run()
    line = one_pair(made, one="sender", other="receiver")
    (made.folder / "packets/sender/0001-data.pcap").write_bytes(b"this is no capture, and never was")
    made.add(line)
    one = measured(read_run(made.folder))[1, "data"]
    assert one.measures.captured_at == "data receiver"
    assert one.capture_trouble is not None
    assert one.capture_trouble.startswith("sender's capture: ")


@pytest.mark.parametrize("content", [b"", b"garbage" * 100, b"\xd4\xc3\xb2\xa1"])
def test_a_capture_that_cannot_be_read_marks_its_transfer_and_ends_nothing(small_run: Any, content: bytes) -> None:
    (small_run.folder / "packets/sender/0003-data.pcap").write_bytes(content)
    found = measured(read_run(small_run.folder))
    assert found[3, "data"].measures.rtt_mean_s is None
    assert found[3, "data"].capture_trouble is not None
    assert "\n" not in found[3, "data"].capture_trouble
    assert [key for key, one in found.items() if one.capture_trouble] == [(3, "data")]


def test_a_capture_of_something_else_does_not_pass_for_the_transfer(small_run: Any) -> None:
    packets = small_run.folder / "packets/sender"
    shutil.copy(packets / "0001-probe.pcap", packets / "0002-data.pcap")
    one = measured(read_run(small_run.folder))[2, "data"]
    assert one.measures.data_segments is None
    assert one.capture_trouble is not None
    assert "not that of the transfer" in one.capture_trouble


def test_trouble_of_the_capture_is_reported_for_a_transfer(new_run: Any) -> None:
    made = new_run()
    dropped, failed, none = made.pair(1), made.pair(2), made.pair(3)
    made.capture(dropped, "data")
    dropped["data"]["capture"]["sender_dropped"] = 1200
    failed["data"]["capture"] = {"sender_error": "no such interface", "sender_dropped": None}
    made.add(dropped, failed, none)
    found = measured(read_run(made.folder))
    assert found[1, "data"].capture_trouble == "1,200 packets dropped while capturing"
    assert found[2, "data"].capture_trouble == "sender's capture: no such interface"
    assert found[3, "data"].capture_trouble is None, "nobody wanted a capture"
    assert found[3, "data"].measures.problem == "not captured"


def test_a_real_transfer_has_the_same_loss_from_either_end_and_rtt_from_one(new_run: Any) -> None:
    samples = Path(__file__).parents[2] / "samples"
    row = read(samples / "lossy-sender.pcap").row(0)
    found = {}
    for side in ("sender", "receiver"):
        made = new_run(side)
        line = made.pair(1)
        line["data"]["connections"][0] |= {"local": row["client"], "peer": row["server"]}
        path = made.folder / f"packets/{side}/0001-data.pcap"
        path.parent.mkdir(parents=True)
        shutil.copy(samples / f"lossy-{side}.pcap", path)
        made.add(line)
        found[side] = measured(read_run(made.folder))[1, "data"].measures
    assert (found["sender"].captured_at, found["receiver"].captured_at) == ("data sender", "data receiver")
    assert found["sender"].rtt_min_s == row["client_to_server_rtt_min_s"]
    assert found["receiver"].rtt_min_s is None
    assert found["sender"].loss_rate is not None
    # 6 repeats of 421 segments; what arrived shows the same gaps.
    assert found["sender"].loss_rate == pytest.approx(6 / 421)
    assert found["receiver"].loss_rate == pytest.approx(found["sender"].loss_rate, rel=0.01)


def test_connections_are_matched_by_address_or_behind_translation_by_port() -> None:
    wanted = [Connection(0, True, A, B)]
    assert match(wanted, [(("10.0.0.9", 1), B), (A, B)], exact=True) == [1]
    assert match(wanted, [(B, A)], exact=True) == [0], "who opened it does not matter"
    translated = (("192.0.2.7", 40_000), B)
    assert match(wanted, [translated], exact=True) is None
    assert match(wanted, [translated], exact=False) == [0]
    assert match(wanted, [(A, B), (A, B)], exact=True) == [1], "of a port used twice the later one"
    both = [*wanted, Connection(1, True, ("10.0.0.1", 40_001), B)]
    assert match(both, [(A, B)], exact=True) is None, "all of them or none"
    assert match([], [(A, B)], exact=True) is None


def test_behind_address_translation_the_transfer_is_found_by_its_ports(new_run: Any) -> None:
    made = new_run()
    line = one_pair(made, one="sender")
    line["data"]["connections"][0] |= {"local": "172.31.0.9:40003", "peer": "203.0.113.5:5001"}
    made.add(line)
    one = measured(read_run(made.folder))[1, "data"].measures
    assert (one.matched_by, one.data_segments) == ("port", 51)


def test_streams_are_put_together_with_exact_quantiles(new_run: Any, new_capture: Any, transfer_into: Any) -> None:
    made = new_run()
    line = made.pair(1)
    capture = transfer_into(new_capture(), 0.0, 40_003, segments=40, lost=(5,))
    transfer_into(capture, 3.0, 40_999, segments=10, lost=(3,))
    path = made.folder / "packets/sender/0001-data.pcap"
    path.parent.mkdir(parents=True)
    capture.write(path)
    line["data"]["streams"] = 2
    line["data"]["connections"].append(
        {"stream": 1, "direction": "upload", "local": "10.0.0.1:40999", "peer": "10.0.0.2:5001"}
    )
    made.add(line)
    one = measured(read_run(made.folder))[1, "data"].measures
    rows = [read(path).row(index) for index in (0, 1)]
    name = "client_to_server_{}".format
    assert (one.connections, one.data_segments, one.retransmitted_segments) == (2, 52, 2)
    assert one.loss_rate == pytest.approx(2 / 52)
    samples = sum(row[name("rtt_samples")] for row in rows)
    together = sum(row[name("rtt_samples")] * row[name("rtt_mean_s")] for row in rows) / samples
    assert one.rtt_samples == samples
    assert one.rtt_mean_s == pytest.approx(together)
    assert one.rtt_median_s == pytest.approx(0.020, abs=1e-6)
    assert one.spacing_median_s == pytest.approx(0.021, abs=1e-6)
    assert one.capture_goodput_bps is None


def test_measures_are_kept_and_used_again_until_the_capture_changes(small_run: Any) -> None:
    run = read_run(small_run.folder)
    first = Measuring(run)
    assert len(first.unread) == 16
    shown: list[int] = []
    before = first.run(shown.append)
    assert shown[-1] == sum(Path(path).stat().st_size for path in _captures(small_run))
    assert sorted(shown) == shown
    again = Measuring(run)
    assert again.unread == []
    assert [one.measures for one in again.run()] == [one.measures for one in before]
    changed = small_run.folder / "packets/sender/0002-data.pcap"
    os.utime(changed, ns=(1, 1))
    assert Measuring(run).unread == [str(changed.resolve())]


def _captures(made: Any) -> list[str]:
    return [str(path) for path in made.folder.glob("packets/*/*.pcap")]


@pytest.mark.parametrize("content", [b"", b"PAR1 not really", None])
def test_a_kept_file_that_is_damaged_is_measured_again(small_run: Any, content: bytes | None) -> None:
    run = read_run(small_run.folder)
    before = Measuring(run).run()
    kept = small_run.folder / "analysis/transfers.parquet"
    assert oct(kept.stat().st_mode & 0o777) == "0o600"
    kept.write_bytes(kept.read_bytes()[:-100] if content is None else content)
    assert len(Measuring(run).unread) == 16
    assert Measuring(run).run() == before


def test_a_kept_file_of_other_columns_is_not_believed(small_run: Any) -> None:
    import pyarrow as pa
    from pyarrow.parquet import write_table

    (small_run.folder / "analysis").mkdir()
    write_table(pa.table({"key": ["x"], "rtt_mean_s": ["quick"]}), small_run.folder / "analysis/transfers.parquet")
    assert len(Measuring(read_run(small_run.folder)).unread) == 16


@pytest.mark.parametrize(
    ("column", "content"),
    [
        ("limits", '{"idle": 3}'),
        ("limits", "[]"),
        ("limit_intervals", '[["sender", "idle"]]'),
        ("outcomes", '[["peer_silent"]]'),
        ("outcomes", '[["peer_silent", 3]]'),
        ("verdict", '{"a": 1}'),
    ],
)
def test_kept_json_of_another_form_is_not_believed(small_run: Any, column: str, content: str) -> None:
    import pyarrow as pa
    from pyarrow.parquet import read_table, write_table

    run = read_run(small_run.folder)
    before = measured(run)
    kept = small_run.folder / "analysis/transfers.parquet"
    table = read_table(kept)
    place = table.column_names.index(column)
    write_table(table.set_column(place, column, pa.array([content] * len(table), pa.string())), kept)
    assert Measuring(run).unread
    assert measured(run) == before


def test_results_are_never_kept_outside_of_the_run_folder(small_run: Any, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (small_run.folder / "analysis").symlink_to(elsewhere)
    measuring = Measuring(read_run(small_run.folder))
    assert len(measuring.run()) == 16
    assert measuring.problems == [
        "measurements could not be kept for the next time: analysis/ points outside the run folder"
    ]
    assert list(elsewhere.iterdir()) == []


def test_what_was_measured_before_an_interrupt_is_kept(small_run: Any) -> None:
    run = read_run(small_run.folder)

    def interrupt(_bytes: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Measuring(run).run(interrupt)
    assert len(Measuring(run).unread) < 16


def test_the_packets_of_a_transfer_are_those_its_numbers_come_from(small_run: Any) -> None:
    one = measured(read_run(small_run.folder))[1, "data"]
    packets = packets_of(one)
    (flow,) = packets.flows
    (series,) = of_connections(read(small_run.folder / "packets/sender/0001-data.pcap"), [1])
    assert flow.series.spacing_s.value.tolist() == series.spacing_s.value.tolist()
    assert (len(flow.series.packets), len(series.packets) > 0) == (0, True)
    assert (flow.offset_s, flow.at_sender, packets.problem) == (0.0, True, None)


def test_packets_that_are_not_there_have_a_reason(new_run: Any) -> None:
    made = new_run()
    made.add(made.pair(1))
    one = measured(read_run(made.folder))[1, "data"]
    assert packets_of(one).problem == "not captured"
    with pytest.raises(NotMeasuredError, match=r"^not captured$"):
        flows_of(one.transfer, one.files)


def test_pairs_that_name_no_connections_are_measured_by_nothing(new_run: Any) -> None:
    made = new_run()
    line = one_pair(made, one="sender")
    line["data"]["connections"] = []
    made.add(json.loads(json.dumps(line)))
    assert measured(read_run(made.folder))[1, "data"].measures.problem == "pairs.jsonl names no connections"
