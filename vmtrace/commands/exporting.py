"""Figures to collectors of metrics: what `vmtrace watch` and `vmtrace analyze` give to `--otlp` and `--prometheus`."""

import argparse
from urllib.parse import urlsplit

from vmtrace.analyze.reports.live.metrics import Services
from vmtrace.analyze.reports.live.stream import Snapshot
from vmtrace.analyze.trace import Trace
from vmtrace.errors import CommandError, UsageError, complain
from vmtrace.missing import require


class Exporting:
    """Takes what is measured, and gives the figures to whoever was named."""

    def __init__(self, otlp: str | None, prometheus: tuple[str, int] | None, services: int) -> None:
        from vmtrace.analyze.reports.live.exporters import Otlp, Prometheus

        self._services = Services(services)
        self._otlp = self._prometheus = None
        if prometheus is not None:
            require("prometheus_client")
            try:
                self._prometheus = Prometheus(*prometheus)
            except OSError as error:
                where = f"{prometheus[0]}:{prometheus[1]}"
                raise CommandError(f"--prometheus {where}: {error.strerror or error}") from None
        if otlp is not None:
            require("opentelemetry")
            self._otlp = Otlp(checked_url(otlp), complain)

    def show(self, snapshot: Snapshot) -> None:
        """The state of a stream."""
        self._export(snapshot.trace, snapshot.leaving)

    def end(self, trace: Trace) -> None:
        """The end of a stream, or a capture."""
        self._export(trace, is_end=True)

    def close(self) -> bool:
        """Push what waits; false if a collector did not get all."""
        if self._prometheus is not None:
            self._prometheus.close()
        return self._otlp is None or self._otlp.close()

    def _export(self, trace: Trace, leaving: frozenset[int] = frozenset(), *, is_end: bool = False) -> None:
        self._services.take(trace, leaving, is_end=is_end)
        if self._prometheus is not None:
            self._prometheus.give(self._services.series)
        if self._otlp is not None:
            self._otlp.give(self._services.series, now=is_end)


def checked_url(url: str) -> str:
    """The URL of a collector, with the path of its metrics where it has none."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"--otlp {url}: expected a URL, e.g. http://localhost:4318")
    return url if parts.path.strip("/") else f"{url.rstrip('/')}/v1/metrics"


def wanted(arguments: argparse.Namespace) -> Exporting | None:
    """As the options say; None if nobody is to be given figures."""
    prometheus = getattr(arguments, "prometheus", None)
    if arguments.otlp is None and prometheus is None:
        return None
    return Exporting(arguments.otlp, prometheus, arguments.services)
