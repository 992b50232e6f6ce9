"""What was true of each transfer of a campaign: `pairs.jsonl` says which connections it had, the log the rest."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmtrace.lab import truth
from vmtrace.lab.campaign.connections import Connection
from vmtrace.lab.round_trips import clean_samples_s
from vmtrace.lab.stalls import Stall
from vmtrace.lab.timing import DelayErrors, Standstills, problems

_SLACK_NS = 30_000_000_000  # a connection is opened before, and closed after, the time that the sender notes
_WAYS = ("forward", "reverse")


@dataclass(slots=True)
class Transfer:
    """One transfer of a pair, as the sender tells of it, and what the log has of its connections so far."""

    sequence: int
    index: str
    kind: str
    start_ns: int
    end_ns: int
    ports: frozenset[tuple[int, int]]
    found: int = 0
    counts: dict[str, Counter[str]] = field(default_factory=lambda: {way: Counter() for way in _WAYS})
    samples_s: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in _WAYS})
    errors: DelayErrors = field(default_factory=DelayErrors)

    def add(self, connection: Connection) -> None:
        """Count a connection of this transfer."""
        self.found += 1
        flows = truth.flows(connection.packets)
        for way in _WAYS:
            self.counts[way].update(truth.totals(flows, way))
            self.samples_s[way] += clean_samples_s(connection.packets, way)
        for packet in connection.packets:
            self.errors.add(packet)


def read_pairs(path: Path) -> list[Transfer]:
    """The transfers of all finished pairs; a torn last line is left out, and so is a transfer without connections."""
    transfers = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            pair = json.loads(line)
        except ValueError:
            continue
        transfers += [_transfer(pair, kind, pair[kind]) for kind in ("probe", "data") if pair.get(kind)]
    return [each for each in transfers if each.ports]


def _transfer(pair: dict[str, Any], kind: str, facts: dict[str, Any]) -> Transfer:
    ports = frozenset((_port(each["local"]), _port(each["peer"])) for each in facts.get("connections") or ())
    return Transfer(pair["sequence"], pair["index"], kind, facts["start_ns"], facts["end_ns"], ports)


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


class Transfers:
    """Assigns connections to transfers; gives a transfer's truth when all its connections were seen."""

    def __init__(self, transfers: Iterable[Transfer], stalls: Sequence[Stall], standstills: Standstills) -> None:
        self._by_ports: dict[tuple[int, int], list[Transfer]] = {}
        self._stalls = stalls
        self._standstills = standstills
        self.unassigned = 0
        for transfer in transfers:
            for ports in transfer.ports:
                self._by_ports.setdefault(ports, []).append(transfer)

    def add(self, connection: Connection) -> dict[str, Any] | None:
        """Count a connection; the truth of its transfer when that is complete by it."""
        transfer = self._transfer_of(connection)
        if transfer is None:
            self.unassigned += 1
            return None
        transfer.add(connection)
        return self._record(transfer) if transfer.found == len(transfer.ports) else None

    def rest(self) -> Iterator[dict[str, Any]]:
        """Transfers of which the log lacks a connection."""
        every = {id(each): each for several in self._by_ports.values() for each in several}
        yield from (self._record(each) for each in every.values() if each.found < len(each.ports))

    def _transfer_of(self, connection: Connection) -> Transfer | None:
        for transfer in self._by_ports.get((connection.sender_port, connection.receiver_port), ()):
            if connection.start_ns < transfer.end_ns + _SLACK_NS and connection.end_ns > transfer.start_ns - _SLACK_NS:
                return transfer
        return None

    def _stalled_s(self, start_ns: int, end_ns: int) -> list[float]:
        """How long each stall that fell into this time took of it."""
        first = max(0, bisect_left(self._stalls, start_ns, key=lambda each: each.start_ns) - 1)
        last = bisect_left(self._stalls, end_ns, key=lambda each: each.start_ns)
        parts = (_overlap_s(each, start_ns, end_ns) for each in self._stalls[first:last])
        return [part for part in parts if part > 0]

    def _record(self, transfer: Transfer) -> dict[str, Any]:
        start_ns, end_ns = transfer.start_ns, transfer.end_ns
        stalled_s = self._stalled_s(start_ns, end_ns)
        standing = [each for each in self._standstills.merged() if each.start_ns < end_ns and each.end_ns > start_ns]
        wrong = problems(transfer.errors.summary(), standing, 0.0)
        if transfer.found != len(transfer.ports):
            wrong.append(f"the log has {transfer.found} of {len(transfer.ports)} connections")
        samples_s, transfer.samples_s = transfer.samples_s, {}
        return {
            "sequence": transfer.sequence,
            "index": transfer.index,
            "transfer": transfer.kind,
            "good": not wrong,
            "problems": wrong,
            "stalls": len(stalled_s),
            "stalled_s": round(sum(stalled_s), 6),
            "rtt": {way: truth.distribution(samples_s[way]) for way in _WAYS},
            **{way: dict(transfer.counts[way]) for way in _WAYS},
        }


def _overlap_s(stall: Stall, start_ns: int, end_ns: int) -> float:
    stall_end_ns = stall.start_ns + round(stall.duration_s * 1e9)
    return max(0, min(stall_end_ns, end_ns) - max(stall.start_ns, start_ns)) / 1e9
