"""A receiver as small as can be, with the command line of the real one: takes bytes until each connection ends."""

from __future__ import annotations

import argparse
import socket
import threading
from pathlib import Path


def take(connection: socket.socket) -> None:
    with connection:
        while connection.recv(65_536):
            pass
        connection.sendall(b"done")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--key-file", type=Path, required=True)
    parser.add_argument("--bind", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--interface")
    parser.add_argument("--no-capture", action="store_true")
    options = parser.parse_args()
    assert len(options.key_file.read_text().strip()) == 64
    options.out.mkdir()
    family = socket.AF_INET6 if ":" in options.bind else socket.AF_INET
    with socket.create_server((options.bind, options.port), family=family) as listening:
        while True:
            threading.Thread(target=take, args=(listening.accept()[0],), daemon=True).start()


if __name__ == "__main__":
    main()
