"""Events of a page and the packets around them: what is picked, where it was first sent, what fits into the table."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from vmtrace.analyze.charts.packet_series import ConnectionSeries, of_connections
from vmtrace.analyze.reports.capture import connection, events, judgement
from vmtrace.analyze.trace import read

SAMPLES = Path(__file__).parents[2] / "samples"


def series_of(capture: Any) -> ConnectionSeries:
    (series,) = of_connections(read(capture.bytes()), [1])
    return series


def test_a_retransmission_knows_its_trigger_and_where_its_bytes_were_first_sent(transfer: Any) -> None:
    series = series_of(transfer)
    rows = events.rows_of(series)
    (found,), in_all = events.retransmissions(series, rows, 100)
    assert in_all == 1
    assert found["kind"] == "retransmission"
    assert found["cause"].startswith("fast retransmission")
    first = rows.place(found["first_frame"], time_ns=0)
    assert first is not None
    assert rows.sequence[first] == rows.sequence[found["row"]] == 20_001 - 1
    assert found["waited_s"] == 0.025


def test_retransmissions_beyond_the_limit_are_left_out_evenly(transfer_into: Any, new_capture: Any) -> None:
    series = series_of(transfer_into(new_capture(), segments=400, lost=tuple(range(20, 380, 20))))
    rows = events.rows_of(series)
    everything, in_all = events.retransmissions(series, rows, 100)
    some, _ = events.retransmissions(series, rows, 3)
    assert in_all == len(everything) == 18
    assert [one["time_s"] for one in some] == [everything[at]["time_s"] for at in (0, 8, 17)]


def test_a_pause_is_at_the_packet_that_ends_it(new_capture: Any, transfer_into: Any) -> None:
    capture = transfer_into(new_capture(), segments=60, lost=())
    for at in range(len(capture.records) - 3, 90, -1):
        capture.records[at] = later(capture.records[at])
    capture.records[-3:] = [later(record) for record in capture.records[-3:]]
    series = series_of(capture)
    rows = events.rows_of(series)
    found = events.gaps(series, rows, 100)
    longest = max(found, key=lambda gap: gap["length_s"])
    assert longest["length_s"] > 2
    assert rows.frame[longest["row"]] == longest["frames"][1]
    assert longest["time_s"] == (rows.time_ns[longest["row"]] - series.record["start_ns"]) / 1e9
    assert len(events.gaps(series, rows, 1)) == 1


def later(record: bytes) -> bytes:
    """A packet of a capture, 3 s later."""
    seconds = int.from_bytes(record[:4], "little") + 3
    return seconds.to_bytes(4, "little") + record[4:]


def test_a_table_holds_all_packets_if_they_fit_else_those_around_the_first_events() -> None:
    assert events.rows_around(10, [3], 10).tolist() == list(range(10))
    around = events.rows_around(1000, [500, None, 504, 2, 900], 30).tolist()
    assert around == [*range(10), *range(493, 512)], "the last would not fit any more"
    assert events.rows_around(1000, [500], 40).tolist() == list(range(486, 515)), "there is room for twice as many"
    assert events.rows_around(1000, [], 40).tolist() == []


def test_rows_that_fit_exactly_are_taken() -> None:
    assert events.rows_around(1000, [500], 15).tolist() == list(range(493, 508))
    assert events.rows_around(1000, [500], 14).tolist() == []


def test_bytes_that_the_capture_has_not_seen_before_were_first_sent_nowhere(transfer: Any) -> None:
    """The packet whose end is where the repeat begins is not the one that was sent again."""
    whole = series_of(transfer)
    repeat = whole.packets["kind"].to_pylist().index("retransmission")
    sequence = whole.packets["sequence"].to_pylist()
    first = sequence.index(sequence[repeat])
    kept = [row for row in range(len(sequence)) if row != first]
    series = replace(whole, packets=whole.packets.take(pa.array(kept)))
    rows = events.rows_of(series)
    assert sequence[repeat] in (rows.sequence + rows.payload_bytes).tolist()
    ((found,), _) = events.retransmissions(series, rows, 100)
    assert "first_frame" not in found


def test_a_frame_number_that_two_files_have_is_no_place(transfer: Any) -> None:
    rows = events.rows_of(series_of(transfer))
    twice = events.Rows(
        frame=np.array([1, 2, 1]), time_ns=np.array([5, 6, 7]), from_sender=rows.from_sender[:3], kind=rows.kind,
        trigger=rows.trigger, sequence=rows.sequence[:3], payload_bytes=rows.payload_bytes[:3],
    )  # fmt: skip
    assert (twice.place(2, 6), twice.place(1, 6), twice.place(9, 6)) == (1, None, None)
    assert (twice.place(1, 5), twice.place(1, 7)) == (0, 2), "the time tells them apart"


def test_packets_say_what_they_are(transfer: Any) -> None:
    series = series_of(transfer)
    table = connection.of_connection(series)["packets"]
    assert table["row"] == list(range(len(series.packets)))
    assert table["frame"] == list(range(1, len(series.packets) + 1))
    assert table["time_s"] == [
        (time_ns - series.record["start_ns"]) / 1e9 for time_ns in series.packets["time_ns"].to_pylist()
    ]
    assert (table["time_s"][0], table["forth"][:2]) == (0.0, [1, 0])
    assert table["time_s"][-1] == pytest.approx(series.record["duration_s"])
    assert {"syn", "data", "pure ack", "retransmission, fast"} <= set(table["what"])
    assert "file" not in table, "there is one file"


def test_packets_of_several_files_name_theirs() -> None:
    trace = read(*(SAMPLES / f"rotated-{number}.pcap" for number in (1, 2)))
    (series,) = of_connections(trace, [1])
    assert set(connection.of_connection(series, inputs=("first", "second"))["packets"]["file"]) == {"first", "second"}


def test_a_verdict_has_its_evidence_at_its_place(transfer: Any) -> None:
    series = series_of(transfer)
    found = judgement.verdict(series, events.rows_of(series))
    assert found["sentence"] == series.record["verdict"]["sentence"]
    for evidence in found["evidence"]:
        for frame in evidence["frames"]:
            assert series.packets["frame"][frame["row"]].as_py() == frame["frame"]
    bands = judgement.bands(series)
    assert bands[0][0] == 0.0
    assert all(start < end for start, end, _ in bands)
    assert {entry["factor"] for entry in judgement.legend(series)} >= {factor for _, _, factor in bands}


def test_evidence_and_pauses_of_a_capture_in_parts_lead_to_their_packets(
    new_capture: Any, transfer_into: Any, tmp_path: Path
) -> None:
    whole = transfer_into(new_capture(), segments=400, lost=(150, 290))
    middle = len(whole.records) // 2
    # A pause in the second part, between frames whose numbers the first part has, too.
    behind = [later(record) for record in whole.records[middle + 40 :]]
    parts = [whole.records[:middle], whole.records[middle : middle + 40] + behind]
    paths = [tmp_path / name for name in ("1.pcap", "2.pcap")]
    for path, records in zip(paths, parts, strict=True):
        part = new_capture()
        part.records.extend(records)
        path.write_bytes(part.bytes())
    (series,) = of_connections(read(*paths), [1])
    rows = events.rows_of(series)
    frames = [frame for one in judgement.verdict(series, rows)["evidence"] for frame in one["frames"]]
    assert len(frames) >= 3
    assert all(frame["row"] is not None and rows.frame[frame["row"]] == frame["frame"] for frame in frames)
    assert len({frame["row"] for frame in frames if frame["row"] >= middle}) > 0, "some are of the second part"
    longest = max(events.gaps(series, rows, 100), key=lambda gap: gap["length_s"])
    assert longest["length_s"] > 2
    assert longest["row"] == middle + 40
    assert longest["time_s"] == (rows.time_ns[longest["row"]] - series.record["start_ns"]) / 1e9


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.pcap*")), ids=lambda path: path.name)
def test_every_frame_of_the_evidence_has_its_moment(sample: Path) -> None:
    trace = read(sample)
    judged = [
        one for one, factor in zip(*trace.true_values(("id", "verdict_factor")), strict=True) if factor is not None
    ]
    for series in of_connections(trace, judged):
        rows = events.rows_of(series)
        packets = dict(zip(rows.frame.tolist(), rows.time_ns.tolist(), strict=True))
        for one in series.record["verdict"]["evidence"]:
            shown = dict(zip(one["frames"], one["times_ns"], strict=True))
            apart = {frame for frame, time_ns in shown.items() if packets[frame] != time_ns}
            # The opening knows only its first frame; the last round ends with the FIN behind the last data, and after
            # it the sender may have to hear of that.
            assert apart <= {one["frames"][0], *one["frames"][-2:]}
            assert all(frame == rows.frame[0] or 0 < shown[frame] - packets[frame] < 1e6 for frame in apart)


def with_verdict(series: ConnectionSeries, **told: Any) -> ConnectionSeries:
    return replace(series, record=series.record | {"verdict": series.record["verdict"] | told})


def test_a_verdict_says_how_sure_it_is_what_else_it_may_be_and_what_comes_next(transfer: Any) -> None:
    series = series_of(transfer)
    rows = events.rows_of(series)
    left_open = with_verdict(
        series, confidence=0.3, undetermined_between=["slow_start", "idle"], runner_up="token_bucket"
    )
    found = judgement.verdict(left_open, rows)
    assert found["open"]
    assert found["facts"] == ["confidence 30.0 %", "undecided between slow start and idle", "next: token bucket"]
    decided = with_verdict(series, confidence=0.9, undetermined_between=["slow_start", "idle"], runner_up=None)
    found = judgement.verdict(decided, rows)
    assert (found["open"], found["facts"]) == (False, ["confidence 90.0 %"])
    alone = judgement.verdict(with_verdict(series, confidence=0.3, undetermined_between=[], runner_up=None), rows)
    assert alone["facts"] == ["confidence 30.0 %"]


def test_evidence_that_is_not_in_the_capture_has_no_place(transfer: Any) -> None:
    series = series_of(transfer)
    start_ns = series.record["start_ns"]
    evidence = {"text": "it", "frames": [3, 999], "times_ns": [start_ns, start_ns], "display_filter": "frame.number"}
    (found,) = judgement.verdict(with_verdict(series, evidence=[evidence]), events.rows_of(series))["evidence"]
    there, absent = found["frames"]
    assert (there["row"], absent["row"]) == (2, None)
    assert there["time_s"] == (series.packets["time_ns"][2].as_py() - start_ns) / 1e9 > 0
    assert absent["time_s"] is None


def test_bands_and_shares_are_those_of_the_limits(transfer: Any) -> None:
    series = series_of(transfer)
    start_ns = series.record["start_ns"]
    limit = {"factor": "setup", "time_s": 0.5, "fraction": 0.25, "lost_bytes": 1000}
    way = series.record[series.direction] | {
        "limits": [limit, {"factor": "slow_start", "time_s": 1.0, "fraction": 0.5, "lost_bytes": 3000},
                   {"factor": "idle", "time_s": 0.4, "fraction": 0.2, "lost_bytes": 9000},
                   {"factor": "unknown", "time_s": 0.1, "fraction": 0.05, "lost_bytes": None}],
        "limit_intervals": [{"start_ns": start_ns, "end_ns": start_ns + 500_000_000, "factor": "setup"}],
    }  # fmt: skip
    made = replace(series, record=series.record | {series.direction: way})
    assert judgement.bands(made) == [[0.0, 0.5, "setup"]]
    assert [(one["factor"], one["text"]) for one in judgement.legend(made)] == [
        ("slow_start", "50.0 % of the time (1.00 s), 75.0 % of the shortfall; within bands of others"),
        ("setup", "25.0 % of the time (500 ms), 25.0 % of the shortfall"),
        ("idle", "20.0 % of the time (400 ms); within bands of others"),
        ("unknown", "5 % of the time (100 ms); within bands of others"),
    ]
    assert [one["banded"] for one in judgement.legend(made)] == [False, True, False, False]


def test_bands_that_are_no_exact_picture_of_the_shares_are_said_to_be_none(transfer: Any) -> None:
    series = series_of(transfer)
    start_ns = series.record["start_ns"]

    def notes(setup_s: float, rest_s: float, *, drawn: bool = True) -> str:
        limits = [
            {"factor": factor, "time_s": time_s, "fraction": time_s / 10, "lost_bytes": None}
            for factor, time_s in (("setup", setup_s), ("slow_start", rest_s))
        ]
        band = {"start_ns": start_ns, "end_ns": start_ns + 10 * 10**9, "factor": "slow_start"}
        way = series.record[series.direction] | {"limits": limits, "limit_intervals": [band] if drawn else []}
        made = replace(series, record=series.record | {series.direction: way})
        return " ".join(connection.of_connection(made)["notes"])

    assert "the shares are exact" in notes(1.0, 9.0)
    assert "the shares are exact" not in notes(0.05, 9.95)
    assert "the shares are exact" not in notes(1.0, 9.0, drawn=False)


def test_a_transfer_too_short_to_judge_says_so(transfer_into: Any, new_capture: Any) -> None:
    series = series_of(transfer_into(new_capture(), segments=4, lost=()))
    plot = connection.of_connection(series)
    assert plot["verdict"]["sentence"] == "Not judged: fewer than ten data packets."
    assert plot["bands"] == plot["legend"] == []
