import socket

import pytest

from vmtrace.receiver.refusal import Refusal
from vmtrace.receiver.socket_options import check_options, set_options
from vmtrace.sender.wire.socket_options import SocketOptions


def test_what_is_possible_passes_and_is_set_but_the_mss() -> None:
    options = SocketOptions("reno", 50_000, 60_000, 63, 999_999_999)
    check_options(options)
    with socket.socket() as sock:
        set_options(sock, options)
        assert sock.getsockopt(socket.IPPROTO_IP, socket.IP_TOS) == 252
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 120_000


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (SocketOptions("vfat"), "no congestion control vfat, but .*reno"),
        (SocketOptions("../x"), "no congestion control"),
        (SocketOptions(dscp=64), "DSCP 64: 0 to 63"),
        (SocketOptions(dscp=-1), "DSCP -1: 0 to 63"),
        (SocketOptions(send_buffer_bytes=0), "send buffer of 0 bytes"),
        (SocketOptions(receive_buffer_bytes=0), "receive buffer of 0 bytes: 1 to 2147483647"),
        (SocketOptions(receive_buffer_bytes=2**31), "receive buffer of 2147483648 bytes"),
    ],
)
def test_what_is_not_is_refused_before_the_kernel_is_asked(options: SocketOptions, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        check_options(options)


def test_the_least_and_the_largest_pass() -> None:
    check_options(SocketOptions(dscp=0, send_buffer_bytes=1, receive_buffer_bytes=1))
    check_options(SocketOptions(dscp=63, send_buffer_bytes=2**31 - 1, receive_buffer_bytes=2**31 - 1))
