"""The binding: what goes in, what comes out, which errors, and that Python stays in control meanwhile."""

import contextlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from vmtrace.analyze import _engine
from vmtrace.analyze._engine import TraceError


def document(analysis: _engine.Analysis, only: list[int] | None = None) -> dict[str, Any]:
    pieces: list[bytes] = []
    analysis.write_json(pieces.append, vmtrace_version="1.2.3", input_paths=["x.pcap"], only_connections=only)
    content: dict[str, Any] = json.loads(b"".join(pieces))
    return content


def test_a_path_and_its_bytes_give_the_same(transfer_file: Path) -> None:
    from_path = _engine.analyze([[transfer_file]])
    from_bytes = _engine.analyze([[transfer_file.read_bytes()]])
    assert document(from_path) == document(from_bytes)
    assert document(from_path)["vmtrace"] == "1.2.3"
    assert document(from_path)["inputs"][0]["path"] == "x.pcap"
    assert not from_path.interrupted
    assert from_path.errors == []


def test_results_kept_until_exit_have_an_owner_for_good_and_are_the_same(transfer_file: Path) -> None:
    analysis = _engine.analyze([[transfer_file]])
    before, owners = document(analysis), sys.getrefcount(analysis)
    analysis.keep_until_exit()
    assert sys.getrefcount(analysis) == owners + 1
    assert document(analysis) == before


def test_the_number_of_threads_changes_nothing(two_transfers: Any) -> None:
    one, four = (document(_engine.analyze([[two_transfers.bytes()]], threads=threads)) for threads in (1, 4))
    assert one == four


def test_one_connection_alone_can_be_had(two_transfers: Any) -> None:
    analysis = _engine.analyze([[two_transfers.bytes()]])
    assert [c["id"] for c in document(analysis)["connections"]] == [1, 2]
    assert [c["id"] for c in document(analysis, only=[2])["connections"]] == [2]
    assert document(analysis, only=[])["connections"] == []


def test_columns_are_arrow_and_plain_python(two_transfers: Any) -> None:
    columns = _engine.analyze([[two_transfers.bytes()]]).connections()
    table = pa.table(columns)
    assert table.column_names == columns.names
    assert len(columns) == table.num_rows == 2
    assert columns.row(1) == table.to_pylist()[1]
    for name in columns.names:
        assert columns.values(name) == table[name].to_pylist()
    assert pa.schema(columns) == table.schema
    assert pa.array(columns).to_pylist() == table.to_pylist()
    with pytest.raises(KeyError, match="no_such"):
        columns.values("no_such")
    with pytest.raises(IndexError, match="row 2 of 2"):
        columns.row(2)


def test_a_capture_without_connections_has_the_same_columns(new_capture: Any, transfer: Any) -> None:
    empty = _engine.analyze([[new_capture().bytes()]]).connections()
    full = _engine.analyze([[transfer.bytes()]]).connections()
    assert len(empty) == 0
    assert empty.names == full.names
    assert pa.schema(empty) == pa.schema(full)


def test_packets_are_given_for_the_connections_asked_for(two_transfers: Any) -> None:
    packets = pa.table(_engine.analyze([[two_transfers.bytes()]], detail_connections=[2]).packets())
    assert set(packets["connection"].to_pylist()) == {2}
    assert packets.num_rows == len(two_transfers.records) - 107
    kinds = packets["kind"].to_pylist()
    assert kinds.count("retransmission") == 1
    assert kinds.count("data") == 10


def test_groups_are_analysed_apart_and_numbered_through(transfer: Any, two_transfers: Any) -> None:
    content = transfer.bytes()
    analysis = _engine.analyze([[content], [two_transfers.bytes(), content]], detail_connections=[1, 3])
    numbers = [(c["id"], c["input"]) for c in document(analysis)["connections"]]
    assert [number for number, _ in numbers] == list(range(1, len(numbers) + 1))
    assert numbers[0] == (1, 0)
    assert {place for _, place in numbers[1:]} <= {1, 2}
    assert len(document(analysis)["inputs"]) == 3
    packets = pa.table(analysis.packets())
    assert set(packets["connection"].to_pylist()) == {1, 3}
    first = _engine.analyze([[content]], detail_connections=[1])
    mask = pa.compute.equal(packets["connection"], 1)
    assert packets.filter(mask).to_pylist() == pa.table(first.packets()).to_pylist()


def test_packets_of_what_was_measured_before_are_the_same(transfer: Any, two_transfers: Any) -> None:
    groups = [[transfer.bytes()], [two_transfers.bytes(), transfer.bytes()]]
    before = _engine.analyze(groups)
    for numbers in ([1], [2, 3], [1, 3]):
        again = _engine.analyze(groups, detail_connections=numbers, measured_before=before)
        asked_at_once = _engine.analyze(groups, detail_connections=numbers)
        assert pa.table(again.packets()).equals(pa.table(asked_at_once.packets()))
    assert len(_engine.analyze(groups, detail_connections=[], measured_before=before).packets()) == 0


