//! A whole capture file through everything: reading, decoding, TCP and TLS analysis, columns and JSON; once more as if the
//! first client had been recorded late, and once as a file that can be read again, which what is out of order, and captures of two
//! points, are.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use vmtrace_core::analysis::{Analysis, NoObserver, Options, analyze, analyze_in_parts};
use vmtrace_core::output::json::JsonHeader;
use vmtrace_core::output::packets;
use vmtrace_core::tcp::capture::lag::{HostAddress, Lag};

#[path = "../../core/tests/playbook/invariants.rs"]
mod invariants;

fuzz_target!(|data: &[u8]| {
    let mut options = Options { threads: 1, detail_connections: vec![0], ..Options::default() };
    let Some(analysis) = analyzed(data, &options) else { return };
    let open = || vec![Box::new(Cursor::new(data.to_vec())) as _];
    let again = analyze_in_parts(open(), &|| Ok(open()), &Options::default(), &NoObserver).expect("it was read before");
    assert_eq!(again.inputs[0].facts.packets, analysis.inputs[0].facts.packets);
    options.lags = analysis.lags;
    if let Some(first) = analysis.connections.first() {
        let host = HostAddress::of_side(&first.addresses, first.ip_version, 0);
        options.lags.push(Lag { input: first.input, host, lag_ns: 3_000_000 });
        analyzed(data, &options).expect("it was read before");
    }
});

fn analyzed(data: &[u8], options: &Options) -> Option<Analysis> {
    let analysis = analyze(vec![Box::new(Cursor::new(data.to_vec()))], options, &NoObserver).ok()?;
    invariants::check(&analysis);
    analysis.connection_columns(None);
    packets::packet_columns(&analysis).for_each(drop);
    analysis.syn_columns();
    let header = JsonHeader { vmtrace_version: "0".into(), input_paths: vec!["fuzz".into()], ..JsonHeader::default() };
    analysis.write_json(&mut std::io::sink(), &header).expect("a sink takes everything");
    Some(analysis)
}
