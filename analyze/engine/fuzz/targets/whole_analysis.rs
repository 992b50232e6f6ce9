//! A whole capture file through everything: reading, decoding, TCP and TLS analysis, columns and JSON.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use vmtrace_core::analysis::{NoObserver, Options, analyze};
use vmtrace_core::output::json::JsonHeader;

fuzz_target!(|data: &[u8]| {
    let options = Options { threads: 1, detail_connections: vec![0], ..Options::default() };
    let Ok(analysis) = analyze(vec![Box::new(Cursor::new(data.to_vec()))], &options, &NoObserver) else { return };
    analysis.connection_columns(None);
    analysis.packet_columns();
    analysis.syn_columns();
    let header = JsonHeader { vmtrace_version: "0".into(), input_paths: vec!["fuzz".into()], ..JsonHeader::default() };
    analysis.write_json(&mut std::io::sink(), &header).expect("a sink takes everything");
});
