"""Transfers of real programs of which it is known what limits them, from what the programs and the path were told.

Grouped by that limit: the path of a group lets nothing else be it. Rate, delay, queue and what should not matter
(congestion control, IP version, offload) are drawn from a seed, for each transfer by its own dice, so that one that is
run alone is the same as among all.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from vmtrace.lab.accuracy.kernel_limits import KernelLimit
from vmtrace.lab.accuracy.program_commands import (
    Program,
    curl,
    curl_upload,
    iperf,
    iperf_server,
    nginx,
    nginx_tls,
    python_http,
    rsync,
    rsync_daemon,
    rsync_over_ssh,
    scp,
    sftp_fetch,
    slow_server,
    ssh_pipe,
    sshd,
    wget,
)
from vmtrace.lab.impairments import Impairments, TokenBucket

SECONDS = 7
_IPERF_TIME = ("-t", str(SECONDS))
SMALL_WINDOW = {"net.ipv4.tcp_rmem": "4096 65536 65536"}
_WITH_IPV6, _WITHOUT_OFFLOAD = 0.3, 0.4
_APPLICATION, _WINDOW, _BOTTLENECK = ("application",), ("receiver_window",), ("bottleneck_bandwidth",)
_TURNS = ("application", "idle", "server_wait")
SHARED = ("bottleneck_bandwidth", "congestion_window")
"""Connections fill a path together: how much of it is whose their windows decide."""
_LOSSES = ("congestion_window", "loss_recovery")


@dataclass(frozen=True, slots=True)
class Path:
    """What data meets (`forward`) and what acknowledgements meet."""

    forward: Impairments
    reverse: Impairments


@dataclass(frozen=True, slots=True)
class ProgramTransfer:
    """A transfer: the programs at both ends, the path, and the factors that count as the right verdict.

    Data flows to the client, unless it `uploads`. `told` is what the programs were told, `why` why that is the limit.
    `sysctls` are of both hosts; the captures begin at `begins_at` of their time.
    """

    name: str
    told: str
    factors: tuple[str, ...]
    why: str
    server: Program
    client: Program
    path: Path
    uploads: bool = False
    file_bytes: int = 0
    congestion_control: str = "cubic"
    ip_version: int = 4
    offload: bool = True
    receiver_sysctls: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    kernel_limit: KernelLimit | None = None
    sysctls: Mapping[str, str] = field(default_factory=dict)
    begins_at: float = 0.0

    @property
    def setting(self) -> str:
        """Path and hosts in words."""
        way = self.path.forward
        words = [f"{way.rate_bps / 1e6:.0f} Mbit/s"] if way.rate_bps else []
        words += [f"RTT {(way.delay_s + self.path.reverse.delay_s) * 1e3:.0f} ms"]
        words += [f"queue {way.queue_bytes / 1e3:.0f} kB"] if way.rate_bps else []
        words += [f"{way.loss:.1%} lost"] if way.loss else []
        words += [_bucket_words(way.token_bucket)] if way.token_bucket else []
        words += [self.kernel_limit.words] if self.kernel_limit else []
        words += [self.congestion_control]
        words += ["IPv6"] if self.ip_version == 6 else []
        words += [] if self.offload else ["no offload"]
        return ", ".join(words)


def _bucket_words(bucket: TokenBucket) -> str:
    kind = "shaper" if bucket.queue_bytes else "policer"
    return f"{kind} {bucket.rate_bps / 1e6:.1f} Mbit/s after {bucket.burst_bytes / 1e3:.0f} kB"


def draw(seed: int) -> list[ProgramTransfer]:
    """All transfers, with what a seed draws for each."""
    return [crossed(make(dice_of(seed, name)), name, seed) for name, make in _kinds()]


def dice_of(seed: int, name: str) -> random.Random:
    """A transfer's own dice."""
    return random.Random(f"{seed}/{name}")


def crossed(transfer: ProgramTransfer, name: str, seed: int) -> ProgramTransfer:
    """With its name, and with what should not matter."""
    dice = dice_of(seed, f"{name}/crossed")
    return replace(
        transfer,
        name=name,
        ip_version=6 if dice.random() < _WITH_IPV6 else 4,
        offload=dice.random() >= _WITHOUT_OFFLOAD,
        seed=dice.randrange(1 << 31),
    )


