"""Storage runs made in the open: values for what is computed from them, folders with captures for what reads them."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scapy.layers.dns import DNS, DNSQR, DNSRR
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap

from vmtrace.analyze.findings import overhead
from vmtrace.analyze.reports.storage.measured import Connection, Lookup, MeasuredRun, MeasuredTransaction
from vmtrace.analyze.reports.storage.records import Echo, Exchange, StorageRun, StoredObject, Transaction, Use

START_NS = 1_700_000_000_000_000_000
MS = 1_000_000
SERVICE = ("192.0.2.1", 443)


def client(port: int) -> tuple[str, int]:
    return "10.0.0.1", port


def use(port: int, *, opened: bool = False, peer: tuple[str, int] = SERVICE) -> Use:
    return Use(client(port), peer, 1, opened)


def exchange(start_ms: float, first_ms: float, end_ms: float, *uses: Use, **given: Any) -> Exchange:
    """Times in milliseconds since the run's start."""
    start, first, end = (START_NS + round(time * MS) for time in (start_ms, first_ms, end_ms))
    values: dict[str, Any] = {"requests": 1, "retries": 0, "retry_causes": (), "status": 200} | given
    front_end = uses[-1].peer if uses else None
    return Exchange(start_ns=start, end_ns=end, first_byte_ns=first, front_end=front_end, connections=uses, **values)


def stored(said: Exchange, size: int = 1000, number: int = 1, **given: Any) -> StoredObject:
    values: dict[str, Any] = {"moved_bytes": size, "outcome": "done", "error_kind": None} | given
    return StoredObject(transaction=1, number=number, bytes=size, exchange=said, **values)


def connection(port: int, start_ms: float, duration_ms: float = 100, **given: Any) -> Connection:
    """To the service; `parts` are those of its byte ledger, `carried` the bytes of payload, each once."""
    parts, carried = given.pop("parts", {}), given.pop("carried", None)
    values: dict[str, Any] = {
        "server": SERVICE, "opened": True, "syn_retransmissions": 0, "handshake_rtt_s": 0.010,
        "tls": True, "tls_resumed": False, "tls_handshake_s": 0.020, "tls_records_measured": True,
        "uploaded_bytes": 0, "downloaded_bytes": 0,
        "verdict_factor": None, "verdict_share": None, "verdict_confidence": None, "verdict_sentence": None,
    } | given  # fmt: skip
    sizes = tuple(parts.get(part, 0) for part in overhead.PARTS)
    carried = sum(sizes[-3:]) if carried is None else carried
    row = (*sizes, values["opened"], 0, "1.3", values["tls_resumed"], "192.0.2.1:443", carried, 0)
    return Connection(
        client=client(port), start_ns=START_NS + round(start_ms * MS), duration_s=duration_ms / 1e3, overhead_row=row,
        **values,
    )  # fmt: skip


def measured(
    objects: Sequence[StoredObject] = (),
    connections: Sequence[Connection] = (),
    lookups: Sequence[Lookup] = (),
    **given: Any,
) -> MeasuredTransaction:
    """A transaction; what is not given is of a download of 1 kB files."""
    packets, wire = given.pop("packets", 100), given.pop("wire_bytes", 10_000)
    ends = [one.exchange.end_ns for one in objects]
    values: dict[str, Any] = {
        "number": 1, "workload": "1kB", "repeat": 1, "direction": "download", "files": len(objects), "file_bytes": 1000,
        "bytes": sum(one.bytes for one in objects), "start_ns": START_NS, "end_ns": max(ends, default=START_NS),
        "status": "complete", "error_kind": None, "login": None, "moved_bytes": 0, "capture_file": None,
        "capture_dropped": 0, "capture_written": packets, "capture_wire_bytes": wire, "counters": None,
    } | given  # fmt: skip
    return MeasuredTransaction(
        Transaction(**values), tuple(objects), tuple(connections), (), 0, tuple(lookups), packets, wire
    )


def run_of(*transactions: MeasuredTransaction, **given: Any) -> MeasuredRun:
    values: dict[str, Any] = {
        "folder": Path("run"), "name": "run", "id": None, "status": "complete", "error": None, "provider": "s3",
        "region": None, "endpoint": None, "sdk": None, "plan": None, "scale": None, "start_ns": START_NS,
        "interface": "eth0", "front_ends": (), "front_end_names": {},
        "transactions": tuple(one.transaction for one in transactions),
        "objects": (), "echoes": (), "left_behind": 0, "currency": None,
        "cost": None, "charges": None, "problems": (),
    } | given  # fmt: skip
    return MeasuredRun(StorageRun(**values), transactions, ())


def echo(front_end: str, method: str, rtt_s: float | None) -> Echo:
    return Echo(front_end, method, rtt_s)


