"""What a network driver tells through ethtool's ioctl: its name, statistics, offloads, speed, queues.

Only questions that need no privilege. What a driver does not support is None, never an exception. A handle belongs to
the network namespace of the thread that opened it, and goes on asking there.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from dataclasses import dataclass

_SIOCETHTOOL = 0x8946  # linux/sockios.h
# linux/ethtool.h
_GSET = 0x01
_GDRVINFO = 0x03
_GRINGPARAM = 0x10
_GSTRINGS = 0x1B
_GSTATS = 0x1D
_GSSET_INFO = 0x37
_GFEATURES = 0x3A
_GCHANNELS = 0x3C
_SS_STATS = 1
_SS_FEATURES = 4
_STRING_BYTES = 32
_FLAG_LRO = 1 << 15
_MOST_STRINGS = 16_384  # more than any driver has: what claims more is not believed
_LONGEST_NAME = 15  # IFNAMSIZ without the zero at its end
_OFFLOAD_COMMANDS = {"tso": 0x1E, "gso": 0x23, "gro": 0x2B, "rx_checksum": 0x14, "tx_checksum": 0x16, "sg": 0x18}
_GFLAGS = 0x25
# On a TAP device this driver of user-mode-linux follows a null pointer, and its kernel panics (seen in 6.1).
_CRASHES_WHEN_ASKED_FOR_RINGS = frozenset({"uml-vector"})


@dataclass(frozen=True)
class DriverInfo:
    """ETHTOOL_GDRVINFO: which driver serves an interface, and on what bus."""

    driver: str
    version: str
    firmware: str
    bus: str


@dataclass(frozen=True)
class Offloads:
    """What the interface does to packets beside the stack; each None where it cannot be told."""

    tso: bool | None
    gso: bool | None
    gro: bool | None
    lro: bool | None
    gro_hw: bool | None
    udp_segmentation: bool | None
    rx_checksum: bool | None
    tx_checksum: bool | None
    scatter_gather: bool | None


@dataclass(frozen=True)
class Queues:
    """ETHTOOL_GCHANNELS: queues in use. `combined` ones serve both directions."""

    rx: int
    tx: int
    combined: int


@dataclass(frozen=True)
class Rings:
    """ETHTOOL_GRINGPARAM: descriptors of each ring in use, and the most there can be."""

    rx: int
    tx: int
    rx_most: int
    tx_most: int


class Ethtool:
    """Asks the driver of one interface."""

    def __init__(self, interface: str) -> None:
        self._name = interface.encode("utf-8", "surrogateescape")
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._statistic_names: list[str] = []

    def __enter__(self) -> Ethtool:  # noqa: PYI034 (Python 3.9 has no typing.Self)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the socket that the questions go through."""
        self._socket.close()

    def driver(self) -> DriverInfo | None:
        """Name and version of the driver, its firmware and bus address."""
        answer = self._ask(_GDRVINFO, bytes(192))  # driver, version, firmware, bus, erom: 32 each; reserved, 5 numbers
        if answer is None:
            return None
        return DriverInfo(*(_text(answer[start : start + 32]) for start in range(4, 132, 32)))

    def statistics(self) -> dict[str, int] | None:
        """Every counter the driver has, by the driver's name; two of one name are added up."""
        count = self._string_count(_SS_STATS)
        if count is None:
            return None
        if count != len(self._statistic_names):
            self._statistic_names = self._strings(_SS_STATS, count)
        answer = self._ask(_GSTATS, struct.pack("=I", count) + bytes(8 * _with_room(count)))
        if answer is None or not len(self._statistic_names) == count == struct.unpack_from("=I", answer, 4)[0]:
            return None
        values = struct.unpack_from(f"={count}Q", answer, 8)
        found: dict[str, int] = {}
        for name, value in zip(self._statistic_names, values):
            found[name] = found.get(name, 0) + value
        return found

    def features(self) -> dict[str, bool] | None:
        """Every feature of the device by the kernel's name (`tx-tcp-segmentation`...): whether it is active."""
        count = self._string_count(_SS_FEATURES)
        if not count:
            return None
        names = self._strings(_SS_FEATURES, count)
        blocks = (count + 31) // 32
        answer = self._ask(_GFEATURES, struct.pack("=I", blocks) + bytes(16 * blocks))
        if answer is None or len(names) != count:
            return None
        # A block of 32 features: available, requested, active, never changed.
        active = [struct.unpack_from("=I", answer, 8 + 16 * block + 8)[0] for block in range(blocks)]
        return {name: bool(active[bit // 32] >> bit % 32 & 1) for bit, name in enumerate(names) if name}

    def offloads(self) -> Offloads:
        """The settings that change what a capture sees, and those that cost or save CPU."""
        flags = self._number(_GFLAGS)
        features = self.features() or {}
        of = {name: self._switch(command) for name, command in _OFFLOAD_COMMANDS.items()}
        return Offloads(
            tso=of["tso"],
            gso=of["gso"],
            gro=of["gro"],
            lro=None if flags is None else bool(flags & _FLAG_LRO),
            gro_hw=features.get("rx-gro-hw"),
            udp_segmentation=features.get("tx-udp-segmentation"),
            rx_checksum=of["rx_checksum"],
            tx_checksum=of["tx_checksum"],
            scatter_gather=of["sg"],
        )

    def speed_bps(self) -> int | None:
        """Speed of the link as the driver says it; many virtual ones do not."""
        answer = self._ask(_GSET, bytes(40))
        if answer is None:
            return None
        low, high = struct.unpack_from("=H", answer, 12)[0], struct.unpack_from("=H", answer, 28)[0]
        megabits = high << 16 | low
        return None if megabits in {0, 0xFFFF, 0xFFFFFFFF} else megabits * 1_000_000

    def queues(self) -> Queues | None:
        """Queues in use, where the driver lets them be set."""
        answer = self._ask(_GCHANNELS, bytes(32))
        if answer is None:
            return None
        rx, tx, _, combined = struct.unpack_from("=4I", answer, 20)
        return Queues(rx, tx, combined)

    def rings(self) -> Rings | None:
        """Sizes of the rings that packets wait in."""
        driver = self.driver()
        if driver is not None and driver.driver in _CRASHES_WHEN_ASKED_FOR_RINGS:
            return None
        answer = self._ask(_GRINGPARAM, bytes(32))
        if answer is None:
            return None
        rx_most, _, _, tx_most, rx, _, _, tx = struct.unpack_from("=8I", answer, 4)
        return Rings(rx, tx, rx_most, tx_most)

    def _ask(self, command: int, rest: bytes) -> bytearray | None:
        """The kernel's answer in place of command and `rest`, or None where driver, kernel or interface has none."""
        if not 0 < len(self._name) <= _LONGEST_NAME:
            return None
        question = bytearray(struct.pack("=I", command) + rest)
        memory = (ctypes.c_char * len(question)).from_buffer(question)
        request = struct.pack("16sP16x", self._name, ctypes.addressof(memory))
        try:
            fcntl.ioctl(self._socket, _SIOCETHTOOL, request)
        except OSError:
            return None  # EOPNOTSUPP, ENODEV, EPERM...: for the caller all the same, it is not told
        return question

    def _number(self, command: int) -> int | None:
        answer = self._ask(command, bytes(4))
        return None if answer is None else int(struct.unpack_from("=I", answer, 4)[0])

    def _switch(self, command: int) -> bool | None:
        value = self._number(command)
        return None if value is None else bool(value)

    def _string_count(self, string_set: int) -> int | None:
        # struct ethtool_sset_info: reserved, mask of the sets asked for, and in the answer a length for each of them
        answer = self._ask(_GSSET_INFO, struct.pack("=IQI", 0, 1 << string_set, 0))
        if answer is None:
            return None
        mask, count = struct.unpack_from("=QI", answer, 8)
        return count if mask and count <= _MOST_STRINGS else None

    def _strings(self, string_set: int, count: int) -> list[str]:
        answer = self._ask(_GSTRINGS, struct.pack("=II", string_set, count) + bytes(_STRING_BYTES * _with_room(count)))
        if answer is None:
            return []
        starts = range(12, 12 + _STRING_BYTES * count, _STRING_BYTES)
        return [_text(answer[start : start + _STRING_BYTES]) for start in starts]


def _with_room(count: int) -> int:
    """Room for more than was counted: the kernel writes what there is by now, even if queues were added in between."""
    return 2 * count + 256


def _text(raw: bytearray) -> str:
    return raw.split(b"\0")[0].decode("utf-8", "replace").strip()
