//! A whole capture file through everything: reading, decoding, TCP and TLS analysis, columns and JSON.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use vmtrace_core::analysis::{JsonHeader, Observer, Options, analyze};

/// Watches nothing and never interrupts.
struct Silent;

impl Observer for Silent {
    fn progress(&self, _consumed_bytes: u64) -> bool {
        false
    }
}

fuzz_target!(|data: &[u8]| {
    let options = Options { threads: 1, detail_connections: vec![0], ..Options::default() };
    let Ok(analysis) = analyze(vec![Box::new(Cursor::new(data.to_vec()))], &options, &Silent) else { return };
    analysis.connection_columns();
    analysis.packet_columns();
    analysis.syn_columns();
    let header = JsonHeader { vmtrace_version: "0".into(), input_paths: vec!["fuzz".into()], pretty: false };
    analysis.write_json(&mut std::io::sink(), &header).expect("a sink takes everything");
});
