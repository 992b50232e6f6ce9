"""Limits of the kernel are put on the device that data leaves by."""

from __future__ import annotations

from vmtrace.lab.accuracy.kernel_limits import KernelLimit


def test_a_queue_is_put_on_the_device_with_rate_and_burst() -> None:
    (words,) = KernelLimit("router", "tbf", 8e6, 20_000).commands("tun0")
    assert " ".join(words) == "tc qdisc add dev tun0 root tbf rate 8000000bit burst 20000b latency 120ms"
    first, second = KernelLimit("host", "htb", 8e6).commands("eth0")
    assert " ".join(first).endswith("dev eth0 root handle 1: htb default 10")
    assert "rate 8000000bit ceil 8000000bit burst 16000b" in " ".join(second)


def test_what_is_over_a_rate_is_dropped_by_its_bytes() -> None:
    ((program, rules),) = KernelLimit("router", "nft", 8e6, 300_000).commands("tun0")
    assert program == "nft"
    assert 'oifname "tun0" limit rate over 1000000 bytes/second burst 300000 bytes drop' in rules


def test_it_is_described_with_place_and_rate() -> None:
    assert KernelLimit("host", "htb", 8.25e6).words == "`tc htb` of 8.2 Mbit/s at the sender, burst 16 kB"
    assert KernelLimit("router", "nft", 8e6, 300_000).words.startswith("nftables' `limit` of 8.0 Mbit/s at its router")
