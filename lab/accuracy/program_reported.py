"""Transfers of programs of the kinds on which verdicts were reported to be wrong, beside `program_transfers`.

Servers that think before replies of equal size, windows of HTTP/2, readers on a timer, managed queues, shapers of the
sender's own host, outages, hosts without window scaling, paths that become longer, captures begun in mid-stream,
policers with a bucket of few packets.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import replace

from vmtrace.lab.accuracy.kernel_limits import KernelLimit, Place, Queue
from vmtrace.lab.accuracy.program_commands import (
    FILE,
    HTTP_PORT,
    Ends,
    Program,
    curl,
    curl_upload,
    iperf,
    iperf_server,
    nginx,
    slow_server,
    wget,
)
from vmtrace.lab.accuracy.program_transfers import (
    CONGESTION_CONTROLS,
    SECONDS,
    SMALL_WINDOW,
    Make,
    Path,
    ProgramTransfer,
    crossed,
    dice_of,
    path_of,
)
from vmtrace.lab.impairments import CoDel, DelayStep, Hold, Impairments, TokenBucket

_FAST_BPS = 80e6
_READER, _BOTTLENECK, _BUCKET = ("receiver_window",), ("bottleneck_bandwidth",), ("token_bucket",)
_SHAPED = ("bottleneck_bandwidth", "token_bucket")
_CREDIT = ("http2_window", "application_window")


def draw(seed: int) -> list[ProgramTransfer]:
    """All transfers, with what a seed draws for each."""
    return [crossed(make(dice_of(seed, name)), name, seed) for name, make in _kinds()]


def _kinds() -> Iterator[tuple[str, Make]]:
    yield "equal-replies", _equal_replies
    yield "equal-pieces", _equal_pieces
    yield "client-thinks", _client_thinks
    yield "h2-clear-window", _clear_window
    yield "h2-upload", _h2_upload
    for every_ms in (25, 60, 100, 200):
        yield f"reader-{every_ms}ms", _on_a_timer(every_ms / 1e3)
    yield "reader-1s", _now_and_then
    yield "codel-nginx", _managed(nginx(), curl(), "nginx, curl", marks=False)
    yield "ecn-wget", _managed(nginx(), wget(), "nginx, wget", marks=True)
    yield "tbf-host-iperf3", _on_the_host(iperf_server(), iperf("-t", str(SECONDS)), "`iperf3`", "tbf", uploads=True)
    yield "htb-host-upload", _on_the_host(slow_server(), curl_upload(), "`curl -T`", "htb", uploads=True)
    yield "tbf-host-nginx", _on_the_host(nginx(), curl(), "nginx, curl", "tbf")
    yield "outage-nginx", _outage(nginx(), curl(), "nginx, curl")
    yield "outage-upload", _outage(slow_server(), curl_upload(), "`curl -T`", uploads=True)
    yield "no-scaling", _without_scaling
    yield "longer-path", _longer_path
    yield "stops-midstream", _stops_in_mid_stream
    yield "policer-few-packets", _few_packets(10e6)
    yield "policer-few-packets-slow", _few_packets(1.5e6)
    yield "policer-half-mbit", _half_a_megabit
    yield "low-rate", _low_rate


# --- who lets time pass between messages ---


def _equal_replies(dice: random.Random) -> ProgramTransfer:
    rtt_s, think_s = dice.choice((0.01, 0.03, 0.06)), dice.uniform(0.12, 0.4)
    reply_bytes, requests = dice.choice((30_000, 60_000, 100_000)), round(5.5 / (think_s + 2 * rtt_s))
    server = slow_server("--think", f"{think_s:.3f}", "--answer-bytes", str(reply_bytes))
    return ProgramTransfer(
        "", f"a server that thinks {think_s:.2f} s before each of {requests} replies of {reply_bytes // 1000} kB",
        ("server_wait",), "it thinks longer than a reply takes", server, curl(path=f"file.bin?[1-{requests}]"),
        path_of(rtt_s, dice.uniform(40e6, 80e6), 1_000_000), congestion_control=dice.choice(CONGESTION_CONTROLS),
    )  # fmt: skip


def _equal_pieces(dice: random.Random) -> ProgramTransfer:
    rtt_s, think_s = dice.choice((0.01, 0.03, 0.06)), dice.uniform(0.12, 0.4)
    piece_bytes, pieces = dice.choice((40_000, 65_536, 131_072)), round(5.5 / (think_s + 3 * rtt_s))
    return ProgramTransfer(
        "", f"PUT of {pieces} pieces of {piece_bytes // 1000} kB, the server thinks {think_s:.2f} s after each",
        ("server_wait",), "it thinks longer than a piece takes", slow_server("--think", f"{think_s:.3f}"),
        reader("--exchanges", str(pieces), "--piece-bytes", str(piece_bytes)),
        path_of(rtt_s, dice.uniform(40e6, 80e6), 1_000_000), True,
        congestion_control=dice.choice(CONGESTION_CONTROLS),
    )  # fmt: skip


def _client_thinks(dice: random.Random) -> ProgramTransfer:
    rtt_s, wait_s = dice.choice((0.01, 0.03, 0.06)), dice.uniform(0.15, 0.4)
    requests = round(5.5 / (wait_s + 2 * rtt_s))
    return ProgramTransfer(
        "", f"a client that waits {wait_s:.2f} s before each of {requests} requests", ("client_wait",),
        "it waits longer than a reply takes", slow_server("--answer-bytes", str(dice.choice((30_000, 80_000)))),
        reader("--exchanges", str(requests), "--wait", f"{wait_s:.3f}"),
        path_of(rtt_s, dice.uniform(40e6, 80e6), 1_000_000), congestion_control=dice.choice(CONGESTION_CONTROLS),
    )  # fmt: skip


def reader(*words: str, file: str = FILE) -> Program:
    """`vmtrace.lab.accuracy.program_readers` with these options."""
    module = "vmtrace.lab.accuracy.program_readers"
    return Program((), lambda ends: [sys.executable, "-m", module, ends.server, str(HTTP_PORT), file, *words])


# --- windows of HTTP/2 in clear text ---


def nghttpd(*words: str) -> Program:
    """Serves the folder by HTTP/2 without TLS."""
    return Program(
        ("nghttpd",),
        lambda ends: [
            "nghttpd", "--no-tls", "-a", ends.server, "-d", str(ends.folder), *words, str(HTTP_PORT),
        ],
        HTTP_PORT,
    )  # fmt: skip


def _nghttp(bits: int) -> Program:
    def command(ends: Ends) -> list[str]:
        return ["nghttp", "-n", "-w", str(bits), "-W", str(bits), f"http://{ends.url_host}/{FILE}"]

    return Program(("nghttp",), command)


def _by_credit(dice: random.Random, told: str, bits: int, server: Program, client: Program) -> ProgramTransfer:
    rtt_s, window_bytes = dice.choice((0.03, 0.06, 0.1)), 1 << bits
    return ProgramTransfer(
        "", told, _CREDIT, f"{window_bytes / 1e3:.0f} kB a round trip, a quarter of what the path holds or less",
        server, client, path_of(rtt_s, max(60e6, 4 * window_bytes * 8 / rtt_s), 1_000_000),
        file_bytes=round(min(window_bytes / rtt_s * SECONDS, 10e6)),
        congestion_control=dice.choice(CONGESTION_CONTROLS),
    )  # fmt: skip


def _clear_window(dice: random.Random) -> ProgramTransfer:
    bits = dice.choice((16, 17))
    return _by_credit(dice, f"nghttpd, `nghttp -w {bits} -W {bits}`", bits, nghttpd(), _nghttp(bits))


def _h2_upload(dice: random.Random) -> ProgramTransfer:
    bits = dice.choice((16, 17))
    client = Program(
        ("curl",),
        lambda ends: ["curl", "-sS", "--http2-prior-knowledge", "-o", "/dev/null", "-T", str(ends.folder / FILE),
                      f"http://{ends.url_host}/copy"],
    )  # fmt: skip
    shown = f"`curl --http2-prior-knowledge -T` to `nghttpd -w {bits} -W {bits}`"
    server = nghttpd("-w", str(bits), "-W", str(bits))
    return replace(_by_credit(dice, shown, bits, server, client), uploads=True)


# --- readers ---


def _on_a_timer(every_s: float) -> Make:
    def make(dice: random.Random) -> ProgramTransfer:
        rate_bps = dice.uniform(40e6, 80e6)
        buffer_bytes = min(round(rate_bps / 8 * every_s / 8), 200_000)
        read_bytes = dice.choice((buffer_bytes // 2, 1 << 20))
        per_second = min(read_bytes, buffer_bytes) / every_s
        client = reader(
            "--has-come", "--every", f"{every_s}", "--read-bytes", str(read_bytes), "--buffer", str(buffer_bytes)
        )
        return ProgramTransfer(
            "", f"a client that reads {read_bytes} bytes every {every_s * 1e3:.0f} ms, buffer {buffer_bytes} bytes",
            _READER, "a quarter of what the path carries, or less", nginx(), client,
            path_of(dice.choice((0.01, 0.02)), rate_bps, 1_000_000), file_bytes=round(min(per_second, 2e6) * 5),
            congestion_control=dice.choice(CONGESTION_CONTROLS),
        )  # fmt: skip

    return make


def _now_and_then(dice: random.Random) -> ProgramTransfer:
    every_s, rate_bps = dice.uniform(0.5, 1.0), dice.uniform(40e6, 80e6)
    read_bytes = round(rate_bps / 8 * every_s * dice.uniform(0.06, 0.12))
    return ProgramTransfer(
        "", f"a client that reads {read_bytes / 1e3:.0f} kB every {every_s:.1f} s, as apt with `Dl-Limit`",
        _READER, "an eighth of what the path carries, or less", nginx(),
        reader("--every", f"{every_s:.2f}", "--read-bytes", str(read_bytes)),
        path_of(dice.choice((0.005, 0.02, 0.05)), rate_bps, 1_000_000),
        file_bytes=round(read_bytes / every_s * SECONDS), congestion_control=dice.choice(CONGESTION_CONTROLS),
    )  # fmt: skip


# --- links: managed queues, shapers of the host, a low rate ---


def _managed(server: Program, client: Program, told: str, *, marks: bool) -> Make:
    def make(dice: random.Random) -> ProgramTransfer:
        rtt_s, rate_bps = dice.choice((0.02, 0.05, 0.08)), dice.uniform(8e6, 40e6)
        plain = path_of(rtt_s, rate_bps, 2_000_000)
        return ProgramTransfer(
            "", told, _BOTTLENECK, f"CoDel {'marks' if marks else 'drops'} where it stands, and nothing else does",
            server, client, replace(plain, forward=replace(plain.forward, codel=CoDel(marks=marks))),
            file_bytes=round(rate_bps / 8 * SECONDS), congestion_control=dice.choice(("cubic", "reno")),
            sysctls={"net.ipv4.tcp_ecn": "1"} if marks else {},
        )  # fmt: skip

    return make


def _on_the_host(server: Program, client: Program, told: str, queue: Queue, *, uploads: bool = False) -> Make:
    place: Place = "host"

    def make(dice: random.Random) -> ProgramTransfer:
        limit = KernelLimit(place, queue, dice.uniform(6e6, 25e6))
        return ProgramTransfer(
            "", told, _SHAPED, "a tenth to a third of the bottleneck bandwidth leaves that queue", server, client,
            path_of(dice.choice((0.01, 0.03, 0.06)), _FAST_BPS, 1_000_000), uploads,
            round(limit.rate_bps / 8 * SECONDS), dice.choice(("cubic", "reno")), kernel_limit=limit,
        )  # fmt: skip

    return make


def _low_rate(dice: random.Random) -> ProgramTransfer:
    rate_bps = dice.uniform(150e3, 400e3)
    return ProgramTransfer(
        "", "nginx, curl", _BOTTLENECK, "a long transfer, and nothing else that holds it back", nginx(), curl(),
        path_of(0.05, rate_bps, dice.choice((30_000, 60_000))), file_bytes=round(rate_bps / 8 * 8),
        congestion_control=dice.choice(CONGESTION_CONTROLS),
    )  # fmt: skip


# --- paths that stop, or become longer ---


def _outage(server: Program, client: Program, told: str, *, uploads: bool = False) -> Make:
    def make(dice: random.Random) -> ProgramTransfer:
        rtt_s, rate_bps = dice.choice((0.01, 0.03, 0.06)), dice.uniform(8e6, 25e6)
        holds = (Hold(dice.uniform(2.5, 3.5), dice.uniform(0.7, 3.0), drop=True),)
        plain = path_of(rtt_s, rate_bps, 200_000)
        both = Path(replace(plain.forward, holds=holds), replace(plain.reverse, holds=holds))
        return ProgramTransfer(
            "", f"{told}; nothing passes for {holds[0].duration_s:.1f} s", ("path_outage",),
            "it is a fifth of the time or more", server, client, both, uploads, round(rate_bps / 8 * 4),
            dice.choice(("cubic", "reno")),
        )  # fmt: skip

    return make


def _without_scaling(dice: random.Random) -> ProgramTransfer:
    rtt_s = dice.choice((0.05, 0.08, 0.15))
    return ProgramTransfer(
        "", "nginx, curl; window scaling off at the client", _READER,
        "64 kB a round trip, a quarter of what the path holds",
        nginx(), curl(), path_of(rtt_s, max(40e6, 4 * 65_535 * 8 / rtt_s), 1_000_000),
        file_bytes=round(65_535 / rtt_s * 6), congestion_control=dice.choice(CONGESTION_CONTROLS),
        receiver_sysctls={"net.ipv4.tcp_window_scaling": "0"},
    )  # fmt: skip


def _longer_path(dice: random.Random) -> ProgramTransfer:
    rtt_s, longer_s = dice.choice((0.02, 0.04)), dice.uniform(0.04, 0.08)
    plain = path_of(rtt_s, 60e6, 1_000_000)
    step = DelayStep(dice.uniform(1.5, 2.5), rtt_s / 2 + longer_s)
    return ProgramTransfer(
        "", f"nginx, curl; `tcp_rmem` of 64 kB; {longer_s * 1e3:.0f} ms longer after {step.start_s:.1f} s", _READER,
        "a window of a third of what the path holds, or less, and less still later", nginx(), curl(),
        replace(plain, forward=replace(plain.forward, delay_steps=(step,))), file_bytes=5_500_000,
        congestion_control=dice.choice(("cubic", "reno")), receiver_sysctls=SMALL_WINDOW,
    )  # fmt: skip


def _stops_in_mid_stream(dice: random.Random) -> ProgramTransfer:
    every_s, rate_bps = dice.uniform(0.4, 0.8), dice.uniform(40e6, 80e6)
    read_bytes = dice.choice((200_000, 300_000))
    client = reader("--every", f"{every_s:.2f}", "--read-bytes", str(read_bytes), "--buffer", "65536")
    return ProgramTransfer(
        "", f"a client that reads {read_bytes // 1000} kB every {every_s:.1f} s; the capture begins in mid-stream",
        _READER,
        "it reads an eighth of what the path carries, or less", nginx(), client,
        path_of(dice.choice((0.01, 0.03)), rate_bps, 1_000_000), file_bytes=round(read_bytes / every_s * SECONDS),
        congestion_control=dice.choice(("cubic", "reno")), begins_at=0.3,
    )  # fmt: skip


# --- policers ---


def _policed(dice: random.Random, bucket: TokenBucket, rtt_s: float, seconds: float = SECONDS) -> ProgramTransfer:
    plain = Path(Impairments(delay_s=rtt_s / 2, token_bucket=bucket), Impairments(delay_s=rtt_s / 2))
    return ProgramTransfer(
        "", "nginx, curl", _BUCKET, "nothing but the policer drops or waits", nginx(), curl(), plain,
        file_bytes=round(bucket.rate_bps / 8 * seconds * 0.6), congestion_control=dice.choice(("cubic", "reno")),
    )  # fmt: skip


def _few_packets(rate_bps: float) -> Make:
    def make(dice: random.Random) -> ProgramTransfer:
        return _policed(dice, TokenBucket(rate_bps * dice.uniform(0.7, 1.3), 8_000), dice.choice((0.01, 0.02)))

    return make


def _half_a_megabit(dice: random.Random) -> ProgramTransfer:
    return _policed(dice, TokenBucket(500e3, dice.choice((15_625, 21_000, 31_250))), dice.choice((0.03, 0.06)), 14)
