"""Somebody on the path of a control connection: reads all of it, and may change one byte."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Self

from tests.receiver.harness import KEY
from vmtrace.sender.wire.control import Control
from vmtrace.sender.wire.endpoint import Endpoint


class Between:
    """Relays one connection to the receiver at `port`; `change` is a side, and which of its bytes is changed."""

    def __init__(self, port: int, change: tuple[str, int] | None = None) -> None:
        self.said = {"sender": bytearray(), "receiver": bytearray()}
        self._change = change
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._begin(self._relay)
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    @contextlib.contextmanager
    def sender(self) -> Iterator[Control]:
        control = Control.connect(Endpoint("127.0.0.1", self._listener.getsockname()[1]), KEY, 5)
        try:
            yield control
        finally:
            control.close()

    def _begin(self, work: object, *words: object) -> threading.Thread:
        thread = threading.Thread(target=work, args=words)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()
        return thread

    def _relay(self) -> None:
        near, _ = self._listener.accept()
        far = socket.create_connection(("127.0.0.1", self._port), 5)
        far.settimeout(None)
        with near, far:
            ways = [self._begin(self._pass_on, near, far, "sender"), self._begin(self._pass_on, far, near, "receiver")]
            for way in ways:
                way.join(10)

    def _pass_on(self, source: socket.socket, sink: socket.socket, side: str) -> None:
        with contextlib.suppress(OSError):
            while piece := bytearray(source.recv(65536)):
                passed = len(self.said[side])
                if self._change is not None and self._change[0] == side:
                    place = self._change[1] - passed
                    if 0 <= place < len(piece):
                        piece[place] ^= 1
                self.said[side] += piece
                sink.sendall(piece)
        for sock in (source, sink):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
