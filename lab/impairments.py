"""What a path does to packets: its settings, and the seeded decisions that follow from them.

Pure: no clock, no sockets. `DirectionState.admit` takes the instant and length of one packet and says its fate. The
emulator carries the decision out. A packet meets, in this order: blackout or hold, policer or shaper, loss, bottleneck
queue, delay with jitter, spikes and holding back. What a hold releases therefore leaves at the bottleneck's rate.

Every kind of decision has its own random stream and draws once per packet, so the n-th packet of a direction meets the
same dice whatever happened to the ones before it, and switching one impairment on does not reroll another.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import IntEnum

_NS = 1_000_000_000
_DROPS_KEPT, _RECENT_INTERVALS = 2, 16
"""CoDel goes on with nearly as many drops as it had, if it dropped lately (RFC 8289 section 5.4)."""


class Fate(IntEnum):
    """What became of one packet; the emulator's log and the truth use these words."""

    DELIVERED = 0
    LOST_RANDOM = 1
    LOST_BURST = 2
    LOST_QUEUE = 3
    LOST_POLICER = 4
    LOST_BLACKOUT = 5
    LOST_CHOSEN = 6
    CORRUPTED = 7
    HELD_BACK = 8
    DUPLICATE = 9
    UNDELIVERED = 10

    @property
    def lost(self) -> bool:
        """The packet never left the emulator."""
        return Fate.LOST_RANDOM <= self <= Fate.LOST_CHOSEN or self is Fate.UNDELIVERED


@dataclass(frozen=True, slots=True)
class BurstLoss:
    """Gilbert-Elliott loss: a good and a bad state, each with its own loss share (Elliott 1963)."""

    enter_bad: float
    leave_bad: float
    loss_bad: float = 1.0
    loss_good: float = 0.0


@dataclass(frozen=True, slots=True)
class Spikes:
    """Rare long delays: the share of packets that begin one, and the longest; lengths are spread evenly below it."""

    share: float
    longest_s: float


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """Rate and burst in IP bytes; what exceeds it waits in `queue_bytes` (shaper) or, with none, is lost (policer)."""

    rate_bps: float
    burst_bytes: int
    queue_bytes: int = 0


@dataclass(frozen=True, slots=True)
class CoDel:
    """A managed queue (RFC 8289): it drops, or marks, while packets have waited too long for an interval."""

    target_s: float = 0.005
    interval_s: float = 0.1
    marks: bool = False


@dataclass(frozen=True, slots=True)
class Hold:
    """A blackout from `start_s` after the first packet of the run: packets wait and leave in order, or are lost."""

    start_s: float
    duration_s: float
    drop: bool = False


@dataclass(frozen=True, slots=True)
class DelayStep:
    """From `start_s` after the first packet of the run on, the path's delay is another."""

    start_s: float
    delay_s: float


@dataclass(frozen=True, slots=True)
class Impairments:
    """One direction of a path. Shares are 0..1, rates count IP bytes, `drop_packets` are numbers in order of entry.

    A copy leaves up to `duplicate_delay_s` after its packet, spread evenly. `mark` is the share of packets that are
    marked as having met congestion (RFC 3168), if their sender lets them be.
    """

    delay_s: float = 0.0
    jitter_s: float = 0.0
    jitter_keeps_order: bool = True
    rate_bps: float = 0.0
    queue_bytes: int = 0
    loss: float = 0.0
    burst_loss: BurstLoss | None = None
    drop_packets: tuple[int, ...] = ()
    reorder: float = 0.0
    reorder_delay_s: float = 0.0
    duplicate: float = 0.0
    duplicate_delay_s: float = 0.0
    corrupt: float = 0.0
    mark: float = 0.0
    token_bucket: TokenBucket | None = None
    holds: tuple[Hold, ...] = ()
    spare_first: int = 0
    spikes: Spikes | None = None
    delay_steps: tuple[DelayStep, ...] = ()
    codel: CoDel | None = None


@dataclass(slots=True)
class Decision:
    """One packet's fate; `due_ns` is when it leaves (0 when lost), `copy_due_ns` when its copy does (0: there is none).

    `dice` is a random number for the corrupted bit, `marked` says that congestion is to be marked on it.
    """

    fate: Fate
    due_ns: int = 0
    copy_due_ns: int = 0
    dice: float = 0.0
    marked: bool = False


