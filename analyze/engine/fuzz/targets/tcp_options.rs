#![no_main]
use libfuzzer_sys::fuzz_target;
fuzz_target!(|data: &[u8]| {
    if data.len() > 3 && data[0] == b'F' && data[1] == b'U' && data[2] == b'Z' && data[3] == b'Z' { panic!("found"); }
});
