"""A socket's filter with a memory: a classic BPF program made extended, which remembers where TLS handshakes began.

Classic BPF sees one packet at a time. A handshake is often longer than a segment (a chain of certificates), and its
second segment looks like any other. So the program of `kept_bytes` is translated, instruction by instruction as the
kernel itself does (net/core/filter.c, `bpf_convert_filter`), and two instructions are added that only exist here:

    REMEMBER    the connection's direction, and the sequence number at which a handshake record began
    RECALL      if this packet's direction is remembered, and begins less than `HANDSHAKE_BYTES` behind that number,
                keep its payload up to there; else go on

The memory is a map of the kernel that forgets who was used least recently. It needs CAP_BPF (root has it) and Linux
5.8; where there is none of it, the classic program does what it can.
"""

from __future__ import annotations

import ctypes
import os
import platform
import socket
import struct
import sys
from collections.abc import Sequence

from vmtrace.capture.bpf import (
    INTERFACE_INDEX,
    PACKET_TYPE,
    PROTOCOL,
    VLAN_PROTOCOL,
    VLAN_TAG,
    VLAN_TAG_PRESENT,
    Instruction,
    ProgramError,
)

REMEMBER, RECALL = 0x1000, 0x1001  # no classic instruction has more than 8 bits
# In the words of the program's memory: whose packet it is, and its sequence number.
SOURCE, DESTINATION, PORTS, SEQUENCE = 2, 3, 4, 5
HANDSHAKE_BYTES = 16_384  # the largest TLS record, and about the first window of a server
_CONNECTIONS = 16_384

# linux/bpf.h
_MAP_CREATE, _PROG_LOAD = 0, 5
_LRU_HASH, _SOCKET_FILTER = 9, 1
_LOOKUP, _UPDATE = 1, 2
_MAP_FD = 1  # a source register that makes an immediate a map's descriptor
_SO_ATTACH_BPF = 50  # asm-generic/socket.h
_SYSTEM_CALL = {
    "x86_64": 321, "aarch64": 280, "riscv64": 280, "loongarch64": 280, "ppc64le": 361, "ppc64": 361, "s390x": 351,
}  # fmt: skip
_A, _X, _CONTEXT, _KEPT, _FRAME = 0, 7, 6, 8, 10
_MEMORY, _WORDS = -64, 16  # words below the frame
_LAST_ARITHMETIC = 0xAC  # XOR with X
_FIELDS = {  # of struct __sk_buff: offset, and whether it is in network byte order
    PACKET_TYPE: (4, False),
    PROTOCOL: (16, True),
    VLAN_TAG_PRESENT: (20, False),
    VLAN_TAG: (24, False),
    VLAN_PROTOCOL: (28, True),
    INTERFACE_INDEX: (40, False),
}
_AD_OFFSET = 0xFFFFF000
_EXIT = 0x95
_Operation = tuple[int, int, int, int, int]  # code, destination, source, offset, immediate


class UnavailableError(OSError):
    """This kernel, or these rights, give no filter with a memory; the message says why."""


def attach(descriptor: int, program: Sequence[Instruction]) -> None:
    """Make `program` the filter of a socket, in place of the one it has: no packet passes between.

    Raises:
        UnavailableError: the kernel has no such filters, or not for this program or user.
        ProgramError: it uses what cannot be translated.
    """
    translate(program, 0)  # before anything is made
    memory = _call(_MAP_CREATE, struct.pack("=IIIII", _LRU_HASH, 12, 4, _CONNECTIONS, 0))
    try:
        filter_ = _load(translate(program, memory))
    finally:
        os.close(memory)  # the program holds it
    libc = ctypes.CDLL(None, use_errno=True)
    given = ctypes.c_int(filter_)
    try:
        if libc.setsockopt(descriptor, socket.SOL_SOCKET, _SO_ATTACH_BPF, ctypes.byref(given), ctypes.sizeof(given)):
            number = ctypes.get_errno()
            raise UnavailableError(number, f"filter of the socket: {os.strerror(number)}")
    finally:
        os.close(filter_)