def talk(
    port: int,
    start_ms: float,
    requests: Iterable[tuple[int, int]],
    server: tuple[str, int] = SERVICE,
    *,
    farewell_bytes: int = 0,
) -> list[Packet]:
    """A connection without TLS: a handshake of 10 ms, each request and its answer (bytes of both) 20 ms apart, FINs
    with `farewell_bytes`."""
    here, there = client(port), server
    out = IP(src=here[0], dst=there[0]) / TCP(sport=here[1], dport=there[1], window=60000)
    back = IP(src=there[0], dst=here[0]) / TCP(sport=there[1], dport=here[1], window=60000)
    sent, received, at = 1, 1, start_ms
    packets: list[Packet] = []

    def send(packet: Packet, flags: str, time_ms: float, payload: int = 0) -> None:
        packet = packet.copy()
        outward = packet[IP].src == here[0]
        packet[TCP].flags = flags
        packet[TCP].seq, packet[TCP].ack = (sent, received) if outward else (received, sent)
        if flags == "S":
            packet[TCP].seq, packet[TCP].ack = 0, 0
        if flags == "SA":
            packet[TCP].seq = 0
        framed = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / packet / Raw(b"x" * payload)
        framed.time = START_NS // 10**9 + time_ms / 1e3
        packets.append(framed)

    send(out, "S", at)
    send(back, "SA", at + 10)
    send(out, "A", at + 10)
    at += 10
    for request, answer in requests:
        send(out, "PA", at, request)
        sent += request
        send(back, "PA", at + 10, answer)
        received += answer
        send(out, "A", at + 10)
        at += 20
    send(out, "FA", at, farewell_bytes)
    sent += 1 + farewell_bytes
    send(back, "FA", at + 10, farewell_bytes)
    received += 1 + farewell_bytes
    send(out, "A", at + 10)
    return packets


def lookup(start_ms: float, wait_ms: float, name: str = "s3.example") -> list[Packet]:
    question = IP(src="10.0.0.1", dst="10.0.0.53") / UDP(sport=40000, dport=53) / DNS(id=9, qd=[DNSQR(qname=name)])
    answers = [DNSRR(rrname=name, type="A", rdata=SERVICE[0])]
    answer = IP(src="10.0.0.53", dst="10.0.0.1") / UDP(sport=53, dport=40000)
    answer = answer / DNS(id=9, qr=1, qd=[DNSQR(qname=name)], an=answers)
    packets: list[Packet] = []
    for packet, time_ms in ((question, start_ms), (answer, start_ms + wait_ms)):
        framed = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / packet
        framed.time = START_NS // 10**9 + time_ms / 1e3
        packets.append(framed)
    return packets


class MadeRun:
    """A run folder being written, as docs/storage.md describes it."""

    def __init__(self, folder: Path, **given: Any) -> None:
        self.folder = folder
        (folder / "packets").mkdir(parents=True)
        record = {
            "schema": "vmtrace.storage_run/1", "name": folder.name, "status": "complete", "provider": "s3",
            "start_ns": START_NS, "interface": "eth0", "front_ends": ["192.0.2.1:443"], "left_behind": [],
            "plan": {"name": "made", "scale": 1.0}, "sdk": {"name": "boto3", "version": "1"},
        } | given  # fmt: skip
        (folder / "run.json").write_text(json.dumps(record))
        for name in ("transactions", "objects", "rtt"):
            (folder / f"{name}.jsonl").touch()

    def add(self, name: str, *records: dict[str, Any]) -> None:
        with (self.folder / f"{name}.jsonl").open("a") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)

    def capture(self, number: int, packets: Sequence[Packet]) -> None:
        wrpcap(str(self.folder / f"packets/{number:04}.pcap"), sorted(packets, key=lambda packet: packet.time))

    def transaction(self, number: int, objects: Sequence[dict[str, Any]], **given: Any) -> None:
        """A line with its objects; times of `objects` are exchanges as `said` makes them."""
        ends = [one["end_ns"] for one in objects]
        record = {
            "transaction": number, "workload": "2x1kB", "repeat": number, "direction": "download",
            "files": len(objects), "file_bytes": 1000, "bytes": 1000 * len(objects), "start_ns": START_NS,
            "end_ns": max(ends, default=START_NS), "status": "complete", "error_kind": None,
            "capture": {"file": f"packets/{number:04}.pcap", "dropped": 0},
        } | given  # fmt: skip
        self.add("transactions", record)
        for place, one in enumerate(objects, 1):
            shared = {"transaction": number, "object": place, "bytes": 1000, "moved_bytes": 1000, "outcome": "done"}
            self.add("objects", shared | one)


def said(start_ms: float, first_ms: float, end_ms: float, port: int, *, opened: bool, **given: Any) -> dict[str, Any]:
    """An exchange as the log has it, over one connection."""
    start, first, end = (START_NS + round(time * MS) for time in (start_ms, first_ms, end_ms))
    used = [{"local": f"10.0.0.1:{port}", "peer": "192.0.2.1:443", "requests": 1, "opened": opened}]
    values = {"requests": 1, "retries": 0, "retry_causes": {}, "status": 200, "front_end": "192.0.2.1:443"}
    return {"start_ns": start, "first_byte_ns": first, "end_ns": end, "connections": used, **values, **given}
