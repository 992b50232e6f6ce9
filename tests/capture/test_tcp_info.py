"""The sampler keeps a table through whatever happens to a socket, and never asks one that is not its own."""

from __future__ import annotations

import errno
import os
import socket
import ssl
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.eventually import eventually
from vmtrace.capture.tcp_info import COLUMNS, SCHEMA, TcpInfoSampler
from vmtrace.formats.provenance import read_table

ROOT = Path(__file__).parents[2]


@contextmanager
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
        with near, far:
            yield near, far


def rows(path: Path) -> list[dict[str, str]]:
    table = read_table(path, SCHEMA)
    assert table.columns == COLUMNS
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def rows_taken(sampler: TcpInfoSampler, at_least: int) -> None:
    """Wait until the thread took some samples; they may still be in its memory."""
    seen: set[int] = set()

    def enough() -> bool:
        seen.update(time_ns for time_ns, _, _ in list(sampler._last.values()))
        return len(seen) >= at_least

    assert eventually(enough, within_s=10)


def test_rows_have_the_documented_columns_and_the_last_sample_is_typed(tmp_path: Path) -> None:
    sampler = TcpInfoSampler(tmp_path / "t.csv", 0.005)
    with connection() as (near, far):
        sampler.watch(0, "upload", near)
        near.sendall(bytes(1000))
        assert len(far.recv(1000, socket.MSG_WAITALL)) == 1000
        rows_taken(sampler, 3)
        ports = near.getsockname()[1], far.getsockname()[1]
        congestion_control = near.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
        sampler.unwatch(0, "upload")
    (last,) = sampler.finish()
    assert (last.stream, last.direction, last.local_port, last.peer_port) == (0, "upload", *ports)
    assert (last.congestion_control, last.retransmitted_segments, last.bytes_sent) == (congestion_control, 0, 1000)
    assert last.srtt_s is not None
    assert 0 < last.srtt_s < 1
    table = rows(tmp_path / "t.csv")
    assert len(table) >= 4
    assert table[-1]["bytes_sent"] == "1000"
    assert int(table[-1]["time_ns"]) == last.time_ns
    assert [row["stream"] for row in table] == ["0"] * len(table)
    assert sampler.finish() == (last,)
    assert sampler.error is None


def test_the_file_is_its_owner_s_alone_and_an_earlier_attempt_s_rows_are_gone(tmp_path: Path) -> None:
    for _ in range(2):
        sampler = TcpInfoSampler(tmp_path / "t.csv")
        with connection() as (near, _):
            sampler.watch(0, "upload", near)
            sampler.unwatch(0, "upload")
        sampler.finish()
    assert stat.S_IMODE((tmp_path / "t.csv").stat().st_mode) == 0o600
    assert 1 <= len(rows(tmp_path / "t.csv")) <= 2


def test_streams_and_directions_are_told_apart(tmp_path: Path) -> None:
    sampler = TcpInfoSampler(tmp_path / "t.csv", 0.005)
    with connection() as (near, far), connection() as (other, _):
        sampler.watch(0, "upload", near)
        sampler.watch(0, "download", far)
        sampler.watch(1, "upload", other)
        near.sendall(bytes(500))
        assert eventually(lambda: len(sampler._last) == 3, within_s=10)
        found = {(last.stream, last.direction): last for last in sampler.finish()}  # still open: sampled once more
    assert list(found) == [(0, "download"), (0, "upload"), (1, "upload")]
    assert (found[0, "upload"].bytes_sent, found[1, "upload"].bytes_sent) == (500, 0)
    assert found[0, "upload"].local_port == found[0, "download"].peer_port


def test_the_connection_is_not_held_open(tmp_path: Path) -> None:
    sampler = TcpInfoSampler(tmp_path / "t.csv", 0.005)
    with connection() as (near, far):
        sampler.watch(0, "upload", near)
        rows_taken(sampler, 1)
        sampler.unwatch(0, "upload")
        near.close()
        far.settimeout(10)
        assert far.recv(1) == b""
    sampler.finish()


def test_a_reset_does_not_stop_the_sampling(tmp_path: Path) -> None:
    sampler = TcpInfoSampler(tmp_path / "t.csv", 0.005)
    with connection() as (near, far), connection() as (other, _):
        sampler.watch(0, "upload", near)
        sampler.watch(1, "upload", other)
        far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        far.close()
        rows_taken(sampler, 3)
        sampler.unwatch(0, "upload")
        reset, alive = sampler.finish()
    assert reset.state == 7  # TCP_CLOSE
    assert alive.state == 1
    assert sampler.error is None


def test_a_socket_reset_before_it_is_watched_has_no_peer(tmp_path: Path) -> None:
    sampler = TcpInfoSampler(tmp_path / "t.csv")
    with connection() as (near, far):
        far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        far.close()
        with pytest.raises(ConnectionResetError):
            near.recv(1)
        sampler.watch(0, "upload", near)
        sampler.unwatch(0, "upload")
    assert [last.peer_port for last in sampler.finish()] == [None]
    assert rows(tmp_path / "t.csv")[-1]["peer_port"] == ""


