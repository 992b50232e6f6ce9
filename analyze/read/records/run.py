"""What a run folder says, as values: the plan, pairs, transfers and echoes of `docs/run-folder.md`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from vmtrace.analyze.read.records.fields import Count, Endpoint, FieldError, Fields, Positive

Role = Literal["probe", "data"]
Side = Literal["sender", "receiver"]
ROLES: tuple[Role, Role] = ("probe", "data")
SIDES: tuple[Side, Side] = ("sender", "receiver")

_Value = TypeVar("_Value")

# More than these in one record is no record of a run, and sums of them still fit into 64 bits.
_MOST_PAIRS = 10**7
_MOST_ECHOES = 10**9


@dataclass(frozen=True, slots=True)
class Connection:
    """One TCP connection of a transfer, as the sender sees it."""

    stream: int
    upload: bool
    local: Endpoint
    peer: Endpoint


@dataclass(frozen=True, slots=True)
class KernelTcp:
    """The last TCP_INFO of the side that sends the bytes, summed over streams."""

    retransmitted_segments: Count | None
    segments_out: Count | None
    min_rtt_s: Positive | None
    srtt_s: Positive | None
    congestion_control: str | None

    @property
    def retransmission_rate(self) -> float | None:
        """The share of segments that the kernel sent again; it counts SYN, FIN and probes, too."""
        if self.retransmitted_segments is None or not self.segments_out:
            return None
        return self.retransmitted_segments / self.segments_out


@dataclass(frozen=True, slots=True)
class SideCapture:
    """What one side says of its capture of a transfer."""

    file: str | None
    dropped: int | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Transfer:
    """A probe or data transfer that took place."""

    role: Role
    bytes: int
    direction: str
    streams: int
    start_ns: int
    duration_s: float
    goodput_bps: float
    connections: tuple[Connection, ...]
    kernel: KernelTcp | None
    captures: dict[Side, SideCapture]
    """Empty if no side captured."""

    @property
    def dropped(self) -> int | None:
        """Packets that a capture of this transfer lost, both sides together; None if nobody counted."""
        counts = [one.dropped for one in self.captures.values() if one.dropped is not None]
        return sum(counts) if counts else None


@dataclass(frozen=True, slots=True)
class Baseline:
    """Round trips just before a pair."""

    method: str | None
    sent: int
    lost: int
    min_s: Positive | None
    mean_s: Positive | None
    max_s: Positive | None


@dataclass(frozen=True, slots=True)
class Pair:
    """A pair that is over: `probe` and `data` are both there if it is complete."""

    sequence: int
    repeat: int | None
    index: str
    number: int | None
    start_ns: int | None
    complete: bool
    attempts: int | None
    error: str | None
    rtt: Baseline | None
    probe: Transfer | None
    data: Transfer | None

    def transfer(self, role: Role) -> Transfer | None:
        """The pair's probe or data transfer."""
        return self.probe if role == "probe" else self.data


@dataclass(frozen=True, slots=True)
class Echo:
    """One echo of the RTT baseline; `rtt_s` None if it did not come back."""

    time_ns: int | None
    method: str | None
    rtt_s: Positive | None
    pair: int | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the plan: what Table 1 of the study lists."""

    index: str
    pairs: int | None
    probe_bytes: int | None
    data_bytes: int | None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """`run.json`, as far as a report needs it."""

    id: str | None
    name: str | None
    """The data set's, as its maker called it."""
    status: str
    error: str | None
    start_ns: int | None
    end_ns: int | None
    plan: str | None
    scale: float | None
    repeat: int | None
    entries: tuple[Entry, ...]
    pairs_planned: Count | None
    pairs_finished: Count | None
    pairs_failed: Count | None
    hosts: dict[Side, str | None]
    clock_offset_s: float | None
    """By which the receiver's clock was ahead of the sender's at the start, as the control connection saw it."""
    receiver_half: str | None


@dataclass(frozen=True, slots=True)
class Run:
    """A run folder that was read."""

    folder: Path
    name: str
    """Its name in tables and legends: its own or the folder's, made different from that of other runs."""
    record: RunRecord
    pairs: tuple[Pair, ...]
    echoes: tuple[Echo, ...]
    failed_attempts: int
    problems: tuple[str, ...]
    """What could not be read, one line each."""

    @property
    def complete_pairs(self) -> list[Pair]:
        """The pairs that have both transfers, in order."""
        return [pair for pair in self.pairs if pair.complete]


