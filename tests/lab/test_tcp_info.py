"""TCP_INFO is decoded by name, whatever the kernel fills of it."""

from __future__ import annotations

import socket
import struct
import time
from pathlib import Path

from vmtrace.lab.tcp_info import COLUMNS, FIELDS, TcpInfoSampler, decode, last_rows, read_table


def test_fields_lie_where_the_kernel_puts_them() -> None:
    raw = bytearray(240)
    struct.pack_into("=I", raw, 68, 20_000)  # tcpi_rtt
    struct.pack_into("=I", raw, 100, 7)  # tcpi_total_retrans
    struct.pack_into("=I", raw, 148, 19_000)  # tcpi_min_rtt
    struct.pack_into("=Q", raw, 200 + 8, 3_000)  # tcpi_bytes_retrans
    values = decode(bytes(raw))
    assert (values["rtt_us"], values["total_retrans"], values["min_rtt_us"], values["bytes_retrans"]) == (
        20_000,
        7,
        19_000,
        3_000,
    )


def test_an_older_kernel_s_shorter_answer_leaves_zeroes() -> None:
    values = decode(bytes([1]) + bytes(103))
    assert values["state"] == 1
    assert values["min_rtt_us"] == 0
    assert tuple(values) == FIELDS


def test_sampler_keeps_a_table_and_does_not_hold_the_connection_open(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
        sampler = TcpInfoSampler(tmp_path / "table.csv", 0.005)
        sampler.watch(0, near)
        near.sendall(bytes(1000))
        time.sleep(0.05)
        sampler.unwatch(0)
        near.close()
        far.settimeout(10)
        assert sum(len(chunk) for chunk in iter(lambda: far.recv(4096), b"")) == 1000
        far.close()
    sampler.finish()
    rows = read_table(tmp_path / "table.csv")
    assert len(rows) >= 4
    assert tuple(rows[0]) == COLUMNS
    assert last_rows(rows)[0]["bytes_sent"] == 1000
