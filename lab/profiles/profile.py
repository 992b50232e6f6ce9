"""What a profile is: a path between a sender and a receiver, both hosts, and how the sending host stalls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from vmtrace.lab.hosts import HostSettings
from vmtrace.lab.impairments import Impairments
from vmtrace.lab.shared_processor import SharedProcessor
from vmtrace.lab.stalls import Stalls


@dataclass(frozen=True, slots=True)
class Profile:
    """A path with a name. `forward` leads from the sender to the receiver; `why` gives the reason for the numbers."""

    name: str
    summary: str
    why: str
    forward: Impairments
    reverse: Impairments
    sender: HostSettings = field(default_factory=HostSettings)
    receiver: HostSettings = field(default_factory=HostSettings)
    stalls: Stalls | None = None
    shared: SharedProcessor | None = None
    """How the sending programs share their processor."""
    mtu: int = 1500

    @property
    def base_rtt_s(self) -> float:
        """Round trip of a small packet that meets no queue, no jitter and no stall."""
        return self.forward.delay_s + self.reverse.delay_s

    def numbers(self) -> list[str]:
        """The profile's numbers for people, both directions and the stalls, one line each."""
        ways = [("both ways", self.forward)] if self.forward == self.reverse else []
        ways = ways or [("to receiver", self.forward), ("to sender", self.reverse)]
        lines = [f"{name}: {', '.join(_words(settings)) or 'nothing'}" for name, settings in ways]
        if self.stalls:
            lines.append(f"stalls of the sending host: {_stall_words(self.stalls)}")
        if self.shared:
            lines.append(f"sending programs: {self.shared.words()}")
        return [f"round trip {_ms(self.base_rtt_s)}", *lines]


def _words(settings: Impairments) -> Iterator[str]:
    """Each impairment that is on."""
    if settings.delay_s:
        yield f"delay {_ms(settings.delay_s)}"
    if settings.jitter_s:
        order = "" if settings.jitter_keeps_order else ", may reorder"
        yield f"jitter up to {_ms(settings.jitter_s)}{order}"
    if settings.spikes:
        yield f"spikes up to {_ms(settings.spikes.longest_s)} at {settings.spikes.share:.2%} of packets"
    if settings.rate_bps:
        yield f"rate {settings.rate_bps / 1e6:g} Mbit/s"
    if settings.queue_bytes:
        yield f"queue {settings.queue_bytes / 1000:g} kB"
    if settings.token_bucket:
        bucket = settings.token_bucket
        kind = f"shaper with {bucket.queue_bytes / 1000:g} kB queue" if bucket.queue_bytes else "policer"
        yield f"token bucket {bucket.rate_bps / 1e6:g} Mbit/s after {bucket.burst_bytes / 1e6:g} MB ({kind})"
    yield from _fault_words(settings)


def _fault_words(settings: Impairments) -> Iterator[str]:
    late = f", up to {_ms(settings.duplicate_delay_s)} later" if settings.duplicate_delay_s else ""
    for share, name, more in (
        (settings.loss, "loss", ""),
        (settings.duplicate, "duplication", late),
        (settings.corrupt, "corruption", ""),
    ):
        if share:
            yield f"{name} {share * 100:.3g} %{more}"
    if settings.burst_loss:
        burst = settings.burst_loss
        length, apart = 1 / burst.leave_bad, 1 / burst.enter_bad
        yield f"bursts of {length:.3g} packets with {burst.loss_bad * 100:g} % loss, {apart:g} packets apart"
    if settings.reorder:
        yield f"reordering {settings.reorder * 100:.3g} % by {_ms(settings.reorder_delay_s)}"
    if settings.drop_packets:
        yield f"loss of {len(settings.drop_packets)} chosen packets"
    for hold in settings.holds:
        yield f"{'blackout' if hold.drop else 'hold'} of {_ms(hold.duration_s)} at {hold.start_s:g} s"


def _stall_words(stalls: Stalls) -> str:
    return (
        f"{_ms(stalls.shortest_s)} to {_ms(stalls.longest_s)}, after {_ms(stalls.shortest_run_s)} to"
        f" {_ms(stalls.longest_run_s)} of running ({stalls.share:.0%} of the time)"
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:g} ms"
