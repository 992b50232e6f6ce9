"""What a packet takes in memory when packets are wanted one by one: it must not become several times of that unseen.

A program of its own measures its resident memory (`/proc/self/status`), because what other tests left would hide it.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PACKETS = 300_000
KEPT_BYTES = 100
"""For each packet that is read. 52 were measured with millions of packets, 20 here: what reading took is free again."""
SERIES_BYTES = 800
"""At the highest, for each packet of the connection that is drawn; 280 were measured."""

_MEASURE = """
import json, sys
from pathlib import Path
from vmtrace.analyze.charts.packet_series import of_connections
from vmtrace.analyze.trace import read

def resident_bytes(what):
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) * 1024

def go_through(path):
    trace = read(path)
    before = resident_bytes("VmRSS")
    trace.load_packets([1])
    kept = resident_bytes("VmRSS") - before
    points = sum(map(lambda series: len(series.flight_bytes), of_connections(trace, [1])))
    return points, kept, resident_bytes("VmHWM") - before

go_through(sys.argv[1])  # what is loaded once, whatever there is to read
print(json.dumps(go_through(sys.argv[2])))
"""


def bulk_transfer(packets: int) -> bytes:
    """A pcap of a bulk transfer under way: for each two segments of 1000 bytes an acknowledgement 20 ms later."""
    frame = np.dtype(
        [
            ("time_s", "<u4"), ("time_us", "<u4"), ("captured", "<u4"), ("length", "<u4"),
            ("ethernet", "S12"), ("ether_type", ">u2"),
            ("version", "u1"), ("tos", "u1"), ("ip_length", ">u2"), ("identification", ">u2"), ("fragment", ">u2"),
            ("ttl", "u1"), ("protocol", "u1"), ("ip_checksum", ">u2"), ("source", ">u4"), ("destination", ">u4"),
            ("source_port", ">u2"), ("destination_port", ">u2"), ("sequence", ">u4"), ("acknowledgement", ">u4"),
            ("header_length", "u1"), ("flags", "u1"), ("window", ">u2"), ("checksum", ">u2"), ("urgent", ">u2"),
        ]
    )  # fmt: skip
    rows = np.zeros(packets, frame)
    number = np.arange(packets)
    answers = number % 3 == 2
    segments = number // 3 * 2 + number % 3
    time_us = number * 10 + 20_000 * answers
    order = np.argsort(time_us, kind="stable")
    rows["time_s"], rows["time_us"] = 1_700_000_000 + time_us // 1_000_000, time_us % 1_000_000
    rows["captured"] = 54
    rows["length"] = np.where(answers, 54, 1054)
    rows["ether_type"], rows["version"], rows["ttl"], rows["protocol"] = 0x0800, 0x45, 64, 6
    rows["ip_length"] = np.where(answers, 40, 1040)
    rows["identification"] = segments % 65_536
    ends = [0xC0000201, 0xC0000202]
    rows["source"], rows["destination"] = np.where(answers, ends[1], ends[0]), np.where(answers, ends[0], ends[1])
    rows["source_port"], rows["destination_port"] = np.where(answers, 443, 40_000), np.where(answers, 40_000, 443)
    rows["sequence"] = np.where(answers, 1, (1 + segments * 1000) % 2**32)
    rows["acknowledgement"] = np.where(answers, (1 + segments * 1000) % 2**32, 1)
    rows["header_length"], rows["flags"], rows["window"] = 0x50, 0x10, 65_535
    header = np.array([0xA1B2C3D4, 4 << 16 | 2, 0, 0, 96, 1], "<u4")
    return header.tobytes() + rows[order].tobytes()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="resident memory is read from /proc")
def test_packets_of_a_long_connection_take_little_memory(tmp_path: Path) -> None:
    small, large = tmp_path / "small.pcap", tmp_path / "large.pcap"
    small.write_bytes(bulk_transfer(300))
    large.write_bytes(bulk_transfer(PACKETS))
    command = [sys.executable, "-c", _MEASURE, str(small), str(large)]
    points, kept, highest = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert points == PACKETS
    assert kept <= KEPT_BYTES * PACKETS
    assert highest <= SERIES_BYTES * PACKETS
