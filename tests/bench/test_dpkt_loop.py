"""The naive loop counts what it claims to count."""

from pathlib import Path

import dpkt

from bench.dpkt_loop import count


def frame(seq: int, payload: bytes) -> bytes:
    tcp = dpkt.tcp.TCP(sport=1000, dport=80, seq=seq, data=payload)
    ip = dpkt.ip.IP(src=b"\x0a\0\0\x01", dst=b"\x0a\0\0\x02", p=6, data=tcp)
    return bytes(dpkt.ethernet.Ethernet(data=ip))


def test_a_repeat_is_counted_and_new_data_is_not(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    with path.open("wb") as file:
        writer = dpkt.pcap.Writer(file)
        for number, seq in enumerate([100, 110, 100, 120]):
            writer.writepkt(frame(seq, b"x" * 10), ts=float(number))
    assert count(path) == (4, 1)