Make = Callable[[random.Random], ProgramTransfer]
"""A transfer, with all that is drawn for it."""
CONGESTION_CONTROLS = ("cubic", "reno", "bbr")


def _kinds() -> Iterator[tuple[str, Make]]:
    yield from _full_paths()
    yield from _applications()
    yield from _windows()
    yield from _lossy()
    yield from _others()


def path_of(rtt_s: float, rate_bps: float, queue_bytes: float, loss: float = 0.0) -> Path:
    """Data meets rate, queue and loss, and half of the round trip either way."""
    back = Impairments(delay_s=rtt_s / 2)
    return Path(replace(back, rate_bps=rate_bps, queue_bytes=round(queue_bytes), loss=loss), back)


# --- the path is full: a long transfer, and a queue with which every congestion control here fills it ---


def _full_paths() -> Iterator[tuple[str, Make]]:
    yield "iperf3", full(iperf_server(), iperf(*_IPERF_TIME), "`iperf3`", uploads=True)
    yield "iperf3-reverse", full(iperf_server(), iperf(*_IPERF_TIME, "-R"), "`iperf3 -R`")
    yield (
        "iperf3-parallel",
        full(iperf_server(), iperf(*_IPERF_TIME, "-P", "3"), "`iperf3 -P 3`", SHARED, uploads=True),
    )
    yield "nginx-curl", full(nginx(), curl(), "nginx, curl")
    yield "nginx-read-curl", full(nginx(sendfile=False), curl(), "nginx with `sendfile off`, curl")
    yield "nginx-tls-curl", full(nginx_tls(), curl("--http1.1", tls=True), "nginx with TLS, `curl -k`")
    yield "nginx-http2-curl", full(nginx_tls(http2=True), curl("--http2", tls=True), "nginx with HTTP/2, `curl -k`")
    yield (
        "nginx-curl-parallel",
        full(
            nginx(),
            curl("--parallel", "--parallel-immediate", path="file.bin?[1-3]"),
            "`curl --parallel` of 3",
            SHARED,
        ),
    )
    yield "http.server-wget", full(python_http(), wget(), "Python's `http.server`, wget")
    yield "curl-upload", full(slow_server(), curl_upload(), "`curl -T` to a Python server", uploads=True)
    yield "rsync", full(rsync_daemon(), rsync(), "rsync from its daemon")
    yield "rsync-ssh", full(sshd(), rsync_over_ssh(), "`rsync -e ssh`", uploads=True)
    yield "scp", full(sshd(), scp(), "scp", uploads=True)
    yield "sftp", full(sshd(), sftp_fetch(), "sftp")
    yield "ssh-pipe", full(sshd(), ssh_pipe(), "`ssh host 'cat > file' < file`", uploads=True)


def full(
    server: Program, client: Program, told: str, factors: tuple[str, ...] = _BOTTLENECK, *, uploads: bool = False
) -> Make:
    """Fills the path: nothing else holds it back."""
    # What ssh lets be on its way (2 MB) is more than path and queue hold only where the round trip is short.
    by_ssh = any("ssh" in need or need in {"scp", "sftp"} for need in (*server.needs, *client.needs))
    round_trips_s = (0.005, 0.02, 0.04) if by_ssh else (0.005, 0.02, 0.04, 0.08, 0.12)
    connections = 3 if set(SHARED) <= set(factors) else 1

    def make(dice: random.Random) -> ProgramTransfer:
        rtt_s, rate_bps = dice.choice(round_trips_s), dice.uniform(15e6, 50e6)
        queue_bytes = max(dice.choice((0.8, 1.5, 4.0)) * rate_bps / 8 * rtt_s, 40_000)
        return ProgramTransfer(
            "", told, factors, "a long transfer, and nothing else that holds it back", server, client,
            path_of(rtt_s, rate_bps, queue_bytes), uploads, round(rate_bps / 8 * SECONDS / connections),
            dice.choice(CONGESTION_CONTROLS),
        )  # fmt: skip

    return make


