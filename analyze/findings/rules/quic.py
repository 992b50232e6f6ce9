"""QUIC: Initials without a reply and the connection that followed, a first flight held back, losses, errors.

Rule: docs/findings.md, "QUIC".
"""

from collections.abc import Iterator
from dataclasses import replace

from vmtrace.analyze.findings.facts import CLIENT, Facts, Record, evidence
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.words.units import seconds
from vmtrace.formats.quantities import plural

_LEAST_WAIT_S = 0.01
_NO_ERROR = (None, 0, 0x100, "no_error", "NO_ERROR", "H3_NO_ERROR")


def find(facts: Facts) -> Iterator[Finding]:
    """Findings of each QUIC flow."""
    for flow in facts.flows:
        quic = flow.get("quic")
        if quic:
            yield from _of_flow(facts, flow, quic)


def _of_flow(facts: Facts, flow: Record, quic: Record) -> Iterator[Finding]:
    name = f"QUIC to {flow['server']}" + (f" ({quic['sni']})" if quic.get("sni") else "")
    if flow.get("unanswered") and not flow.get("icmp_errors"):
        yield _unanswered(facts, flow, quic, name)
    waited_s = quic.get("amplification_wait_s") or 0.0
    if waited_s >= _LEAST_WAIT_S:
        text = (
            f"{name}: the server's first flight waited {seconds(waited_s)}, held at three times what the client sent."
        )
        yield _finding("quic_amplification_limit", text, flow, 0.85, waited_s)
    lost = _total(quic.get("lost"))
    if lost:
        yield _finding("quic_loss", f"{name} lost {plural(lost, 'packet')}, by their numbers.", flow, 0.85, None)
    limited_s = max((one.get("limited_s") or 0.0 for one in (quic.get("flow_control") or {}).values()), default=0.0)
    if limited_s >= _LEAST_WAIT_S:
        text = f"{name}: the receiver's flow control was the limit for {seconds(limited_s)}."
        yield _finding("quic_flow_control", text, flow, 0.85, limited_s)
    close = quic.get("close") or {}
    code = close.get("code") if isinstance(close, dict) else close
    if code not in _NO_ERROR:
        said = f" ({close['reason']})" if isinstance(close, dict) and close.get("reason") else ""
        text = f"{name} was closed with error {code}{said}."
        yield _finding("quic_closed", text, flow, 0.9, None)


def _unanswered(facts: Facts, flow: Record, quic: Record, name: str) -> Finding:
    follower = facts.by_id.get(quic.get("fallback_connection") or 0)
    initials = (quic.get("initials") or {}).get("client") or flow[CLIENT]["packets"]
    waited_s = flow["duration_s"] or 0.0
    then = ""
    if follower is not None:
        waited_s = (follower["start_ns"] - flow["start_ns"]) / 1e9
        then = f"; TCP to the same address followed after {seconds(waited_s)}, and worked"
    text = f"{name}: {plural(initials, 'Initial')} got no reply{then}."
    found = _finding("quic_unanswered", text, flow, 0.9, waited_s)
    return found if follower is None else replace(found, connections=[follower["id"]])


def _total(lost: Record | None) -> int:
    """Packets lost before and behind the capture point, of either side."""
    sides = (lost or {}).values()
    return sum((one.get("before_capture_point") or 0) + (one.get("behind_capture_point") or 0) for one in sides)


def _finding(kind: str, text: str, flow: Record, confidence: float, cost_s: float | None) -> Finding:
    frames = [flow["first_frame"]] if flow.get("first_frame") is not None else []
    return Finding(
        kind=kind,
        sentence=text,
        confidence=confidence,
        cost_s=cost_s,
        waited_s=max(cost_s or 0.0, flow["duration_s"] or 0.0),
        flows=[flow["id"]],
        evidence=[evidence("first frame of the flow", frames)] if frames else [],
    )
