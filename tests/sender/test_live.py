"""A running transfer is shown with its rate, loss and RTT as the kernel knows them."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from vmtrace.capture.tcp_info import TcpInfoSample
from vmtrace.sender.live import Moving, TransferWatch


class Noting:
    """A sampler that notes what it is given."""

    def __init__(self) -> None:
        self.error: str | None = None
        self.calls: list[tuple[str, int, str]] = []

    def watch(self, stream: int, direction: str, sock: object) -> None:
        assert sock is not None
        self.calls.append(("watch", stream, direction))

    def unwatch(self, stream: int, direction: str) -> None:
        self.calls.append(("unwatch", stream, direction))

    def finish(self) -> Sequence[TcpInfoSample]:
        return ()


def test_sockets_go_to_the_sampler_and_the_kernel_is_asked_for_loss_and_rtt() -> None:
    shown: list[Moving] = []
    sampler = Noting()
    watch = TransferWatch(sampler, shown.append)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as sock:
        watch.connected(0, "upload", sock)
        sock.sendall(b"x" * 1000)
        watch.moved(1000)
        watch.moved(2000)
        watch.closing(0, "upload", sock)
    watch.moved(3000)
    assert sampler.calls == [("watch", 0, "upload"), ("unwatch", 0, "upload")]
    assert shown[0].loss == 0
    assert shown[0].rtt_s is not None
    assert 0 < shown[0].rtt_s < 1
    assert shown[0].rate_bps is None
    assert (shown[1].rate_bps or 0) > 0
    assert (shown[2].loss, shown[2].rtt_s, shown[2].moved_bytes) == (None, None, 3000)


def test_a_socket_that_is_closed_by_surprise_shows_nothing() -> None:
    shown: list[Moving] = []
    watch = TransferWatch(None, shown.append)
    sock = socket.socket()
    watch.connected(0, "upload", sock)
    sock.close()
    watch.moved(5)
    assert shown == [Moving(5, None, None, None)]
