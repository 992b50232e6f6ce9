"""Requests of a connection in words."""

from pathlib import Path
from typing import Any

import pytest

from tests import golden_texts
from tests.analyze.talks import Talk
from vmtrace.analyze.tables.human_table import summary_text
from vmtrace.analyze.trace import read
from vmtrace.analyze.words.request_lines import request_facts, request_lines


@pytest.fixture
def slow_server() -> dict[str, Any]:
    """Four requests, each answered after 900 ms, 20 ms away."""
    talk = Talk().open(0.02)
    for index in range(4):
        start = 0.03 + index * 0.93
        talk.client(start, 400).server(start + 0.92, 1200)
    record: dict[str, Any] = read(talk.capture()).json()["connections"][0]
    return record


def test_the_server_is_named_where_its_time_dominates(slow_server: dict[str, Any]) -> None:
    text = "\n".join(request_lines(slow_server))
    golden_texts.check("the-server-is-named-where-its-time-dominates", text)
    assert text.count("first byte after 920 ms") == 4
    assert [name for name, _ in request_facts(slow_server)] == ["requests", "time to first byte", "longest part"]


def test_a_connection_without_requests_has_no_lines() -> None:
    record = read(Talk().open(0.02).client(0.03, 400).capture()).json()["connections"][0]
    assert (list(request_lines(record)), request_facts(record)) == ([], [])
    assert record["requests"] is None


def test_a_reason_is_given_where_both_sides_sent() -> None:
    record = {"requests": None, "requests_reason": "overlapping"}
    assert "responses cannot be matched" in "\n".join(request_lines(record))


def test_servers_are_summed_up_over_their_connections(tmp_path: Path) -> None:
    talk = Talk()
    for port, wait in ((40_001, 0.1), (40_002, 0.3), (40_003, 0.5)):
        talk.port = port
        talk.open(0.02).client(0.03, 400).server(0.03 + wait, 1200)
    document = read(talk.capture()).json()
    (server,) = document["request_servers"]
    assert (server["connections"], server["count"]) == (3, 3)
    assert server["first_byte_median_s"] == pytest.approx(0.3)


def test_the_summary_of_a_capture_names_a_server_that_lets_wait() -> None:
    talk = Talk().open(0.02)
    for index in range(4):
        talk.client(0.03 + index * 0.93, 400).server(0.95 + index * 0.93, 1200)
    text = " ".join(summary_text(read(talk.capture()), limit=5, width=120).split())
    assert "the server's application took 3.60 s to respond" in text
