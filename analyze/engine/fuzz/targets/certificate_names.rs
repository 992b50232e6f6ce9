//! The body of a Certificate message.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vmtrace_core::tls::certificate_names;

fuzz_target!(|body: &[u8]| {
    let found = certificate_names(body);
    assert!(found.names.len() <= 8);
    assert!(found.names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_graphic())), "{found:?}");
});