# --- the application gives too little: told to, or it waits for something ---


def _applications() -> Iterator[tuple[str, Make]]:
    yield "iperf3-rate", _gives_little(iperf_server(), iperf(*_IPERF_TIME, "-b", "5M"), "`iperf3 -b 5M`", uploads=True)
    small = ("-b", "2M", "-l", "1K")
    yield (
        "iperf3-small-writes",
        _gives_little(iperf_server(), iperf(*_IPERF_TIME, *small), "`iperf3 -b 2M -l 1K`", uploads=True),
    )
    limit = "limit_rate 500k;"
    yield "nginx-limit", _gives_little(nginx(limit), curl(), "nginx with `limit_rate 500k`, curl", 3_000_000)
    yield (
        "nginx-tls-limit",
        _gives_little(
            nginx_tls(limit), curl("--http1.1", tls=True), "nginx with TLS and `limit_rate 500k`, `curl -k`", 3_000_000
        ),
    )
    yield "rsync-limit", _gives_little(rsync_daemon(), rsync("--bwlimit=600"), "`rsync --bwlimit=600`", 4_000_000)
    yield (
        "rsync-ssh-limit",
        _gives_little(sshd(), rsync_over_ssh("--bwlimit=600"), "`rsync -e ssh --bwlimit=600`", 4_000_000, uploads=True),
    )
    yield "scp-limit", _gives_little(sshd(), scp("-l", "4000"), "`scp -l 4000`", 3_000_000, uploads=True)
    slow = slow_server("--answer-bytes", "4000000", "--piece-bytes", "65536", "--interval", "0.1")
    yield "slow-disk-wget", _gives_little(slow, wget(), "a server that reads 64 kB every 100 ms, wget")
    tiny = slow_server("--answer-bytes", "600000", "--piece-bytes", "2000", "--interval", "0.02")
    yield "slow-generator-curl", _gives_little(tiny, curl(), "a server that writes 2 kB every 20 ms, curl")
    yield "keep-alive", _small_objects
    yield "server-thinks", _server_thinks
    yield "ssh-login", _login


def _gives_little(server: Program, client: Program, told: str, file_bytes: int = 0, *, uploads: bool = False) -> Make:
    def make(dice: random.Random) -> ProgramTransfer:
        path = path_of(dice.choice((0.005, 0.02, 0.05, 0.1, 0.15)), dice.uniform(40e6, 80e6), 1_000_000)
        why = "an eighth of the bottleneck bandwidth or less, by its options"
        return ProgramTransfer(
            "", told, _APPLICATION, why, server, client, path, uploads, file_bytes, dice.choice(CONGESTION_CONTROLS)
        )

    return make


def _small_objects(dice: random.Random) -> ProgramTransfer:
    return ProgramTransfer(
        "", "nginx, curl fetches 60 objects of 12 kB on one connection", _TURNS,
        "no answer fills the first window; each waits for its request", nginx(), curl(path="file.bin?[1-60]"),
        path_of(dice.choice((0.02, 0.05, 0.1)), dice.uniform(40e6, 80e6), 1_000_000), file_bytes=12_000,
        congestion_control=dice.choice(CONGESTION_CONTROLS),
    )  # fmt: skip


def _server_thinks(dice: random.Random) -> ProgramTransfer:
    return ProgramTransfer(
        "", "a server that thinks 1.5 s before it sends 3 MB, curl", _TURNS,
        "the path could have carried the answer three times meanwhile",
        slow_server("--think", "1.5", "--answer-bytes", "3000000"), curl(),
        path_of(dice.choice((0.005, 0.02, 0.04)), dice.uniform(45e6, 60e6), 400_000),
        congestion_control=dice.choice(CONGESTION_CONTROLS),
    )  # fmt: skip


def _login(dice: random.Random) -> ProgramTransfer:
    return ProgramTransfer(
        "", "scp of 20 kB", _TURNS, "the login's questions and answers take most of the time", sshd(), scp(),
        path_of(dice.choice((0.08, 0.1, 0.15)), dice.uniform(40e6, 80e6), 1_000_000), True, 20_000,
    )  # fmt: skip


