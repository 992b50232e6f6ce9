//! Compressed captures. The first byte chooses the compression, the rest follows its magic number.
#![no_main]

use libfuzzer_sys::fuzz_target;

const MAGICS: [&[u8]; 5] = [
    &[0x1F, 0x8B, 8],
    &[0x28, 0xB5, 0x2F, 0xFD],
    &[0xFD, b'7', b'z', b'X', b'Z', 0],
    &[0x04, 0x22, 0x4D, 0x18],
    b"BZh11AY&SY",
];

fuzz_target!(|data: &[u8]| {
    if let Some((kind, rest)) = data.split_first() {
        let magic = MAGICS[usize::from(*kind) % MAGICS.len()];
        vmtrace_fuzz::read_both_ways(&[magic, rest].concat());
    }
});
