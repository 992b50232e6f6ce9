"""`HOST:PORT` is read and shown the same way, IPv6 in brackets."""

import pytest

from vmtrace.providers.endpoints import host_and_port, shown_endpoint


@pytest.mark.parametrize("text", ["host.example:80", "198.18.1.1:6881", "[fd00::1]:65535"])
def test_what_is_shown_is_read_again(text: str) -> None:
    found = host_and_port(text)
    assert found is not None
    assert shown_endpoint(found) == text


@pytest.mark.parametrize("text", ["", "host", ":80", "host:", "host:0", "host:65536", "host:x", "host:\u0661"])
def test_what_is_no_host_and_port_is_nothing(text: str) -> None:
    assert host_and_port(text) is None
