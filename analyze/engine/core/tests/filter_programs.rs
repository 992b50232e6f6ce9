//! BPF programs: the check, each operation, and real filters against libpcap's own verdict.
//!
//! Subjects: `filter/mod.rs`, `filter/instruction.rs`, `filter/machine.rs`.

use std::process::Command;

use crate::frames::*;
use proptest::prelude::*;
use vmtrace_core::filter::{InvalidProgram, Program};

type Raw = (u16, u8, u8, u32);

/// Programs in the memory layout of `struct bpf_insn`.
fn bytes(instructions: &[Raw]) -> Vec<u8> {
    let pack = |&(code, jt, jf, k): &Raw| [&code.to_ne_bytes()[..], &[jt, jf], &k.to_ne_bytes()].concat();
    instructions.iter().flat_map(pack).collect()
}

fn program(instructions: &[Raw]) -> Program {
    Program::parse(&bytes(instructions)).unwrap()
}

fn refused(instructions: &[Raw]) -> InvalidProgram {
    Program::parse(&bytes(instructions)).unwrap_err()
}

const RETURN_A: Raw = (0x16, 0, 0, 0);
const RETURN_7: Raw = (0x06, 0, 0, 7);
const PACKET: [u8; 8] = [0x45, 0x10, 0xff, 0xfe, 3, 2, 1, 0];

/// A after the instructions.
fn result(instructions: &[Raw]) -> u32 {
    program(&[instructions, &[RETURN_A]].concat()).run(&PACKET, 1500)
}

#[test]
fn loads_read_big_endian_and_within_the_captured_bytes_only() {
    assert_eq!(result(&[(0x20, 0, 0, 1)]), 0x10ff_fe03);
    assert_eq!(result(&[(0x28, 0, 0, 2)]), 0xfffe);
    assert_eq!(result(&[(0x30, 0, 0, 7)]), 0);
    assert_eq!(result(&[(0x30, 0, 0, 6)]), 1);
    // Indirect: X = 4.
    assert_eq!(result(&[(0x01, 0, 0, 4), (0x40, 0, 0, 0)]), 0x0302_0100);
    assert_eq!(result(&[(0x01, 0, 0, 4), (0x48, 0, 0, 1)]), 0x0201);
    assert_eq!(result(&[(0x01, 0, 0, 4), (0x50, 0, 0, 0)]), 3);
    assert_eq!(result(&[(0x80, 0, 0, 0)]), 1500);
    assert_eq!(result(&[(0x81, 0, 0, 0), (0x87, 0, 0, 0)]), 1500);
    // The length of an IPv4 header at offset 0.
    assert_eq!(result(&[(0xb1, 0, 0, 0), (0x87, 0, 0, 0)]), 20);
    let out_of_range = |load: &[Raw]| program(&[load, &[RETURN_7]].concat()).run(&PACKET, 1500);
    assert_eq!(out_of_range(&[(0x20, 0, 0, 4)]), 7);
    assert_eq!(out_of_range(&[(0x20, 0, 0, 5)]), 0);
    assert_eq!(out_of_range(&[(0x28, 0, 0, 7)]), 0);
    assert_eq!(out_of_range(&[(0x30, 0, 0, 8)]), 0);
    assert_eq!(out_of_range(&[(0x20, 0, 0, u32::MAX)]), 0);
    assert_eq!(out_of_range(&[(0xb1, 0, 0, 8)]), 0);
    assert_eq!(out_of_range(&[(0x01, 0, 0, u32::MAX), (0x50, 0, 0, 2)]), 0);
}

#[test]
fn arithmetic_wraps_and_takes_constant_or_index() {
    let with = |code: u16, a: u32, operand: u32| {
        let constant = result(&[(0x00, 0, 0, a), (code, 0, 0, operand)]);
        let index = result(&[(0x01, 0, 0, operand), (0x00, 0, 0, a), (code | 8, 0, 0, 0)]);
        assert_eq!(constant, index, "{code:#x}");
        constant
    };
    assert_eq!(with(0x04, u32::MAX, 3), 2);
    assert_eq!(with(0x14, 1, 3), u32::MAX - 1);
    assert_eq!(with(0x24, 0x8000_0001, 2), 2);
    assert_eq!(with(0x34, 17, 5), 3);
    assert_eq!(with(0x94, 17, 5), 2);
    assert_eq!(with(0x44, 0b1100, 0b1010), 0b1110);
    assert_eq!(with(0x54, 0b1100, 0b1010), 0b1000);
    assert_eq!(with(0xa4, 0b1100, 0b1010), 0b0110);
    assert_eq!(with(0x64, 3, 31), 1 << 31);
    assert_eq!(with(0x74, 1 << 31, 31), 1);
    assert_eq!(result(&[(0x00, 0, 0, 5), (0x84, 0, 0, 0)]), 5_u32.wrapping_neg());
}

