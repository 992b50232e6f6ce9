"""Whatever is wrong: one clear line, the exit status of the design, partial results, and never half a file."""

import os
import pty
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import golden_texts


@pytest.fixture
def capture(transfer: Any, tmp_path: Path) -> Path:
    written: Path = transfer.write(tmp_path / "x.pcap")
    return written


def assert_one_line(done: Any, status: int, text: str) -> None:
    assert done.returncode == status
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("vmtrace: ")
    assert text in done.stderr


def test_no_such_file(vmtrace: Any) -> None:
    assert_one_line(vmtrace("analyze", "gone.pcap"), 1, "gone.pcap: No such file or directory")


def test_a_folder_without_captures(vmtrace: Any, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert_one_line(vmtrace("analyze", "folder"), 1, "folder: no capture files in this folder")


def test_an_empty_file(vmtrace: Any, tmp_path: Path) -> None:
    (tmp_path / "empty.pcap").touch()
    assert_one_line(vmtrace("analyze", "empty.pcap"), 1, "empty.pcap: the file is empty")


def test_empty_standard_input(vmtrace: Any) -> None:
    assert_one_line(vmtrace("analyze", "-", stdin=b""), 1, "<stdin>: the file is empty")


def test_what_is_no_capture(vmtrace: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("these are notes\n" * 10)
    assert_one_line(vmtrace("analyze", "notes.txt"), 1, "notes.txt: text, not a capture")


@pytest.mark.parametrize("how", ["--merge", "--separate"])
def test_of_several_files_that_are_no_captures_each_is_reported(vmtrace: Any, tmp_path: Path, how: str) -> None:
    (tmp_path / "notes.txt").write_text("these are notes\n" * 10)
    (tmp_path / "empty.pcap").touch()
    done = vmtrace("analyze", "notes.txt", "empty.pcap", how)
    assert done.returncode == 1
    assert [line.split(":")[1].strip() for line in done.stderr.splitlines()] == ["notes.txt", "empty.pcap"]


def test_a_capture_of_no_tcp_is_no_failure(vmtrace: Any, new_capture: Any, tmp_path: Path) -> None:
    capture = new_capture()
    capture.ipv4(0.0, "10.0.0.1", "10.0.0.2", 17, bytes(20))
    capture.write(tmp_path / "udp.pcap")
    done = vmtrace("analyze", "udp.pcap")
    assert (done.returncode, done.stderr) == (0, "")
    golden_texts.check("a-capture-of-no-tcp-is-no-failure", done.stdout)


def test_several_captures_of_no_tcp_say_no_more_than_one(vmtrace: Any, new_capture: Any, tmp_path: Path) -> None:
    for name in ("one", "other"):
        capture = new_capture()
        capture.ipv4(0.0, "10.0.0.1", "10.0.0.2", 17, bytes(20))
        capture.write(tmp_path / f"{name}.pcap")
    capture = new_capture()
    capture.frame(0.0, bytes(12) + b"\x88\xcc" + bytes(46))
    capture.write(tmp_path / "lldp.pcap")
    done = vmtrace("analyze", "one.pcap", "other.pcap")
    assert (done.returncode, done.stderr) == (0, "")
    assert "lldp.pcap: no TCP in 1 packet" in vmtrace("analyze", "one.pcap", "lldp.pcap").stderr


def test_what_is_neither_tcp_nor_a_flow_is_said_in_one_line(vmtrace: Any, new_capture: Any, tmp_path: Path) -> None:
    capture = new_capture()
    capture.frame(0.0, bytes(12) + b"\x88\xcc" + bytes(46))
    capture.write(tmp_path / "lldp.pcap")
    done = vmtrace("analyze", "lldp.pcap")
    assert_one_line(done, 1, "lldp.pcap: no TCP in 1 packet (lldp: 1)")
    assert "Nothing in 1 packet could be analysed" in done.stdout
    condition = ("--fail-if", "loss_rate>0.01")
    assert vmtrace("analyze", "lldp.pcap", *condition).returncode == 1, "nothing was judged: that is no pass"


def test_a_capture_without_packets_is_no_failure(vmtrace: Any, new_capture: Any, tmp_path: Path) -> None:
    new_capture().write(tmp_path / "none.pcap")
    assert_one_line(vmtrace("analyze", "none.pcap"), 0, "none.pcap: it holds no packets")


def test_a_truncated_file_gives_what_is_there(vmtrace: Any, capture: Path) -> None:
    capture.write_bytes(capture.read_bytes()[:-10])
    done = vmtrace("analyze", "x.pcap")
    assert (done.returncode, done.stderr) == (0, "")
    assert "damage: cut short" in done.stdout
    assert "10.0.0.1:40000" in done.stdout


def test_a_corrupt_file_gives_what_is_there(vmtrace: Any, transfer: Any, tmp_path: Path) -> None:
    transfer.records[50] = b"\xff" * len(transfer.records[50])
    transfer.write(tmp_path / "bad.pcap")
    done = vmtrace("analyze", "bad.pcap")
    assert (done.returncode, done.stderr) == (0, "")
    assert "damage:" in done.stdout
    assert "10.0.0.1:40000" in done.stdout


def test_an_unknown_link_type(vmtrace: Any, new_capture: Any, tmp_path: Path) -> None:
    capture = new_capture()
    capture.link_type = 147
    capture.frame(0.0, bytes(60))
    capture.write(tmp_path / "user.pcap")
    assert_one_line(vmtrace("analyze", "user.pcap"), 1, "user.pcap: no TCP in 1 packet (unknown link type 147: 1)")


def test_a_broken_compressed_file(vmtrace: Any, tmp_path: Path) -> None:
    (tmp_path / "x.pcap.gz").write_bytes(b"\x1f\x8b\x08" + b"\xff" * 100)
    assert_one_line(vmtrace("analyze", "x.pcap.gz"), 1, "x.pcap.gz: ")


def test_one_bad_file_among_good_ones_does_not_stop_them(vmtrace: Any, capture: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("these are notes\n" * 10)
    done = vmtrace("analyze", "notes.txt", "x.pcap", "gone.pcap", "--json", "out.json")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 2
    assert "10.0.0.1:40000" in (tmp_path / "out.json").read_text()


def as_somebody_else(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    # Run once as root, so that all modules are there: somebody else may not be able to read them.
    code = (
        "import os, sys; from vmtrace.cli import run; run([*sys.argv[1:], '-q']); os.setgid(65534); os.setuid(65534)\n"
    )
    code += "sys.exit(run(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone can become somebody else")
def test_no_permission_as_somebody_else(capture: Path, tmp_path: Path) -> None:
    capture.chmod(0o600)
    done = as_somebody_else(tmp_path, "analyze", "x.pcap")
    assert (done.returncode, done.stderr) == (1, "vmtrace: x.pcap: Permission denied\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.may_skip
def test_no_permission(vmtrace: Any, capture: Path) -> None:
    capture.chmod(0)
    assert_one_line(vmtrace("analyze", "x.pcap"), 1, "x.pcap: Permission denied")


@pytest.mark.parametrize("option", ["--json", "--report"])
def test_a_full_disk(vmtrace: Any, capture: Path, option: str) -> None:
    done = vmtrace("analyze", "x.pcap", option, "/dev/full", "-q")
    assert_one_line(done, 1, "cannot write /dev/full: No space left on device")


def test_a_disk_that_fills_up_leaves_no_half_written_file(capture: Path, tmp_path: Path) -> None:
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))"
    code = f"import signal, sys; {limited}; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    code += "from vmtrace.cli import run; sys.exit(run(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, "analyze", "x.pcap", "--json", "out.json", "--csv", "csv", "-q"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    assert "out.json: File too large" in done.stderr
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["x.pcap"]


def test_an_output_folder_that_cannot_be(vmtrace: Any, capture: Path) -> None:
    assert_one_line(vmtrace("analyze", "x.pcap", "-q", "--csv", "x.pcap"), 1, "cannot write x.pcap: not a folder")


def test_a_reader_that_has_had_enough(capture: Path) -> None:
    command = f"{sys.executable} -P -m vmtrace analyze {capture} --json - | head -c 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("{0\n", "")


@pytest.fixture
def endless(tmp_path: Path, transfer: Any) -> Iterator[Path]:
    """A pipe that gives packets for ever."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    stop = threading.Event()

    def feed() -> None:
        try:
            with path.open("wb", buffering=0) as pipe:
                pipe.write(transfer.bytes())
                while not stop.wait(0.001):
                    pipe.write(b"".join(transfer.records[3:53]) * 20)
        except BrokenPipeError:
            return

    feeder = threading.Thread(target=feed)
    feeder.start()
    yield path
    stop.set()
    feeder.join()


def test_ctrl_c_writes_what_was_measured(endless: Path, tmp_path: Path) -> None:
    running = subprocess.Popen(
        [sys.executable, "-P", "-m", "vmtrace", "analyze", str(endless), "--json", "out.json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    threading.Timer(2.0, running.send_signal, [signal.SIGINT]).start()
    _, stderr = running.communicate(timeout=60)
    assert running.returncode == 130
    assert stderr == "vmtrace: interrupted: the results cover the part that was read\n"
    written = (tmp_path / "out.json").read_text()
    assert '"interrupted":true' in written
    assert "10.0.0.1:40000" in written


def test_a_terminal_sees_progress_and_colour(endless: Path) -> None:
    leader, follower = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-P", "-m", "vmtrace", "analyze", str(endless)],
        stdout=follower,
        stderr=follower,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(follower)
    threading.Timer(3.0, running.send_signal, [signal.SIGINT]).start()
    seen = b""
    while True:
        try:
            piece = os.read(leader, 65_536)
        except OSError:  # the terminal is gone when the program is
            break
        seen += piece
    os.close(leader)
    assert running.wait(timeout=60) == 130
    assert b"reading" in seen
    assert b"\x1b[1m" in seen, "bold"


def test_a_defect_is_one_line_without_debug_and_a_traceback_with_it(tmp_path: Path) -> None:
    code = "import sys, vmtrace.commands.analysis as a; a.capture_files.find = None\n"
    code += "from vmtrace.cli import run; sys.exit(run(sys.argv[1:]))"
    for options, traceback in (([], False), (["--debug"], True)):
        done = subprocess.run(
            [sys.executable, "-P", "-c", code, "analyze", "x.pcap", *options],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 1
        assert "a defect: please report it" in done.stderr
        assert ("Traceback" in done.stderr) == traceback


def test_a_hostile_file_name_cannot_steer_the_terminal(vmtrace: Any, tmp_path: Path) -> None:
    name = "\x1b[31mred\n.pcap"
    (tmp_path / name).write_bytes(struct.pack("<I", 0))
    done = vmtrace("analyze", name)
    assert done.returncode == 1
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("alone", [True, False])
def test_a_name_that_is_no_text_is_a_name(vmtrace: Any, capture: Path, tmp_path: Path, alone: bool) -> None:
    name = os.fsdecode(b"caf\xe9.pcap")
    capture.rename(tmp_path / name)
    done = vmtrace("analyze", name if alone else ".", "--json", "out.json", "--report", "page.html", "--csv", "csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert '"path":"caf\N{REPLACEMENT CHARACTER}.pcap"' in (tmp_path / "out.json").read_text(encoding="utf-8")
    assert "caf\N{REPLACEMENT CHARACTER}.pcap" in vmtrace("analyze", name).stdout
    assert "caf\N{REPLACEMENT CHARACTER}.pcap" in vmtrace("compare", name, name).stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone can become somebody else")
def test_what_cannot_be_read_in_a_folder_is_reported_and_the_rest_is_read(capture: Path, tmp_path: Path) -> None:
    content = capture.read_bytes()
    for name in ("one.pcap", "secret.pcap", "secret.key", "closed/two.pcap"):
        (tmp_path / "all" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "all" / name).write_bytes(content)
    for name, mode in (("one.pcap", 0o644), ("secret.pcap", 0o600), ("secret.key", 0o600), ("closed", 0o700)):
        (tmp_path / "all" / name).chmod(mode)
    for folder in (tmp_path, tmp_path / "all"):
        folder.chmod(0o777)
    done = as_somebody_else(tmp_path, "analyze", "all", "--json", "-")
    assert done.returncode == 1
    assert sorted(done.stderr.splitlines()) == [
        "vmtrace: all/closed: Permission denied",
        "vmtrace: all/secret.pcap: Permission denied",
    ]
    assert done.stdout.count('"path":"all/one.pcap"') == 2, "of root and of somebody else"


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("client==1", "'client' is text"),
        ("close>0 and duration_s>0", "'close' is text"),
        ("verdict_sentence!=1", "'verdict_sentence' is text"),
        ("fooo>1", "no metric 'fooo'"),
    ],
)
def test_a_threshold_that_cannot_be_judged_is_wrong_usage_before_anything_is_read(
    vmtrace: Any, expression: str, text: str
) -> None:
    assert_one_line(vmtrace("analyze", "gone.pcap", "--fail-if", expression, "--json", "out"), 2, text)


@pytest.mark.parametrize("option", ["--oversize-abs", "--limit", "--threads"])
@pytest.mark.parametrize("value", ["inf", "nan", "1e300", "0", "99999999999999999999999", "-1"])
def test_a_number_out_of_range_is_one_line_or_the_most_there_is(
    vmtrace: Any, capture: Path, option: str, value: str
) -> None:
    done = vmtrace("analyze", capture.name, option, value)
    assert "defect" not in done.stderr
    assert done.stderr.count("\n") == (done.returncode != 0)
    assert done.returncode == (0 if (option, value) == ("--threads", "0") else 2)


@pytest.mark.parametrize("value", ["inf", "nan", "1e300"])
def test_a_spacing_that_is_not_valid_is_wrong_usage_of_compare(vmtrace: Any, value: str) -> None:
    assert_one_line(vmtrace("compare", "a.pcap", "b.pcap", "--oversize-abs", value), 2, "--oversize-abs")