def test_a_descriptor_that_went_to_another_socket_is_never_sampled(tmp_path: Path) -> None:
    sampler = TcpInfoSampler(tmp_path / "t.csv", 0.002)
    with connection() as (near, _), connection() as (stranger, far):
        sampler.watch(0, "upload", near)
        stranger.sendall(bytes(777))
        far.recv(777, socket.MSG_WAITALL)
        rows_taken(sampler, 2)
        os.dup2(stranger.fileno(), near.fileno())  # as a close without `unwatch`, and another connect
        assert eventually(lambda: not sampler._watched, within_s=10)
        (last,) = sampler.finish()
    assert last.bytes_sent == 0
    assert {row["bytes_sent"] for row in rows(tmp_path / "t.csv")} == {"0"}


def test_a_close_without_unwatch_keeps_the_samples_until_then(tmp_path: Path) -> None:
    sampler = TcpInfoSampler(tmp_path / "t.csv", 0.002)
    with connection() as (near, _):
        sampler.watch(0, "upload", near)
        rows_taken(sampler, 2)
        near.close()
        assert eventually(lambda: not sampler._watched, within_s=10)
    sampler.unwatch(0, "upload")
    assert len(sampler.finish()) == 1


def test_a_closed_socket_cannot_be_watched(tmp_path: Path) -> None:
    sampler = TcpInfoSampler(tmp_path / "t.csv")
    with connection() as (near, _):
        near.close()
        with pytest.raises(OSError, match="descriptor"):
            sampler.watch(0, "upload", near)
    assert sampler.finish() == ()


def test_sampling_goes_on_when_tls_wraps_the_socket(tmp_path: Path) -> None:
    sampler = TcpInfoSampler(tmp_path / "t.csv", 0.002)
    with connection() as (near, far):
        sampler.watch(0, "upload", near)
        near.setblocking(False)
        context = ssl.create_default_context()
        wrapped = context.wrap_socket(near, server_hostname="a.test", do_handshake_on_connect=False)
        with wrapped:
            with pytest.raises(ssl.SSLWantReadError):
                wrapped.do_handshake()  # the hello is sent, and nobody answers
            hello_bytes = len(far.recv(65_536))
            assert near.fileno() == -1
            sampler.unwatch(0, "upload")
    assert sampler.finish()[0].bytes_sent == hello_bytes > 0


def test_rows_reach_the_file_in_blocks_while_the_transfer_runs(tmp_path: Path) -> None:
    program = (
        "import os, socket, sys, time\nfrom pathlib import Path\nfrom capture.tcp_info import TcpInfoSampler\n"
        "listener = socket.create_server(('127.0.0.1', 0))\nnear = socket.create_connection(listener.getsockname())\n"
        "sampler = TcpInfoSampler(Path(sys.argv[1]), 0.002)\nsampler.watch(0, 'upload', near)\ntime.sleep(60)\n"
    )
    path = tmp_path / "t.csv"
    child = subprocess.Popen([sys.executable, "-c", program, str(path)], env=os.environ | {"PYTHONPATH": str(ROOT)})
    try:
        assert eventually(lambda: path.exists() and len(read_table(path, SCHEMA).rows) > 20, within_s=10)
    finally:
        child.kill()
        child.wait()
    assert len(rows(path)) > 20


@pytest.mark.alone
def test_deadlines_do_not_drift_and_missed_ones_are_left_out(tmp_path: Path) -> None:
    sampler = TcpInfoSampler(tmp_path / "t.csv", 0.005)
    with connection() as (near, _):
        start_s = time.monotonic()
        sampler.watch(0, "upload", near)
        time.sleep(0.2)
        with sampler._lock:  # held up, as by a frozen machine
            time.sleep(0.1)
        time.sleep(0.1)
        passed_s = time.monotonic() - start_s
        sampler.finish()
    times = [int(row["time_ns"]) for row in rows(tmp_path / "t.csv")]
    assert len(times) + sampler.missed <= passed_s / 0.005 + 3
    assert sampler.missed >= 15
    late = [(at - times[0]) % 5_000_000 for at in times]
    on_time = [min(away, 5_000_000 - away) < 1_500_000 for away in late]
    assert sum(on_time) > len(on_time) / 2  # still on the marks of the first sample


def test_a_disk_that_is_full_ends_the_writing_and_not_the_sampling(tmp_path: Path) -> None:
    program = (
        "import resource, signal, socket, sys, time\nfrom pathlib import Path\n"
        "from vmtrace.capture.tcp_info import TcpInfoSampler\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "listener = socket.create_server(('127.0.0.1', 0))\nnear = socket.create_connection(listener.getsockname())\n"
        "sampler = TcpInfoSampler(Path(sys.argv[1]), 0.002)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))\n"
        "sampler.watch(0, 'upload', near)\n"
        "until = time.monotonic() + 10\n"
        "while sampler.error is None and time.monotonic() < until: time.sleep(0.01)\n"
        "near.sendall(b'x' * 99)\ntime.sleep(0.02)\n"
        "print(sampler.finish()[0].bytes_sent, sampler.error)\n"
    )
    path = tmp_path / "t.csv"
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"99 {path}: {os.strerror(errno.EFBIG)}: TCP_INFO is kept until here\n"
    assert path.stat().st_size <= 30_000
    rows(path)  # whole rows alone


def test_what_makes_no_sense_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be more than 0"):
        TcpInfoSampler(tmp_path / "t.csv", 0)
    with pytest.raises(FileNotFoundError, match=r"gone/t\.csv"):
        TcpInfoSampler(tmp_path / "gone" / "t.csv")
    sampler = TcpInfoSampler(tmp_path / "t.csv")
    with connection() as (near, _), pytest.raises(ValueError, match="must be a word"):
        sampler.watch(0, "up,load", near)
    sampler.finish()