#[test]
fn division_by_an_index_of_zero_drops_and_far_shifts_give_zero() {
    let by_index = |code: u16, x: u32| {
        program(&[(0x01, 0, 0, x), (0x00, 0, 0, 9), (code, 0, 0, 0), (0x04, 0, 0, 1), RETURN_A]).run(&PACKET, 8)
    };
    assert_eq!((by_index(0x3c, 0), by_index(0x9c, 0)), (0, 0));
    assert_eq!((by_index(0x3c, 3), by_index(0x9c, 4)), (4, 2));
    assert_eq!((by_index(0x6c, 32), by_index(0x7c, 40)), (1, 1));
}

#[test]
fn memory_and_registers_hold_their_values() {
    let store = [(0x00, 0, 0, 42), (0x02, 0, 0, 15), (0x00, 0, 0, 0)];
    assert_eq!(result(&[&store[..], &[(0x60, 0, 0, 15)]].concat()), 42);
    assert_eq!(result(&[&store[..], &[(0x61, 0, 0, 15), (0x87, 0, 0, 0)]].concat()), 42);
    assert_eq!(result(&[(0x01, 0, 0, 9), (0x03, 0, 0, 0), (0x60, 0, 0, 0)]), 9);
    assert_eq!(result(&[(0x00, 0, 0, 9), (0x07, 0, 0, 0), (0x00, 0, 0, 1), (0x0c, 0, 0, 0)]), 10);
}

#[test]
fn branches_take_the_side_of_their_condition() {
    let taken = |code: u16, a: u32, operand: u32| {
        let constant = [(0x00, 0, 0, a), (code, 1, 0, operand), (0x06, 0, 0, 1), (0x06, 0, 0, 2)];
        let index = [(0x01, 0, 0, operand), (0x00, 0, 0, a), (code | 8, 1, 0, 0), (0x06, 0, 0, 1), (0x06, 0, 0, 2)];
        let result = program(&constant).run(&[], 0);
        assert_eq!(result, program(&index).run(&[], 0));
        result == 2
    };
    assert!(taken(0x15, 5, 5) && !taken(0x15, 5, 6));
    assert!(taken(0x25, 6, 5) && !taken(0x25, 5, 5) && taken(0x25, u32::MAX, 1));
    assert!(taken(0x35, 5, 5) && !taken(0x35, 4, 5));
    assert!(taken(0x45, 6, 2) && !taken(0x45, 6, 1));
    assert_eq!(program(&[(0x05, 0, 0, 1), (0x06, 0, 0, 1), (0x06, 0, 0, 2)]).run(&[], 0), 2);
}

#[test]
fn what_the_kernel_refuses_is_refused() {
    assert_eq!(Program::parse(&[]), Err(InvalidProgram::Length(0)));
    assert_eq!(Program::parse(&[0; 9]), Err(InvalidProgram::Length(9)));
    assert_eq!(refused(&vec![RETURN_A; 4097]), InvalidProgram::Length(4097 * 8));
    assert!(Program::parse(&bytes(&vec![RETURN_A; 4096])).is_ok());
    assert_eq!(refused(&[(0x00, 0, 0, 1)]), InvalidProgram::NoReturn);
    for code in [0x08, 0x18, 0x38, 0x0e, 0x1e, 0xb4, 0x55, 0x0d, 0xffff, 0x106, 0xa0, 0x09] {
        assert_eq!(refused(&[(code, 0, 0, 1), RETURN_A]), InvalidProgram::UnknownOperation { at: 0, code });
    }
    for code in [0x34, 0x94] {
        assert_eq!(refused(&[(code, 0, 0, 0), RETURN_A]), InvalidProgram::DivisionByZero { at: 0 });
    }
    for code in [0x64, 0x74] {
        assert_eq!(refused(&[(code, 0, 0, 32), RETURN_A]), InvalidProgram::ShiftTooFar { at: 0 });
    }
    for code in [0x60, 0x61, 0x02, 0x03] {
        assert_eq!(refused(&[(code, 0, 0, 16), RETURN_A]), InvalidProgram::NoSuchMemory { at: 0 });
    }
    assert_eq!(refused(&[(0x05, 0, 0, 1), RETURN_A]), InvalidProgram::JumpOutOfRange { at: 0 });
    assert_eq!(refused(&[(0x05, 0, 0, u32::MAX), RETURN_A]), InvalidProgram::JumpOutOfRange { at: 0 });
    assert_eq!(refused(&[(0x15, 1, 0, 0), RETURN_A]), InvalidProgram::JumpOutOfRange { at: 0 });
    assert_eq!(refused(&[(0x15, 0, 1, 0), RETURN_A]), InvalidProgram::JumpOutOfRange { at: 0 });
}

