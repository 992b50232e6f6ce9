"""What is said of a capture's frames: evidence of findings, retransmissions with their trigger, pauses with cause.

Every remark is a sentence or a figure of the analysis; docs/report.md, "Comments for Wireshark".
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from vmtrace.analyze.findings.lines import finding_line, nothing_line
from vmtrace.analyze.findings.vocabulary import KINDS
from vmtrace.analyze.words.units import printable, seconds

if TYPE_CHECKING:
    from vmtrace.analyze.trace import Trace

MOST_REMARKS = 100_000
"""On packets; Wireshark keeps them all in memory."""
_TRIGGERS = {
    "fast": "fast retransmission",
    "rto": "retransmission after a timeout",
    "tlp": "tail loss probe",
    "rack": "retransmission by RACK",
}


@dataclass(slots=True)
class Remarks:
    """See the module. Frames are numbered from 1, as in Wireshark."""

    file: str
    frames: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    names: dict[str, list[str]] = field(default_factory=dict)
    """Names of addresses, as lookups and TLS handshakes show them."""
    not_listed: int = 0
    """Remarks beyond `MOST_REMARKS`."""

    def add(self, frame: int, text: str) -> None:
        """Say something of a frame, once."""
        said = self.frames.get(frame)
        if said is not None and text in said:
            return
        if said is None and len(self.frames) >= MOST_REMARKS:
            self.not_listed += 1
            return
        self.frames[frame].append(text)


def remarks(trace: "Trace", connections: Sequence[int] = ()) -> Remarks:
    """All remarks on the one capture of a trace; with `connections`, those that concern one of them."""
    document = trace.json()
    findings = [one for one in trace.findings if not connections or set(one.connections) & set(connections)]
    records = [one for one in document["connections"] if not connections or one["id"] in connections]
    lines = [finding_line(one) for one in findings] or [nothing_line(document, len(records))]
    made = Remarks("\n".join(["vmtrace:", *lines]), names=_names(document, records))
    for number, one in enumerate(findings, 1):
        for piece in one.evidence:
            label = KINDS[one.kind].label if one.kind in KINDS else one.kind.replace("_", " ")
            for frame in piece["frames"]:
                made.add(frame, f"finding {number}, {label}: {printable(piece['text'])}")
    for record in records:
        for frame, text in _pauses(record):
            made.add(frame, text)
    for frame, text in _retransmissions(trace, records):
        made.add(frame, text)
    return made


def _pauses(record: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    for side in ("client_to_server", "server_to_client"):
        for one in (record[side].get("spacing") or {}).get("anomalies") or ():
            cause = one["cause"].replace("_", " ")
            if one["frames"]:
                yield one["frames"][-1], f"after a pause of {seconds(one['gap_s'])}: {cause}"


def _retransmissions(trace: "Trace", records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, str]]:
    sides = ("client_to_server", "server_to_client")
    lossy = [
        one["id"]
        for one in records
        if any((one[side].get("loss") or {}).get("retransmitted_segments") for side in sides)
    ]
    if not lossy:
        return
    found = trace.packets(lossy, columns=("frame", "kind", "trigger"))
    for frame, kind, trigger in zip(*(found.values(name) for name in ("frame", "kind", "trigger")), strict=True):
        if kind == "retransmission":
            yield frame, _TRIGGERS.get(trigger, "retransmission")


def _names(document: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    names: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for lookup in document.get("lookups") or ():
        for answer in lookup["answers"] or ():
            names[answer][lookup["name"]] = None
    for one in records:
        if name := one.get("server_name"):
            names[one["server"].rpartition(":")[0].strip("[]")][name] = None
    return {address: [*map(printable, found)] for address, found in names.items() if _is_address(address)}


def _is_address(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False