# --- the receiver takes it slowly, or offers a small window ---


def _windows() -> Iterator[tuple[str, Make]]:
    slow = "the client reads so much; what its kernel holds for it fills up"
    yield (
        "curl-limit",
        takes_slowly(nginx(), curl("--limit-rate", "400k"), "nginx, `curl --limit-rate 400k`", slow, 4_000_000),
    )
    yield (
        "curl-tls-limit",
        takes_slowly(
            nginx_tls(),
            curl("--http1.1", "--limit-rate", "400k", tls=True),
            "nginx with TLS, `curl -k --limit-rate 400k`",
            slow,
            4_000_000,
        ),
    )
    yield (
        "wget-limit",
        takes_slowly(nginx(), wget("--limit-rate=500k"), "nginx, `wget --limit-rate=500k`", slow, 4_000_000),
    )
    yield (
        "upload-slow-reader",
        takes_slowly(
            slow_server("--read-bps", "5000000"),
            curl_upload(),
            "`curl -T` to a server that reads 5 Mbit/s",
            "the server reads so much; what its kernel holds for it fills up",
            4_000_000,
            uploads=True,
        ),
    )
    yield "small-window", _small_window(nginx(), curl(), "nginx, curl; `tcp_rmem` of 64 kB", _WINDOW)
    yield (
        "iperf3-window",
        _small_window(
            iperf_server(), iperf(*_IPERF_TIME, "-w", "64K"), "`iperf3 -w 64K`", ("receiver_window", "send_buffer")
        ),
    )


def takes_slowly(
    server: Program, client: Program, told: str, why: str, file_bytes: int, *, uploads: bool = False
) -> Make:
    """A client that reads slowly, as it was told to."""

    def make(dice: random.Random) -> ProgramTransfer:
        path = path_of(dice.choice((0.005, 0.02, 0.05, 0.1)), dice.uniform(40e6, 80e6), 1_000_000)
        return ProgramTransfer(
            "", told, _WINDOW, why, server, client, path, uploads, file_bytes, dice.choice(CONGESTION_CONTROLS)
        )

    return make


def _small_window(server: Program, client: Program, told: str, factors: tuple[str, ...]) -> Make:
    def make(dice: random.Random) -> ProgramTransfer:
        rtt_s = dice.choice((0.04, 0.08, 0.15))
        return ProgramTransfer(
            "", told, factors, "a window of a third of what the path holds, or less", server, client,
            path_of(rtt_s, max(60e6, 3 * 80_000 * 8 / rtt_s), 1_000_000), "iperf3" in client.needs, 5_000_000,
            dice.choice(CONGESTION_CONTROLS), receiver_sysctls={} if "iperf3" in client.needs else SMALL_WINDOW,
        )  # fmt: skip

    return make


# --- losses by chance ---


def _lossy() -> Iterator[tuple[str, Make]]:
    yield "losses-nginx", _losing(nginx(), curl(), "nginx, curl")
    yield "losses-tls", _losing(nginx_tls(), curl("--http1.1", tls=True), "nginx with TLS, `curl -k`")
    yield "losses-iperf3", _losing(iperf_server(), iperf(*_IPERF_TIME), "`iperf3`", uploads=True)
    yield "losses-rsync", _losing(rsync_daemon(), rsync(), "rsync from its daemon")
    yield "losses-scp", _losing(sshd(), scp(), "scp", uploads=True)
    yield "losses-bbr", _losses_that_bbr_ignores


