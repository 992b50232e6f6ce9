"""Reading a run folder: whatever state it is in, and whatever somebody put into it."""

import json
import os
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.read.records import run_folder
from vmtrace.analyze.read.records.fields import FieldError, Fields, endpoint, parse
from vmtrace.analyze.read.records.run import Run
from vmtrace.analyze.read.records.run_folder import (
    RunFolderError,
    capture_file,
    inside,
    inside_or_new,
    named_apart,
    read_run,
)


def test_a_run_is_read_as_it_was_written(small_run: Any) -> None:
    run = read_run(small_run.folder)
    assert [pair.sequence for pair in run.pairs] == list(range(1, 9))
    assert [entry.index for entry in run.record.entries] == ["I_0", "I_1"]
    assert (run.record.plan, run.record.repeat, run.record.pairs_planned) == ("lee2011", 4, 8)
    first = run.pairs[0]
    assert first.rtt is not None
    assert first.rtt.mean_s == 0.020
    assert first.probe is not None
    assert first.probe.connections[0].local == ("10.0.0.1", 40_002)
    assert first.probe.dropped == 0
    assert len(run.echoes) == 24
    assert run.problems == ()


def test_a_torn_last_line_is_left_out_and_reported(small_run: Any) -> None:
    with (small_run.folder / "pairs.jsonl").open("a") as file:
        file.write('{"sequence": 9, "index"')
    run = read_run(small_run.folder)
    assert len(run.pairs) == 8
    assert run.problems == ("pairs.jsonl: its last line is torn and was left out",)


class _Watched(BytesIO):
    """Remembers the largest piece that was asked for; -1: all there is."""

    asked: set[int]

    def readline(self, size: int | None = -1, /) -> bytes:
        self.asked.add(-1 if size is None else size)
        return super().readline(size)


@given(st.lists(st.sampled_from([b"\n", b" ", b"a", b"bcd", b"efghij"]), max_size=30).map(b"".join))
def test_lines_are_those_of_the_file_and_no_long_one_is_in_memory_at_once(content: bytes) -> None:
    most = 8
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_folder, "_LINE_LIMIT_BYTES", most)
        file = _Watched(content)
        file.asked = set()
        found = list(run_folder._whole_lines(file))
    lines = content.splitlines(keepends=True)
    assert found == [
        (number, None if not line.endswith(b"\n") else line if len(line) <= most else b"(too long)")
        for number, line in enumerate(lines, 1)
        if line.strip() or len(line) > most or not line.endswith(b"\n")
    ]
    assert file.asked == {most}


def test_a_last_line_without_its_end_is_torn_even_if_it_is_whole_json(small_run: Any) -> None:
    path = small_run.folder / "pairs.jsonl"
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert len(read_run(small_run.folder).pairs) == 7


@pytest.mark.parametrize(
    ("truth", "said"),
    [
        ('{"good": true, "problems": []}', ()),
        ('{"good": false, "problems": ["late", "dropped"]}', ("discarded by the lab as a reference: late; dropped",)),
        (
            '{"good": false, "problems": ["late"], "doubtful": ["RTT of 1 of 8 transfers"]}',
            ("the lab's machine was busy: late; doubtful: RTT of 1 of 8 transfers",),
        ),
        ('{"good": false}', ("discarded by the lab as a reference: it does not say why",)),
        ('{"good": false, "problems": 3}', ("lab/truth.json: problems is not a list of texts",)),
        ("{", ("lab/truth.json: not JSON (JSONDecodeError)",)),
    ],
)
def test_a_run_that_its_lab_refused_is_reported(small_run: Any, truth: str, said: tuple[str, ...]) -> None:
    (small_run.folder / "lab").mkdir()
    (small_run.folder / "lab" / "truth.json").write_text(truth)
    assert read_run(small_run.folder).problems == said


@pytest.mark.parametrize("absent", ["pairs.jsonl", "ping.jsonl"])
def test_a_file_of_lines_may_be_absent(small_run: Any, absent: str) -> None:
    (small_run.folder / absent).unlink()
    run = read_run(small_run.folder)
    assert (len(run.pairs), len(run.echoes)) == ((0, 24) if absent == "pairs.jsonl" else (8, 0))


def test_a_running_run_has_no_end_and_unknown_keys_do_no_harm(new_run: Any) -> None:
    made = new_run()
    made.record |= {"status": "running", "end_ns": None, "colour": {"deep": [1]}}
    made.save()
    made.add(made.pair(1, colour="red"))
    run = read_run(made.folder)
    assert (run.record.status, run.record.end_ns, len(run.complete_pairs)) == ("running", None, 1)


