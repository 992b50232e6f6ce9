"""Whose service a connection went to, and what the connections to each cost."""

import pytest

from analyze.providers import by_provider, provider_of


@pytest.mark.parametrize(
    ("name", "server", "provider"),
    [
        ("bucket.s3.eu-west-1.amazonaws.com", "1.2.3.4:443", "AWS"),
        ("AMAZONAWS.COM.", "1.2.3.4:443", "AWS"),
        ("account.blob.core.windows.net", "1.2.3.4:443", "Azure"),
        ("storage.googleapis.com", "1.2.3.4:443", "Google Cloud"),
        ("notamazonaws.com", "1.2.3.4:443", "other"),
        ("amazonaws.com.evil.example", "1.2.3.4:443", "other"),
        (None, "[2001:db8::1]:5201", "no name, port 5201"),
        ("", "1.2.3.4:80", "no name, port 80"),
    ],
)
def test_a_provider_is_told_by_the_end_of_the_server_name(name: str | None, server: str, provider: str) -> None:
    assert provider_of(name, server) == provider


def test_sums_are_by_provider_and_the_largest_comes_first() -> None:
    rows = [
        ("1.2.3.4:443", "a.s3.amazonaws.com", 0.010, 0.050, 1000, 800, 100, 0),
        ("1.2.3.5:443", "b.s3.amazonaws.com", 0.030, None, 3000, 2400, 100, 50),
        ("1.2.3.6:80", None, None, None, 9000, None, None, None),
    ]
    first, second = by_provider(rows)
    assert (first.name, first.wire_bytes, first.as_record()["overhead_ratio"]) == ("no name, port 80", 9000, None)
    assert second.as_record() == {
        "provider": "AWS",
        "connections": 2,
        "wire_bytes": 4000,
        "application_bytes": 3200,
        "tls_handshake_bytes": 200,
        "retransmitted_bytes": 50,
        "overhead_ratio": 0.25,
        "handshake_rtt_s": 0.020,
        "tls_handshake_s": 0.050,
    }
