"""Ready scenarios: a thin cut through the cross product an analyzer must handle, 2 to 6 seconds each.

Covers congestion control, loss, reordering, round-trip time, offload, TCP options, IP version, copies made by the path,
and each limit of a transfer (window, application, buffers, bottleneck, policer, blackout, setup).
"""

from __future__ import annotations

import zlib
from dataclasses import replace

from lab.capture_run import DEFAULT_SNAPLEN_BYTES, WHOLE_PACKETS_BYTES
from lab.description import Scenario
from lab.hosts import HostSettings, Topology
from lab.impairments import BurstLoss, Hold, Impairments, TokenBucket
from lab.transfer import Kind, Transfer

CUBIC, RENO, BBR = HostSettings("cubic"), HostSettings("reno"), HostSettings("bbr")
_DEEP_QUEUE_BYTES = 8_000_000  # holds whatever the receive window lets a sender put in flight here


def _path(
    rtt_ms: float, rate_bps: float = 40e6, queue_bytes: int = _DEEP_QUEUE_BYTES
) -> tuple[Impairments, Impairments]:
    one_way_s = rtt_ms / 2000
    return Impairments(delay_s=one_way_s, rate_bps=rate_bps, queue_bytes=queue_bytes), Impairments(delay_s=one_way_s)


def _scenario(
    name: str,
    story: str,
    transfer: Transfer,
    forward: Impairments,
    reverse: Impairments,
    host: HostSettings,
    *,
    topology: Topology = Topology.TUN,
    ip_version: int = 4,
    snaplen_bytes: int = DEFAULT_SNAPLEN_BYTES,
) -> Scenario:
    """Both hosts alike, and dice of its own: fixed by the name, so that adding a scenario rerolls no other."""
    return Scenario(
        name,
        story,
        transfer,
        forward,
        reverse,
        host,
        host,
        topology,
        ip_version,
        snaplen_bytes=snaplen_bytes,
        seed=zlib.crc32(name.encode()),
    )


def _clean() -> list[Scenario]:
    forward, reverse = _path(20)
    near, near_back = _path(1)
    far, far_back = _path(100)
    return [
        _scenario(
            "clean-cubic-rtt20",
            "no loss, bottleneck of 40 Mbit/s with a deep queue",
            Transfer(seconds=3),
            forward,
            reverse,
            CUBIC,
        ),
        _scenario("clean-reno-rtt1", "no loss, 1 ms", Transfer(seconds=2), near, near_back, RENO),
        _scenario("clean-bbr-rtt100", "no loss, 100 ms", Transfer(seconds=4), far, far_back, BBR),
    ]


