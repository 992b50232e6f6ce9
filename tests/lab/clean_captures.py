"""Clean captures that tests edit: samples of real transfers, the same seen elsewhere, and made ones."""

from __future__ import annotations

from functools import cache

from tests.lab.edited import sample, seen_after
from tests.lab.made_transfers import MILLISECOND, upload
from vmtrace.lab.edit.capture import Capture

# Half the shortest round trip of the transfers, less what is needed to stay below it.
_WINDOW_LIMITED_PATH_NS = 49_900_000
_APPLICATION_LIMITED_PATH_NS = 9_900_000
_MADE_PATH_NS = 19_900_000

LOSSLESS_BESIDE_SENDER = ("window-limited.pcap", "zero-window.pcap", "application-limited.pcap", "made", "made-ipv6")
LOSSLESS_ELSEWHERE = (
    "window-limited-at-receiver",
    "window-limited-midway",
    "application-limited-at-receiver",
    "made-at-receiver",
    "made-ipv6-at-receiver",
    "tls12.pcap",
    "tls13.pcap",
)
LOSSLESS = LOSSLESS_BESIDE_SENDER + LOSSLESS_ELSEWHERE
LOSSY_BESIDE_SENDER = ("lossy-sender.pcap", "offload-sender.pcap", "short-connections.pcap.gz")
LOSSY_ELSEWHERE = ("lossy-receiver.pcap", "offload-receiver.pcap")
LOSSY = LOSSY_BESIDE_SENDER + LOSSY_ELSEWHERE


@cache
def clean_capture(name: str) -> Capture:
    match name:
        case "window-limited-at-receiver":
            return seen_after(sample("window-limited.pcap"), _WINDOW_LIMITED_PATH_NS)
        case "window-limited-midway":
            return seen_after(sample("window-limited.pcap"), _WINDOW_LIMITED_PATH_NS // 2)
        case "application-limited-at-receiver":
            return seen_after(sample("application-limited.pcap"), _APPLICATION_LIMITED_PATH_NS)
        case "made" | "made-ipv6":
            return upload(version=6 if "ipv6" in name else 4, rtt_ns=40 * MILLISECOND)
        case "made-at-receiver" | "made-ipv6-at-receiver":
            return seen_after(clean_capture(name.removesuffix("-at-receiver")), _MADE_PATH_NS)
        case _:
            return sample(name)
