"""Datagram flows: no reply, refused by ICMP, lost, flat at a rate.

Rule: docs/findings.md, "Datagrams".
"""

from collections import defaultdict
from collections.abc import Iterator

from vmtrace.analyze.findings.facts import CLIENT, SERVER, Facts, Record, evidence
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.words.units import seconds, share, si
from vmtrace.formats.quantities import plural

_ANSWERED_ELSEWHERE = ("dns", "quic")
"""Applications whose silence other rules report."""
_LEAST_UNANSWERED = 2
_LEAST_LOSS = 0.001
_WRITTEN = {"iperf3": "iperf3", "wireguard": "WireGuard", "vxlan": "VXLAN", "geneve": "Geneve", "icmp_echo": "ICMP"}
_ONE_WAY = ("rtp", "rtcp", "iperf3", "esp", "wireguard", "vxlan", "geneve")
"""Applications in which one direction alone is usual."""


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each server and kind."""
    silent: defaultdict[str, list[Record]] = defaultdict(list)
    refused: defaultdict[str, list[Record]] = defaultdict(list)
    for flow in facts.flows:
        if flow["protocol"] not in ("udp", "esp", "sctp", "quic"):
            continue
        if flow.get("icmp_errors") and flow["application"] != "dns":
            refused[flow["server"]].append(flow)
        elif _is_silent(flow):
            silent[flow["server"]].append(flow)
        yield from _limits(flow)
    yield from (_refused(server, flows) for server, flows in refused.items())
    yield from (_silent(server, flows) for server, flows in silent.items())


def _is_silent(flow: Record) -> bool:
    if flow["application"] in (*_ANSWERED_ELSEWHERE, *_ONE_WAY) or flow["protocol"] == "quic":
        return False
    return bool(flow.get("unanswered")) and flow[CLIENT]["packets"] >= _LEAST_UNANSWERED


def _limits(flow: Record) -> Iterator[Finding]:
    for side in (CLIENT, SERVER):
        lost = flow[side].get("lost") or 0
        limit = flow[side].get("rate_limit")
        sent = flow[side]["packets"] + lost
        if limit is not None and limit.get("rate_bps"):
            yield _limited(flow, side, limit, lost, sent)
        elif lost and lost >= _LEAST_LOSS * sent and flow["protocol"] != "quic":
            text = (
                f"{_name(flow)} from {_sender(flow, side)} lost {lost:,} of {sent:,} datagrams "
                f"({share(lost / sent)}), by its own numbers."
            )
            yield _finding("udp_loss", text, [flow], 0.9)


def _limited(flow: Record, side: str, limit: Record, lost: int, sent: int) -> Finding:
    loss = f"; {share(lost / sent)} are lost" if lost else ""
    queue = f", behind a queue of {seconds(limit['queue_s'])}" if limit.get("queue_s") else ""
    text = f"{_name(flow)} from {_sender(flow, side)} stands at {si(limit['rate_bps'], 'bit/s')}{queue}{loss}."
    return _finding("udp_rate_limited", text, [flow], limit.get("confidence") or 0.8)


def _refused(server: str, flows: list[Record]) -> Finding:
    errors = sum(len(flow["icmp_errors"]) for flow in flows)
    refused = plural(len(flows), "datagram flow")
    text = f"{server} refused {refused}: {plural(errors, 'ICMP error')}, nothing listens there."
    return _finding("udp_refused", text, flows, 0.95, cost_s=sum(flow["duration_s"] or 0.0 for flow in flows))


def _silent(server: str, flows: list[Record]) -> Finding:
    sent = sum(flow[CLIENT]["packets"] for flow in flows)
    text = f"{server} replied to none of {plural(sent, 'datagram')} ({_name(flows[0])})."
    return _finding("udp_unanswered", text, flows, 0.75, cost_s=sum(flow["duration_s"] or 0.0 for flow in flows))


def _name(flow: Record) -> str:
    name = str(flow["application"] or flow["protocol"])
    return _WRITTEN.get(name) or name.upper()


def _sender(flow: Record, side: str) -> str:
    return str(flow["client"] if side == CLIENT else flow["server"])


def _finding(kind: str, text: str, flows: list[Record], confidence: float, cost_s: float | None = None) -> Finding:
    frames = [flow["first_frame"] for flow in flows[:20] if flow.get("first_frame") is not None]
    return Finding(
        kind=kind,
        sentence=text,
        confidence=confidence,
        cost_s=cost_s,
        waited_s=sum(flow["duration_s"] or 0.0 for flow in flows) if cost_s is not None else 0.0,
        flows=[flow["id"] for flow in flows],
        evidence=[evidence("first frames of the flows", frames)] if frames else [],
    )
