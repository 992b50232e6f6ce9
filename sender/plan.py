"""What a campaign does: entries of pairs, each a probe and a data transfer. `plan_record` reads and writes them.

A plan knows which step has which number, so that going on with a run needs nothing but the number of its last pair.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from vmtrace.sender.wire.records import UPLOAD, directions_of
from vmtrace.sender.wire.socket_options import SocketOptions


@dataclass(frozen=True)
class TransferPlan:
    """One transfer: how much, which way, over what."""

    bytes: int
    """Of each direction, over all its streams."""
    direction: str = UPLOAD
    streams: int = 1
    tls: bool = False
    options: SocketOptions = field(default_factory=SocketOptions)

    @property
    def moved_bytes(self) -> int:
        """Payload of both directions together."""
        return self.bytes * len(directions_of(self.direction))

    def filling(self, time_s: float, goodput_bps: float, most_bytes: int) -> TransferPlan:
        """The same with what takes `time_s` at this goodput of all directions together, but no less than it has."""
        wanted = goodput_bps * time_s / 8 / len(directions_of(self.direction))
        return replace(self, bytes=round(max(self.bytes, min(wanted, most_bytes))))

    def scaled(self, factor: float) -> TransferPlan:
        """The same with another size, of at least one byte for each stream."""
        return replace(self, bytes=max(self.streams, round(self.bytes * factor)))


@dataclass(frozen=True)
class Entry:
    """A line of the plan: so many pairs of a probe and a data transfer, and the idle time after each pair."""

    index: str
    pairs: int
    probe: TransferPlan
    data: TransferPlan
    gap_s: float = 0.0

    @property
    def moved_bytes(self) -> int:
        """Payload of one pair."""
        return self.probe.moved_bytes + self.data.moved_bytes


@dataclass(frozen=True)
class Step:
    """One pair of a run: its number in the run, from 1, and where in the plan it stands."""

    sequence: int
    repeat: int
    pair: int
    entry: Entry


@dataclass(frozen=True)
class Plan:
    """A whole campaign. Either `repeat` says how many rounds, or `duration_s` for how long."""

    name: str
    entries: tuple[Entry, ...]
    scale: float = 1.0
    """Already applied to sizes and idle times; kept to be told."""
    repeat: int | None = 1
    duration_s: float | None = None
    fill: bool = False
    """With `duration_s`, which is then the time of all data transfers: each is sized by the goodput of the one before,
    to fill what is left."""
    seed: int | None = None
    ip_version: int | None = None
    bind_address: str | None = None
    bind_interface: str | None = None

    @property
    def pairs_per_round(self) -> int:
        """Pairs of all entries."""
        return sum(entry.pairs for entry in self.entries)

    @property
    def pairs_planned(self) -> int | None:
        """Pairs of the whole run; None for a run limited by time."""
        return None if self.repeat is None else self.repeat * self.pairs_per_round

    @property
    def round_bytes(self) -> int:
        """Payload of one round."""
        return sum(entry.pairs * entry.moved_bytes for entry in self.entries)

    @property
    def round_gap_s(self) -> float:
        """Idle time of one round."""
        return sum(entry.pairs * entry.gap_s for entry in self.entries)

    def step(self, sequence: int) -> Step | None:
        """The pair with this number, from 1; None behind the end."""
        rounds, within = divmod(sequence - 1, self.pairs_per_round)
        if self.repeat is not None and rounds >= self.repeat:
            return None
        for entry in self.entries:
            if within < entry.pairs:
                return Step(sequence, rounds + 1, within + 1, entry)
            within -= entry.pairs
        raise AssertionError("a number within a round is within one of its entries")

    def scaled(self, factor: float) -> Plan:
        """The same plan with sizes and idle times multiplied."""
        entries = tuple(
            replace(entry, probe=entry.probe.scaled(factor), data=entry.data.scaled(factor), gap_s=entry.gap_s * factor)
            for entry in self.entries
        )
        return replace(self, entries=entries, scale=self.scale * factor)

    def left(self, finished: int) -> tuple[int, float]:
        """Payload and idle time of the pairs behind the first `finished` ones, for a plan with a number of rounds."""
        if self.repeat is None:
            return 0, 0.0
        rounds, done = divmod(finished, self.pairs_per_round)
        left_rounds = self.repeat - rounds
        left_bytes, left_gap_s = left_rounds * self.round_bytes, left_rounds * self.round_gap_s
        for entry in self.entries:
            passed = min(done, entry.pairs)
            left_bytes -= passed * entry.moved_bytes
            left_gap_s -= passed * entry.gap_s
            done -= passed
        return left_bytes, max(0.0, left_gap_s)

    def shortest_s(self, rate_bps: float) -> float | None:
        """How long the run takes at least on a path of this rate; None for one limited by time."""
        if self.repeat is None:
            return None
        last_gap_s = self.entries[-1].gap_s
        return 8 * self.repeat * self.round_bytes / rate_bps + self.repeat * self.round_gap_s - last_gap_s
