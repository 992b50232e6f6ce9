"""Scenarios of loss, disorder and how packets look: offload, TCP options, IP version."""

from __future__ import annotations

from dataclasses import replace

from vmtrace.lab.capture_run import WHOLE_PACKETS_BYTES
from vmtrace.lab.description import Scenario
from vmtrace.lab.hosts import HostSettings, Topology
from vmtrace.lab.impairments import BurstLoss
from vmtrace.lab.ready_scenarios.parts import BBR, CUBIC, RENO, path, scenario
from vmtrace.lab.transfer import Transfer


def of_packets() -> list[Scenario]:
    """What can happen to packets."""
    return [*_clean(), *_lossy(), *_queues_and_bursts(), *_disorder(), *_offload(), *_segment_sizes(), *_options()]


def _clean() -> list[Scenario]:
    forward, reverse = path(20)
    near, near_back = path(1)
    far, far_back = path(100)
    return [
        scenario(
            "clean-cubic-rtt20",
            "no loss, bottleneck of 40 Mbit/s with a deep queue",
            Transfer(seconds=3),
            forward,
            reverse,
            CUBIC,
        ),
        scenario("clean-reno-rtt1", "no loss, 1 ms", Transfer(seconds=2), near, near_back, RENO),
        scenario("clean-bbr-rtt100", "no loss, 100 ms", Transfer(seconds=4), far, far_back, BBR),
    ]


def _lossy() -> list[Scenario]:
    def lossy(name: str, cc: str, rtt_ms: float, loss: float, seconds: float, ack_loss: float = 0.0) -> Scenario:
        forward, reverse = path(rtt_ms)
        story = f"{loss:.1%} random loss, {ack_loss:.0%} of the ACKs lost, {cc}, {rtt_ms:g} ms"
        return scenario(
            name,
            story,
            Transfer(seconds=seconds, payload_bytes=12_000_000),
            replace(forward, loss=loss),
            replace(reverse, loss=ack_loss),
            HostSettings(cc),
        )

    return [
        lossy("loss0.1-cubic-rtt20", "cubic", 20, 0.001, 4),
        lossy("loss1-cubic-rtt20", "cubic", 20, 0.01, 5),
        lossy("loss1-cubic-rtt1", "cubic", 1, 0.01, 3),
        lossy("loss1-reno-rtt1", "reno", 1, 0.01, 3),
        lossy("loss1-bbr-rtt100", "bbr", 100, 0.01, 5),
        lossy("loss8-cubic-ackloss10-rtt20", "cubic", 20, 0.08, 6, 0.10),
        lossy("loss8-bbr-rtt20", "bbr", 20, 0.08, 4),
        lossy("loss8-reno-rtt100", "reno", 100, 0.08, 6),
    ]


def _queues_and_bursts() -> list[Scenario]:
    tail, back = path(20, 30e6, 60_000)
    far_tail, far_back = path(100, 20e6, 100_000)
    forward, reverse = path(20)
    burst = replace(forward, burst_loss=BurstLoss(enter_bad=0.002, leave_bad=0.2))
    return [
        scenario("taildrop-cubic-rtt20", "60 kB queue overflows at 30 Mbit/s", Transfer(seconds=4), tail, back, CUBIC),
        scenario(
            "overshoot-reno-rtt100",
            "slow start overshoots a 100 kB queue",
            Transfer(seconds=5),
            far_tail,
            far_back,
            RENO,
        ),
        scenario(
            "burstloss-cubic-rtt20",
            "Gilbert-Elliott loss, bursts of 5 packets",
            Transfer(seconds=5),
            burst,
            reverse,
            CUBIC,
        ),
    ]


def _disorder() -> list[Scenario]:
    forward, reverse = path(40)
    near, near_back = path(20)
    held = replace(forward, reorder=0.02, reorder_delay_s=0.008)
    jittery = replace(near, jitter_s=0.002, jitter_keeps_order=False)
    return [
        scenario("reorder2-cubic-rtt40", "2 % held back 8 ms, nothing lost", Transfer(seconds=4), held, reverse, CUBIC),
        scenario(
            "reorder2-loss1-bbr-rtt40",
            "2 % held back 8 ms and 1 % lost",
            Transfer(seconds=4, payload_bytes=12_000_000),
            replace(held, loss=0.01),
            reverse,
            BBR,
        ),
        scenario(
            "jitter-cubic-rtt20", "up to 2 ms of jitter that reorders", Transfer(seconds=4), jittery, near_back, CUBIC
        ),
        scenario(
            "duplicate2-cubic-rtt20",
            "the path copies 2 % of the packets",
            Transfer(seconds=3),
            replace(near, duplicate=0.02),
            replace(near_back, duplicate=0.02),
            CUBIC,
        ),
        scenario(
            "duplicate-reorder-cubic-rtt40",
            "copies and disorder, nothing lost",
            Transfer(seconds=3),
            replace(held, duplicate=0.01),
            reverse,
            CUBIC,
        ),
        scenario(
            "late-copies-cubic-rtt40",
            "copies of 2 % come up to 30 ms later, nothing lost",
            Transfer(seconds=3),
            replace(forward, duplicate=0.02, duplicate_delay_s=0.03),
            replace(reverse, duplicate=0.02, duplicate_delay_s=0.03),
            CUBIC,
        ),
        scenario(
            "late-copies-loss1-reorder-ipv6-bbr-rtt40",
            "copies of 2 % come up to 30 ms later, 2 % held back 8 ms and 1 % lost, IPv6",
            Transfer(seconds=4),
            replace(held, duplicate=0.02, duplicate_delay_s=0.03, loss=0.01),
            replace(reverse, duplicate=0.02, duplicate_delay_s=0.03),
            BBR,
            ip_version=6,
        ),
        scenario(
            "corrupt1-cubic-rtt20",
            "1 % arrive with a flipped bit",
            Transfer(seconds=4, payload_bytes=8_000_000),
            replace(near, corrupt=0.01),
            near_back,
            CUBIC,
            snaplen_bytes=WHOLE_PACKETS_BYTES,
        ),
    ]