def test_a_missing_file_is_the_built_in_error() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        _engine.analyze([["/nowhere/x.pcap"]])
    assert (caught.value.filename, caught.value.strerror) == ("/nowhere/x.pcap", "No such file or directory")


def test_a_folder_is_the_built_in_error(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError) as caught:
        _engine.analyze([[tmp_path]])
    assert caught.value.filename == str(tmp_path)


def test_what_is_no_capture_is_reported_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are notes")
    with pytest.raises(TraceError) as caught:
        _engine.analyze([[path]])
    error = caught.value
    assert (error.kind, error.input, error.path) == ("not_a_capture", 0, str(path))
    assert str(error) == f"{path}: {error.reason}"
    assert "\n" not in error.reason


@pytest.mark.parametrize("apart", [False, True], ids=["one group", "two groups"])
def test_one_bad_input_leaves_the_results_of_the_others(transfer: Any, apart: bool) -> None:
    inputs = [b"no capture at all", transfer.bytes()]
    analysis = _engine.analyze([[i] for i in inputs] if apart else [inputs])
    assert len(analysis.connections()) == 1
    (error,) = analysis.errors
    assert isinstance(error, TraceError)
    assert error.input == 0
    assert document(analysis)["connections"][0]["input"] == 1


def test_a_filter_sees_each_link_type_and_its_refusal_is_an_error(transfer: Any) -> None:
    asked = []

    def compiler(link_type: int, snap_length: int) -> bytes:
        asked.append((link_type, snap_length))
        raise ValueError("not this filter")

    with pytest.raises(TraceError, match="not this filter") as caught:
        _engine.analyze([[transfer.bytes()]], compile_filter=compiler)
    assert caught.value.kind == "filter"
    assert caught.value.input is None
    assert [link_type for link_type, _ in asked] == [1]


def test_a_filter_that_is_no_program_is_an_error(transfer: Any) -> None:
    with pytest.raises(TraceError) as caught:
        _engine.analyze([[transfer.bytes()]], compile_filter=lambda *_: b"123")
    assert caught.value.kind == "filter"


def test_an_error_of_the_writer_comes_back_unchanged(transfer: Any) -> None:
    analysis = _engine.analyze([[transfer.bytes()]])
    failure = OSError(28, "No space left on device")

    def write(_piece: bytes) -> None:
        raise failure

    with pytest.raises(OSError, match="No space") as caught:
        analysis.write_json(write, vmtrace_version="1", input_paths=[])
    assert caught.value is failure


@pytest.fixture
def endless(tmp_path: Path, transfer: Any) -> Any:
    """A pipe into which one connection's packets are written for ever."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    stop = threading.Event()

    def feed() -> None:
        # The engine hangs up when it is stopped.
        with contextlib.suppress(BrokenPipeError), path.open("wb", buffering=0) as pipe:
            pipe.write(transfer.bytes())
            while not stop.wait(0.001):
                pipe.write(b"".join(transfer.records[3:53]) * 20)

    feeder = threading.Thread(target=feed)
    feeder.start()
    yield path
    stop.set()
    feeder.join()


def test_ctrl_c_stops_the_reading_and_keeps_what_was_measured(endless: Path) -> None:
    threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
    started = time.monotonic()
    analysis = _engine.analyze([[endless]])
    assert analysis.interrupted
    assert document(analysis)["interrupted"] is True
    assert len(analysis.connections()) >= 1
    assert time.monotonic() - started < 20


def test_other_threads_run_meanwhile_and_progress_is_reported(endless: Path) -> None:
    shown: list[int] = []
    ticks = 0

    def progress(consumed_bytes: int) -> None:
        shown.append(consumed_bytes)
        if len(shown) == 10:
            signal.raise_signal(signal.SIGINT)

    def tick() -> None:
        nonlocal ticks
        while len(shown) < 10:
            ticks += 1
            time.sleep(0.01)

    thread = threading.Thread(target=tick)
    thread.start()
    analysis = _engine.analyze([[endless]], progress=progress)
    thread.join()
    assert analysis.interrupted
    assert shown == sorted(shown)
    assert ticks > 5


def test_an_error_of_the_progress_callable_ends_the_run(endless: Path) -> None:
    def progress(_consumed_bytes: int) -> None:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        _engine.analyze([[endless]], progress=progress)


def test_two_captures_of_one_traffic_share_their_frames(transfer: Any, new_capture: Any, transfer_into: Any) -> None:
    other = transfer_into(new_capture(), port=50_000, server=("10.0.0.9", 80))
    assert _engine.shared_frames(transfer.bytes(), transfer.bytes()) == 1.0
    assert _engine.shared_frames(transfer.bytes(), other.bytes()) == 0.0
    assert _engine.shared_frames(transfer.bytes(), new_capture().bytes()) is None