def translate(program: Sequence[Instruction], memory: int) -> bytes:
    """The same program in extended instructions; `memory` is the descriptor of its map.

    Raises:
        ProgramError: an instruction has no translation.
    """
    # What a register or a word holds that was never written is 0 for a classic program; the verifier wants it written.
    opening: list[_Operation] = [(0xBF, _CONTEXT, 1, 0, 0), (0xB4, _A, 0, 0, 0), (0xB4, _X, 0, 0, 0)]
    opening += [(0x62, _FRAME, 0, _MEMORY + 4 * word, 0) for word in (SOURCE, DESTINATION, PORTS, SEQUENCE)]
    parts = [_translated(each, memory) for each in program]
    begins = [len(opening)]
    for part in parts:
        begins.append(begins[-1] + len(part))
    operations = list(opening)
    for index, (instruction, part) in enumerate(zip(program, parts)):
        operations += part
        for back, distance in _jumps(instruction):
            place = begins[index + 1] - back
            code, destination, source, _, immediate = operations[place]
            offset = begins[index + 1 + distance] - place - 1
            if offset > 0x7FFF:
                raise ProgramError("the filter jumps too far")
            operations[place] = (code, destination, source, offset, immediate)
    return b"".join(_packed(operation) for operation in operations)


def _jumps(instruction: Instruction) -> list[tuple[int, int]]:
    """Which of an instruction's operations jump, counted from behind, and over how many instructions."""
    code, if_true, if_false, constant = instruction
    if code & 7 != 5 or code > 0xFF:
        return []
    return [(1, constant)] if code == 0x05 else [(2, if_true), (1, if_false)]


def _translated(instruction: Instruction, memory: int) -> list[_Operation]:
    code, _, _, constant = instruction
    if code in (REMEMBER, RECALL):
        return _remember(memory) if code == REMEMBER else _recall(memory)
    if code & 7 == 5:
        return _jump(code, constant)
    if code & 7 == 4:
        return _arithmetic(code, constant)
    found = _packet_load(code, constant) or _move(code, constant)
    if not found:
        raise ProgramError(f"the filter has the instruction {code:#x}")
    return found


def _packet_load(code: int, constant: int) -> list[_Operation]:
    """Loads from the packet have the same codes; nothing for what is none."""
    if code in (0x20, 0x28, 0x30):
        return _field(constant) if constant >= _AD_OFFSET else [(code, 0, 0, 0, constant)]
    if code in (0x40, 0x48, 0x50):
        return [(code, 0, _X, 0, constant)]
    if code == 0xB1:  # X becomes the length of an IPv4 header
        return [(0xBF, _KEPT, _A, 0, 0), (0x30, 0, 0, 0, constant), (0x54, _A, 0, 0, 15), (0x64, _A, 0, 0, 2),
                (0xBF, _X, _A, 0, 0), (0xBF, _A, _KEPT, 0, 0)]  # fmt: skip
    return []


def _move(code: int, constant: int) -> list[_Operation]:
    """Between registers, memory and what is returned."""
    word = _MEMORY + 4 * constant if constant < _WORDS else 0
    moves: dict[int, list[_Operation]] = {
        0x00: [(0xB4, _A, 0, 0, constant)],
        0x01: [(0xB4, _X, 0, 0, constant)],
        0x60: [(0x61, _A, _FRAME, word, 0)],
        0x61: [(0x61, _X, _FRAME, word, 0)],
        0x02: [(0x63, _FRAME, _A, word, 0)],
        0x03: [(0x63, _FRAME, _X, word, 0)],
        0x80: [(0x61, _A, _CONTEXT, 0, 0)],
        0x81: [(0x61, _X, _CONTEXT, 0, 0)],
        0x06: [(0xB4, _A, 0, 0, constant), (_EXIT, 0, 0, 0, 0)],
        0x16: [(_EXIT, 0, 0, 0, 0)],
        0x07: [(0xBC, _X, _A, 0, 0)],
        0x87: [(0xBC, _A, _X, 0, 0)],
    }
    return moves.get(code, [])


def _jump(code: int, constant: int) -> list[_Operation]:
    """Where to is filled in later; a comparison is of 32 bits, and followed by the jump of when it does not hold."""
    if code == 0x05:
        return [(0x05, 0, 0, 0, 0)]
    if code & 0xF0 > 0x40:
        raise ProgramError(f"the filter has the instruction {code:#x}")
    source, immediate = (_X, 0) if code & 8 else (0, constant)
    return [(code & 0xF8 | 6, _A, source, 0, immediate), (0x05, 0, 0, 0, 0)]