def test_failed_pairs_and_attempts_are_kept_apart_from_complete_ones(new_run: Any) -> None:
    made = new_run()
    made.add(made.pair(1), made.pair(2, status="failed", data=None, error="gone", attempts=3))
    (made.folder / "attempts.jsonl").write_text('{"sequence": 2, "attempt": 1}\n{"sequence": 2, "attempt": 2}\n')
    run = read_run(made.folder)
    assert [pair.sequence for pair in run.complete_pairs] == [1]
    assert (run.pairs[1].error, run.pairs[1].data, run.failed_attempts) == ("gone", None, 2)


def test_of_a_pair_that_is_there_twice_the_later_line_counts(new_run: Any) -> None:
    made = new_run()
    made.add(made.pair(2), made.pair(1), made.pair(1, index="I_7"))
    run = read_run(made.folder)
    assert [(pair.sequence, pair.index) for pair in run.pairs] == [(1, "I_7"), (2, "I_0")]
    assert run.problems == ("pairs.jsonl: 1 pair twice, the later line counts",)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sequence": "1"}, "sequence is not a whole number"),
        ({"sequence": None}, "sequence is not there"),
        ({"sequence": -1}, "sequence is not a number of a pair"),
        ({"sequence": 10**30}, "sequence is not a whole number"),
        ({"index": 7}, "index is not text"),
        ({"data": None}, "data is not there, though the pair is complete"),
        ({"data": []}, "data is not an object"),
        ({"rtt": {"mean_s": "quick"}}, "rtt: mean_s is not a number"),
    ],
)
def test_a_line_with_a_wrong_value_is_left_out_with_one_line_that_says_why(
    new_run: Any, change: dict[str, Any], said: str
) -> None:
    made = new_run()
    made.add(made.pair(1), made.pair(2) | change)
    (made.folder / "ping.jsonl").unlink()
    run = read_run(made.folder)
    assert [pair.sequence for pair in run.pairs] == [1]
    (problem,) = run.problems
    assert problem.startswith("pairs.jsonl line 2: ")
    assert said in problem


@pytest.mark.parametrize(
    "bad",
    [
        b"\xff\xfe",
        b"[]",
        b"NaN",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"1" * 5000,
        b'{"sequence": 1e999}',
        b"x" * 2_000_000,
    ],
)
def test_any_line_is_read_or_left_out(new_run: Any, bad: bytes) -> None:
    made = new_run()
    made.add(made.pair(1))
    with (made.folder / "pairs.jsonl").open("ab") as file:
        file.write(bad + b"\n")
    run = read_run(made.folder)
    assert len(run.pairs) == 1
    assert len(run.problems) == 1
    assert "\n" not in run.problems[0]
    assert len(run.problems[0]) < 200