def _offload() -> list[Scenario]:
    forward, reverse = path(20)
    near, near_back = path(1, 80e6)
    tail, tail_back = path(100, 30e6, 150_000)
    return [
        scenario(
            "gso-clean-cubic-rtt1",
            "segmentation and receive offload, no loss",
            Transfer(seconds=2, payload_bytes=16_000_000),
            near,
            near_back,
            CUBIC,
            topology=Topology.OFFLOAD,
        ),
        scenario(
            "gso-loss1-bbr-rtt20",
            "superpackets at the sender, 1 % loss",
            Transfer(seconds=4, payload_bytes=12_000_000),
            replace(forward, loss=0.01),
            reverse,
            BBR,
            topology=Topology.OFFLOAD,
        ),
        scenario(
            "gso-loss1-cubic-rtt20",
            "superpackets at the sender, 1 % loss",
            Transfer(seconds=4),
            replace(forward, loss=0.01),
            reverse,
            CUBIC,
            topology=Topology.OFFLOAD,
        ),
        scenario(
            "gso-taildrop-cubic-rtt100",
            "superpackets into a short queue",
            Transfer(seconds=5),
            tail,
            tail_back,
            CUBIC,
            topology=Topology.OFFLOAD,
        ),
        scenario(
            "gso-copies-loss-cubic-rtt20",
            "the path copies 2 % up to 3 ms later, the receiver joins copies to what follows; 0.2 % lost",
            Transfer(seconds=4),
            replace(forward, duplicate=0.02, duplicate_delay_s=0.003, loss=0.002),
            reverse,
            CUBIC,
            topology=Topology.OFFLOAD,
        ),
        scenario(
            "gso-reorder-ipv6-rtt20",
            "superpackets, IPv6, 1 % held back 5 ms",
            Transfer(seconds=4),
            replace(forward, reorder=0.01, reorder_delay_s=0.005),
            reverse,
            CUBIC,
            topology=Topology.OFFLOAD,
            ip_version=6,
        ),
    ]


def _segment_sizes() -> list[Scenario]:
    forward, reverse = path(20)
    lossy = replace(forward, loss=0.01)
    probing = {"net.ipv4.tcp_mtu_probing": "2", "net.ipv4.tcp_base_mss": "1024"}
    return [
        scenario(
            "mtu-probing-gso-cubic-rtt20",
            "superpackets of segments that grow while the sender probes what the path takes",
            Transfer(seconds=4),
            forward,
            reverse,
            HostSettings("cubic", sysctls=probing),
            topology=Topology.OFFLOAD,
        ),
        scenario(
            "jumbo-offered-gso-loss1-cubic-rtt20",
            "both ends offer jumbo frames and send what the path takes, in superpackets, 1 % loss",
            Transfer(seconds=4),
            lossy,
            reverse,
            HostSettings("cubic", offered_segment_bytes=8960),
            topology=Topology.OFFLOAD,
        ),
        scenario(
            "tunnel-ipv6-loss1-bbr-rtt20",
            "segments are 80 bytes smaller than both ends offer, as through a tunnel, IPv6, 1 % loss",
            Transfer(seconds=4),
            lossy,
            reverse,
            HostSettings("bbr", offered_segment_bytes=1520),
            ip_version=6,
        ),
    ]


def _options() -> list[Scenario]:
    forward, reverse = path(20)
    lossy = replace(forward, loss=0.01)
    held = replace(forward, reorder=0.02, reorder_delay_s=0.006)
    return [
        scenario(
            "notimestamps-loss1-cubic-rtt20",
            "no timestamps, 1 % loss",
            Transfer(seconds=4),
            lossy,
            reverse,
            HostSettings("cubic", timestamps=False),
        ),
        scenario(
            "notimestamps-reorder-loss-cubic-rtt20",
            "no timestamps, 2 % held back, 0.5 % lost",
            Transfer(seconds=4),
            replace(held, loss=0.005),
            reverse,
            HostSettings("cubic", timestamps=False),
        ),
        scenario(
            "nosack-loss1-reno-rtt20",
            "no SACK, 1 % loss",
            Transfer(seconds=4),
            lossy,
            reverse,
            HostSettings("reno", sack=False),
        ),
        scenario(
            "plain-loss1-cubic-rtt20",
            "neither timestamps nor SACK nor window scaling",
            Transfer(seconds=4),
            lossy,
            reverse,
            HostSettings("cubic", sack=False, timestamps=False, window_scaling=False),
        ),
        scenario("ipv6-loss1-cubic-rtt20", "IPv6, 1 % loss", Transfer(seconds=4), lossy, reverse, CUBIC, ip_version=6),
        scenario(
            "ipv6-notimestamps-reorder-loss-bbr-rtt20",
            "IPv6 without timestamps: no IP-ID, no TSval to lean on",
            Transfer(seconds=4),
            replace(held, loss=0.01),
            reverse,
            HostSettings("bbr", timestamps=False),
            ip_version=6,
        ),
    ]