def _arithmetic(code: int, constant: int) -> list[_Operation]:
    """On 32 bits, in the same codes. A division by an X of 0 ends a classic program with 0."""
    if code > _LAST_ARITHMETIC:
        raise ProgramError(f"the filter has the instruction {code:#x}")
    if not code & 8:
        return [(code, _A, 0, 0, constant)]
    divides = code & 0xF0 in (0x30, 0x90)
    guard = [(0x56, _X, 0, 2, 0), (0xB4, _A, 0, 0, 0), (_EXIT, 0, 0, 0, 0)] if divides else []
    return [*guard, (code, _A, _X, 0, 0)]


def _field(constant: int) -> list[_Operation]:
    """What the kernel knows about a packet."""
    if constant not in _FIELDS:
        raise ProgramError(f"the filter asks the kernel for {constant - _AD_OFFSET}")
    offset, network_order = _FIELDS[constant]
    swapped: list[_Operation] = [(0xDC, _A, 0, 0, 16)] if network_order else []
    return [(0x61, _A, _CONTEXT, offset, 0), *swapped]


def _map_and_key(memory: int) -> list[_Operation]:
    return [
        (0x18, 1, _MAP_FD, 0, memory),
        (0, 0, 0, 0, 0),
        (0xBF, 2, _FRAME, 0, 0),
        (0x07, 2, 0, 0, _MEMORY + 4 * SOURCE),
    ]


def _remember(memory: int) -> list[_Operation]:
    return [
        *_map_and_key(memory),
        (0xBF, 3, _FRAME, 0, 0), (0x07, 3, 0, 0, _MEMORY + 4 * SEQUENCE),
        (0xB4, 4, 0, 0, 0),
        (0x85, 0, 0, 0, _UPDATE),
        (0xB4, _A, 0, 0, 0),
    ]  # fmt: skip


def _recall(memory: int) -> list[_Operation]:
    """X is the offset of the payload, and stays."""
    return [
        *_map_and_key(memory),
        (0x85, 0, 0, 0, _LOOKUP),
        (0x15, _A, 0, 9, 0),  # not remembered
        (0x61, 1, _A, 0, 0),
        (0x61, 2, _FRAME, _MEMORY + 4 * SEQUENCE, 0),
        (0x1C, 2, 1, 0, 0),  # how far behind the beginning
        (0x36, 2, 0, 5, HANDSHAKE_BYTES),
        (0xB4, _A, 0, 0, HANDSHAKE_BYTES),
        (0x1C, _A, 2, 0, 0),
        (0x0C, _A, _X, 0, 0),
        (0x04, _A, 0, 0, 16),
        (_EXIT, 0, 0, 0, 0),
        (0xB4, _A, 0, 0, 0),
    ]  # fmt: skip


def _packed(operation: _Operation) -> bytes:
    code, destination, source, offset, immediate = operation
    little = sys.byteorder == "little"
    registers = source << 4 | destination if little else destination << 4 | source
    return struct.pack("=BBhI", code, registers, offset, immediate & 0xFFFFFFFF)


def _load(operations: bytes) -> int:
    code = ctypes.create_string_buffer(operations, len(operations))
    licence = ctypes.create_string_buffer(b"Apache-2.0")
    attributes = struct.pack(
        "=IIQQIIQ", _SOCKET_FILTER, len(operations) // 8, ctypes.addressof(code), ctypes.addressof(licence), 0, 0, 0
    )
    return _call(_PROG_LOAD, attributes)


def _call(command: int, attributes: bytes) -> int:
    number = _SYSTEM_CALL.get(platform.machine())
    if number is None or sys.maxsize < 1 << 32:
        raise UnavailableError(0, f"bpf() is not known on {platform.machine()}")
    libc = ctypes.CDLL(None, use_errno=True)
    size = 128
    padded = ctypes.create_string_buffer(attributes, size)
    result = libc.syscall(ctypes.c_long(number), ctypes.c_long(command), padded, ctypes.c_long(size))
    if result < 0:
        error = ctypes.get_errno()
        raise UnavailableError(error, f"bpf(): {os.strerror(error)}")
    return int(result)
