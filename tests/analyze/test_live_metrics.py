"""Figures by service: what exporters give is what was measured, with bounded labels, and never falls.

Subjects: `analyze/reports/live/metrics.py`, `analyze/reports/live/exporters.py`.
"""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.sdk.metrics.export import MetricExportResult
from prometheus_client.parser import text_string_to_metric_families

from tests.analyze.talks import Talk
from tests.eventually import eventually
from vmtrace.analyze.reports.live import exporters
from vmtrace.analyze.reports.live.exporters import Otlp, Prometheus
from vmtrace.analyze.reports.live.metrics import METRICS, OTHER, Kind, Services
from vmtrace.analyze.trace import Trace, read

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
Found = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def many_servers(count: int) -> bytes:
    """One connection to each of so many ports of a server."""
    together = Talk()
    for number in range(count):
        talk = Talk(port=20_000 + number).open(0.01).client(0.02, 100).server(0.03, 500)
        for at_s, packet in talk.packets:
            ports = [int.from_bytes(packet[20:22], "big"), int.from_bytes(packet[22:24], "big")]
            changed = b"".join((10_000 + number if port == 80 else 40_000).to_bytes(2, "big") for port in ports)
            together.packets.append((at_s + number / 1000, packet[:20] + changed + packet[24:]))
    return together.capture()


def served(services: Services) -> Found:
    prometheus = Prometheus("127.0.0.1", 0)
    try:
        prometheus.give(services.series)
        with urllib.request.urlopen(f"http://127.0.0.1:{prometheus.port}/metrics", timeout=20) as page:
            text = page.read().decode()
    finally:
        prometheus.close()
    families = text_string_to_metric_families(text)
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for family in families for one in family.samples}


def summed(found: Found, name: str, **labels: str) -> float:
    return sum(value for (one, have), value in found.items() if one == name and labels.items() <= dict(have).items())


