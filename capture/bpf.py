"""Classic BPF: instructions, a small assembler with labels, and the filter that the kernel holds for a socket.

The kernel runs a socket's filter on every packet; what the filter returns is how many bytes of the packet are kept, 0
for none. libpcap compiles what a person writes; this module joins such a program with our own. What must be kept of a
packet is decided in `kept_bytes`.

A load beyond the end of a packet ends the program with 0: the packet is gone. So every load of our own is guarded by a
comparison with the packet's length, and only what libpcap compiled for the user may reject that way.
"""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

# linux/bpf_common.h: class, size, mode, operation, source.
LOAD_WORD, LOAD_HALF, LOAD_BYTE = 0x20, 0x28, 0x30  # LD + ABS + W, H, B
LOAD_WORD_AT_X, LOAD_HALF_AT_X, LOAD_BYTE_AT_X = 0x40, 0x48, 0x50  # LD + IND: offset in X plus a constant
LOAD_LENGTH = 0x80  # LD + W + LEN: length of the whole packet
LOAD_X, LOAD_X_MEMORY, STORE = 0x01, 0x61, 0x02
ADD, ADD_X, SUBTRACT_X, AND, SHIFT_LEFT, SHIFT_RIGHT = 0x04, 0x0C, 0x1C, 0x54, 0x64, 0x74
TO_X, TO_A = 0x07, 0x87
JUMP, IF_EQUAL, IF_GREATER, IF_AT_LEAST, IF_BITS = 0x05, 0x15, 0x25, 0x35, 0x45
IF_AT_LEAST_X = 0x3D
RETURN, RETURN_A = 0x06, 0x16

# linux/filter.h: loads from here on give what the kernel knows about a packet instead of its bytes.
_AD_OFFSET = 0xFFFFF000
PROTOCOL, PACKET_TYPE, INTERFACE_INDEX = _AD_OFFSET, _AD_OFFSET + 4, _AD_OFFSET + 8
VLAN_TAG, VLAN_TAG_PRESENT, VLAN_PROTOCOL = _AD_OFFSET + 44, _AD_OFFSET + 48, _AD_OFFSET + 60
PACKET_OUTGOING = 4  # linux/if_packet.h

MOST_INSTRUCTIONS = 4096  # BPF_MAXINSNS
_FARTHEST_CONDITIONAL_JUMP = 255
_SO_ATTACH_FILTER = _SO_GET_FILTER = 26  # asm-generic/socket.h; the same number set and read


class Instruction(NamedTuple):
    """`struct bpf_insn`: jumps count from the next instruction, and go forward only."""

    code: int
    if_true: int
    if_false: int
    constant: int


@dataclass(frozen=True)
class _Line:
    code: int
    constant: int
    if_true: str
    if_false: str


class Assembler:
    """Collects lines and labels; an empty label in a jump is the next line."""

    def __init__(self) -> None:
        self._lines: list[_Line] = []
        self._labels: dict[str, int] = {}

    def add(self, code: int, constant: int = 0, if_true: str = "", if_false: str = "") -> None:
        """Append one instruction."""
        self._lines.append(_Line(code, constant, if_true, if_false))

    def label(self, name: str) -> None:
        """Name the place of the next instruction."""
        if name in self._labels:
            raise ValueError(f"BPF label {name} is there twice")
        self._labels[name] = len(self._lines)

    def assemble(self) -> list[Instruction]:
        """The program with its jumps resolved."""
        return [self._resolved(index, line) for index, line in enumerate(self._lines)]

    def _resolved(self, index: int, line: _Line) -> Instruction:
        if line.code == JUMP:
            return Instruction(JUMP, 0, 0, self._distance(index, line.if_true))
        distances = [self._distance(index, name) for name in (line.if_true, line.if_false)]
        if max(distances) > _FARTHEST_CONDITIONAL_JUMP:
            raise ValueError(f"BPF line {index} jumps too far")
        return Instruction(line.code, distances[0], distances[1], line.constant)

    def _distance(self, index: int, name: str) -> int:
        distance = self._labels[name] - index - 1 if name else 0
        if distance < 0:
            raise ValueError(f"BPF line {index} jumps back to {name}")
        return distance


class ProgramError(ValueError):
    """Programs that cannot be joined."""


def then(first: Sequence[Instruction], second: Sequence[Instruction]) -> list[Instruction]:
    """`first`, and for the packets it accepts `second`, which decides how much is kept.

    Raises:
        ProgramError: `first` computes what it returns, or both together are longer than the kernel takes.
    """
    joined = []
    for index, instruction in enumerate(first):
        if instruction.code == RETURN_A:
            raise ProgramError("the filter computes its return value")
        if instruction.code == RETURN and instruction.constant != 0:
            joined.append(Instruction(JUMP, 0, 0, len(first) - index - 1))
        else:
            joined.append(instruction)
    joined.extend(second)
    if len(joined) > MOST_INSTRUCTIONS:
        raise ProgramError(f"the filter has {len(joined)} instructions, and the kernel takes {MOST_INSTRUCTIONS}")
    return joined


REJECT_ALL = (Instruction(RETURN, 0, 0, 0),)


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("constant", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction)))


def attach(descriptor: int, program: Iterable[Instruction]) -> None:
    """Make `program` the filter of a socket, in place of the one it has: no packet passes between.

    Raises:
        OSError: the kernel refuses it.
    """
    instructions = [_Instruction(*instruction) for instruction in program]
    array = (_Instruction * len(instructions))(*instructions)
    request = _Program(len(instructions), array)
    libc = ctypes.CDLL(None, use_errno=True)
    size = ctypes.c_uint32(ctypes.sizeof(request))
    if libc.setsockopt(descriptor, socket.SOL_SOCKET, _SO_ATTACH_FILTER, ctypes.byref(request), size) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"filter of the socket: {os.strerror(number)}")


def attached(descriptor: int) -> list[Instruction]:
    """The filter that the kernel holds for a socket; empty if it has none, or is not a socket."""
    libc = ctypes.CDLL(None, use_errno=True)
    count = ctypes.c_uint32(0)  # counts instructions, not bytes
    if libc.getsockopt(descriptor, socket.SOL_SOCKET, _SO_GET_FILTER, None, ctypes.byref(count)) != 0:
        return []
    array = (_Instruction * max(1, count.value))()
    if libc.getsockopt(descriptor, socket.SOL_SOCKET, _SO_GET_FILTER, array, ctypes.byref(count)) != 0:
        return []
    return [Instruction(one.code, one.if_true, one.if_false, one.constant) for one in array[: count.value]]