def run_record(fields: Fields) -> RunRecord:
    """`run.json`."""
    schema = fields.text("schema") or ""
    if not schema.startswith("vmtrace.run/"):
        raise FieldError("run.json: it is not of a vmtrace run (its schema is not vmtrace.run/1)")
    if schema != "vmtrace.run/1":
        raise FieldError(f"run.json: {schema} is of a newer vmtrace: use that to read it")
    plan = fields.part("plan")
    half = fields.part("receiver_half")
    clock = fields.part("clock")
    sides = {side: fields.part(side) for side in SIDES}
    return fields.read(
        RunRecord,
        plan=plan.text("name") if plan else None,
        scale=plan.number("scale") if plan else None,
        repeat=plan.count("repeat", _MOST_PAIRS) if plan else None,
        entries=tuple(_entry(one) for one in plan.parts("entries")) if plan else (),
        hosts={side: part.text("host") if part else None for side, part in sides.items()},
        clock_offset_s=clock.number("offset_s") if clock else None,
        receiver_half=half.text("status") if half else None,
    )


def _entry(fields: Fields) -> Entry:
    sizes = {}
    for role in ROLES:
        part = fields.part(role)
        sizes[role] = part.count("bytes") if part else None
    return Entry(
        index=_needed(fields, "index", fields.text("index")),
        pairs=fields.count("pairs", _MOST_PAIRS),
        probe_bytes=sizes["probe"],
        data_bytes=sizes["data"],
    )


def pair_record(fields: Fields) -> Pair:
    """One line of `pairs.jsonl`. A line that says complete and lacks a transfer is refused."""
    complete = fields.text("status") == "complete"
    sequence = _needed(fields, "sequence", fields.integer("sequence"))
    if not 0 < sequence <= _MOST_PAIRS:
        raise fields.wrong("sequence", "a number of a pair")
    baseline = fields.part("rtt")
    transfers = {role: _transfer(fields.part(role), role) for role in ROLES}
    for role, transfer in transfers.items():
        if complete and transfer is None:
            raise fields.wrong(role, "there, though the pair is complete")
    return fields.read(
        Pair,
        sequence=sequence,
        index=_needed(fields, "index", fields.text("index")),
        number=fields.integer("pair"),
        complete=complete,
        rtt=_baseline(baseline) if baseline else None,
        **transfers,
    )


def _transfer(fields: Fields | None, role: Role) -> Transfer | None:
    if fields is None:
        return None
    capture, tcp = fields.part("capture"), fields.part("tcp")
    return Transfer(
        role=role,
        bytes=_needed(fields, "bytes", fields.count("bytes")),
        direction=fields.text("direction") or "upload",
        streams=fields.count("streams") or 1,
        start_ns=_needed(fields, "start_ns", fields.integer("start_ns")),
        duration_s=_needed(fields, "duration_s", fields.amount("duration_s")),
        goodput_bps=_needed(fields, "goodput_bps", fields.amount("goodput_bps")),
        connections=tuple(filter(None, map(_connection, fields.parts("connections")))),
        kernel=tcp.read(KernelTcp) if tcp else None,
        captures={side: found for side in SIDES if (found := _side_capture(capture, side))} if capture else {},
    )


def _connection(fields: Fields) -> Connection | None:
    local, peer = fields.endpoint("local"), fields.endpoint("peer")
    if local is None or peer is None:
        return None
    upload = fields.text("direction") != "download"
    return Connection(stream=fields.integer("stream") or 0, upload=upload, local=local, peer=peer)


def _side_capture(fields: Fields, side: Side) -> SideCapture | None:
    found = SideCapture(
        file=fields.text(f"{side}_file"), dropped=fields.count(f"{side}_dropped"), error=fields.text(f"{side}_error")
    )
    return None if found == SideCapture(None, None, None) else found


def _baseline(fields: Fields) -> Baseline:
    counts = {name: fields.count(name, _MOST_ECHOES) or 0 for name in ("sent", "lost")}
    return fields.read(Baseline, **counts)


def echo_record(fields: Fields) -> Echo:
    """One line of `ping.jsonl`."""
    return fields.read(Echo)


def _needed(fields: Fields, name: str, value: _Value | None) -> _Value:
    if value is None:
        raise fields.wrong(name, "there")
    return value
