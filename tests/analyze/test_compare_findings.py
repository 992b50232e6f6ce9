"""Findings of a comparison: those of the capture at the clients' end, and what the capture behind a NAT proves."""

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from tests.analyze.two_ends import START_NS, pcap, transfer
from vmtrace.analyze.compare.comparison import Comparison, compare
from vmtrace.analyze.compare.document import document
from vmtrace.analyze.compare.findings import with_findings
from vmtrace.analyze.compare.human import show
from vmtrace.analyze.trace import read

Records = list[tuple[int, bytes]]

OPEN_PORTS, SILENT_PORTS = (40_000, 40_001, 40_002, 40_003), (50_000, 50_001, 50_002)
CLIENT, NAT = bytes((10, 0, 0, 1)), bytes((203, 0, 113, 7))


def translated(frame: bytes) -> bytes:
    """As behind a NAT: another address and another port of the client."""
    changed = bytearray(frame)
    is_clients = frame[26:30] == CLIENT
    address, port = (26, 34) if is_clients else (30, 36)
    changed[address : address + 4] = NAT
    changed[port : port + 2] = (int.from_bytes(frame[port : port + 2], "big") + 7_000).to_bytes(2, "big")
    return bytes(changed)


def open_connections() -> tuple[Records, Records]:
    """Live from the first to the last SYN that gets no reply, inside and behind the NAT."""
    made = [transfer(segments=200, interval_s=0.05, port=port) for port in OPEN_PORTS]
    inside = [record for one in made for record in one.sender]
    return inside, [(at, translated(frame)) for one in made for at, frame in one.receiver]


def silent_syns(port: int) -> Iterator[tuple[int, bytes]]:
    """Three tries of a connection that nobody answers, with a sequence number of its own."""
    [(_, first), *_] = transfer(segments=1, port=port).sender
    numbered = first[:38] + (3_000_000 + port).to_bytes(4, "big") + first[42:]
    for after_s in (1.0, 2.0, 4.0):
        yield START_NS + round(after_s * 1e9), numbered


def compared(*, come_out: tuple[int, ...] = (), from_outside: bool = False) -> Comparison:
    """Some of the silent connections' SYNs come out of the NAT, and are lost behind it."""
    inside, outside = open_connections()
    for port in SILENT_PORTS:
        syns = list(silent_syns(port))
        inside += syns
        if port in come_out:
            outside += [(at + 20_000_000, translated(frame)) for at, frame in syns]
    ends = [read(pcap(sorted(records))) for records in (inside, outside)]
    ends = ends[::-1] if from_outside else ends
    return with_findings(compare(*ends), *ends)


@pytest.mark.parametrize("from_outside", [False, True], ids=["inside first", "outside first"])
def test_syns_that_a_nat_keeps_back_are_proved_to_be_its(from_outside: bool) -> None:
    """Not the server's accept queue, though the open connections wait: the SYNs never got there."""
    comparison = compared(from_outside=from_outside)
    assert all(one.addresses_rewritten for one in comparison.connections)
    found = [one for one in comparison.findings if one.kind == "ports_exhausted"]
    assert [(one.confidence, len(one.connections), one.owner) for one in found] == [(0.95, 3, "device")]
    assert "a NAT kept their SYNs back" in found[0].sentence
    assert comparison.findings_of == ("receiver" if from_outside else "sender")
    assert not any(one.kind == "syn_unanswered" for one in comparison.findings), "a cause is reported once"


def test_syns_that_come_out_are_lost_elsewhere() -> None:
    """The connections that are open get no response: from the clients' end a full accept queue looks like that."""
    found = {one.kind: one.confidence for one in compared(come_out=SILENT_PORTS).findings}
    assert "ports_exhausted" not in found
    assert found["accept_queue_full"] == 0.65


def test_the_terminal_and_the_document_say_the_same() -> None:
    comparison = compared()
    console = Console(width=200, record=True, file=io.StringIO())
    show(comparison, console)
    text = console.export_text()
    written = document(comparison)
    assert written["findings_of"] == "sender"
    assert [one["kind"] for one in written["findings"]] == [one.kind for one in comparison.findings]
    assert all(one["sentence"] in text for one in written["findings"][:8])


def test_where_nothing_is_wrong_it_says_so() -> None:
    made = transfer(segments=5)
    ends = [read(pcap(records)) for records in (made.sender, made.receiver)]
    comparison = with_findings(compare(*ends), *ends)
    assert comparison.findings == ()
    assert comparison.finding_lines[0].startswith("Nothing held these connections back")


def test_losses_that_cost_nothing_are_not_called_nothing() -> None:
    made = transfer(segments=5)
    replies = [record for record in made.sender if record[1][26:30] != CLIENT]
    missed = replies[len(replies) // 2]
    ends = [read(pcap(records)) for records in ([one for one in made.sender if one != missed], made.receiver)]
    comparison = with_findings(compare(*ends), *ends)
    assert [way.lost_in_network for way in comparison.total] == [0, 1]
    assert (comparison.findings, comparison.finding_lines) == ((), ())