@contextmanager
def collector(status: int = 200, port: int = 0) -> Iterator[tuple[str, list[ExportMetricsServiceRequest]]]:
    got: list[ExportMetricsServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = ExportMetricsServiceRequest()
            request.ParseFromString(self.rfile.read(int(self.headers["Content-Length"])))
            got.append(request)
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/metrics", got
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def of_sample(name: str) -> tuple[Services, Trace]:
    services, trace = Services(100), read(SAMPLES / name)
    services.take(trace, is_end=True)
    return services, trace


@pytest.mark.parametrize("name", ["lossy-sender.pcap", "zero-window.pcap", "tls13.pcap", "short-connections.pcap.gz"])
def test_prometheus_gets_the_sums_of_the_document(name: str) -> None:
    services, trace = of_sample(name)
    found = served(services)
    connections = trace.json()["connections"]
    sides = [one[side] for one in connections for side in ("client_to_server", "server_to_client")]
    assert summed(found, "vmtrace_connections_total") == len(connections)
    assert summed(found, "vmtrace_wire_bytes_total") == sum(one["wire_bytes"] for one in sides)
    triggers = [number or 0 for one in sides for number in ((one.get("loss") or {}).get("by_trigger") or {}).values()]
    retransmitted = sum(triggers)
    assert summed(found, "vmtrace_retransmitted_segments_total") == retransmitted
    closed = sum((one.get("window") or {}).get("zero_windows") or 0 for one in sides)
    assert summed(found, "vmtrace_zero_windows_total") == closed
    accounts = [entry for one in connections for entry in one.get("account") or ()]
    assert summed(found, "vmtrace_time_seconds_total") == pytest.approx(sum(one["time_s"] for one in accounts))
    medians = [one["rtt"]["median_s"] for one in sides if (one.get("rtt") or {}).get("median_s") is not None]
    assert summed(found, "vmtrace_rtt_seconds_count") == len(medians)
    assert summed(found, "vmtrace_rtt_seconds_sum") == pytest.approx(sum(medians))
    for key in ("le", *METRICS[0].labels):
        assert key in {label for _, labels in found for label, _ in labels}


def test_a_collector_gets_the_same_as_prometheus() -> None:
    services, _ = of_sample("lossy-sender.pcap")
    said: list[str] = []
    with collector() as (url, got):
        otlp = Otlp(url, said.append)
        otlp.give(services.series)
        assert otlp.close()
    assert said == []
    [resource] = got[0].resource_metrics
    [scope] = resource.scope_metrics
    assert {one.name.replace(".", "_") for one in scope.metrics} == {one.name for one in METRICS}
    numbers = {one.name: sum(point.as_double for point in one.sum.data_points) for one in scope.metrics}
    found = served(services)
    assert numbers["vmtrace.wire_bytes"] == summed(found, "vmtrace_wire_bytes_total")
    assert numbers["vmtrace.time"] == pytest.approx(summed(found, "vmtrace_time_seconds_total"))
    [rtt] = [one for one in scope.metrics if one.name == "vmtrace.rtt"]
    assert sum(point.count for point in rtt.histogram.data_points) == summed(found, "vmtrace_rtt_seconds_count")
    assert not any(point.HasField("min") for point in rtt.histogram.data_points)


@pytest.mark.parametrize("most", [1, 100])
def test_servers_beyond_those_allowed_are_one(most: int) -> None:
    services, trace = Services(most), read(many_servers(10_000))
    services.take(trace)
    labels = {labels[:3] for metric in METRICS for labels in services.series.values[metric]}
    assert len(labels) == most + 1
    assert OTHER in labels
    found = served(services)
    assert summed(found, "vmtrace_connections_total", server="other") == 10_000 - most
    assert summed(found, "vmtrace_wire_bytes_total") == sum(trace.values("ledger_wire_bytes"))


def test_counters_never_fall_and_end_where_the_whole_capture_does() -> None:
    content = (SAMPLES / "lossy-sender.pcap").read_bytes()
    services, before = Services(10), Found()
    for part in (0.3, 0.5, 0.7, 0.9, 1.0):
        services.take(read(_cut(content, part)), is_end=part == 1.0)
        now = served(services)
        counters = {key: value for key, value in now.items() if not key[0].startswith("vmtrace_open")}
        assert all(counters[key] >= value for key, value in before.items())
        before = counters
    whole = served(of_sample("lossy-sender.pcap")[0])
    for name in ("vmtrace_wire_bytes_total", "vmtrace_connections_total", "vmtrace_retransmitted_segments_total"):
        assert summed(before, name) == summed(whole, name)


def _cut(content: bytes, part: float) -> bytes:
    """The file up to the record that lies there."""
    end = 24
    while end < part * len(content):
        end += 16 + int.from_bytes(content[end + 8 : end + 12], "little")
    return content[:end]


def test_a_collector_that_is_down_gets_later_what_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    services, _ = of_sample("tls13.pcap")
    said: list[str] = []
    with collector() as (url, _):
        pass  # nobody listens there now
    monkeypatch.setattr(exporters, "MOST_WAITING", 3)
    otlp = Otlp(url, said.append, every_s=0.0)
    assert isinstance(otlp, Otlp)
    monkeypatch.setattr(otlp._exporter, "export", lambda *_arguments, **_more: MetricExportResult.FAILURE)
    for _ in range(8):
        otlp.give(services.series, now=True)
    assert eventually(lambda: any("takes no metrics" in one for one in said))
    assert not otlp.close()
    assert otlp.dropped >= 8
    assert said[-1] == f"{url}: {otlp.dropped} of the pushes never came there"


def test_pushes_come_in_order_once_a_collector_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    services, _ = of_sample("tls13.pcap")
    said: list[str] = []
    monkeypatch.setattr(exporters, "_TIMEOUT_S", 1.0)
    with collector() as (url, _):
        pass  # nobody listens there now
    otlp = Otlp(url, said.append, every_s=0.1)
    for number in range(5):
        services.series.now_ns = number
        otlp.give(services.series, now=True)
    assert eventually(lambda: any("takes no metrics" in one for one in said), 60)
    with collector(port=int(url.split(":")[2].split("/")[0])) as (_, got):
        assert eventually(lambda: len(got) >= 5, 60)
        assert otlp.close()
    assert ("takes no metrics" in said[0], "takes metrics again" in said[-1]) == (True, True)
    times = [_time_of(one) for one in got]
    assert times == sorted(times)
    assert set(times) == set(range(5))


def _time_of(request: ExportMetricsServiceRequest) -> int:
    metrics = request.resource_metrics[0].scope_metrics[0].metrics
    return int(next(one.sum.data_points[0].time_unix_nano for one in metrics if len(one.sum.data_points)))


def test_the_dashboard_asks_for_figures_that_there_are() -> None:
    units = {"s": "_seconds", "By": "", "1": ""}
    known = set()
    for one in METRICS:
        name = f"{one.name}{units[one.unit]}"
        ends = {Kind.COUNTER: ("_total",), Kind.GAUGE: ("",), Kind.HISTOGRAM: ("_bucket", "_count", "_sum")}[one.kind]
        known |= {f"{name}{end}" for end in ends}
    dashboard = json.loads((ROOT / "docs/grafana.json").read_text())
    asked = {name for panel in dashboard["panels"] for one in panel["targets"] for name in _names(one["expr"])}
    asked |= set(_names(dashboard["templating"]["list"][1]["query"]))
    assert asked <= known
    shown = {one.name for one in METRICS if any(name.startswith(one.name) for name in asked)}
    assert shown == {one.name for one in METRICS}


def _names(expression: str) -> list[str]:
    return re.findall(r"vmtrace_[a-z_]+", expression)
