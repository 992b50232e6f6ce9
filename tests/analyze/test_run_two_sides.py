"""Transfers that both sides captured: exact loss, delay, clock, located pauses; and what is there if they were not."""

import json
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from tests import golden_texts
from tests.analyze.two_ends import Path, TwoEnds, pcap, transfer
from vmtrace.analyze import _engine
from vmtrace.analyze.read.records.run_folder import read_run
from vmtrace.analyze.reports.run.document import document
from vmtrace.analyze.reports.run.human import show, two_sides_lines
from vmtrace.analyze.reports.run.measure import Measures
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.transfers import transfers as transfers_file
from vmtrace.analyze.reports.run.transfers.transfers import Measuring
from vmtrace.analyze.reports.run.two_sides.table import clock_row, two_sides_rows
from vmtrace.analyze.tables.schema import load
from vmtrace.analyze.words.document import as_bytes

CLEAN = Path()


def captured(run: Any, sequence: int, path: Path = CLEAN, offset_s: float = 0.0, sides: str = "both") -> None:
    """A pair whose data transfer took this path; the receiver's clock is `offset_s` ahead."""
    line = run.pair(sequence)
    made: TwoEnds = transfer(path, port=run.port(sequence, "data"))
    ahead_ns = round(offset_s * 1e9)
    for side, records in (("sender", made.sender), ("receiver", [(at + ahead_ns, one) for at, one in made.receiver])):
        if sides in ("both", side):
            folder = run.folder / "packets" / side
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{sequence:04}-data.pcap").write_bytes(pcap(records))
    line["data"]["capture"] = {"sender_dropped": 0, "receiver_dropped": 0}
    run.add(line)


def results_of(run: Any, *, compared: bool = True) -> RunResults:
    found = read_run(run.folder)
    return RunResults(found, tuple(Measuring(found, compared=compared).run()), found.problems)


def data_of(run: Any, **more: Any) -> Measures:
    results = results_of(run, **more)
    (measures,) = (one.measures for one in results.transfers if one.transfer.role == "data")
    return measures


def test_loss_is_exact_and_delay_and_clock_are_known(new_run: Any) -> None:
    run = new_run()
    captured(run, 1, Path(lost=frozenset({50, 51, 200}), delay_back_s=0.030), offset_s=1.5)
    found = data_of(run)
    assert found.two_sides_problem is None
    assert (found.two_sides_data_segments, found.two_sides_lost_segments) == (403, 3)
    assert found.two_sides_loss_rate == pytest.approx(3 / 403)
    assert found.clock_offset_error_s is not None
    assert found.clock_offset_s == pytest.approx(1.5, abs=found.clock_offset_error_s)
    assert found.one_way_delay_median_s == pytest.approx(0.025, abs=1e-3), "half of both ways: it cannot be told apart"


