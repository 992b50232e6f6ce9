//! pcap of all four magic numbers, snoop and ERF. The first byte chooses the format, the rest follows its magic number.
#![no_main]

use libfuzzer_sys::fuzz_target;

const MAGICS: [&[u8]; 6] = [
    &[0xD4, 0xC3, 0xB2, 0xA1],
    &[0xA1, 0xB2, 0xC3, 0xD4],
    &[0x4D, 0x3C, 0xB2, 0xA1],
    &[0xA1, 0xB2, 0x3C, 0x4D],
    b"snoop\0\0\0",
    // ERF has none.
    b"",
];

fuzz_target!(|data: &[u8]| {
    if let Some((kind, rest)) = data.split_first() {
        let magic = MAGICS[usize::from(*kind) % MAGICS.len()];
        vmtrace_fuzz::read_both_ways(&[magic, rest].concat());
    }
});