/// A jump back, over so many instructions and itself.
const fn back(over: u32) -> Raw {
    (0x05, 0, 0, (over + 1).wrapping_neg())
}

#[test]
fn a_loop_goes_on_until_its_condition_or_for_as_many_turns_as_there_are_bytes() {
    // Counts X up to k.
    let up_to = |k: u32| {
        let count = [(0x01, 0, 0, 0), (0x87, 0, 0, 0), (0x04, 0, 0, 1), (0x07, 0, 0, 0), (0x15, 1, 0, k), back(4)];
        program(&[&count[..], &[RETURN_A]].concat()).run(&PACKET, 8)
    };
    assert_eq!((up_to(1), up_to(9)), (1, 9));
    assert_eq!(up_to(10), 0, "eight bytes, nine turns back");
    assert_eq!(refused(&[RETURN_A, back(2), RETURN_A]), InvalidProgram::JumpOutOfRange { at: 1 });
    assert!(Program::parse(&bytes(&[RETURN_A, back(1), RETURN_A])).is_ok());
}

#[test]
fn memory_that_may_be_unwritten_is_refused() {
    // Written before the loop on one way into it, but not on the one that comes back.
    let skips = [(0x02, 0, 0, 3), (0x60, 0, 0, 3), RETURN_A, back(2), RETURN_A];
    let into = [&[(0x15, 3, 0, 0)][..], &skips].concat();
    assert_eq!(refused(&into), InvalidProgram::MemoryNotWritten { at: 4 });
    assert_eq!(refused(&[(0x60, 0, 0, 0), RETURN_A]), InvalidProgram::MemoryNotWritten { at: 0 });
    // Written on one side of the branch only.
    let one_side = [(0x15, 0, 1, 0), (0x02, 0, 0, 3), (0x60, 0, 0, 3), RETURN_A];
    assert_eq!(refused(&one_side), InvalidProgram::MemoryNotWritten { at: 2 });
    let both_sides = [(0x15, 0, 2, 0), (0x02, 0, 0, 3), (0x05, 0, 0, 1), (0x02, 0, 0, 3), (0x60, 0, 0, 3), RETURN_A];
    assert!(Program::parse(&bytes(&both_sides)).is_ok());
}

#[test]
fn refusals_name_the_instruction() {
    let text = refused(&[(0x00, 0, 0, 1), (0xffff, 0, 0, 0), RETURN_A]).to_string();
    assert_eq!(text, "filter instruction 1: unknown operation 0xffff");
}

/// Compiles an expression by libpcap for Ethernet (`tcpdump -ddd`: a count, then code, jt, jf, k in decimal).
fn compile(expression: &str, capture: &std::path::Path) -> Option<Vec<u8>> {
    let output = Command::new("tcpdump").arg("-ddd").arg("-r").arg(capture).arg(expression).output().ok()?;
    assert!(output.status.success(), "{expression}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |line: &str| {
        let numbers: Vec<u32> = line.split_whitespace().map(|number| number.parse().unwrap()).collect();
        (numbers[0] as u16, numbers[1] as u8, numbers[2] as u8, numbers[3])
    };
    Some(bytes(&text.lines().skip(1).map(line).collect::<Vec<Raw>>()))
}

/// A pcap file of Ethernet frames.
fn pcap(frames: &[Vec<u8>], snap_length: usize) -> Vec<u8> {
    let mut file = [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 65535, 1].map(u32::to_be_bytes).concat();
    for (number, frame) in frames.iter().enumerate() {
        let captured = &frame[..frame.len().min(snap_length)];
        let header = [number as u32, 0, captured.len() as u32, frame.len() as u32].map(u32::to_be_bytes).concat();
        file.extend([&header[..], captured].concat());
    }
    file
}