def test_each_capture_is_read_once(new_run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = new_run()
    captured(run, 1)
    read = list[str]()
    engine = _engine.analyze

    def analyze(groups: Any, **more: Any) -> Any:
        read.append(str(groups))
        return engine(groups, **more)

    monkeypatch.setattr(_engine, "analyze", analyze)
    assert data_of(run).two_sides_data_segments == 400
    assert len(read) == len(set(read)) == 2


def test_a_pause_is_located_and_the_longest_one_named(new_run: Any) -> None:
    run = new_run()
    captured(run, 1, Path(pauses=((100, 0.4),)))
    found = data_of(run)
    assert (found.gaps_at_sender, found.gaps_on_path, found.gaps_at_receiver) == (1, 0, 0)
    assert found.longest_gap_s == pytest.approx(0.4, abs=0.005)
    assert (found.longest_gap_at, found.longest_gap_reason) == ("sender", "sender_paused")


@pytest.mark.parametrize("side", ["sender", "receiver"])
def test_one_sides_capture_alone_says_nothing_of_both_and_is_no_problem(new_run: Any, side: str) -> None:
    run = new_run()
    captured(run, 1, sides=side)
    found = data_of(run)
    assert (found.two_sides_data_segments, found.two_sides_problem, found.clock_offset_s) == (None, None, None)
    assert found.data_segments == 400


def test_captures_of_different_transfers_are_reported_and_the_rest_stays(new_run: Any) -> None:
    run = new_run()
    captured(run, 1)
    other = transfer(port=1234)
    (run.folder / "packets/receiver/0001-data.pcap").write_bytes(pcap(other.receiver))
    found = data_of(run)
    assert found.two_sides_problem == "the captures of both sides hold no connection in common"
    assert found.loss_rate == 0.0
    results = results_of(run)
    assert "both sides could not be matched in 1 transfer, the first: pair 1 data" in list(two_sides_lines(results))[-1]
    assert two_sides_rows(results)[1].not_matched == 1


def test_a_capture_that_cannot_be_read_is_the_problem(new_run: Any) -> None:
    run = new_run()
    captured(run, 1)
    (run.folder / "packets/receiver/0001-data.pcap").write_bytes(b"nothing")
    assert "receiver's capture" in (data_of(run).two_sides_problem or "")


def test_it_can_be_left_out_and_is_made_up_for_when_it_is_wanted(new_run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = new_run()
    captured(run, 1, Path(lost=frozenset({7})))
    assert data_of(run, compared=False).two_sides_lost_segments is None
    (line,) = two_sides_lines(results_of(run, compared=False))
    assert line == "1 transfer captured at both sides, not matched: vmtrace report RUN --match-sides matches them"
    assert data_of(run).two_sides_lost_segments == 1

    def nothing_is_read(*_: Any) -> Measures:
        raise AssertionError("it was measured before")

    monkeypatch.setattr(transfers_file, "measure", nothing_is_read)
    assert data_of(run).two_sides_lost_segments == 1
    assert data_of(run, compared=False).two_sides_lost_segments == 1, "what was matched before is more, not less"


def test_the_table_and_the_clock_put_transfers_together(new_run: Any) -> None:
    run = new_run()
    for sequence, lost in ((1, {5}), (2, set()), (3, {5, 6})):
        captured(run, sequence, Path(lost=frozenset(lost)), offset_s=2.0 + sequence / 1000)
    results = results_of(run)
    probe, data = two_sides_rows(results)[-2:]
    assert (probe.transfers, data.transfers, data.not_matched) == (0, 3, 0)
    assert (data.data_segments, data.lost_segments) == (1203, 3)
    assert data.median_one_way_delay_s.value == pytest.approx(0.020, abs=1e-3)
    assert data.median_queueing_delay_s.value == pytest.approx(0.0, abs=1e-3)
    clock = clock_row(results)
    assert (clock.transfers, clock.steps) == (3, 0)
    offsets = [clock.offset_least_s, clock.offset_s, clock.offset_most_s]
    assert offsets == pytest.approx([2.001, 2.002, 2.003], abs=5e-4)


def test_the_answer_and_the_document_hold_it(new_run: Any) -> None:
    run = new_run()
    captured(run, 1, Path(lost=frozenset({5}), pauses=((100, 0.4),)), offset_s=2.0)
    results = results_of(run)
    console = Console(width=200, record=True, quiet=True)
    show(results, console)
    said = "\n".join(two_sides_lines(results))
    golden_texts.check("the-answer-and-the-document-hold-it", said)
    content = json.loads(as_bytes(document([results], [results.choose(None)])))
    schema = jsonschema.Draft202012Validator(load("vmtrace.run_report.1"))
    assert [f"{e.json_path}: {e.message}" for e in schema.iter_errors(content)] == []
    assert content["runs"][0]["two_sides"][-1]["lost_segments"] == 1
    assert content["runs"][0]["transfers"][1]["longest_gap_at"] == "sender"
    assert content["runs"][0]["clock"]["offset_s"] == pytest.approx(2.0, abs=1e-3)


def test_a_run_without_two_sides_has_no_such_table(small_run: Any) -> None:
    results = results_of(small_run)
    assert two_sides_rows(results) == []
    assert list(two_sides_lines(results)) == []
    assert clock_row(results).offset_s is None


def test_data_that_the_receiver_sent_is_judged_in_its_direction(new_run: Any) -> None:
    run = new_run()
    line = run.pair(1)
    made = transfer(Path(lost=frozenset({50, 51}), pauses=((100, 0.4),)))
    # The run's sender is the end that takes the data: its clock is the reference, and it is 3 s behind.
    for side, records in (("sender", made.receiver), ("receiver", [(at + 3 * 10**9, one) for at, one in made.sender])):
        folder = run.folder / "packets" / side
        folder.mkdir(parents=True)
        (folder / "0001-data.pcap").write_bytes(pcap(records))
    ends = [{"stream": 0, "direction": "download", "local": "10.0.0.2:5001", "peer": "10.0.0.1:40000"}]
    line["data"] |= {"direction": "download", "connections": ends, "capture": {"sender_dropped": 0}}
    run.add(line)
    found = data_of(run)
    assert (found.two_sides_data_segments, found.two_sides_lost_segments) == (402, 2)
    assert found.clock_offset_s == pytest.approx(3.0, abs=0.02)
    assert (found.gaps_at_sender, found.longest_gap_at) == (1, "sender"), "the sender of the data"
