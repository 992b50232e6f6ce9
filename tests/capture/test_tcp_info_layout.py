"""TCP_INFO is decoded by name, whatever the kernel fills of it; what is not there is None."""

from __future__ import annotations

import socket
import struct
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.capture.tcp_info_layout import FIELDS, SIZE, Layout, decode


def answer(*fields: tuple[str, int, int], length: int = SIZE) -> bytes:
    """Bytes of the kernel: (code, offset in linux/tcp.h, value)."""
    raw = bytearray(SIZE)
    for code, offset, value in fields:
        struct.pack_into("=" + code, raw, offset, value)
    return bytes(raw[:length])


@pytest.mark.parametrize(
    ("name", "code", "offset", "value", "decoded"),
    [
        ("state", "B", 0, 1, 1),
        ("rto_us", "I", 8, 204_000, 204_000),
        ("rtt_us", "I", 68, 20_000, 20_000),
        ("snd_cwnd_segments", "I", 80, 10, 10),
        ("total_retrans", "I", 100, 7, 7),
        ("pacing_rate_bps", "Q", 104, 1_000, 8_000),
        ("bytes_acked", "Q", 120, 1 << 40, 1 << 40),
        ("segs_out", "I", 136, 12, 12),
        ("min_rtt_us", "I", 148, 19_000, 19_000),
        ("delivery_rate_bps", "Q", 160, 125_000_000, 1_000_000_000),
        ("sndbuf_limited_us", "Q", 184, 5, 5),
        ("bytes_retrans", "Q", 208, 3_000, 3_000),
        ("rcv_wnd_bytes", "I", 232, 65_536, 65_536),
        ("total_rto", "H", 240, 3, 3),
        ("total_rto_time_ms", "I", 244, 1_500, 1_500),
    ],
)
def test_fields_lie_where_the_kernel_puts_them(name: str, code: str, offset: int, value: int, decoded: int) -> None:
    assert decode(answer((code, offset, value)))[name] == decoded


@pytest.mark.skipif(sys.byteorder != "little", reason="the packed bytes are written for a little-endian machine")
def test_packed_bytes_are_taken_apart() -> None:
    values = decode(answer(("B", 6, 0x7A), ("B", 7, 0b101)))
    assert (values["snd_wscale"], values["rcv_wscale"]) == (10, 7)
    assert (values["delivery_rate_app_limited"], values["fastopen_client_fail"]) == (1, 2)


@pytest.mark.parametrize(
    ("name", "code", "offset", "value"),
    [
        ("min_rtt_us", "I", 148, 0xFFFF_FFFF),
        ("rtt_us", "I", 68, 0),
        ("rcv_rtt_us", "I", 92, 0),
        ("snd_ssthresh_segments", "I", 76, 0x7FFF_FFFF),
        ("max_pacing_rate_bps", "Q", 112, 0xFFFF_FFFF_FFFF_FFFF),
        ("delivery_rate_bps", "Q", 160, 0),
    ],
)
def test_what_the_kernel_writes_where_it_has_no_value_is_none(name: str, code: str, offset: int, value: int) -> None:
    assert decode(answer((code, offset, value)))[name] is None


def test_an_older_kernel_s_shorter_answer_leaves_the_rest_empty() -> None:
    old = answer(("B", 0, 1), ("I", 100, 7), length=104)  # Linux 2.6
    values = decode(old)
    assert tuple(values) == FIELDS
    assert (values["total_retrans"], values["bytes_acked"], values["min_rtt_us"]) == (7, None, None)
    cells = Layout(len(old)).row(old).split(",")
    assert len(cells) == len(FIELDS)
    assert cells[FIELDS.index("total_retrans") :] == ["7"] + [""] * (len(FIELDS) - FIELDS.index("total_retrans") - 1)


@given(st.binary(max_size=300))
def test_any_answer_is_decoded_and_its_row_has_all_cells(raw: bytes) -> None:
    values = decode(raw)
    assert tuple(values) == FIELDS
    padded = raw.ljust(8, b"\0")
    row = Layout(len(raw)).row(padded)
    assert row.split(",") == ["" if value is None else str(value) for value in values.values()]


def test_this_kernel_s_answer_for_a_connection() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as near,
        listener.accept()[0] as far,
    ):
        near.sendall(bytes(3_000))
        far.recv(3_000, socket.MSG_WAITALL)
        values = decode(near.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, SIZE))
    assert values["state"] == 1
    assert values["bytes_sent"] in {3_000, None}
    assert values["snd_mss_bytes"] is not None
    assert 500 <= values["snd_mss_bytes"] <= 65_536
    rtt_us = values["rtt_us"]
    assert rtt_us is not None
    assert rtt_us < 1_000_000
