"""Options of sockets: each reaches the socket, and one that the system refuses is named."""

import socket

import pytest

from vmtrace.sender.wire.socket_options import SocketOptions, apply_options


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            SocketOptions(congestion_control="nosuch"),
            "the system refuses congestion control nosuch: No such file or directory",
        ),
        (SocketOptions(send_buffer_bytes=2**40), f"the system refuses send buffer {2**40}: Invalid argument"),
        (SocketOptions(mss_bytes=10**9), "the system refuses MSS 1000000000: Invalid argument"),
    ],
)
def test_an_option_that_is_refused_is_named(options: SocketOptions, line: str) -> None:
    with socket.socket() as sock, pytest.raises(OSError, match=line):
        apply_options(sock, options)


def test_dscp_reaches_ipv4_on_a_socket_for_both_versions() -> None:
    with socket.socket(socket.AF_INET6) as both:
        both.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        both.bind(("::", 0))
        both.listen()
        with socket.create_connection(("127.0.0.1", both.getsockname()[1])):
            accepted, _ = both.accept()
            with accepted:
                apply_options(accepted, SocketOptions(dscp=46))
                assert accepted.getsockopt(socket.IPPROTO_IP, socket.IP_TOS) == 46 << 2
                assert accepted.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS) == 46 << 2