@dataclass(slots=True)
class DirectionState:
    """The moving parts of one direction: random streams, queue, bucket. Times are nanoseconds of one clock."""

    settings: Impairments
    seed: str
    start_ns: int = 0
    entered: int = 0
    _bad: bool = False
    _queue_free_ns: int = 0
    _last_due_ns: int = 0
    _tokens: float = 0.0
    _tokens_ns: int = 0
    _above_until_ns: int = 0
    _drops: int = 0
    _dropping: bool = False
    _next_drop_ns: int = 0
    _streams: dict[str, random.Random] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in (
            "loss",
            "burst",
            "jitter",
            "reorder",
            "duplicate",
            "copy",
            "corrupt",
            "bit",
            "mark",
            "spike",
            "spike length",
        ):
            self._streams[name] = random.Random(f"{self.seed}/{name}")
        if self.settings.token_bucket:
            self._tokens = float(self.settings.token_bucket.burst_bytes)

    def admit(self, now_ns: int, length_bytes: int) -> Decision:
        """Decide the fate of the packet of `length_bytes` that enters at `now_ns`."""
        settings = self.settings
        number = self.entered
        self.entered += 1
        chance = self._draw()
        leaves_ns = self._through_holds(now_ns)
        if leaves_ns < 0:
            return Decision(Fate.LOST_BLACKOUT)
        if settings.token_bucket:
            leaves_ns = self._through_bucket(settings.token_bucket, leaves_ns, length_bytes)
            if leaves_ns < 0:
                return Decision(Fate.LOST_POLICER)
        if number in settings.drop_packets:
            return Decision(Fate.LOST_CHOSEN)
        spared = number < settings.spare_first
        if not spared and chance.lost is not None:
            return Decision(chance.lost)
        if settings.rate_bps:
            is_due = settings.codel is not None and self._codel_is_due(settings.codel, leaves_ns)
            chance.marked |= is_due
            is_dropped = is_due and settings.codel is not None and not settings.codel.marks
            leaves_ns = -1 if is_dropped else self._through_queue(leaves_ns, length_bytes)
            if leaves_ns < 0:
                return Decision(Fate.LOST_QUEUE)
        fate, due_ns = self._delay(leaves_ns, chance, spared)
        copied = chance.duplicated and not spared
        copy_due_ns = due_ns + round(chance.copy_later * settings.duplicate_delay_s * _NS) if copied else 0
        return Decision(fate, due_ns, copy_due_ns, chance.bit, chance.marked and not spared)

    def _draw(self) -> _Chance:
        settings, streams = self.settings, self._streams
        chance = _Chance()
        if settings.loss and streams["loss"].random() < settings.loss:
            chance.lost = Fate.LOST_RANDOM
        if settings.burst_loss and self._burst_drops(settings.burst_loss) and chance.lost is None:
            chance.lost = Fate.LOST_BURST
        if settings.jitter_s:
            chance.jitter = streams["jitter"].random()
        if settings.spikes and streams["spike"].random() < settings.spikes.share:
            # The length is drawn from another stream: this one keeps to one number a packet.
            chance.spike_s = streams["spike length"].random() * settings.spikes.longest_s
        if settings.reorder:
            chance.held_back = streams["reorder"].random() < settings.reorder
        if settings.duplicate:
            chance.duplicated = streams["duplicate"].random() < settings.duplicate
            chance.copy_later = streams["copy"].random()
        if settings.corrupt:
            chance.corrupted = streams["corrupt"].random() < settings.corrupt
            chance.bit = streams["bit"].random()
        if settings.mark:
            chance.marked = streams["mark"].random() < settings.mark
        return chance

    def _burst_drops(self, model: BurstLoss) -> bool:
        stream = self._streams["burst"]
        if stream.random() < (model.leave_bad if self._bad else model.enter_bad):
            self._bad = not self._bad
        return stream.random() < (model.loss_bad if self._bad else model.loss_good)

    def _through_holds(self, now_ns: int) -> int:
        for hold in self.settings.holds:
            start_ns = self.start_ns + round(hold.start_s * _NS)
            end_ns = start_ns + round(hold.duration_s * _NS)
            if start_ns <= now_ns < end_ns:
                return -1 if hold.drop else end_ns
        return now_ns

    def _through_bucket(self, bucket: TokenBucket, now_ns: int, length_bytes: int) -> int:
        rate = bucket.rate_bps / 8 / _NS
        at_ns = max(now_ns, self._tokens_ns)
        tokens = min(float(bucket.burst_bytes), self._tokens + (at_ns - self._tokens_ns) * rate)
        leaves_ns = at_ns if tokens >= length_bytes else at_ns + round((length_bytes - tokens) / rate)
        if (leaves_ns - now_ns) * rate > bucket.queue_bytes:
            return -1
        self._tokens = max(0.0, tokens + (leaves_ns - at_ns) * rate - length_bytes)
        self._tokens_ns = leaves_ns
        return leaves_ns

    def _through_queue(self, now_ns: int, length_bytes: int) -> int:
        rate = self.settings.rate_bps / 8 / _NS
        free_ns = max(now_ns, self._queue_free_ns)
        if self.settings.queue_bytes and (free_ns - now_ns) * rate + length_bytes > self.settings.queue_bytes:
            return -1
        self._queue_free_ns = free_ns + round(length_bytes / rate)
        return self._queue_free_ns

    def _codel_is_due(self, codel: CoDel, now_ns: int) -> bool:
        """By the time that this packet would wait, which a modelled queue knows at once (RFC 8289 section 5)."""
        interval_ns = codel.interval_s * _NS
        if self._queue_free_ns - now_ns < codel.target_s * _NS:
            self._above_until_ns, self._dropping = 0, False
            return False
        if not self._above_until_ns:
            self._above_until_ns = now_ns + round(interval_ns)
        if not self._dropping:
            if now_ns < self._above_until_ns:
                return False
            is_recent = self._drops > _DROPS_KEPT and now_ns - self._next_drop_ns < _RECENT_INTERVALS * interval_ns
            self._dropping, self._drops = True, self._drops - _DROPS_KEPT if is_recent else 1
            self._next_drop_ns = now_ns + round(interval_ns / self._drops**0.5)
            return True
        if now_ns < self._next_drop_ns:
            return False
        self._drops += 1
        self._next_drop_ns += round(interval_ns / self._drops**0.5)
        return True

    def _delay(self, leaves_ns: int, chance: _Chance, spared: bool) -> tuple[Fate, int]:
        settings = self.settings
        delay_s = settings.delay_s
        for step in settings.delay_steps:
            if leaves_ns - self.start_ns >= step.start_s * _NS:
                delay_s = step.delay_s
        due_ns = leaves_ns + round((delay_s + chance.jitter * settings.jitter_s + chance.spike_s) * _NS)
        fate = Fate.CORRUPTED if chance.corrupted and not spared else Fate.DELIVERED
        if chance.held_back and not spared:
            return (Fate.HELD_BACK if fate is Fate.DELIVERED else fate), due_ns + round(settings.reorder_delay_s * _NS)
        if settings.jitter_keeps_order:
            due_ns = self._last_due_ns = max(due_ns, self._last_due_ns)
        return fate, due_ns


