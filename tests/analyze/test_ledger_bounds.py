"""The ledger of a capture that does not hold all TLS record headers: still a sum, with bounds that say so."""

import struct
from pathlib import Path

from vmtrace.analyze.charts.packet_series import of_connections
from vmtrace.analyze.findings.overhead import PARTS
from vmtrace.analyze.reports.capture import connection
from vmtrace.analyze.trace import Trace, read

TLS13 = Path(__file__).parents[2] / "samples/tls13.pcap"


def cut(capture: bytes, most_bytes: int) -> bytes:
    """A pcap file as if its snap length had been shorter."""
    kept, at = [capture[:24]], 24
    while at < len(capture):
        seconds, fraction, captured, on_the_wire = struct.unpack_from("<IIII", capture, at)
        part = capture[at + 16 : at + 16 + min(captured, most_bytes)]
        kept.append(struct.pack("<IIII", seconds, fraction, len(part), on_the_wire) + part)
        at += 16 + captured
    return b"".join(kept)


def ledger_texts(trace: Trace) -> dict[str, str]:
    (series,) = of_connections(trace, [1])
    return {part["name"]: part["text"] for part in connection.ledger(series.record["ledger"])}


def test_headers_of_records_that_were_cut_off_count_as_application_and_that_is_reported() -> None:
    whole, short = read(TLS13), read(cut(TLS13.read_bytes(), 100))
    (exact,), (bounded,) = whole.records([1]), short.records([1])
    assert exact["tls"]["application_bytes"] == exact["ledger"]["application_bytes"]
    assert "tls_record_is_least" not in exact["ledger"]
    assert bounded["tls"]["application_bytes"] is None
    assert bounded["tls"]["not_measured"]["record_overhead_bytes"]
    assert bounded["ledger"]["tls_record_is_least"] is True
    assert bounded["ledger"]["application_bytes"] > exact["ledger"]["application_bytes"]
    assert bounded["ledger"]["tls_record_bytes"] < exact["ledger"]["tls_record_bytes"]
    for record in (exact, bounded):
        assert sum(record["ledger"][part] for part in PARTS) == record["ledger"]["wire_bytes"]
    assert short.values("ledger_tls_record_is_least") == [True]
    assert whole.values("ledger_tls_record_is_least") == [False]


def test_the_report_marks_the_bounds() -> None:
    exact, bounded = ledger_texts(read(TLS13)), ledger_texts(read(cut(TLS13.read_bytes(), 100)))
    assert not any(text.startswith(("≥", "≤")) for text in exact.values())
    assert bounded["application"].startswith("≤ ")
    assert [name for name, text in bounded.items() if text.startswith("≥ ")] in ([], ["TLS records"])
