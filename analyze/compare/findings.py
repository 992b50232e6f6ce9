"""Findings of a comparison: the rules of all commands over the clients' end, with what the other capture proves.

Rule: docs/findings.md, "Two captures of one path".
"""

from collections.abc import Iterable
from dataclasses import replace

from vmtrace.analyze.compare.comparison import Comparison
from vmtrace.analyze.findings.facts import Facts
from vmtrace.analyze.findings.lines import answer_lines
from vmtrace.analyze.findings.ranking import findings
from vmtrace.analyze.findings.rules.ports import never_opened
from vmtrace.analyze.trace import Trace

_NS = 1e9


def with_findings(comparison: Comparison, sender: Trace, receiver: Trace) -> Comparison:
    """The comparison with what held the connections back; ids and frames are those of the capture that it names."""
    at_sender = sum(one.client_at == "sender" for one in comparison.connections)
    is_sender = 2 * at_sender >= len(comparison.connections)
    inner, outer = (sender, receiver) if is_sender else (receiver, sender)
    facts = inner.facts()
    facts = replace(facts, kept_back=_kept_back(facts, inner, outer, comparison, is_sender=is_sender))
    found = findings(facts)
    # Losses that cost nothing known are told beside: "nothing" would not be true.
    lost = any(way.lost_in_network for way in comparison.total)
    lost |= any(way.lost_in_network for flow in comparison.flows for way in flow.directions())
    return replace(
        comparison,
        findings=tuple(found),
        findings_of="sender" if is_sender else "receiver",
        finding_lines=() if lost and not found else tuple(answer_lines(found, inner.header(), len(inner))),
    )


def _kept_back(
    facts: Facts, inner: Trace, outer: Trace, comparison: Comparison, *, is_sender: bool
) -> frozenset[int] | None:
    """Connections whose SYNs a NAT between the captures kept back; None where no NAT is, or no clock says when."""
    offset_s, other = comparison.clock.offset_s, comparison.receiver if is_sender else comparison.sender
    translated = any(one.addresses_rewritten and not one.sequences_rewritten for one in comparison.connections)
    asked = [one for one in facts.connections if never_opened(one)]
    if not translated or offset_s is None or other.start_ns is None or other.end_ns is None or not asked:
        return None
    ahead_ns = round(offset_s * _NS) * (1 if is_sender else -1)
    completed = zip(outer.values("id"), outer.values("handshake_complete"), strict=True)
    out = set(_syn_sequences(outer, (number for number, is_complete in completed if not is_complete)).values())
    mine = _syn_sequences(inner, (one["id"] for one in asked))
    return frozenset(
        one["id"]
        for one in asked
        if other.start_ns <= one["start_ns"] + ahead_ns <= other.end_ns and mine.get(one["id"], -1) not in out
    )


def _syn_sequences(trace: Trace, connections: Iterable[int]) -> dict[int, int]:
    """The first sequence number of each connection's client, which a NAT leaves alone."""
    wanted = sorted(connections)
    if not wanted:
        return {}
    names = ("connection", "from_client", "raw_sequence")
    rows = trace.packets(wanted, columns=names)
    found: dict[int, int] = {}
    for number, from_client, sequence in zip(*map(rows.values, names), strict=True):
        if from_client:
            found.setdefault(number, sequence)
    return found