@dataclass(slots=True)
class _Chance:
    lost: Fate | None = None
    jitter: float = 0.0
    spike_s: float = 0.0
    held_back: bool = False
    duplicated: bool = False
    copy_later: float = 0.0
    corrupted: bool = False
    bit: float = 0.0
    marked: bool = False


def corrupted(packet: bytes, dice: float) -> bytes:
    """The packet with one bit flipped behind its IP and TCP headers, or in its last byte when it has no payload."""
    first = min(len(packet) - 1, 40 + 32 if packet[0] >> 4 == 4 else 60 + 32)
    bit = int(dice * (len(packet) - first) * 8)
    at = first + bit // 8
    return packet[:at] + bytes([packet[at] ^ (1 << (bit % 8))]) + packet[at + 1 :]


_ECN_BITS = 3
_CHECKSUM_AT = 10


def marked(packet: bytes) -> bytes:
    """The IP packet with congestion marked on it; as it is if its sender does not use that (RFC 3168 section 5)."""
    version = packet[0] >> 4
    # The two bits are the last of the second byte in IPv4, and the third and fourth of it in IPv6.
    shift = 0 if version == 4 else 4
    if packet[1] >> shift & _ECN_BITS == 0:
        return packet
    out = bytearray(packet)
    out[1] |= _ECN_BITS << shift
    if version == 4:
        # A one's complement sum changes by what a word of it changes (RFC 1624).
        checksum = int.from_bytes(packet[_CHECKSUM_AT : _CHECKSUM_AT + 2], "big")
        total = (checksum ^ 0xFFFF) + out[1] - packet[1]
        out[_CHECKSUM_AT : _CHECKSUM_AT + 2] = (((total & 0xFFFF) + (total >> 16)) ^ 0xFFFF).to_bytes(2, "big")
    return bytes(out)
