"""The ready-made profiles. Each says where its numbers come from; rates stay within what the emulator can carry."""

from __future__ import annotations

from dataclasses import replace

from vmtrace.lab.hosts import HostSettings
from vmtrace.lab.impairments import BurstLoss, Impairments, Spikes, TokenBucket
from vmtrace.lab.profiles.profile import Profile
from vmtrace.lab.shared_processor import SharedProcessor
from vmtrace.lab.stalls import Stalls

_LAN_WAY = Impairments(delay_s=0.0002, rate_bps=100e6, queue_bytes=256_000)
_CLEAN_WAY = Impairments(delay_s=0.01, rate_bps=50e6, queue_bytes=250_000)
_40_MS_WAY = Impairments(delay_s=0.02, rate_bps=50e6, queue_bytes=500_000)
_EC2_WAY = Impairments(delay_s=0.1048, jitter_s=0.0034, spikes=Spikes(0.0002, 0.08), rate_bps=60e6, queue_bytes=750_000)
_PLANETLAB_WAY = Impairments(delay_s=0.011, rate_bps=100e6, queue_bytes=250_000)
_UNSCALED = HostSettings(window_scaling=False)
_SMALL_BUFFER = HostSettings(sysctls={"net.ipv4.tcp_wmem": "4096 16384 65536"})

_LAN = Profile(
    name="lan",
    summary="two hosts and a router on 100 Mbit/s Ethernet",
    why="The local environment of the EC2 study (section 4.2.2): two native hosts, one router, 100 Mbit/s. A queue of"
    " 170 packets, as a small switch has.",
    forward=_LAN_WAY,
    reverse=_LAN_WAY,
)

_CLEAN = Profile(
    name="clean",
    summary="50 Mbit/s and 20 ms without a fault",
    why="Nothing is lost but what the queue (two delay-bandwidth products) cannot hold: what a transfer costs when the"
    " path is in order.",
    forward=_CLEAN_WAY,
    reverse=_CLEAN_WAY,
)

_LOSSY = Profile(
    name="lossy",
    summary="50 Mbit/s and 40 ms, 1 % of packets lost at random towards the receiver",
    why="One fault alone: loss that no queue explains. Congestion control, not the rate, decides the throughput.",
    forward=replace(_40_MS_WAY, loss=0.01),
    reverse=_40_MS_WAY,
)

_BURSTY = Profile(
    name="bursty-loss",
    summary="50 Mbit/s and 40 ms, about 1 % lost in bursts",
    why="The same loss as in lossy, but bunched (Gilbert-Elliott: bursts of 8 packets on average, every 800): recovery"
    " by timeout instead of by selective acknowledgement.",
    forward=replace(_40_MS_WAY, burst_loss=BurstLoss(1 / 800, 1 / 8)),
    reverse=_40_MS_WAY,
)

_REORDERING = Profile(
    name="reordering",
    summary="50 Mbit/s and 40 ms, 1 % of packets 3 ms late, some doubled",
    why="What parallel links and retransmitting radio links do: retransmissions that were not needed, without loss.",
    forward=replace(_40_MS_WAY, reorder=0.01, reorder_delay_s=0.003, duplicate=0.001),
    reverse=_40_MS_WAY,
)

_EC2 = Profile(
    name="ec2-micro-to-campus",
    summary="a small instance in one continent, a campus in another: 213 ms, about 1 % loss",
    why="The EC2 study: ping min 209.6, mean 213, max 369.8 ms; so 104.8 ms each way, jitter with a mean of 1.7 ms each"
    " way, and spikes of up to 160 ms (half each way), rare enough not to move the mean. Table 2: loss of data between"
    " 0.4 and 1.7 %, mean 1.04 %, all the time and not in bursts. The study saw no stalls of the instance. The rate is"
    " far above the 100 to 250 kB/s it measured: loss and round trip alone bring those.",
    forward=replace(_EC2_WAY, loss=0.0104),
    reverse=_EC2_WAY,
)

_PLANETLAB = Profile(
    name="planetlab",
    summary="a stable 22 ms, and a sending VM that often does not get the processor",
    why="Figure 1 of the EC2 study: 393 kB/s although the round trip stays at 22 ms, because of gaps between packets"
    " while the sending VM waits for its turn. A window of 64 kB, as hosts had, stays far below the bottleneck"
    " bandwidth and its queue: nothing is lost and no queue lengthens the round trip. The stalls are chosen so that"
    " transfers of a megabyte come to some 400 kB/s.",
    forward=_PLANETLAB_WAY,
    reverse=_PLANETLAB_WAY,
    receiver=_UNSCALED,
    stalls=Stalls(shortest_run_s=0.03, longest_run_s=0.13, shortest_s=0.1, longest_s=0.7),
)

_STARVED = Profile(
    name="starved-container",
    summary="a stable 22 ms, and a sending program that shares its processor",
    why="What a container of a testbed is: its kernel goes on while its program waits for a processor. Neighbours"
    " compute all the time. A send buffer of 64 kB, as hosts had, is empty before the program has its turn.",
    forward=_PLANETLAB_WAY,
    reverse=_PLANETLAB_WAY,
    sender=_SMALL_BUFFER,
    shared=SharedProcessor(neighbours=4, weight=24),
)

_BUFFERBLOAT = Profile(
    name="bufferbloat",
    summary="10 Mbit/s behind a queue that holds a second of data",
    why="A home or office uplink with a far too large buffer: round trips grow from 20 ms to a second, nothing is lost"
    " until then.",
    forward=Impairments(delay_s=0.01, rate_bps=10e6, queue_bytes=1_250_000),
    reverse=Impairments(delay_s=0.01, rate_bps=50e6, queue_bytes=250_000),
)

_TOKEN_BUCKET = Profile(
    name="token-bucket",
    summary="100 Mbit/s for the first 2 MB, then 20 Mbit/s",
    why="The bandwidth allowance of a small cloud instance, with a bucket small enough that one transfer empties it"
    " (providers' buckets hold gigabytes): it fills again in 0.8 s. What exceeds it waits in a queue of 200 ms.",
    forward=Impairments(
        delay_s=0.01,
        rate_bps=100e6,
        queue_bytes=500_000,
        token_bucket=TokenBucket(rate_bps=20e6, burst_bytes=2_000_000, queue_bytes=500_000),
    ),
    reverse=Impairments(delay_s=0.01, rate_bps=100e6, queue_bytes=500_000),
)

_SATELLITE = Profile(
    name="satellite",
    summary="a geostationary link: 600 ms, 10 Mbit/s up, 20 Mbit/s down",
    why="Twice the way up and down takes 480 ms, media access and coding the rest. A queue of one delay-bandwidth"
    " product; short fades lose some 15 packets each.",
    forward=Impairments(
        delay_s=0.3, jitter_s=0.005, rate_bps=10e6, queue_bytes=750_000, burst_loss=BurstLoss(1 / 10_000, 1 / 15)
    ),
    reverse=Impairments(
        delay_s=0.3, jitter_s=0.005, rate_bps=20e6, queue_bytes=1_500_000, burst_loss=BurstLoss(1 / 10_000, 1 / 15)
    ),
)

READY = (
    _LAN, _CLEAN, _LOSSY, _BURSTY, _REORDERING, _EC2, _PLANETLAB, _STARVED, _BUFFERBLOAT, _TOKEN_BUCKET, _SATELLITE,
)  # fmt: skip
