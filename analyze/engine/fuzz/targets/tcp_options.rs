//! TCP options. Byte 0 is the length of the area on the wire, the rest what was captured of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vmtrace_core::decode::options::{Options, TcpOptions};

fuzz_target!(|data: &[u8]| {
    let Some((area, captured)) = data.split_first() else { return };
    let area = usize::from(*area) % 41;
    let options = Options::collect(TcpOptions::new(captured, area));
    let found = TcpOptions::new(captured, area).count();
    assert!(found <= area, "{found} options in {area} bytes: {options:?}");
});
