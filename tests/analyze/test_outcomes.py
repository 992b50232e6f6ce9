"""Outcomes for people: lines for servers, the detail of one connection, the order of the table, anonymous results."""

from typing import Any

import pytest

from tests import golden_texts
from tests.analyze.outcome_made import Ends, Wire, backoff, closed, exchanged, opened
from vmtrace.analyze.tables.schema import load
from vmtrace.analyze.trace import Options, Trace, read
from vmtrace.analyze.words.human_causes import why
from vmtrace.analyze.words.outcomes import CLAUSES, SHORT_NAMES, detail_lines


def unanswered(wire: Wire, port: int, server: str = "198.18.0.9") -> None:
    one = wire.at(Ends(server=server, ports=(port, 443)))
    for time_s in (0.0, *backoff(1.0, 2)):
        one.tcp(time_s, True, "S")


def mixed() -> Trace:
    """Nine without an answer, one refused, and a transfer that is larger than all of them."""
    wire = Wire()
    for port in range(41001, 41010):
        unanswered(wire, port)
    wire.at(Ends(ports=(42000, 81))).tcp(0, True, "S").tcp(0.01, False, "RA", number=0)
    good = wire.at(Ends(ports=(43000, 80)))
    at_s, sent, got = exchanged(good, opened(good))
    closed(good, at_s, sent, got)
    return wire.trace()


def test_every_kind_of_the_schema_has_words() -> None:
    kinds = set(load()["$defs"]["outcome"]["properties"]["kind"]["enum"])
    assert set(SHORT_NAMES) == set(CLAUSES) == kinds


def test_equal_outcomes_of_one_server_are_one_finding() -> None:
    assert [(one.kind, one.sentence) for one in mixed().findings] == [
        ("syn_unanswered", "9 connections to 198.18.0.9:443 got no reply."),
        (
            "syn_refused",
            (
                "Connection 10 to 198.18.0.2:81: The server refused the connection: a reset came 10 ms after the SYN."
                " Nothing listens on port 81, or a firewall rejects it."
            ),
        ),
    ]


def test_a_scan_is_one_finding() -> None:
    wire = Wire()
    for number in range(30):
        unanswered(wire, 41000 + number, f"198.18.1.{number + 1}")
    assert [one.sentence for one in wire.trace().findings] == ["30 connections to 30 servers got no reply."]


def test_one_of_each_server_comes_first_in_the_table_and_the_transfer_behind_them() -> None:
    text = mixed().summary(limit=4, width=120)
    rows = [line.split()[0] for line in text.splitlines() if "→" in line or "←" in line]
    assert len(rows) == 4
    assert {rows[0], rows[1]} == {"10", "1"}
    golden_texts.check("one-of-each-server-comes-first-in-the-table-and-the-transfer-behind-them", text)


def test_a_capture_without_any_says_nothing_of_them() -> None:
    wire = Wire()
    at_s, sent, got = exchanged(wire, opened(wire))
    closed(wire, at_s, sent, got)
    trace = wire.trace()
    assert trace.header()["outcomes"] == []
    assert trace.findings == []
    assert "Nothing held these connections back" in trace.summary()


def test_the_detail_of_a_connection_has_frames_remedy_and_icmp_errors() -> None:
    wire = Wire()
    wire.tcp(0, True, "S").tcp(1, True, "S").icmp(1.5, 3, 4, mtu=1400)
    text = "\n".join(detail_lines(wire.connection()))
    golden_texts.check("the-detail-of-a-connection-has-frames-remedy-and-icmp-errors", text)
    assert list(detail_lines({"outcome": None, "icmp_errors": []})) == []


def test_the_column_of_causes_says_what_became_of_it() -> None:
    row: dict[str, Any] = {"verdict_factor": "application", "verdict_confidence": 0.9, "outcome_kind": None}
    assert why(row) == "application"
    assert why(row | {"outcome_kind": "large_segments_lost"}) == "MTU black hole"


@pytest.mark.parametrize("secret", ["198.18.0.9", "192.0.2.1"])
def test_anonymous_results_show_no_address_of_outcomes(secret: str) -> None:
    wire = Wire()
    one = wire.at(Ends(client="203.0.113.5", server="198.18.0.9"))
    one.tcp(0, True, "S").tcp(1, True, "S").icmp(1.5, 3, 1)
    assert secret in str(read(one.pcap()).json())
    shown = read(one.pcap(), options=Options(anonymize=True))
    # Made-up addresses are of 198.18.0.0/15, numbered as they come.
    assert secret not in str(shown.json()).replace("198.18.0.1", "").replace("198.18.0.2", "")
    assert shown.json()["outcomes"][0]["servers"][0]["server"] == shown.json()["connections"][0]["server"]


def test_columns_of_the_table_are_those_of_the_record() -> None:
    wire = Wire()
    wire.tcp(0, True, "S").tcp(1, True, "S").icmp(1.5, 3, 1)
    trace, record = wire.trace(), wire.connection()
    row = trace.row(0)
    assert (row["outcome_kind"], row["outcome_sentence"]) == ("syn_unanswered", record["outcome"]["sentence"])
    assert (row["outcome_confidence"], row["icmp_errors"]) == (record["outcome"]["confidence"], 1)
