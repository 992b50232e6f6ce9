//! Packet soup through the fast path and through the general rules: the whole state is the same after every packet.
//!
//! The generator and the comparison are those of `core/tests/fast_path.rs`.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../core/tests/soup/mod.rs"]
mod soup;

fuzz_target!(|data: &[u8]| {
    if let Err(found) = soup::ways::compare(&soup::talk::soup(data), |_, _| ()) {
        panic!("{found}");
    }
});
