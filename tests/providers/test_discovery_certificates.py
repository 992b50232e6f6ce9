"""What addresses show when asked for TLS."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from vmtrace.lab.services.certificates import Certificates
from vmtrace.providers.discovery.certificates import Shown, ShownCertificates, matches, shown, shown_by


@contextmanager
def tls_server(chain: Certificates | None) -> Iterator[int]:
    """Handshakes on loopback; without certificates it speaks no TLS."""
    context = None
    if chain is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain.chain_path, chain.key_path)
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.1)
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            try:
                connection, _ = server.accept()
            except TimeoutError:
                continue
            connection.settimeout(5)
            try:
                if context is None:
                    connection.sendall(b"220 not what you think\r\n")
                else:
                    connection = context.wrap_socket(connection, server_side=True)
            except OSError:
                pass
            connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        ended.set()
        thread.join()
        server.close()


def test_a_trusted_certificate_for_the_name(chain: Certificates) -> None:
    with tls_server(chain) as port:
        one = shown("localhost", "127.0.0.1", port, chain.ca_path)
    assert (one.speaks_tls, one.trusted, one.error) == (True, True, None)
    assert "localhost" in one.certificate_names
    assert one.covers_name


def test_an_authority_that_is_not_trusted_is_said_with_the_names(chain: Certificates) -> None:
    with tls_server(chain) as port:
        one = shown("localhost", "127.0.0.1", port)
    assert (one.speaks_tls, one.trusted, one.covers_name) == (True, False, True)
    assert one.error is not None


def test_a_certificate_for_another_name_is_not_trusted(chain: Certificates) -> None:
    with tls_server(chain) as port:
        one = shown("s3.example.org", "127.0.0.1", port, chain.ca_path)
    assert (one.speaks_tls, one.trusted, one.covers_name) == (True, False, False)
    assert "localhost" in one.certificate_names


def test_what_speaks_no_tls_and_what_is_not_there_are_one_line() -> None:
    with tls_server(None) as port:
        plain = shown("localhost", "127.0.0.1", port)
    absent = shown("localhost", "127.0.0.1", port)
    for one in (plain, absent):
        assert (one.speaks_tls, one.trusted, one.certificate_names) == (False, False, ())
        assert one.error
        assert "\n" not in one.error


def test_many_are_asked_at_once(chain: Certificates) -> None:
    with tls_server(chain) as port:
        found = shown_by([("localhost", "127.0.0.1"), ("other.example", "127.0.0.1")], port, chain.ca_path)
    assert [one.trusted for one in found] == [True, False]


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("s3.example.org", "S3.example.org", True),
        ("*.example.org", "s3.example.org", True),
        ("*.example.org", "a.s3.example.org", False),
        ("*.example.org", "example.org", False),
        ("*", "example", True),
        ("", "", False),
    ],
)
def test_a_wildcard_is_one_whole_label(pattern: str, name: str, expected: bool) -> None:
    assert matches(pattern, name) is expected


def made(address: str, trusted: bool, *names: str) -> Shown:
    return Shown("s3.example.org", address, 443, bool(names), trusted, names, None)


def test_where_one_is_trusted_the_untrusted_do_not_speak_for_the_name() -> None:
    held = ShownCertificates()
    for one in (made("a", True, "s3.example.org"), made("b", False, "s3.example.org")):
        held.add(one)
    assert held.speaks(("s3.example.org", "a"))
    assert not held.speaks(("s3.example.org", "b"))
    assert (len(held), held.trusted) == (2, 1)
    assert held.believed({("s3.example.org", "b")}, "s3.example.org")
    assert not held.believed({("s3.example.org", "a")}, "s3.example.org")


def test_where_none_is_trusted_the_names_decide() -> None:
    held = ShownCertificates()
    for one in (made("a", False, "s3.example.org"), made("b", False, "other.example")):
        held.add(one)
    assert held.speaks(("s3.example.org", "a"))
    assert not held.speaks(("s3.example.org", "b"))
    assert not held.speaks(("s3.example.org", "never asked"))


def test_a_handshake_that_drips_is_over_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmtrace.providers.discovery.certificates.WAIT_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                for byte in b"\x16\x03\x03\x40\x00" + bytes(100):  # a record of TLS that will not end
                    connection.sendall(bytes([byte]))
                    time.sleep(0.1)

        threading.Thread(target=drip, daemon=True).start()
        began_s = time.monotonic()
        one = shown("example.org", "127.0.0.1", server.getsockname()[1])
        assert time.monotonic() - began_s < 8
    assert (one.speaks_tls, one.error) == (False, "timed out")
