"""Figures on their way to a collector: by OpenTelemetry's protocol, or for Prometheus to fetch."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from vmtrace.analyze.reports.live.metrics import METRICS, Buckets, Kind, Labels, Metric, Series

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricsData
    from prometheus_client.metrics_core import Metric as Family

PUSH_EVERY_S = 10.0
MOST_WAITING = 360
"""Pushes that wait for a collector that is down: an hour of them."""
_TIMEOUT_S = 5.0


class Prometheus:
    """Serves the figures at `http://ADDRESS:PORT/metrics`. Raises `OSError` if the port is taken."""

    def __init__(self, address: str, port: int) -> None:
        from prometheus_client import CollectorRegistry, start_http_server

        self._series = Series()
        registry = CollectorRegistry()
        registry.register(self)
        self._server, self._thread = start_http_server(port, address, registry)
        self.port: int = self._server.server_port

    def give(self, series: Series) -> None:
        """The figures from now on."""
        self._series = deepcopy(series)

    def collect(self) -> "Iterator[Family]":
        """What prometheus-client asks for."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        series = self._series
        for metric in METRICS:
            name = f"{metric.name}{_PROMETHEUS_UNITS[metric.unit]}"
            family: Any
            if metric.kind is Kind.HISTOGRAM:
                family = HistogramMetricFamily(name, metric.meaning, labels=metric.labels)
                for labels, buckets in series.histograms[metric].items():
                    family.add_metric(labels, _cumulative(metric, buckets), buckets.sum)
            else:
                of_kind = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
                family = of_kind(name, metric.meaning, labels=metric.labels)
                for labels, value in series.values[metric].items():
                    family.add_metric(labels, value)
            yield family

    def close(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


_PROMETHEUS_UNITS = {"By": "", "s": "_seconds", "1": ""}


def _cumulative(metric: Metric, buckets: Buckets) -> list[tuple[str, float]]:
    below, found = 0, []
    for bound, count in zip([*map(str, metric.bounds), "+Inf"], buckets.counts, strict=True):
        below += count
        found.append((bound, float(below)))
    return found


class Otlp:
    """Pushes the figures to a collector every few seconds, in a thread of its own.

    While the collector is down, what it has not got waits, up to `MOST_WAITING` pushes; then the oldest are dropped.
    """

    def __init__(self, url: str, say: Callable[[str], None], every_s: float = PUSH_EVERY_S) -> None:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

        self._exporter = OTLPMetricExporter(endpoint=url, timeout=_TIMEOUT_S)
        self._url, self._say, self._every_s = url, say, every_s
        self._waiting: deque[MetricsData] = deque(maxlen=MOST_WAITING)
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._is_closed = self._is_down = False
        self._last_s = -every_s
        self.dropped = 0
        """Pushes that never came to the collector."""
        self._thread = threading.Thread(target=self._run, name="vmtrace-otlp", daemon=True)
        self._thread.start()

    def give(self, series: Series, *, now: bool = False) -> None:
        """The figures as they are; pushed if the last push is long enough ago, or `now`."""
        if not now and time.monotonic() - self._last_s < self._every_s:
            return
        self._last_s = time.monotonic()
        with self._lock:
            self.dropped += len(self._waiting) == MOST_WAITING
            self._waiting.append(_otlp(series))
        self._wake.set()

    def close(self) -> bool:
        """Try once more to push what waits; false if the collector did not get all."""
        self._is_closed = True
        self._wake.set()
        self._thread.join()
        self.dropped += len(self._waiting)
        if self.dropped:
            self._say(f"{self._url}: {self.dropped} of the pushes never came there")
        return not self.dropped

    def _run(self) -> None:
        is_last = False
        while not is_last:
            self._wake.wait(self._every_s)
            self._wake.clear()
            is_last = self._is_closed
            while self._waiting and self._push():
                pass

    def _push(self) -> bool:
        from opentelemetry.sdk.metrics.export import MetricExportResult

        with self._lock:
            data = self._waiting.popleft()
        came = self._exporter.export(data, timeout_millis=1000 * _TIMEOUT_S) is MetricExportResult.SUCCESS
        if not came:
            with self._lock:
                is_full = len(self._waiting) == MOST_WAITING
                self.dropped += is_full
                if not is_full:
                    self._waiting.appendleft(data)
        if came == self._is_down:
            self._is_down = not came
            what = "takes metrics again" if came else f"takes no metrics: up to {MOST_WAITING} pushes wait for it"
            self._say(f"{self._url}: {what}")
        return came


def _otlp(series: Series) -> "MetricsData":
    from opentelemetry.sdk.metrics.export import (
        AggregationTemporality,
        Gauge,
        Histogram,
        HistogramDataPoint,
        MetricsData,
        NumberDataPoint,
        ResourceMetrics,
        ScopeMetrics,
        Sum,
    )
    from opentelemetry.sdk.metrics.export import Metric as OtlpMetric
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    start_ns, now_ns = series.start_ns, series.now_ns
    cumulative = AggregationTemporality.CUMULATIVE

    def number(metric: Metric, labels: Labels, value: float) -> NumberDataPoint:
        return NumberDataPoint(dict(zip(metric.labels, labels, strict=True)), start_ns, now_ns, value)

    def histogram(metric: Metric, labels: Labels, buckets: Buckets) -> HistogramDataPoint:
        attributes = dict(zip(metric.labels, labels, strict=True))
        counts, bounds = list(buckets.counts), list(metric.bounds)
        least: Any = None  # the extremes are not kept, and optional in the protocol
        return HistogramDataPoint(
            attributes, start_ns, now_ns, buckets.count, buckets.sum, counts, bounds, least, least
        )

    found = []
    for metric in METRICS:
        data: Any
        if metric.kind is Kind.HISTOGRAM:
            points = [histogram(metric, *one) for one in series.histograms[metric].items()]
            data = Histogram(points, cumulative)
        else:
            numbers = [number(metric, *one) for one in series.values[metric].items()]
            data = Gauge(numbers) if metric.kind is Kind.GAUGE else Sum(numbers, cumulative, is_monotonic=True)
        found.append(OtlpMetric(metric.name.replace("_", ".", 1), metric.meaning, metric.unit, data))
    scope = ScopeMetrics(InstrumentationScope("vmtrace"), found, "")
    return MetricsData([ResourceMetrics(Resource.create({"service.name": "vmtrace"}), [scope], "")])
