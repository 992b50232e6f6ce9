"""`vmtrace watch`: what a stream shows equals what the file shows, whatever way the packets come.

Subjects: `vmtrace/commands/watch.py`, `vmtrace/commands/watching.py`, `vmtrace/commands/watch_source.py`,
`vmtrace/commands/watch_saving.py`, `vmtrace/commands/watch_shown.py`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.analyze.talks import Talk
from tests.cut import cut
from tests.eventually import eventually

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
# Compressed ones cannot be cut between records; a damaged one has no records to cut between.
CAPTURES = sorted(one for one in SAMPLES.iterdir() if one.suffix in {".pcap", ".pcapng"})


def many_connections(count: int) -> bytes:
    """Short connections, one each 100 ms, as a pcap file."""
    all_together = Talk()
    for number in range(count):
        talk = Talk(port=1024 + number).open(0.01).client(0.02, 100).server(0.03, 1000).close(0.05)
        all_together.packets += talk.later(number / 10).packets
    return all_together.capture()


def watch(*options: str, stdin: Any = None, **more: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "vmtrace", "watch", *options]
    pipe = subprocess.PIPE
    # Without a buffer: what a line that is read leaves in one, `communicate` does not see.
    return subprocess.Popen(command, bufsize=0, stdin=stdin, stdout=pipe, stderr=pipe, cwd=ROOT, **more)


def watched(*options: str, content: bytes | None = None) -> tuple[list[dict[str, Any]], str, int]:
    """The records, what was said, and the exit status."""
    with watch(*options, stdin=subprocess.PIPE if content is not None else subprocess.DEVNULL) as process:
        out, said = process.communicate(content, timeout=120)
    return [json.loads(line) for line in out.splitlines()], said.decode(), process.returncode


def of_file(path: Path) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "vmtrace", "analyze", "-", "--json-lines"]
    with path.open("rb") as capture:
        done = subprocess.run(command, stdin=capture, capture_output=True, cwd=ROOT, timeout=120, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def last_of_each(records: list[dict[str, Any]]) -> list[str]:
    """Connections, flows and lookups as they were given; findings as they stand at the end."""
    findings: dict[tuple[Any, ...], str] = {}
    others = []
    for record in records:
        if record["record"] == "finding":
            state = record.pop("state", "new")
            key = (record["kind"], record["owner"], *record["connections"][:1], *record["flows"][:1])
            key += tuple(record["lookups"][:1])
            findings.pop(key, None)
            if state != "gone":
                findings[key] = json.dumps(record, sort_keys=True)
        elif record["record"] != "status":
            others.append(json.dumps(record, sort_keys=True))
    return sorted([*others, *findings.values()])


@pytest.mark.parametrize("capture", cut(CAPTURES, 4), ids=lambda one: one.stem)
def test_the_records_of_a_pipe_are_those_of_the_file(capture: Path) -> None:
    records, _, status = watched("-", "--json-lines", content=capture.read_bytes())
    assert status == 0
    assert last_of_each(records) == last_of_each(of_file(capture))


@pytest.mark.parametrize(
    "capture", cut([one for one in CAPTURES if one.suffix == ".pcap"], 2), ids=lambda one: one.stem
)
def test_a_file_that_grows_ends_as_the_whole_file(capture: Path, tmp_path: Path) -> None:
    content, growing = capture.read_bytes(), tmp_path / "growing.pcap"
    piece = len(content) // 7
    growing.write_bytes(content[:piece])
    options = (str(growing), "--json-lines", "--every", "0.2s", "--until-idle", "10s")
    with watch(*options, stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        with growing.open("ab", buffering=0) as out:
            for begin in range(piece, len(content), piece):
                out.write(content[begin : begin + piece])
                time.sleep(0.1)
        rest, said = process.communicate(timeout=120)
    records = [json.loads(line) for line in [first, *rest.splitlines()]]
    assert (process.returncode, said) == (0, b"")
    assert last_of_each(records) == last_of_each(of_file(capture))
    states = [one for one in records if one["record"] == "status"]
    assert states[0]["packets"] < states[-1]["packets"]


def test_half_a_record_at_the_end_is_one_line_and_the_rest_is_measured() -> None:
    content = (SAMPLES / "tls13.pcap").read_bytes()
    whole = watched("-", "--json-lines", content=content)[0]
    records, _, status = watched("-", "--json-lines", content=content[:-10])
    assert status == 0
    assert [one["id"] for one in records if one["record"] == "connection"] == [
        one["id"] for one in whole if one["record"] == "connection"
    ]


def test_a_file_that_is_truncated_while_it_is_read_ends_with_one_line(tmp_path: Path) -> None:
    growing = tmp_path / "growing.pcap"
    growing.write_bytes((SAMPLES / "tls13.pcap").read_bytes())
    with watch(str(growing), "--json-lines", "--every", "0.2s", stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        growing.write_bytes(b"")
        out, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert said.decode().splitlines() == [f"vmtrace: {growing}: it was cut short while it was read"]
    records = [json.loads(line) for line in [first, *out.splitlines()]]
    assert any(one["record"] == "connection" for one in records)


@pytest.mark.parametrize(
    ("content", "what"), [(b"", "empty"), (b"GIF89a" * 20, "not a capture")], ids=["nothing", "no_capture"]
)
def test_what_is_no_capture_ends_with_one_line(content: bytes, what: str) -> None:
    records, said, status = watched("-", "--json-lines", content=content)
    assert (records, status) == ([], 1), what
    assert said.startswith("vmtrace: <stdin>: ")
    assert said.count("\n") == 1


def test_neither_a_file_nor_an_interface_is_wrong_usage() -> None:
    for options in ([], ["x.pcap", "--interface", "lo"]):
        records, said, status = watched(*options)
        assert (records, status) == ([], 2)
        assert said == "vmtrace: name either --interface or a FILE (- is standard input)\n"


def test_ctrl_c_ends_a_fifo_with_the_answer_for_people(tmp_path: Path) -> None:
    fifo = tmp_path / "packets"
    os.mkfifo(fifo)
    content = (SAMPLES / "lossy-sender.pcap").read_bytes()
    options = (str(fifo), "--lines", "--every", "0.2s")
    with watch(*options, stdin=subprocess.DEVNULL) as process, fifo.open("wb", buffering=0) as writer:
        writer.write(content)
        assert process.stderr is not None
        lines = [process.stderr.readline().decode()]
        while "Losses kept" not in lines[-1] and len(lines) < 100:
            lines.append(process.stderr.readline().decode())
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Losses kept the congestion window small" in lines[-1]
    answer = [sys.executable, "-m", "vmtrace", "analyze", "-", "--limit", "20"]
    with (SAMPLES / "lossy-sender.pcap").open("rb") as capture:
        done = subprocess.run(answer, stdin=capture, capture_output=True, cwd=ROOT, timeout=60, check=True)
    shown = done.stdout.decode().replace("<stdin>", str(fifo))
    assert out.decode().splitlines()[1:] == shown.splitlines()[1:]


def test_a_fifo_whose_writer_dies_ends_with_what_had_come(tmp_path: Path) -> None:
    fifo, whole = tmp_path / "packets", SAMPLES / "lossy-sender.pcap"
    os.mkfifo(fifo)
    content = whole.read_bytes()
    # In the middle of a record, and without a word.
    program = "import sys, time; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read(int(sys.argv[2])))"
    program += "; sys.stdout.flush(); time.sleep(300)"
    cut = 24 + sum(16 + length for length in _lengths(content)[:400]) + 20
    with watch(str(fifo), "--json-lines", "--every", "0.2s", stdin=subprocess.DEVNULL) as process:
        with fifo.open("wb", buffering=0) as pipe:
            writer = subprocess.Popen([sys.executable, "-c", program, str(whole), str(cut)], stdout=pipe)
        assert process.stdout is not None
        lines = [json.loads(process.stdout.readline())]
        while lines[-1].get("packets", 0) < 390:
            lines.append(json.loads(process.stdout.readline()))
        writer.kill()
        writer.wait()
        out, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert said.decode().count("\n") <= 1
    records = [*lines, *map(json.loads, out.splitlines())]
    [connection] = [one for one in records if one["record"] == "connection"]
    assert sum(connection[side]["packets"] for side in ("client_to_server", "server_to_client")) == 400


def _lengths(content: bytes) -> list[int]:
    found, at = list[int](), 24
    while at < len(content):
        found.append(int.from_bytes(content[at + 8 : at + 12], "little"))
        at += 16 + found[-1]
    return found


def test_a_signal_saves_the_last_packets_and_their_report(tmp_path: Path) -> None:
    content = (SAMPLES / "tls13.pcap").read_bytes()
    options = ("-", "--json-lines", "--every", "0.2s", "--save-to", str(tmp_path / "saved"))
    with watch(*options, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(content)
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGUSR1)
        folder = tmp_path / "saved"
        assert eventually(lambda: folder.is_dir() and any(folder.glob("*.html")), 60)
        process.communicate(timeout=60)
    assert process.returncode == 0
    [saved] = folder.glob("*.pcapng")
    shown, of_sample = of_file(saved), of_file(SAMPLES / "tls13.pcap")
    assert shown[0]["client_to_server"] == of_sample[0]["client_to_server"]
    [report] = folder.glob("*.html")
    assert report.stat().st_size > 10_000


def test_what_ended_long_ago_is_given_out_once_and_counted_at_the_end() -> None:
    records, said, status = watched(
        "-",
        "--json-lines",
        "--every",
        "0.05s",
        "--forget-after",
        "1s",
        content=many_connections(600),
    )
    assert status == 0
    ids = [one["id"] for one in records if one["record"] == "connection"]
    assert sorted(ids) == list(range(1, 601))
    assert said == "" or "ended earlier and are not in this answer" in said


def test_a_line_that_says_the_same_is_not_written_again() -> None:
    path = str(ROOT / "samples/tls13.pcap")
    with watch(path, "--lines", "--every", "0.1s", "--until-idle", "2s", stdin=subprocess.DEVNULL) as process:
        out, said = process.communicate(timeout=120)
    lines = said.decode().splitlines()
    assert any("client's application took 251 ms" in line for line in lines)
    assert len(lines) == len(set(lines))
    assert b"Connection 1" in out
