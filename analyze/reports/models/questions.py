"""What may be asked of captures: from a file's name to records that are parts of the JSON document.

Frames are numbered as in Wireshark, and evidence has display filters: an answer can be checked there.
"""

from collections import OrderedDict
from collections.abc import Sequence
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from vmtrace.analyze.reports.models.folders import MOST_LISTED, Folders
from vmtrace.analyze.trace import Trace, TraceError, read

Record = dict[str, Any]

_KEPT = 4
"""Captures whose results stay in memory; the one that was asked about longest ago goes."""
_LISTED = 20
_MOST_PACKETS = 500
_PACKET_COLUMNS = (
    "frame", "time_ns", "from_client", "kind", "trigger", "sequence", "acknowledgement", "payload_bytes", "flags",
    "window_bytes", "flight_bytes", "rtt_s", "spacing_s",
)  # fmt: skip
_CONNECTION_COLUMNS = (
    "id", "client", "server", "server_name", "duration_s", "ledger_wire_bytes", "verdict_factor", "outcome_kind",
)  # fmt: skip
_INPUT_KEYS = ("path", "format", "packets", "first_ns", "duration_s", "problems")
_DOTS_PER_INCH = 100


class QuestionError(ValueError):
    """A question that has no answer; the message is one line that says what to do."""


class Questions:
    """Captures below some folders. Every answer is a record; no method writes anything."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._traces: OrderedDict[tuple[Path, int, int], Trace] = OrderedDict()

    def captures(self) -> Record:
        """The captures there are, with their sizes."""
        some = islice(self._folders.captures(), MOST_LISTED)
        found = [{"file": self._folders.shown(file), "bytes": file.stat().st_size} for file in some]
        return {"captures": found, "captures_count": len(found)}

    def summarize(self, file: str) -> Record:
        """What a capture holds and what was wrong in it: files, findings, protocols, the largest connections."""
        trace = self._trace(file)
        header = trace.header()
        rows = trace.largest(_LISTED)
        values = {name: trace.values(name) for name in _CONNECTION_COLUMNS}
        return {
            "file": file,
            "inputs": [{key: one.get(key) for key in _INPUT_KEYS if key in one} for one in header["inputs"]],
            "findings": [self._short(one.as_record()) for one in trace.findings[:_LISTED]],
            "findings_count": len(trace.findings),
            "connections_count": len(trace),
            "connections": [{name: of[row] for name, of in values.items()} for row in rows],
            "flows_count": len(header["flows"]),
            "lookup_totals": header["lookup_totals"],
            "protocols": header["protocols"],
        }

    def findings(self, file: str, first: int = 1) -> Record:
        """Findings from the so-manieth on, the costliest first, with evidence and what would help."""
        found = self._trace(file).findings
        return {"findings_count": len(found), "findings": [one.as_record() for one in found[max(first, 1) - 1 :]]}

    def connection(self, file: str, connection: int) -> Record:
        """All that was measured of one TCP connection."""
        return {"connection": self._record(self._trace(file), connection)}

    def flow(self, file: str, flow: int) -> Record:
        """All that was measured of one flow of datagrams."""
        flows = self._trace(file).header()["flows"]
        found = next((one for one in flows if one["id"] == flow), None)
        if found is None:
            raise QuestionError(f"no flow {flow}: the listed ones are {_range([one['id'] for one in flows])}")
        return {"flow": found}

    def packets(self, file: str, connection: int, first_frame: int = 1, kind: str = "", most: int = 50) -> Record:
        """Packets of a connection from a frame on, those of one kind if that is given."""
        trace = self._trace(file)
        self._check(trace, connection)
        table = trace.packets(connection, columns=_PACKET_COLUMNS)
        columns = {name: table.values(name) for name in _PACKET_COLUMNS}
        kinds = sorted({one for one in columns["kind"] if one is not None})
        if kind and kind not in kinds:
            raise QuestionError(f"no packet of the kind {kind}: there are {', '.join(kinds) or 'none of any'}")
        chosen = [
            row
            for row, frame in enumerate(columns["frame"])
            if frame >= first_frame and (not kind or columns["kind"][row] == kind)
        ]
        shown = chosen[: max(1, min(most, _MOST_PACKETS))]
        rows = [{name: of[row] for name, of in columns.items() if of[row] is not None} for row in shown]
        return {"packets_count": len(chosen), "packets": rows}

    def what_if(self, file: str, connection: int) -> Record:
        """Why one connection was slow, where its time went, and what each change would bring."""
        record = self._record(self._trace(file), connection)
        return {key: record[key] for key in ("id", "duration_s", "verdict", "account", "outcome")}

    def compare(self, sender: str, receiver: str) -> Record:
        """Two captures of the same transfers, one of each end: losses, delays and clocks between them."""
        from vmtrace.analyze.compare.comparison import NothingInCommonError, compare
        from vmtrace.analyze.compare.document import document

        try:
            return document(compare(self._trace(sender), self._trace(receiver)))
        except NothingInCommonError as error:
            raise QuestionError(str(error)) from None

    def plot(self, file: str, connection: int, chart: str = "time-sequence") -> bytes:
        """A chart of one connection as PNG."""
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        from vmtrace.analyze.charts.figures.axes import STYLE
        from vmtrace.analyze.charts.figures.kinds import KINDS, draw
        from vmtrace.analyze.charts.packet_series import of_connections

        if chart not in KINDS:
            raise QuestionError(f"no chart {chart}: there are {', '.join(KINDS)}")
        trace = self._trace(file)
        self._check(trace, connection)
        figure = draw(chart, next(iter(of_connections(trace, [connection]))))
        FigureCanvasAgg(figure)
        out = BytesIO()
        with mpl.rc_context(STYLE):
            figure.savefig(out, format="png", dpi=_DOTS_PER_INCH)
        return out.getvalue()

    def _trace(self, name: str) -> Trace:
        file = self._folders.file(name)
        now = file.stat()
        key = (file, now.st_mtime_ns, now.st_size)
        if key in self._traces:
            self._traces.move_to_end(key)
            return self._traces[key]
        try:
            trace = read(file)
        except (TraceError, OSError) as error:
            raise QuestionError(f"{self._folders.shown(file)} cannot be read: {_plain(error)}") from None
        self._traces[key] = trace
        while len(self._traces) > _KEPT:
            self._traces.popitem(last=False)
        return trace

    def _check(self, trace: Trace, connection: int) -> None:
        if not 1 <= connection <= len(trace):
            raise QuestionError(f"no connection {connection}: there are {_range(range(1, len(trace) + 1))}")

    def _record(self, trace: Trace, connection: int) -> Record:
        self._check(trace, connection)
        [record] = trace.records([connection])
        return record

    @staticmethod
    def _short(finding: Record) -> Record:
        return {
            key: finding[key] for key in ("kind", "sentence", "cost_s", "share", "owner", "confidence", "connections")
        }


def _range(numbers: Sequence[int]) -> str:
    return f"{min(numbers)} to {max(numbers)}" if numbers else "none"


def _plain(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).splitlines()[0] if str(error) else type(error).__name__