def _losing(server: Program, client: Program, told: str, *, uploads: bool = False) -> Make:
    def make(dice: random.Random) -> ProgramTransfer:
        rtt_s, loss = dice.choice((0.03, 0.06, 0.1)), dice.uniform(0.004, 0.015)
        # A login takes some ten round trips: with longer ones it would be a good part of the transfer.
        rtt_s = 0.03 if "scp" in client.needs else rtt_s
        allowed_bps = 1448 * 8 / rtt_s * 1.22 / loss**0.5
        path = path_of(rtt_s, max(4 * allowed_bps, 20e6), 2_000_000, loss)
        why = "the losses allow a quarter of the bottleneck bandwidth, or less (Mathis)"
        return ProgramTransfer(
            "", told, _LOSSES, why, server, client, path, uploads, round(allowed_bps / 8 * SECONDS),
            dice.choice(("cubic", "reno")),
        )  # fmt: skip

    return make


def _losses_that_bbr_ignores(dice: random.Random) -> ProgramTransfer:
    rtt_s, rate_bps = dice.choice((0.02, 0.04, 0.08)), dice.uniform(15e6, 40e6)
    return ProgramTransfer(
        "", "nginx, curl", _BOTTLENECK, "BBR does not slow down for losses as rare as these", nginx(), curl(),
        path_of(rtt_s, rate_bps, 2 * rate_bps / 8 * rtt_s, dice.uniform(0.005, 0.02)),
        file_bytes=round(rate_bps / 8 * SECONDS), congestion_control="bbr",
    )  # fmt: skip


# --- token buckets, pacing, short transfers ---


def _others() -> Iterator[tuple[str, Make]]:
    yield "policer-nginx", _policed(nginx(), curl(), "nginx, curl")
    yield "policer-iperf3", _policed(iperf_server(), iperf(*_IPERF_TIME), "`iperf3`", uploads=True)
    yield "shaper-nginx", _shaped
    yield "iperf3-paced", _paced
    yield "short-download", _short


def _policed(server: Program, client: Program, told: str, *, uploads: bool = False) -> Make:
    def make(dice: random.Random) -> ProgramTransfer:
        rate_bps = dice.uniform(8e6, 20e6)
        plain = path_of(dice.choice((0.01, 0.02, 0.04)), 100e6, 1_000_000)
        bucket = TokenBucket(rate_bps, round(rate_bps / 8 * dice.uniform(0.1, 0.4)))
        return ProgramTransfer(
            "", told, ("token_bucket",), "the policer's rate is a fifth of the path's, or less", server, client,
            replace(plain, forward=replace(plain.forward, token_bucket=bucket)), uploads,
            round(rate_bps / 8 * SECONDS), dice.choice(("cubic", "reno")),
        )  # fmt: skip

    return make


def _shaped(dice: random.Random) -> ProgramTransfer:
    rate_bps = dice.uniform(30e6, 60e6)
    plain = path_of(dice.choice((0.01, 0.02, 0.05)), rate_bps, 300_000)
    bucket = TokenBucket(rate_bps * dice.uniform(0.15, 0.4), round(rate_bps / 8 * dice.uniform(0.6, 1.2)), 300_000)
    return ProgramTransfer(
        "", "nginx, curl", ("token_bucket",), "the burst lasts for a second, the rest has the shaper's rate", nginx(),
        curl(), replace(plain, forward=replace(plain.forward, token_bucket=bucket)),
        file_bytes=bucket.burst_bytes + round(bucket.rate_bps / 8 * SECONDS),
    )  # fmt: skip


def _paced(dice: random.Random) -> ProgramTransfer:
    return ProgramTransfer(
        "", "`iperf3 --fq-rate 8M`", ("send_buffer", "application"),
        "the socket is paced (reported as the sender's own limit), at a fifth of the bottleneck bandwidth or less",
        iperf_server(), iperf(*_IPERF_TIME, "--fq-rate", "8M"),
        path_of(dice.choice((0.02, 0.05, 0.1)), dice.uniform(40e6, 80e6), 1_000_000), True,
    )  # fmt: skip


def _short(dice: random.Random) -> ProgramTransfer:
    return ProgramTransfer(
        "", "nginx, curl", ("slow_start",), "over before the window has grown to what the path holds", nginx(), curl(),
        path_of(dice.choice((0.1, 0.15)), 80e6, 4_000_000), file_bytes=14_480 * 2 ** dice.randint(4, 5),
        congestion_control=dice.choice(CONGESTION_CONTROLS),
    )  # fmt: skip
