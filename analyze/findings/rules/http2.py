"""HTTP/2 whose frames were read: a window that was used up, and a peer that ended with an error.

Rule: docs/findings.md, "HTTP/2".
"""

from collections.abc import Iterator

from vmtrace.analyze.findings.facts import Facts, Record, of_connections
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.words.units import seconds, si

_LEAST_S, _LEAST_SHARE = 0.01, 0.05
_EXPLAINED = ("application", "application_window", "http2_window", "receiver_window", "unknown")
"""What a used-up window looks like to TCP."""


def find(facts: Facts) -> Iterator[Finding]:
    """Findings of each connection whose frames were read."""
    for one in facts.connections:
        frames = one.get("http2")
        if not frames:
            continue
        limited_s = frames.get("window_limited_s") or 0.0
        if limited_s >= max(_LEAST_S, _LEAST_SHARE * (one["duration_s"] or 0.0)):
            yield _limited(one, frames, limited_s)
        goaway = frames.get("goaway")
        if goaway and goaway.get("code") not in (0, "NO_ERROR", None):
            yield _ended(one, goaway)


def _limited(connection: Record, frames: Record, limited_s: float) -> Finding:
    size = si(frames["initial_window_bytes"], "B") if frames.get("initial_window_bytes") else "small"
    return Finding(
        kind="http2_window",
        sentence=(
            f"Connection {connection['id']}: the receiver's HTTP/2 window ({size}) was used up "
            f"{frames['window_limited_times']:,} times, for {seconds(limited_s)} in all."
        ),
        confidence=0.95 if frames.get("complete") else 0.8,
        owner="server_application" if frames.get("data_sender") == "client" else "client_application",
        cost_s=limited_s,
        waited_s=connection["duration_s"] or 0.0,
        connections=[connection["id"]],
        evidence=[of_connections([connection], "SETTINGS and WINDOW_UPDATE of the connection")],
        explains=frozenset((kind, connection["id"]) for kind in _EXPLAINED),
    )


def _ended(connection: Record, goaway: Record) -> Finding:
    side = goaway.get("side") or "peer"
    return Finding(
        kind="goaway",
        sentence=f"Connection {connection['id']}: the {side} ended HTTP/2 with error {goaway['code']}.",
        confidence=0.95,
        owner="client_application" if side == "client" else "server_application",
        connections=[connection["id"]],
    )
