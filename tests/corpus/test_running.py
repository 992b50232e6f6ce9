"""The results of a run are those of one process, whatever is cut where."""

import json
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analyze import _engine
from corpus import inputs
from corpus.errors import CorpusError
from corpus.running import Run
from corpus.splitting import manifests
from corpus.workers import ThisProcess
from tests.corpus import captures_made as made
from tests.corpus.oracle import Quiet, assert_same, run, settings

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _runs_of_one_file_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small captures are cut as large ones are: where files can stand apart, each is a run of its own."""
    monkeypatch.setattr("corpus.planning.ONE_TASK_BYTES", 0)
    monkeypatch.setattr("corpus.planning._LEAST_RUN_BYTES", 1)
    monkeypatch.setattr("corpus.planning._RUNS_PER_WORKER", 1000)


def names(paths: list[Path]) -> list[str]:
    return [str(path) for path in paths]


def with_dns(frames: list[made.Frame]) -> list[made.Frame]:
    """Name lookups between: a question and its answer."""
    more = []
    for number in range(10):
        at_ns = frames[0].time_ns + number * 300_000_000
        question = b"\x07example\x03com\x00\x00\x01\x00\x01"
        head = struct.pack("!HHHHHH", number, 0x0100, 1, 0, 0, 0)
        answer = struct.pack("!HHHHHH", number, 0x8180, 1, 1, 0, 0) + question
        answer += b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + bytes([10, 1, 0, number + 1])
        for by_client, message in ((True, head + question), (False, answer)):
            ports = (40_000 + number, 53) if by_client else (53, 40_000 + number)
            ends = ("10.0.0.1", "10.9.9.9") if by_client else ("10.9.9.9", "10.0.0.1")
            udp = struct.pack("!HHHH", *ports, 8 + len(message), 0) + message
            more.append(made.Frame(at_ns + (0 if by_client else 5_000_000), made.ip(*ends, udp, 17)))
    return sorted([*frames, *more], key=lambda frame: frame.time_ns)


@pytest.mark.parametrize("buckets", [1, 8, pytest.param(64, marks=pytest.mark.long)])
def test_rotated_files_give_the_result_of_one_process(tmp_path: Path, buckets: int) -> None:
    frames = with_dns(made.merged(made.talks(150)))
    paths = names(made.written(tmp_path / "in", made.rotated(frames, 9)))
    done = run(paths, tmp_path / "out", buckets)
    trace = assert_same(tmp_path / "out", paths)
    assert (done.connections, done.runs, done.buckets) == (150, 9, buckets)
    assert len(trace.lookups) == 10


def test_of_few_connections_the_limits_of_each_interval_are_written(tmp_path: Path) -> None:
    frames = made.merged(made.talks(20))
    paths = names(made.written(tmp_path / "in", made.rotated(frames, 3)))
    run(paths, tmp_path / "out", 4)
    assert b"limit_intervals" in (tmp_path / "out/analysis.json").read_bytes()
    assert_same(tmp_path / "out", paths)


def test_interfaces_that_overlap_are_read_as_one_run(tmp_path: Path) -> None:
    frames = made.merged(made.talks(80))
    inside = [frame for frame in frames if frame.packet[0] >> 4 == 4]
    outside = [frame for frame in frames if frame.packet[0] >> 4 == 6]
    paths = made.written(tmp_path / "in", made.rotated(inside, 4), "eth0")
    paths += made.written(tmp_path / "in", made.rotated(outside, 3), "eth1")
    done = run(names(paths), tmp_path / "out", 8)
    assert_same(tmp_path / "out", names(paths))
    assert done.runs < 7


def test_fragments_and_tunnels_cross_the_borders_of_files(tmp_path: Path) -> None:
    plain = made.merged(made.talks(60))
    frames: list[made.Frame] = []
    for number, frame in enumerate(plain):
        if number % 5 == 1 and len(frame.packet) > 600 and frame.packet[0] >> 4 == 4:
            frames += made.fragmented(frame, number & 0xFFFF)
        elif number % 5 == 2:
            frames.append(made.tunnelled(frame))
        elif number % 5 == 3 and len(frame.packet) > 600:
            frames += made.fragmented(made.tunnelled(frame), number & 0xFFFF)
        else:
            frames.append(frame)
    frames.sort(key=lambda frame: frame.time_ns)
    paths = names(made.written(tmp_path / "in", made.rotated(frames, 30)))
    done = run(paths, tmp_path / "out", 8)
    assert_same(tmp_path / "out", paths)
    assert done.runs > 1


def test_damaged_and_truncated_captures_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    paths = made.written(tmp_path / "in", made.rotated(made.merged(made.talks(80)), 6))
    damaged = bytearray(paths[1].read_bytes())
    damaged[5000:8000] = b"\xff" * 3000
    paths[1].write_bytes(damaged)
    paths[3].write_bytes(paths[3].read_bytes()[:-777])
    paths[4].write_bytes(paths[4].read_bytes()[:24])
    run(names(paths), tmp_path / "out", 8)
    trace = assert_same(tmp_path / "out", names(paths))
    assert trace.header()["inputs"][1]["damage"]


def test_compressed_captures_that_are_cut_give_what_is_in_them(tmp_path: Path) -> None:
    paths = made.written(tmp_path / "in", made.rotated(made.merged(made.talks(80)), 5), packed=True)
    paths[2].write_bytes(paths[2].read_bytes()[:-3000])
    run(names(paths), tmp_path / "out", 8)
    assert_same(tmp_path / "out", names(paths))


def test_one_elephant_among_mice_stays_one_connection(tmp_path: Path) -> None:
    elephant = made.Talk("10.0.0.1", "10.1.0.1", 19_999, made.START_NS, segments=4000, rtt_ns=2_000_000)
    paths = made.written(tmp_path / "in", made.rotated(made.merged([elephant, *made.talks(30)]), 12))
    done = run(names(paths), tmp_path / "out", 8)
    assert_same(tmp_path / "out", names(paths))
    assert done.connections == 31


@pytest.mark.parametrize("step_ns", [-7_000_000_000, 90_000_000_000])
def test_steps_of_the_clock_are_counted_once(tmp_path: Path, step_ns: int) -> None:
    frames = made.merged(made.talks(80, every_ns=200_000_000))
    middle = len(frames) // 2
    stepped = [*frames[:middle], *(replace(frame, time_ns=frame.time_ns + step_ns) for frame in frames[middle:])]
    paths = names(made.written(tmp_path / "in", made.rotated(stepped, 7)))
    run(paths, tmp_path / "out", 8)
    assert_same(tmp_path / "out", paths)


def test_hosts_that_were_recorded_late_are_put_right(tmp_path: Path) -> None:
    late = [replace(talk, lag_ns=5_000_000, segments=60, rtt_ns=3_000_000) for talk in made.talks(40)]
    paths = names(made.written(tmp_path / "in", made.rotated(made.merged(late), 6)))
    run(paths, tmp_path / "out", 8)
    assert_same(tmp_path / "out", paths)


def test_what_is_no_capture_is_left_out_and_reported(tmp_path: Path) -> None:
    paths = made.written(tmp_path / "in", made.rotated(made.merged(made.talks(20)), 3))
    (tmp_path / "in/notes.txt").write_text("no capture at all")
    (tmp_path / "in/empty.pcap").write_bytes(b"")
    found = inputs.find([str(tmp_path / "in" / "*")], None)
    assert len(found.inputs) == 3
    assert [line.rpartition("/")[2].partition(":")[0] for line in found.problems] == ["empty.pcap", "notes.txt"]
    Run(settings(tmp_path / "out", 4), ThisProcess(), Quiet()).of(found)
    assert_same(tmp_path / "out", names(paths))


def test_a_second_run_does_only_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = names(made.written(tmp_path / "in", made.rotated(made.merged(made.talks(60)), 6)))
    run(paths, tmp_path / "out", 8, keep_slices=True)
    whole = (tmp_path / "out/analysis.json").read_bytes()
    (tmp_path / "out/buckets/00003.json").unlink()
    (tmp_path / "out/connections/part-00002.parquet").unlink()
    (tmp_path / "out/buckets/00002.table").unlink()
    calls: Counter[str] = Counter()

    def counted(name: str) -> Callable[..., Any]:
        true = getattr(_engine, name)

        def call(*given: Any, **more: Any) -> Any:
            calls[name] += 1
            return true(*given, **more)

        return call

    for name in ("split", "analyze_slices"):
        monkeypatch.setattr(_engine, name, counted(name))
    run(paths, tmp_path / "out", 8, keep_slices=True)
    # Six to see when each capture starts.
    assert calls == {"split": 6, "analyze_slices": 1}
    assert (tmp_path / "out/analysis.json").read_bytes() == whole
    assert_same(tmp_path / "out", paths)


def test_results_of_other_captures_are_not_overwritten(tmp_path: Path) -> None:
    paths = names(made.written(tmp_path / "in", made.rotated(made.merged(made.talks(20)), 4)))
    run(paths[:2], tmp_path / "out", 4)
    with pytest.raises(CorpusError, match="results of other captures are here"):
        run(paths, tmp_path / "out", 4)
    with pytest.raises(CorpusError, match="a run with 4 buckets was begun here"):
        run(paths[:2], tmp_path / "out", 8)


def test_a_capture_that_changes_meanwhile_is_an_error_that_says_so(tmp_path: Path) -> None:
    paths = made.written(tmp_path / "in", made.rotated(made.merged(made.talks(20)), 2))
    found = inputs.find(names(paths), None)
    paths[0].write_bytes(paths[0].read_bytes() + b"more")
    with pytest.raises(OSError, match="it was changed while it was read"):
        Run(settings(tmp_path / "out", 4), ThisProcess(), Quiet()).of(found)


def test_slices_go_when_the_run_is_over(tmp_path: Path) -> None:
    paths = names(made.written(tmp_path / "in", made.rotated(made.merged(made.talks(20)), 2)))
    run(paths, tmp_path / "out", 4)
    kept = {path.name for path in (tmp_path / "out").iterdir()}
    assert kept == {
        "analysis.json",
        "connections",
        "echoes.parquet",
        "indexes",
        "lookups.parquet",
        "manifest.json",
        "plan.json",
        "report.html",
        "syns.parquet",
    }
    assert json.loads((tmp_path / "out/manifest.json").read_text())["connections"] == 20
    assert not manifests(str(tmp_path / "out"), None)
