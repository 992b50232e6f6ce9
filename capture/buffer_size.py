"""How large the kernel's buffer should be: enough for the link while the reader is held up, within memory.

The kernel may give less than it was asked for; `granted_bytes` says what it gave.
"""

from __future__ import annotations

from pathlib import Path

MIB = 1 << 20
SMALLEST_BYTES, LARGEST_BYTES = 32 * MIB, 256 * MIB
# Where the link's speed is unknown (virtual machines, loopback, `any`): a second of 2 Gbit/s.
UNKNOWN_SPEED_BYTES = 64 * MIB
# After a drop it may grow to this.
LARGEST_AFTER_DROP_BYTES = 1024 * MIB

_HELD_UP_S = 0.5  # a reader on a busy virtual machine may not run for this long
_ETHERNET_PACKET_BYTES = 1500
_RECORD_OVERHEAD_BYTES = 80  # tpacket3_hdr and its alignment
_HEADERS_BYTES = 128
_SHARE_OF_MEMORY = 16
_LEAST_BYTES = 2 * MIB


def for_link(interface: str, snaplen: int | None) -> int:
    """Bytes for what the link may bring in half a second: packets of MTU size, cut to `snaplen` (None: headers)."""
    speed_bps = _speed_bps(interface)
    if speed_bps is None:
        wanted = UNKNOWN_SPEED_BYTES
    else:
        kept = min(_HEADERS_BYTES if snaplen is None else snaplen, _ETHERNET_PACKET_BYTES)
        packets = speed_bps / 8 / _ETHERNET_PACKET_BYTES * _HELD_UP_S
        wanted = min(max(int(packets * (kept + _RECORD_OVERHEAD_BYTES)), SMALLEST_BYTES), LARGEST_BYTES)
    return within_memory(wanted, _SHARE_OF_MEMORY)


def larger(used_bytes: int) -> int:
    """The next size after a drop: twice as much, unless memory is short."""
    return max(used_bytes, within_memory(min(2 * used_bytes, LARGEST_AFTER_DROP_BYTES), 4))


def within_memory(wanted_bytes: int, share: int) -> int:
    """At most 1/`share` of the memory that is free now, because the kernel cannot swap it; in whole MiB."""
    available = _available_bytes()
    if available is None:
        return wanted_bytes
    return max(_LEAST_BYTES, min(wanted_bytes, available // share)) // MIB * MIB


def granted_bytes(descriptor: int) -> int | None:
    """Size of the buffer that a packet socket shares with this process; None if it shares none."""
    try:
        socket_name = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return None
    ranges = [line.split()[0] for line in lines if line.endswith(socket_name)]
    return sum(int(end, 16) - int(start, 16) for start, end in (one.split("-") for one in ranges)) or None


def _speed_bps(interface: str) -> int | None:
    try:
        megabits = int(Path(f"/sys/class/net/{interface}/speed").read_text())
    except (OSError, ValueError):
        return None
    return megabits * 1_000_000 if megabits > 0 else None


def _available_bytes() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None
