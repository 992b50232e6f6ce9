"""Programs are assembled, joined, and given to the kernel as they are."""

from __future__ import annotations

import socket

import pytest

from tests.capture.bpf_machine import kept
from vmtrace.capture import bpf
from vmtrace.capture.bpf import Assembler, Instruction


def test_labels_become_distances() -> None:
    program = Assembler()
    program.add(bpf.LOAD_LENGTH)
    program.add(bpf.IF_GREATER, 10, "long", "short")
    program.label("short")
    program.add(bpf.RETURN, 1)
    program.label("long")
    program.add(bpf.RETURN, 2)
    assert program.assemble()[1] == Instruction(bpf.IF_GREATER, 1, 0, 10)
    assert [kept(program.assemble(), bytes(size)) for size in (10, 11)] == [1, 2]


def test_a_jump_back_and_a_label_twice_are_refused() -> None:
    program = Assembler()
    program.label("here")
    program.add(bpf.JUMP, if_true="here")
    with pytest.raises(ValueError, match="jumps back to here"):
        program.assemble()
    with pytest.raises(ValueError, match="here is there twice"):
        program.label("here")


def test_a_conditional_jump_too_far_is_refused() -> None:
    program = Assembler()
    program.add(bpf.IF_EQUAL, 1, if_true="end")
    for _ in range(256):
        program.add(bpf.LOAD_LENGTH)
    program.label("end")
    program.add(bpf.RETURN, 1)
    with pytest.raises(ValueError, match="jumps too far"):
        program.assemble()


def test_what_the_first_program_accepts_goes_to_the_second() -> None:
    longer_than_10 = [
        Instruction(bpf.LOAD_LENGTH, 0, 0, 0),
        Instruction(bpf.IF_GREATER, 1, 0, 10),
        Instruction(bpf.RETURN, 0, 0, 0),
        Instruction(bpf.RETURN, 0, 0, 262_144),
    ]
    joined = bpf.then(longer_than_10, [Instruction(bpf.RETURN, 0, 0, 7)])
    assert [kept(joined, bytes(size)) for size in (10, 11)] == [0, 7]


def test_a_program_that_computes_its_return_value_cannot_be_first() -> None:
    with pytest.raises(bpf.ProgramError, match="computes its return value"):
        bpf.then([Instruction(bpf.RETURN_A, 0, 0, 0)], bpf.REJECT_ALL)


def test_a_program_longer_than_the_kernel_takes_is_refused() -> None:
    with pytest.raises(bpf.ProgramError, match="the kernel takes 4096"):
        bpf.then([Instruction(bpf.LOAD_LENGTH, 0, 0, 0)] * 4096, bpf.REJECT_ALL)


def test_the_kernel_holds_what_was_attached_and_obeys() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(5)
        assert bpf.attached(receiver.fileno()) == []
        program = [Instruction(bpf.RETURN, 0, 0, 8 + 3)]  # the UDP header and three bytes
        bpf.attach(receiver.fileno(), program)
        assert bpf.attached(receiver.fileno()) == program
        sender.sendto(b"payload", receiver.getsockname())
        assert receiver.recv(100) == b"pay"


def test_a_descriptor_that_is_no_socket_has_no_filter_and_takes_none() -> None:
    with open("/dev/null", "rb") as file:  # noqa: PTH123 - a device
        assert bpf.attached(file.fileno()) == []
        with pytest.raises(OSError, match="filter of the socket"):
            bpf.attach(file.fileno(), bpf.REJECT_ALL)
