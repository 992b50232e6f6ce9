"""What a Python programmer would write first: dpkt over each packet, sequence numbers per flow. One of the peers."""

import sys
from pathlib import Path

import dpkt


def count(path: Path) -> tuple[int, int]:
    """Packets, and data segments that repeat bytes, of a pcap file."""
    packets = repeats = 0
    highest: dict[tuple[bytes, bytes, int, int], int] = {}
    with path.open("rb") as file:
        for _, frame in dpkt.pcap.Reader(file):
            packets += 1
            ip = dpkt.ethernet.Ethernet(frame).data
            if not isinstance(ip, dpkt.ip.IP) or not isinstance(ip.data, dpkt.tcp.TCP):
                continue
            tcp = ip.data
            length = ip.len - 4 * ip.hl - 4 * tcp.off
            if length > 0:
                flow = (ip.src, ip.dst, tcp.sport, tcp.dport)
                end = (tcp.seq + length) & 0xFFFFFFFF
                before = highest.get(flow, end - 1)
                if (end - before) & 0x80000000 or end == before:
                    repeats += 1
                else:
                    highest[flow] = end
    return packets, repeats


if __name__ == "__main__":
    print(*count(Path(sys.argv[1])))
