"""Scenarios of what can limit a transfer, of blackouts, and of conversations with and without TLS."""

from __future__ import annotations

from dataclasses import replace

from vmtrace.lab.capture_run import WHOLE_PACKETS_BYTES
from vmtrace.lab.description import Scenario
from vmtrace.lab.impairments import Hold, TokenBucket
from vmtrace.lab.ready_scenarios.parts import CUBIC, path, scenario
from vmtrace.lab.transfer import Kind, Transfer


def of_limits() -> list[Scenario]:
    """What can slow a transfer down besides single losses."""
    return [*_ends(), *_token_buckets(), *_blackouts_and_setup(), *_conversations()]


def _ends() -> list[Scenario]:
    """Windows, buffers and programs at either end."""
    forward, reverse = path(20)
    far, far_back = path(100)
    return [
        scenario(
            "window-limited-cubic-rtt100",
            "64 kB receive buffer on a 100 ms path",
            Transfer(seconds=4, receive_buffer_bytes=32_768),
            far,
            far_back,
            CUBIC,
        ),
        scenario(
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
        scenario(
            "slow-reader-cubic-rtt20",
            "the reader takes 8 kB every 10 ms",
            Transfer(
                seconds=4, payload_bytes=2_500_000, receive_buffer_bytes=65_536, read_bytes=8192, read_interval_s=0.01
            ),
            forward,
            reverse,
            CUBIC,
        ),
        scenario(
            "app-limited-cubic-rtt20",
            "the writer gives 12 kB every 50 ms",
            Transfer(seconds=4, write_bytes=12_000, write_interval_s=0.05),
            forward,
            reverse,
            CUBIC,
        ),
        scenario(
            "sendbuffer-limited-cubic-rtt100",
            "64 kB send buffer on a 100 ms path",
            Transfer(seconds=4, send_buffer_bytes=32_768, write_bytes=1448),
            far,
            far_back,
            CUBIC,
        ),
        scenario(
            "app-stall-cubic-rtt20",
            "the writer stops for 600 ms and for 300 ms",
            Transfer(seconds=4, receive_buffer_bytes=100_000, write_pauses=((1_000_000, 0.6), (2_000_000, 0.3))),
            forward,
            reverse,
            CUBIC,
        ),
    ]


def _token_buckets() -> list[Scenario]:
    """A policer and a shaper on the path."""
    forward, reverse = path(20)
    bucket = replace(forward, rate_bps=0, token_bucket=TokenBucket(10e6, 100_000))
    shaped = replace(forward, rate_bps=60e6, token_bucket=TokenBucket(12e6, 4_000_000, 400_000))
    return [
        scenario(
            "policer-cubic-rtt20",
            "10 Mbit/s policer, burst 100 kB, no queue",
            Transfer(seconds=4),
            bucket,
            reverse,
            CUBIC,
        ),
        scenario(
            "shaper-cubic-rtt20",
            "60 Mbit/s until 4 MB of tokens are used, then 12 Mbit/s",
            Transfer(seconds=5, payload_bytes=12_000_000),
            shaped,
            reverse,
            CUBIC,
        ),
    ]


def _blackouts_and_setup() -> list[Scenario]:
    forward, reverse = path(40)
    waits = tuple(Hold(start_s, 0.15) for start_s in (0.8, 1.6, 2.4))
    losses = (Hold(1.0, 0.6, drop=True), Hold(2.6, 0.3, drop=True))
    return [
        scenario(
            "hold-cubic-rtt40",
            "the path holds everything 150 ms, three times",
            Transfer(seconds=3.5, receive_buffer_bytes=100_000),
            replace(forward, holds=waits),
            replace(reverse, holds=waits),
            CUBIC,
        ),
        scenario(
            "blackout-cubic-rtt40",
            "the path loses everything for 600 ms and 300 ms: timeouts",
            Transfer(seconds=4.5),
            replace(forward, holds=losses),
            replace(reverse, holds=losses),
            CUBIC,
        ),
        scenario(
            "tailloss-cubic-rtt40",
            "the last data segment and the first FIN lost",
            Transfer(payload_bytes=14_480),
            replace(forward, drop_packets=(11, 12)),
            reverse,
            CUBIC,
        ),
        scenario(
            "synloss-cubic-rtt40",
            "first SYN and first SYN-ACK lost",
            Transfer(seconds=2, payload_bytes=1_000_000),
            replace(forward, drop_packets=(0,)),
            replace(reverse, drop_packets=(0,)),
            CUBIC,
        ),
    ]


def _conversations() -> list[Scenario]:
    forward, reverse = path(20)
    far, far_back = path(100)
    lossy = replace(forward, loss=0.01)
    asks = Transfer(Kind.EXCHANGE, seconds=4, exchanges=60, think_s=0.03, response_bytes=30_000)
    return [
        scenario(
            "exchange-loss1-cubic-rtt20",
            "60 questions and answers, 1 % loss both ways",
            asks,
            lossy,
            replace(reverse, loss=0.01),
            CUBIC,
        ),
        scenario(
            "tls12-exchange-rtt100",
            "TLS 1.2, ten questions and answers",
            replace(asks, tls="1.2", exchanges=10),
            far,
            far_back,
            CUBIC,
            snaplen_bytes=WHOLE_PACKETS_BYTES,
        ),
        scenario(
            "tls13-upload-loss1-rtt20",
            "TLS 1.3 upload, 1 % loss",
            Transfer(seconds=4, payload_bytes=4_000_000, tls="1.3"),
            lossy,
            reverse,
            CUBIC,
            snaplen_bytes=WHOLE_PACKETS_BYTES,
        ),
        scenario(
            "tls13-download-rtt20",
            "TLS 1.3, the receiver connects and fetches",
            Transfer(Kind.DOWNLOAD, seconds=3, payload_bytes=6_000_000, tls="1.3"),
            forward,
            reverse,
            CUBIC,
        ),
        scenario(
            "parallel4-taildrop-cubic-rtt20",
            "four connections share a 60 kB queue",
            Transfer(seconds=4, payload_bytes=4_000_000, parallel=4),
            *path(20, 30e6, 60_000),
            CUBIC,
        ),
        scenario(
            "short-connections-loss3-rtt20",
            "80 connections of 20 kB in four lanes, 3 % loss both ways",
            Transfer(payload_bytes=20_000, parallel=4, rounds=20),
            replace(forward, loss=0.03),
            replace(reverse, loss=0.03),
            CUBIC,
        ),
    ]