def test_numbers_that_are_not_finite_are_no_numbers(new_run: Any) -> None:
    made = new_run()
    made.add(made.pair(1))
    text = json.dumps(made.pair(2))
    for value in ("NaN", "Infinity", "1e999", "-1"):
        made_of_it = text.replace('"goodput_bps": 1000000.0', f'"goodput_bps": {value}')
        assert made_of_it != text
        with (made.folder / "pairs.jsonl").open("a") as file:
            file.write(made_of_it + "\n")
    assert [pair.sequence for pair in read_run(made.folder).pairs] == [1]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "not a run folder (it has no run.json)"),
        ("", "run.json: not JSON"),
        ("[]", "run.json: not a JSON object"),
        ('{"schema": "vmtrace.analysis/1"}', "it is not of a vmtrace run"),
        ('{"schema": "vmtrace.run/2"}', "vmtrace.run/2 is of a newer vmtrace"),
        ('{"schema": "vmtrace.run/1", "start_ns": 1.5}', "start_ns is not a whole number"),
    ],
)
def test_what_is_no_run_is_reported_in_one_line(tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunFolderError) as caught:
        read_run(tmp_path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_not_there_and_a_file_are_no_runs(tmp_path: Path, transfer_file: Path) -> None:
    for place, said in ((tmp_path / "none", "no such run folder"), (transfer_file, "not a folder")):
        with pytest.raises(RunFolderError, match=said):
            read_run(place)


def test_a_run_cannot_make_the_report_read_or_write_outside_of_its_folder(small_run: Any, tmp_path: Path) -> None:
    outside = tmp_path / "secret.pcap"
    outside.write_bytes(b"secret")
    (small_run.folder / "packets" / "link.pcap").symlink_to(outside)
    for name in ("../secret.pcap", str(outside), "packets/link.pcap", "x\0y", "a" * 5000, "packets"):
        assert inside(small_run.folder, name) is None, name
    assert inside(small_run.folder, "packets/sender/0001-data.pcap") is not None
    (small_run.folder / "report.html").symlink_to(outside)
    assert inside_or_new(small_run.folder, "report.html") is None
    assert inside_or_new(small_run.folder, "other.html") == small_run.folder / "other.html"


@pytest.mark.parametrize("name", ["run.json", "pairs.jsonl"])
def test_a_pipe_or_a_link_in_the_place_of_a_file_is_not_read(small_run: Any, tmp_path: Path, name: str) -> None:
    place = small_run.folder / name
    outside = tmp_path / "outside"
    place.rename(outside)
    for make in (lambda: place.symlink_to(outside), lambda: os.mkfifo(place)):
        make()
        if name == "run.json":
            with pytest.raises(RunFolderError, match=r"run\.json: not a file of the run folder"):
                read_run(small_run.folder)
        else:
            run = read_run(small_run.folder)
            assert (len(run.pairs), run.problems) == (0, ("pairs.jsonl: not a file of the run folder: left out",))
        place.unlink()


def test_a_capture_is_found_by_the_name_in_the_record_or_by_the_usual_one(small_run: Any) -> None:
    run = read_run(small_run.folder)
    pair = run.pairs[0]
    assert pair.data is not None
    usual = capture_file(run, pair, pair.data, "sender")
    assert usual is not None
    assert usual.name == "0001-data.pcap"
    assert capture_file(run, pair, pair.data, "receiver") is None


def test_runs_with_the_same_name_get_names_that_differ(new_run: Any) -> None:
    made = [new_run(name) for name in ("a/run", "b/run", "c/other")]
    names = [run.name for run in named_apart([read_run(one.folder) for one in made])]
    assert names == ["a/run", "b/run", "c/other"]
    own = new_run("d/run")
    own.record["name"] = "frankfurt"
    own.save()
    found = named_apart([read_run(one.folder) for one in (made[0], own)])
    assert [run.name for run in found] == ["run", "frankfurt"]
    same: list[Run] = named_apart([read_run(made[0].folder)] * 2)
    assert [run.name for run in same] == ["run (1)", "run (2)"]


@pytest.mark.parametrize(
    ("address", "port", "found"),
    [
        ("10.0.0.1", "80", ("10.0.0.1", 80)),
        ("[fd00::0001]", "80", ("fd00::1", 80)),
        ("fe80::1%eth0", "80", ("fe80::1", 80)),
        ("::ffff:10.0.0.1", "80", ("10.0.0.1", 80)),
        ("10.0.0.1", "65536", None),
        ("10.0.0.1", "-1", None),
        ("10.0.0.1", "", None),
        ("host", "80", None),
    ],
)
def test_an_endpoint_has_one_spelling(address: str, port: str, found: tuple[str, int] | None) -> None:
    assert endpoint(address, port) == found


def test_an_endpoint_is_text_or_a_list() -> None:
    fields = Fields({"a": "[fd00::1]:80", "b": ["10.0.0.1", 80], "c": 7, "d": "nowhere"}, "here")
    assert fields.endpoint("a") == ("fd00::1", 80)
    assert fields.endpoint("b") == ("10.0.0.1", 80)
    assert fields.endpoint("absent") is None
    for name in "cd":
        with pytest.raises(FieldError, match=r"here: . is not an address and a port"):
            fields.endpoint(name)


@given(st.binary(max_size=200))
def test_any_bytes_are_an_object_or_an_error_of_one_line(text: bytes) -> None:
    try:
        parse(text, "here")
    except FieldError as error:
        assert str(error).startswith("here: ")  # noqa: PT017 - both ways are right
        assert "\n" not in str(error)  # noqa: PT017


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=4))
def test_any_value_is_taken_as_what_it_is_or_refused(value: object) -> None:
    fields = Fields({"x": value}, "here")
    for take, kinds in (
        (fields.text, str), (fields.integer, int), (fields.number, float), (fields.flag, bool), (fields.part, Fields)
    ):  # fmt: skip
        try:
            taken = take("x")
        except FieldError:
            continue
        assert taken is None or isinstance(taken, kinds)
