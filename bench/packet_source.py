"""Sends UDP packets of MTU size at a given rate: `python -m bench.packet_source ADDRESS RATE SECONDS`.

One system call hands the kernel 44 packets as one message, which it cuts up itself (UDP_SEGMENT), so that one processor
sends more packets a second than a capture takes. Prints how many it sent, and in what time, as JSON.
"""

import argparse
import json
import socket
import sys
import time

PAYLOAD_BYTES = 1472  # with 28 bytes of headers an MTU of 1500
PACKETS_PER_CALL = 44  # a message is at most 64 KiB
_UDP_SEGMENT = 103  # linux/udp.h
_DISCARD_PORT = 9


def main() -> int:
    """Sends, and prints the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", help="where to")
    parser.add_argument("rate", type=float, help="packets per second")
    parser.add_argument("seconds", type=float, help="for how long")
    arguments = parser.parse_args()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.IPPROTO_UDP, _UDP_SEGMENT, PAYLOAD_BYTES)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        sender.connect((arguments.address, _DISCARD_PORT))
        packets, duration_s = send(sender, arguments.rate, arguments.seconds)
    print(json.dumps({"packets": packets, "duration_s": duration_s}))
    return 0


def send(sender: socket.socket, rate: float, seconds: float) -> tuple[int, float]:
    """Sends at an even rate, message by message; behind time it goes as fast as it can."""
    message = bytes(PAYLOAD_BYTES * PACKETS_PER_CALL)
    calls = max(1, round(rate * seconds / PACKETS_PER_CALL))
    step_s = PACKETS_PER_CALL / rate
    began_s = due_s = time.perf_counter()
    for _ in range(calls):
        while time.perf_counter() < due_s:
            pass  # a sleep is too coarse for 20 microseconds
        sender.send(message)
        due_s += step_s
    return calls * PACKETS_PER_CALL, time.perf_counter() - began_s


if __name__ == "__main__":
    sys.exit(main())
