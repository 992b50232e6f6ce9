"""More transfers of real programs: other programs, and limits that the kernel of the sender or of its router puts on.

As `program_transfers`: what must limit each follows from what program, kernel and path were told.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from vmtrace.lab.accuracy.kernel_limits import KernelLimit, Place, Queue
from vmtrace.lab.accuracy.program_clients import (
    ROW_BYTES,
    aria2,
    copy_in,
    copy_out,
    h2load,
    postgres,
    s3_server,
    s3_upload,
    sftp_of_few_requests,
)
from vmtrace.lab.accuracy.program_commands import Program, curl, iperf, iperf_server, nginx, nginx_tls, scp, sshd, wget
from vmtrace.lab.accuracy.program_transfers import (
    CONGESTION_CONTROLS,
    SECONDS,
    SHARED,
    Make,
    ProgramTransfer,
    crossed,
    dice_of,
    full,
    path_of,
    takes_slowly,
)

_BY_THE_PEER = ("application_window", "http2_window", "application")
_SHAPED = ("bottleneck_bandwidth", "token_bucket")
"""A queue of a small burst is a bottleneck like another; that it is made by a bucket is as right."""
_PARTS = (*SHARED, "slow_start", "loss_recovery")
"""Parts of one file are short: starting, and repairing what that made overflow, is a good part of each."""
_SSH_BLOCK_BYTES = 32_768
_FAST_BPS = 80e6
"""Of the path where the kernel limits."""


def draw(seed: int) -> list[ProgramTransfer]:
    """All of them, with what a seed draws for each."""
    return [crossed(make(dice_of(seed, name)), name, seed) for name, make in _kinds()]


def _kinds() -> Iterator[tuple[str, Make]]:
    yield from _programs()
    yield from _windows()
    yield from _kernels()


def _programs() -> Iterator[tuple[str, Make]]:
    yield "aria2", full(nginx(), aria2("-x1", "-s1"), "nginx, aria2c")
    parts = aria2("-x3", "-s3", "-k", "1M")
    yield "aria2-split", _times_as_large(3, full(nginx(), parts, "nginx, `aria2c -x3 -s3`", _PARTS))
    yield "h2load", full(nginx_tls(http2=True), h2load("-n", "1", "-c", "1"), "nginx with HTTP/2, h2load")
    several = h2load("-n", "4", "-c", "1", "-m", "4")
    streams = full(nginx_tls(http2=True), several, "`h2load -m 4`: four streams at once")
    yield "h2load-streams", _times_as_large(0.25, streams)
    uploaded = full(s3_server(), s3_upload(3), "boto3 to moto, 3 parts at once", _PARTS, uploads=True)
    yield "boto3-parts", _times_as_large(3, uploaded)
    yield "postgres-copy-out", _copying(copy_out, "PostgreSQL, `COPY ... TO STDOUT`", uploads=False)
    yield "postgres-copy-in", _copying(copy_in, "PostgreSQL, `COPY ... FROM STDIN`", uploads=True)


def _times_as_large(times: float, make: Make) -> Make:
    """One file that several connections share, or that one fetches several times."""

    def made(dice: random.Random) -> ProgramTransfer:
        transfer = make(dice)
        return replace(transfer, file_bytes=round(transfer.file_bytes * times))

    return made


def _copying(copy: Callable[[int], Program], told: str, *, uploads: bool) -> Make:
    def make(dice: random.Random) -> ProgramTransfer:
        plain = full(postgres(), copy(1), told, uploads=uploads)(dice)
        return replace(plain, client=copy(plain.file_bytes // ROW_BYTES), file_bytes=0)

    return make


def _windows() -> Iterator[tuple[str, Make]]:
    yield (
        "aria2-limit",
        takes_slowly(
            nginx(), aria2("-x1", "-s1", "--max-download-limit=400K"), "`aria2c --max-download-limit=400K`",
            "the client reads so much; what its kernel holds for it fills up", 4_000_000,
        ),
    )  # fmt: skip
    yield "h2-window", _small_h2_window
    yield "sftp-requests", _few_requests


def _small_h2_window(dice: random.Random) -> ProgramTransfer:
    rtt_s = dice.choice((0.03, 0.06, 0.1))
    return ProgramTransfer(
        "", "nginx with HTTP/2, `h2load -w 16 -W 16`: windows of 64 kB", _BY_THE_PEER,
        "64 kB a round trip, a third of what the path holds or less",
        nginx_tls(http2=True), h2load("-n", "1", "-c", "1", "-w", "16", "-W", "16"),
        path_of(rtt_s, max(60e6, 3 * 65_536 * 8 / rtt_s), 1_000_000), file_bytes=round(65_536 / rtt_s * SECONDS * 0.8),
        congestion_control=dice.choice(CONGESTION_CONTROLS),
    )  # fmt: skip


def _few_requests(dice: random.Random) -> ProgramTransfer:
    rtt_s, requests = dice.choice((0.04, 0.08, 0.12)), dice.choice((2, 3, 4))
    window_bytes = requests * _SSH_BLOCK_BYTES
    return ProgramTransfer(
        "", f"`sftp -R {requests}`: {requests} requests of 32 kB outstanding", _BY_THE_PEER,
        f"{window_bytes / 1e3:.0f} kB a round trip, a third of what the path holds or less",
        sshd(), sftp_of_few_requests(requests, _SSH_BLOCK_BYTES),
        path_of(rtt_s, max(60e6, 3 * window_bytes * 8 / rtt_s), 1_000_000),
        file_bytes=round(window_bytes / rtt_s * SECONDS), congestion_control=dice.choice(CONGESTION_CONTROLS),
    )  # fmt: skip


def _kernels() -> Iterator[tuple[str, Make]]:
    yield "tbf-router-nginx", _queued(nginx(), curl(), "nginx, curl", "router", "tbf")
    yield "tbf-router-iperf3", _queued(iperf_server(), iperf("-t", str(SECONDS)), "`iperf3`", "router", "tbf", True)
    yield "tbf-host-scp", _queued(sshd(), scp(), "scp", "host", "tbf", True)
    yield "htb-host-nginx", _queued(nginx(), curl(), "nginx, curl", "host", "htb")
    yield "htb-router-wget", _queued(nginx(), wget(), "nginx, wget", "router", "htb")
    yield "tbf-burst-nginx", _with_a_burst(nginx(), curl(), "nginx, curl", "tbf")
    yield "nft-limit-nginx", _with_a_burst(nginx(), curl(), "nginx, curl", "nft")
    yield "nft-limit-iperf3", _with_a_burst(iperf_server(), iperf("-t", str(SECONDS)), "`iperf3`", "nft", True)


def _queued(server: Program, client: Program, told: str, place: Place, queue: Queue, uploads: bool = False) -> Make:
    def make(dice: random.Random) -> ProgramTransfer:
        limit = KernelLimit(place, queue, dice.uniform(8e6, 25e6))
        # scp's login takes ten round trips, and ssh lets 2 MB be on its way.
        rtt_s = dice.choice((0.01, 0.02) if "scp" in client.needs else (0.01, 0.02, 0.05))
        return ProgramTransfer(
            "", told, _SHAPED, "a tenth to a third of the bottleneck bandwidth leaves that queue", server, client,
            path_of(rtt_s, _FAST_BPS, 1_000_000), uploads, round(limit.rate_bps / 8 * SECONDS),
            dice.choice(("cubic", "reno")), kernel_limit=limit,
        )  # fmt: skip

    return make


def _with_a_burst(server: Program, client: Program, told: str, queue: Queue, uploads: bool = False) -> Make:
    def make(dice: random.Random) -> ProgramTransfer:
        rate_bps = dice.uniform(8e6, 15e6)
        # What a shaper lets pass at the path's rate must last longer than slow start; a policer drops what is over it.
        burst_bytes = (
            _FAST_BPS / 8 * dice.uniform(0.6, 1.0) if queue == "tbf" else rate_bps / 8 * dice.uniform(0.15, 0.4)
        )
        limit = KernelLimit("router", queue, rate_bps, round(burst_bytes))
        return ProgramTransfer(
            "", told, ("token_bucket",), "its rate is a fifth of the path's or less, after a burst", server, client,
            path_of(dice.choice((0.01, 0.02, 0.04)), _FAST_BPS, 1_000_000), uploads,
            limit.burst_bytes + round(rate_bps / 8 * SECONDS),
            dice.choice(("cubic", "reno")), kernel_limit=limit,
        )  # fmt: skip

    return make
