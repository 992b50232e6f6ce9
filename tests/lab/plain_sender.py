"""A sender as small as can be, with the command line of the real one: uploads pairs and notes their connections."""

from __future__ import annotations

import argparse
import json
import os
import socket
import time
from pathlib import Path
from typing import Any

PROBE_BYTES, DATA_BYTES = 100_000, 10_000_000


def upload(host: str, port: int, count: int) -> dict[str, Any]:
    with socket.create_connection((host, port)) as connection:
        start_ns = time.time_ns()
        ends = [connection.getsockname(), connection.getpeername()]
        connection.sendall(os.urandom(count))
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(10) == b"done"
    end_ns = time.time_ns()
    local, peer = (f"{end[0]}:{end[1]}" for end in ends)
    return {
        "bytes": count,
        "start_ns": start_ns,
        "end_ns": end_ns,
        "duration_s": (end_ns - start_ns) / 1e9,
        "goodput_bps": 8e9 * count / (end_ns - start_ns),
        "connections": [{"stream": 0, "direction": "upload", "local": local, "peer": peer}],
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("host")
    parser.add_argument("--key-file", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--plan")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--interface")
    parser.add_argument("--no-capture", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(exist_ok=True)
    if not options.quiet:
        print(f"sending with {os.uname().release}", flush=True)
    with (options.out / "pairs.jsonl").open("w") as file:
        for sequence in range(1, options.repeat + 1):
            probe = upload(options.host, options.port, round(PROBE_BYTES * options.scale))
            data = upload(options.host, options.port, round(DATA_BYTES * options.scale))
            pair = {"sequence": sequence, "index": "I_0", "probe": probe, "data": data}
            file.write(json.dumps(pair) + "\n")
            file.flush()


if __name__ == "__main__":
    main()
