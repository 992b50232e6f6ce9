"""The kernel's buffer follows the link's speed, within bounds and memory."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from vmtrace.capture import buffer_size
from vmtrace.capture.buffer_size import MIB


def sized(monkeypatch: pytest.MonkeyPatch, speed_bps: int | None, memory: int, snaplen: int | None = None) -> float:
    monkeypatch.setattr(buffer_size, "_speed_bps", lambda _: speed_bps)
    monkeypatch.setattr(buffer_size, "_available_bytes", lambda: memory)
    return buffer_size.for_link("eth0", snaplen) / MIB


def test_a_faster_link_has_a_larger_buffer_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = 64 << 30
    assert sized(monkeypatch, 100 * 10**6, memory) == 32
    assert 80 < sized(monkeypatch, 10 * 10**9, memory) < 90
    assert sized(monkeypatch, 100 * 10**9, memory) == 256
    assert sized(monkeypatch, None, memory) == 64


def test_longer_packets_need_more(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sized(monkeypatch, 2 * 10**9, 64 << 30, 96) < sized(monkeypatch, 2 * 10**9, 64 << 30, 262_144)


def test_little_memory_means_a_small_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sized(monkeypatch, 100 * 10**9, 800 * MIB) == 50
    assert sized(monkeypatch, 100 * 10**9, 10 * MIB) == 2


def test_without_proc_nothing_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffer_size, "_available_bytes", lambda: None)
    assert buffer_size.within_memory(1 << 30, 16) == 1 << 30


def test_the_speed_is_none_where_there_is_none() -> None:
    assert buffer_size._speed_bps("lo") is None
    assert buffer_size._speed_bps("none7") is None


def test_memory_is_what_the_kernel_says() -> None:
    available = buffer_size._available_bytes()
    assert available is not None
    total_kib = int(Path("/proc/meminfo").read_text().split()[1])
    assert 0 < available <= total_kib * 1024


def test_a_socket_that_shares_no_memory_has_no_buffer() -> None:
    with socket.socket() as plain:
        assert buffer_size.granted_bytes(plain.fileno()) is None
    assert buffer_size.granted_bytes(-1) is None
