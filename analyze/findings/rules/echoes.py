"""ICMP echoes: a rate limit of replies, or none at all.

Rule: docs/findings.md, "Echoes".
"""

from collections.abc import Iterator

from vmtrace.analyze.findings.facts import CLIENT, SERVER, Facts, Record, address
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.words.units import share
from vmtrace.formats.quantities import plural

_LEAST_LOST = 0.02


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each flow of echoes that lacks replies."""
    for flow in facts.flows:
        if flow["protocol"] == "icmp_echo":
            yield from _of_flow(facts, flow)


def _of_flow(facts: Facts, flow: Record) -> Iterator[Finding]:
    sent, back = flow[CLIENT]["packets"], flow[SERVER]["packets"]
    lost = flow[CLIENT].get("lost")
    lost = max(0, sent - back) if lost is None else lost
    limit = flow.get("rate_limit") or flow[SERVER].get("rate_limit")
    if limit is not None:
        text = (
            f"{flow['server']} replies to {limit['rate_per_s']:.3g} echoes per second at most: "
            f"{share(lost / max(1, sent))} of {sent:,} got no reply.{_tcp_is_fine(facts, flow)}"
        )
        yield _finding("icmp_rate_limited", text, flow, limit.get("confidence") or 0.85)
    elif lost and lost >= _LEAST_LOST * sent:
        text = f"{lost:,} of {plural(sent, 'echo', 'echoes')} to {flow['server']} got no reply."
        yield _finding("icmp_unanswered", text, flow, 0.7)


def _tcp_is_fine(facts: Facts, flow: Record) -> str:
    """Whether TCP to the same host lost nothing meanwhile."""
    host = flow["server"]
    same = [one for one in facts.connections if host in (address(one["client"]), address(one["server"]))]
    lost = sum((one[side]["loss"].get("lost_segments_inferred") or 0) for one in same for side in (CLIENT, SERVER))
    return " TCP to the same host lost nothing." if same and not lost else ""


def _finding(kind: str, text: str, flow: Record, confidence: float) -> Finding:
    return Finding(kind=kind, sentence=text, confidence=confidence, flows=[flow["id"]])
