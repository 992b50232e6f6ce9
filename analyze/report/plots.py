"""The zoomable plots of one connection, as the data that plotly.js draws: five panels over one time axis.

Series are thinned (their extremes stay), so that the report's size does not grow with the capture.
"""

from typing import Any

import numpy as np

from analyze.packet_series import SENT_KINDS, ConnectionSeries, Series
from analyze.palette import LABELS, LEDGER, ROLES
from analyze.units import count, instant, printable, seconds, share, si

POINT_LIMIT = 4000

Plain = dict[str, Any]

PANELS = (
    {"title": "sequence number", "unit": "B"},
    {"title": "RTT", "unit": "s"},
    {"title": "packet spacing", "unit": "s", "log": True},
    {"title": "window and flight", "unit": "B"},
    {"title": "throughput", "unit": "bit/s"},
)
"""The panels from top to bottom; a trace names its panel by position."""

_SYMBOLS = {"retransmission": ("x-thin-open", 7), "reordered": ("triangle-up", 5), "duplicate": ("triangle-down", 5)}


def of_connection(series: ConnectionSeries) -> Plain:
    """Everything that the page shows of one connection."""
    return {
        "id": series.record["id"],
        "title": printable(series.title),
        "facts": facts(series),
        "ledger": ledger(series.record.get("ledger")),
        "highest": max((float(s.value.max()) for s in series.sent.values() if len(s)), default=0.0),
        "traces": [trace for trace in _traces(series) if trace["x"]],
    }


def facts(series: ConnectionSeries) -> list[list[str]]:
    """The telling numbers of the plotted direction, as text."""
    record, d = series.record, series.record[series.direction]
    tls = record.get("tls") or {}
    return [
        ["start", instant(record["start_ns"])],
        ["duration", seconds(record["duration_s"])],
        ["payload", si(d["unique_payload_bytes"], "B")],
        ["goodput", si(d["goodput_bps"], "bit/s")],
        ["handshake RTT", seconds(record["handshake"]["rtt_s"])],
        ["RTT min / median / p99", " / ".join(seconds(d["rtt"][k]) for k in ("min_s", "median_s", "p99_s"))],
        ["retransmitted segments", f"{count(d['loss']['retransmitted_segments'])} of {count(d['data_segments'])}"],
        ["loss rate", share(d["loss"]["loss_rate"])],
        ["limited by the window", share(d["window"]["limited_fraction"])],
        ["zero windows", count(d["window"]["zero_windows"])],
        ["oversize gaps", f"{count(d['spacing']['oversize'])}, {seconds(d['spacing']['oversize_time_s'])} together"],
        ["captured at", str(record["vantage"]["side"])],
        ["TLS", printable(" ".join(str(tls[k]) for k in ("version", "cipher", "sni") if tls.get(k))) or "none seen"],
        ["close", str(record["close"])],
    ]


def ledger(parts: Plain | None) -> list[Plain]:
    """The parts of all wire bytes, those that are there, in drawing order."""
    if not parts or not parts.get("wire_bytes"):
        return []
    return [
        {
            "name": name,
            "colour": colour,
            "text": f"{si(parts[key], 'B')}, {share(parts[key] / parts['wire_bytes'])}",
            "share": parts[key] / parts["wire_bytes"],
        }
        for key, (name, colour) in LEDGER.items()
        if parts.get(key)
    ]


def _traces(series: ConnectionSeries) -> list[Plain]:
    positive = series.spacing_s.value > 0
    spacing = Series(series.spacing_s.time_s[positive], series.spacing_s.value[positive])
    sent = [
        _points(0, series.sent[kind], LABELS[kind], ROLES[kind], *_SYMBOLS.get(kind, ("circle", 3)))
        for kind in SENT_KINDS
    ]
    return [
        *sent,
        _line(0, series.acknowledged, LABELS["acknowledged"], ROLES["acknowledged"]),
        _line(0, series.allowed, LABELS["allowed"], ROLES["allowed"]),
        _points(1, series.rtt_s, "RTT sample", ROLES["rtt"]),
        _points(2, spacing, "spacing", ROLES["spacing"]),
        _points(2, series.anomalies(), "oversize", ROLES["retransmission"], "circle-open", 9),
        _line(3, series.window_bytes, "receiver's window", ROLES["window"]),
        _line(3, series.flight_bytes, "in flight", ROLES["flight"]),
        _line(4, series.throughput_bps, f"throughput in bins of {seconds(series.bin_s)}", ROLES["throughput"], "hvh"),
    ]


def _points(panel: int, series: Series, name: str, colour: str, symbol: str = "circle", size: int = 3) -> Plain:
    marker: Plain = {"color": colour, "size": size, "symbol": symbol}
    if symbol.endswith("-open"):
        marker["line"] = {"width": 1.5, "color": colour}
    return _data(panel, series, name) | {"mode": "markers", "marker": marker}


def _line(panel: int, series: Series, name: str, colour: str, shape: str = "hv") -> Plain:
    return _data(panel, series, name) | {"mode": "lines", "line": {"color": colour, "width": 1.2, "shape": shape}}


def _data(panel: int, series: Series, name: str) -> Plain:
    drawn = series.thinned(POINT_LIMIT)
    return {
        "panel": panel,
        "name": name,
        "x": np.round(drawn.time_s, 7).tolist(),
        "y": [float(f"{value:.6g}") for value in drawn.value] if panel else drawn.value.astype(np.int64).tolist(),
    }
