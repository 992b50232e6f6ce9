"""Records as documents have them, made in the open: what a rule reads, and nothing else."""

from typing import Any

Record = dict[str, Any]

START_NS = 1_700_000_000_000_000_000


def direction(**more: Any) -> Record:
    """One direction."""
    known: Record = {"packets": 5, "unique_payload_bytes": 100, "goodput_bps": None, "rtt": {}, "loss": {}}
    return {**known, **more}


def connection(number: int, at_s: float, duration_s: float, **more: Any) -> Record:
    """A connection of the client 198.18.0.1 to 198.18.0.9:443 that opened, moved data and ended."""
    known: Record = {
        "id": number,
        "client": f"198.18.0.1:{40000 + number}",
        "server": "198.18.0.9:443",
        "start_ns": START_NS + round(at_s * 1e9),
        "duration_s": duration_s,
        "first_frame": number,
        "handshake": {"complete": True, "syn_retransmissions": 0, "rtt_s": 0.01},
        "close": "fin",
        "vantage": {"side": "client", "confidence": 0.95},
        "client_to_server": direction(),
        "server_to_client": direction(),
        "requests": None,
        "outcome": None,
        "verdict": None,
        "account": [],
    }
    return {**known, **more}


def request(at_s: float, first_byte_s: float) -> Record:
    """An exchange, its request at `at_s`."""
    return {"start_ns": START_NS + round(at_s * 1e9), "first_byte_s": first_byte_s}


def entry(kind: str, time_s: float, saves_s: float | None, owner: str = "path") -> Record:
    """An entry of an account."""
    return {"owner": owner, "kind": kind, "time_s": time_s, "saves_s": saves_s}


def outcome(kind: str, confidence: float = 0.9) -> Record:
    """What became of a connection."""
    return {"kind": kind, "sentence": "It failed.", "confidence": confidence, "evidence": [], "remedy": "Look."}


def verdict(factor: str, saves_s: float, confidence: float = 0.9) -> Record:
    """The verdict of a connection."""
    return {
        "factor": factor,
        "saves_s": saves_s,
        "confidence": confidence,
        "sentence": f"It was {factor}.",
        "evidence": [{"text": "packets", "frames": [1], "display_filter": "frame.number in {1}"}],
        "what_if": [],
    }