#[test]
fn real_filters_give_libpcaps_verdict() {
    let mut frames: Vec<Vec<u8>> = shapes().into_iter().filter(|shape| shape.1 == 1).map(|shape| shape.2).collect();
    frames.push(ethernet(0x86dd, &ipv6(6, &tcp(&[], b"hello"))));
    let options = [&[60, 0, 1, 4, 0, 0, 0, 0][..], &[43, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
    let headers = [&options[..], &[6, 0, 0, 0, 0, 0, 0, 0], &tcp(&[], b"hello")].concat();
    frames.push(ethernet(0x86dd, &ipv6(0, &headers)));
    frames.push(ethernet(0x86dd, &ipv6(44, &ipv6_fragment(6, 0, true, &tcp(&[], &[0; 44])))));
    frames.push(ethernet(0x0800, &ipv4_with(&[1; 8], 0x4000, 6, &tcp(&[1, 1, 1, 1], &[7; 900]))));
    frames.push(ethernet(0x0800, &ipv4_with(&[], 0x00b9, 6, &[7; 100])));
    frames.push(ethernet(0x0800, &ipv4(17, &udp(53, b"?"))));
    frames.push(ethernet(0x0806, &[0; 28]));
    let expressions = [
        "tcp",
        "tcp port 443",
        "tcp and host 10.1.2.3",
        "ip6 and tcp dst port 443",
        "net 192.168.0.0/16 and not src port 443",
        "tcp[tcpflags] & (tcp-push|tcp-ack) == (tcp-push|tcp-ack)",
        "tcp[13] & 2 != 0 or udp port 53",
        "ip[6:2] & 0x1fff != 0",
        "tcp portrange 39000-41000",
        "vlan and tcp",
        "vlan 7 and vlan and ip",
        "mpls and ip",
        "greater 500",
        "less 100 and ip proto 47",
        "ether host 02:00:00:00:00:01",
        "ip[2:2] - ((ip[0] & 0xf) << 2) - ((tcp[12] & 0xf0) >> 2) != 0",
        "ip[8] % 2 = 1 and ip[8] / 3 > 4 and len * 2 > 100",
        "arp or (udp and port 4789)",
        "pppoes and ip",
        "ip6 protochain 6",
        "ip6 protochain 17 or ip protochain 6",
    ];
    for snap_length in [65535, 60, 40] {
        let folder = std::env::temp_dir().join(format!("vmtrace-filter-{}-{snap_length}", std::process::id()));
        std::fs::write(&folder, pcap(&frames, snap_length)).unwrap();
        for expression in expressions {
            let Some(code) = compile(expression, &folder) else {
                eprintln!("skipped: no tcpdump");
                std::fs::remove_file(&folder).unwrap();
                return;
            };
            let program = Program::parse(&code).unwrap();
            let kept = |frame: &&Vec<u8>| program.run(&frame[..frame.len().min(snap_length)], frame.len() as u32) != 0;
            let output =
                Command::new("tcpdump").args(["-n", "-t", "-w", "-", "-r"]).arg(&folder).arg(expression).output();
            let expected = pcap(&frames.iter().filter(kept).cloned().collect::<Vec<_>>(), snap_length);
            // Times tell the frames apart, so only the number and the bytes are compared.
            assert_eq!(without_times(&output.unwrap().stdout), without_times(&expected), "{expression}");
        }
        std::fs::remove_file(&folder).unwrap();
    }
}

/// Captured bytes of each record of a pcap file in either byte order.
fn without_times(file: &[u8]) -> Vec<Vec<u8>> {
    let little = file.starts_with(&[0xd4, 0xc3, 0xb2, 0xa1]);
    let mut frames = Vec::new();
    let mut rest = file.get(24..).unwrap_or_default();
    while let Some((header, behind)) = rest.split_first_chunk::<16>() {
        let length = *header[8..].first_chunk().unwrap();
        let length = if little { u32::from_le_bytes(length) } else { u32::from_be_bytes(length) };
        let (frame, behind) = behind.split_at(length as usize);
        frames.push(frame.to_vec());
        rest = behind;
    }
    frames
}

proptest! {
    #![proptest_config(kept_beside_the_tests())]

    #[test]
    fn any_bytes_are_refused_or_run_to_an_end(
        // Mostly valid codes, so that programs get past the check.
        raw in prop::collection::vec((prop_oneof![prop::sample::select(CODES.to_vec()), any::<u16>()], 0_u8..4, 0_u8..4,
                                      prop_oneof![0_u32..20, any::<u32>()]), 1..20),
        packet in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let code = [bytes(&raw), bytes(&[RETURN_A])].concat();
        if let Ok(program) = Program::parse(&code) {
            let _ = program.run(&packet, 64);
        }
    }
}

const CODES: [u16; 24] = [
    0x00, 0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x60, 0x80, 0x01, 0x61, 0xb1, 0x02, 0x03, 0x05, 0x04, 0x0c, 0x3c, 0x6c,
    0x15, 0x25, 0x3d, 0x07, 0x87,
];
