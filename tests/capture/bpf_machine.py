"""Runs a classic BPF program on a packet as the kernel does: a load beyond its end returns 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vmtrace.capture.bpf import PROTOCOL, Instruction


@dataclass
class _Machine:
    packet: bytes
    ethertype: int
    a: int = 0
    x: int = 0
    memory: dict[int, int] = field(default_factory=dict)

    def load(self, at: int, size: int) -> int | None:
        if at == PROTOCOL:
            return self.ethertype
        data = self.packet[at : at + size]
        return int.from_bytes(data, "big") if len(data) == size else None


def kept(program: Sequence[Instruction], packet: bytes, ethertype: int = 0) -> int:
    """What the program returns; -1 if a load failed, which the kernel takes for 0."""
    machine, at = _Machine(packet, ethertype), 0
    while True:
        code, if_true, if_false, constant = program[at]
        at += 1
        if code in (0x06, 0x16):
            return constant if code == 0x06 else machine.a
        if code & 7 == 5:
            at += _jump(machine, code, if_true, if_false, constant)
        elif not _step(machine, code, constant):
            return -1


def _jump(machine: _Machine, code: int, if_true: int, if_false: int, constant: int) -> int:
    if code == 0x05:
        return constant
    against = machine.x if code & 8 else constant
    holds = {
        0x10: machine.a == against,
        0x20: machine.a > against,
        0x30: machine.a >= against,
        0x40: bool(machine.a & against),
    }
    return if_true if holds[code & 0xF0] else if_false


def _step(machine: _Machine, code: int, constant: int) -> bool:
    """False if it loads what is not there."""
    sizes = {0x20: 4, 0x28: 2, 0x30: 1}
    if code in sizes or code - 0x20 in sizes:
        indirect = code - 0x20 in sizes and code not in sizes
        value = machine.load(constant + (machine.x if indirect else 0), sizes[code - 0x20 if indirect else code])
        if value is None:
            return False
        machine.a = value
        return True
    a, x = machine.a, machine.x
    if code == 0x01:
        machine.x = constant
    elif code == 0x61:
        machine.x = machine.memory[constant]
    elif code == 0x02:
        machine.memory[constant] = a
    elif code == 0x07:
        machine.x = a
    else:
        results = {
            0x80: len(machine.packet),
            0x04: a + constant,
            0x0C: a + x,
            0x1C: a - x,
            0x54: a & constant,
            0x64: a << constant,
            0x74: a >> constant,
            0x87: x,
        }
        machine.a = results[code] & 0xFFFFFFFF
    return True
