//! pcapng: what follows the type of the first section header block.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| vmtrace_fuzz::read_both_ways(&[&[0x0A, 0x0D, 0x0D, 0x0A], data].concat()));