def _lossy() -> list[Scenario]:
    def lossy(name: str, cc: str, rtt_ms: float, loss: float, seconds: float, ack_loss: float = 0.0) -> Scenario:
        forward, reverse = _path(rtt_ms)
        story = f"{loss:.1%} random loss, {ack_loss:.0%} of the ACKs lost, {cc}, {rtt_ms:g} ms"
        return _scenario(
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
    tail, back = _path(20, 30e6, 60_000)
    far_tail, far_back = _path(100, 20e6, 100_000)
    forward, reverse = _path(20)
    burst = replace(forward, burst_loss=BurstLoss(enter_bad=0.002, leave_bad=0.2))
    return [
        _scenario("taildrop-cubic-rtt20", "60 kB queue overflows at 30 Mbit/s", Transfer(seconds=4), tail, back, CUBIC),
        _scenario(
            "overshoot-reno-rtt100",
            "slow start overshoots a 100 kB queue",
            Transfer(seconds=5),
            far_tail,
            far_back,
            RENO,
        ),
        _scenario(
            "burstloss-cubic-rtt20",
            "Gilbert-Elliott loss, bursts of 5 packets",
            Transfer(seconds=5),
            burst,
            reverse,
            CUBIC,
        ),
    ]


def _disorder() -> list[Scenario]:
    forward, reverse = _path(40)
    near, near_back = _path(20)
    held = replace(forward, reorder=0.02, reorder_delay_s=0.008)
    jittery = replace(near, jitter_s=0.002, jitter_keeps_order=False)
    return [
        _scenario(
            "reorder2-cubic-rtt40", "2 % held back 8 ms, nothing lost", Transfer(seconds=4), held, reverse, CUBIC
        ),
        _scenario(
            "reorder2-loss1-bbr-rtt40",
            "2 % held back 8 ms and 1 % lost",
            Transfer(seconds=4, payload_bytes=12_000_000),
            replace(held, loss=0.01),
            reverse,
            BBR,
        ),
        _scenario(
            "jitter-cubic-rtt20", "up to 2 ms of jitter that reorders", Transfer(seconds=4), jittery, near_back, CUBIC
        ),
        _scenario(
            "duplicate2-cubic-rtt20",
            "the path copies 2 % of the packets",
            Transfer(seconds=3),
            replace(near, duplicate=0.02),
            replace(near_back, duplicate=0.02),
            CUBIC,
        ),
        _scenario(
            "duplicate-reorder-cubic-rtt40",
            "copies and disorder, nothing lost",
            Transfer(seconds=3),
            replace(held, duplicate=0.01),
            reverse,
            CUBIC,
        ),
        _scenario(
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
    forward, reverse = _path(20)
    near, near_back = _path(1, 80e6)
    tail, tail_back = _path(100, 30e6, 150_000)
    return [
        _scenario(
            "gso-clean-cubic-rtt1",
            "segmentation and receive offload, no loss",
            Transfer(seconds=2, payload_bytes=16_000_000),
            near,
            near_back,
            CUBIC,
            topology=Topology.OFFLOAD,
        ),
        _scenario(
            "gso-loss1-bbr-rtt20",
            "superpackets at the sender, 1 % loss",
            Transfer(seconds=4, payload_bytes=12_000_000),
            replace(forward, loss=0.01),
            reverse,
            BBR,
            topology=Topology.OFFLOAD,
        ),
        _scenario(
            "gso-loss1-cubic-rtt20",
            "superpackets at the sender, 1 % loss",
            Transfer(seconds=4),
            replace(forward, loss=0.01),
            reverse,
            CUBIC,
            topology=Topology.OFFLOAD,
        ),
        _scenario(
            "gso-taildrop-cubic-rtt100",
            "superpackets into a short queue",
            Transfer(seconds=5),
            tail,
            tail_back,
            CUBIC,
            topology=Topology.OFFLOAD,
        ),
        _scenario(
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


def _options() -> list[Scenario]:
    forward, reverse = _path(20)
    lossy = replace(forward, loss=0.01)
    held = replace(forward, reorder=0.02, reorder_delay_s=0.006)
    return [
        _scenario(
            "notimestamps-loss1-cubic-rtt20",
            "no timestamps, 1 % loss",
            Transfer(seconds=4),
            lossy,
            reverse,
            HostSettings("cubic", timestamps=False),
        ),
        _scenario(
            "notimestamps-reorder-loss-cubic-rtt20",
            "no timestamps, 2 % held back, 0.5 % lost",
            Transfer(seconds=4),
            replace(held, loss=0.005),
            reverse,
            HostSettings("cubic", timestamps=False),
        ),
        _scenario(
            "nosack-loss1-reno-rtt20",
            "no SACK, 1 % loss",
            Transfer(seconds=4),
            lossy,
            reverse,
            HostSettings("reno", sack=False),
        ),
        _scenario(
            "plain-loss1-cubic-rtt20",
            "neither timestamps nor SACK nor window scaling",
            Transfer(seconds=4),
            lossy,
            reverse,
            HostSettings("cubic", sack=False, timestamps=False, window_scaling=False),
        ),
        _scenario("ipv6-loss1-cubic-rtt20", "IPv6, 1 % loss", Transfer(seconds=4), lossy, reverse, CUBIC, ip_version=6),
        _scenario(
            "ipv6-notimestamps-reorder-loss-bbr-rtt20",
            "IPv6 without timestamps: no IP-ID, no TSval to lean on",
            Transfer(seconds=4),
            replace(held, loss=0.01),
            reverse,
            HostSettings("bbr", timestamps=False),
            ip_version=6,
        ),
    ]


def _limits() -> list[Scenario]:
    forward, reverse = _path(20)
    far, far_back = _path(100)
    bucket = replace(forward, rate_bps=0, token_bucket=TokenBucket(10e6, 100_000))
    shaped = replace(forward, rate_bps=60e6, token_bucket=TokenBucket(12e6, 4_000_000, 400_000))
    return [
        _scenario(
            "window-limited-cubic-rtt100",
            "64 kB receive buffer on a 100 ms path",
            Transfer(seconds=4, receive_buffer_bytes=32_768),
            far,
            far_back,
            CUBIC,
        ),
        _scenario(
            "zero-window-cubic-rtt20",
            "the reader sleeps twice: zero window and probes",
            Transfer(
                seconds=5,
                payload_bytes=3_000_000,
                receive_buffer_bytes=65_536,
                read_pauses=((500_000, 1.2), (1_500_000, 0.5)),
            ),
            forward,
            reverse,
            CUBIC,
        ),
        _scenario(
            "slow-reader-cubic-rtt20",
            "the reader takes 8 kB every 10 ms",
            Transfer(
                seconds=4, payload_bytes=2_500_000, receive_buffer_bytes=65_536, read_bytes=8192, read_interval_s=0.01
            ),
            forward,
            reverse,
            CUBIC,
        ),
        _scenario(
            "app-limited-cubic-rtt20",
            "the writer gives 12 kB every 50 ms",
            Transfer(seconds=4, write_bytes=12_000, write_interval_s=0.05),
            forward,
            reverse,
            CUBIC,
        ),
        _scenario(
            "sendbuffer-limited-cubic-rtt100",
            "64 kB send buffer on a 100 ms path",
            Transfer(seconds=4, send_buffer_bytes=32_768, write_bytes=1448),
            far,
            far_back,
            CUBIC,
        ),
        _scenario(
            "app-stall-cubic-rtt20",
            "the writer stops for 600 ms and for 300 ms",
            Transfer(seconds=4, receive_buffer_bytes=100_000, write_pauses=((1_000_000, 0.6), (2_000_000, 0.3))),
            forward,
            reverse,
            CUBIC,
        ),
        _scenario(
            "policer-cubic-rtt20",
            "10 Mbit/s policer, burst 100 kB, no queue",
            Transfer(seconds=4),
            bucket,
            reverse,
            CUBIC,
        ),
        _scenario(
            "shaper-cubic-rtt20",
            "60 Mbit/s until 4 MB of tokens are used, then 12 Mbit/s",
            Transfer(seconds=5, payload_bytes=12_000_000),
            shaped,
            reverse,
            CUBIC,
        ),
    ]


def _blackouts_and_setup() -> list[Scenario]:
    forward, reverse = _path(40)
    waits = tuple(Hold(start_s, 0.15) for start_s in (0.8, 1.6, 2.4))
    losses = (Hold(1.0, 0.6, drop=True), Hold(2.6, 0.3, drop=True))
    return [
        _scenario(
            "hold-cubic-rtt40",
            "the path holds everything 150 ms, three times",
            Transfer(seconds=3.5, receive_buffer_bytes=100_000),
            replace(forward, holds=waits),
            replace(reverse, holds=waits),
            CUBIC,
        ),
        _scenario(
            "blackout-cubic-rtt40",
            "the path loses everything for 600 ms and 300 ms: timeouts",
            Transfer(seconds=4.5),
            replace(forward, holds=losses),
            replace(reverse, holds=losses),
            CUBIC,
        ),
        _scenario(
            "tailloss-cubic-rtt40",
            "the last data segment and the first FIN lost",
            Transfer(payload_bytes=14_480),
            replace(forward, drop_packets=(11, 12)),
            reverse,
            CUBIC,
        ),
        _scenario(
            "synloss-cubic-rtt40",
            "first SYN and first SYN-ACK lost",
            Transfer(seconds=2, payload_bytes=1_000_000),
            replace(forward, drop_packets=(0,)),
            replace(reverse, drop_packets=(0,)),
            CUBIC,
        ),
    ]


def _conversations() -> list[Scenario]:
    forward, reverse = _path(20)
    far, far_back = _path(100)
    lossy = replace(forward, loss=0.01)
    asks = Transfer(Kind.EXCHANGE, seconds=4, exchanges=60, think_s=0.03, response_bytes=30_000)
    return [
        _scenario(
            "exchange-loss1-cubic-rtt20",
            "60 questions and answers, 1 % loss both ways",
            asks,
            lossy,
            replace(reverse, loss=0.01),
            CUBIC,
        ),
        _scenario(
            "tls12-exchange-rtt100",
            "TLS 1.2, ten questions and answers",
            replace(asks, tls="1.2", exchanges=10),
            far,
            far_back,
            CUBIC,
            snaplen_bytes=WHOLE_PACKETS_BYTES,
        ),
        _scenario(
            "tls13-upload-loss1-rtt20",
            "TLS 1.3 upload, 1 % loss",
            Transfer(seconds=4, payload_bytes=4_000_000, tls="1.3"),
            lossy,
            reverse,
            CUBIC,
            snaplen_bytes=WHOLE_PACKETS_BYTES,
        ),
        _scenario(
            "tls13-download-rtt20",
            "TLS 1.3, the receiver connects and fetches",
            Transfer(Kind.DOWNLOAD, seconds=3, payload_bytes=6_000_000, tls="1.3"),
            forward,
            reverse,
            CUBIC,
        ),
        _scenario(
            "parallel4-taildrop-cubic-rtt20",
            "four connections share a 60 kB queue",
            Transfer(seconds=4, payload_bytes=4_000_000, parallel=4),
            *_path(20, 30e6, 60_000),
            CUBIC,
        ),
        _scenario(
            "short-connections-loss3-rtt20",
            "80 connections of 20 kB in four lanes, 3 % loss both ways",
            Transfer(payload_bytes=20_000, parallel=4, rounds=20),
            replace(forward, loss=0.03),
            replace(reverse, loss=0.03),
            CUBIC,
        ),
    ]


def _all() -> list[Scenario]:
    return [
        *_clean(),
        *_lossy(),
        *_queues_and_bursts(),
        *_disorder(),
        *_offload(),
        *_options(),
        *_limits(),
        *_blackouts_and_setup(),
        *_conversations(),
    ]


SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in _all()}
