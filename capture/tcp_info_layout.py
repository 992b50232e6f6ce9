"""Linux TCP_INFO: which field lies where, with its unit, and when a value means that there is none.

The struct only ever grew: an older kernel fills a prefix, a newer one more than is read here. Sampling is `tcp_info`'s.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence

# struct tcp_info (linux/tcp.h, as of kernel 6.7), beyond its first eight bytes; rates are bytes per second there.
_LAYOUT = (
    ("rto_us ato_us snd_mss_bytes rcv_mss_bytes", "I"),
    ("unacked_segments sacked_segments lost_segments retrans_segments fackets_segments", "I"),
    ("last_data_sent_ms last_ack_sent_ms last_data_recv_ms last_ack_recv_ms", "I"),
    ("pmtu_bytes rcv_ssthresh_bytes rtt_us rttvar_us snd_ssthresh_segments snd_cwnd_segments", "I"),
    ("advmss_bytes reordering_segments rcv_rtt_us rcv_space_bytes total_retrans", "I"),
    ("pacing_rate_bps max_pacing_rate_bps bytes_acked bytes_received", "Q"),
    ("segs_out segs_in notsent_bytes min_rtt_us data_segs_in data_segs_out", "I"),
    ("delivery_rate_bps busy_time_us rwnd_limited_us sndbuf_limited_us", "Q"),
    ("delivered_segments delivered_ce_segments", "I"),
    ("bytes_sent bytes_retrans", "Q"),
    ("dsack_dups reord_seen rcv_ooopack snd_wnd_bytes rcv_wnd_bytes rehash", "I"),
    ("total_rto total_rto_recoveries", "H"),
    ("total_rto_time_ms", "I"),
)
_FIRST = ("state", "ca_state", "retransmits", "probes", "backoff", "options")
# Byte 6 holds two scales of four bits, byte 7 a bit and two bits.
_PACKED = ("snd_wscale", "rcv_wscale", "delivery_rate_app_limited", "fastopen_client_fail")
_REST = tuple((name, code) for names, code in _LAYOUT for name in names.split())
FIELDS: tuple[str, ...] = (*_FIRST, *_PACKED, *(name for name, _ in _REST))
SIZE = struct.calcsize("=8B" + "".join(code for _, code in _REST))

_BITS_PER_BYTE = 8
_RATES = tuple(FIELDS.index(name) for name in FIELDS if name.endswith("_rate_bps"))
# What the kernel writes where it has no value: nothing measured yet, or no limit set.
_NONE = {
    "rtt_us": 0,
    "rcv_rtt_us": 0,
    "min_rtt_us": 0xFFFF_FFFF,
    "snd_ssthresh_segments": 0x7FFF_FFFF,
    "delivery_rate_bps": 0,
    "pacing_rate_bps": 0xFFFF_FFFF_FFFF_FFFF,
    "max_pacing_rate_bps": 0xFFFF_FFFF_FFFF_FFFF,
}
_NONES = tuple((FIELDS.index(name), value) for name, value in _NONE.items())


class Layout:
    """Reads the answers of one length: a kernel always answers with the same."""

    def __init__(self, length: int) -> None:
        codes, size = "", 8
        for _, code in _REST:
            size += struct.calcsize("=" + code)
            if size > length:
                break
            codes += code
        self._struct = struct.Struct("=8B" + codes)
        self._known = len(_FIRST) + len(_PACKED) + len(codes)
        self._rates = tuple(place for place in _RATES if place < self._known)
        self._nones = tuple((place, value) for place, value in _NONES if place < self._known)
        self._row = ",".join(["%s"] * self._known) + "," * (len(FIELDS) - self._known)

    def row(self, raw: bytes) -> str:
        """The values as cells of a CSV row, empty where there is none."""
        return self._row % tuple(["" if value is None else value for value in self._values(raw)])

    def fields(self, raw: bytes) -> dict[str, int | None]:
        """The values by name, in the order of FIELDS."""
        values = self._values(raw)
        return dict(zip(FIELDS, [*values, *[None] * (len(FIELDS) - self._known)]))

    def _values(self, raw: bytes) -> list[int | None]:
        first = self._struct.unpack_from(raw)
        values: list[int | None] = [*first[:6], *_unpacked(first[6], first[7]), *first[8:]]
        for place, none in self._nones:
            if values[place] == none:
                values[place] = None
        for place in self._rates:
            rate = values[place]
            if rate is not None:
                values[place] = rate * _BITS_PER_BYTE
        return values


def decode(raw: bytes) -> dict[str, int | None]:
    """Named fields of a TCP_INFO answer; None where the kernel has no value or is too old to give one."""
    return Layout(len(raw)).fields(raw.ljust(8, b"\0"))


def _unpacked(scales: int, flags: int) -> Sequence[int]:
    if sys.byteorder == "little":
        return scales & 15, scales >> 4, flags & 1, flags >> 1 & 3
    return scales >> 4, scales & 15, flags >> 7, flags >> 5 & 3
