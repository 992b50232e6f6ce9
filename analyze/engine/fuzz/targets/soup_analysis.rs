//! Packet soup as a capture file through everything, in one reading and in parts: unacceptable numbers, resets that nobody takes, partial
//! D-SACKs, several SYN-ACKs, copies, disorder, one direction, requests without a response.
//!
//! The generator is that of `core/tests/soup_analysis.rs`.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use vmtrace_core::analysis::{Analysis, NoObserver, Options, analyze, analyze_in_parts};
use vmtrace_core::output::json::JsonHeader;

#[path = "../../core/tests/soup/mod.rs"]
mod soup;

#[path = "../../core/tests/playbook/invariants.rs"]
mod invariants;

fuzz_target!(|data: &[u8]| {
    let Some((&cut, data)) = data.split_first() else { return };
    let snap_length = if cut.is_multiple_of(4) { 54 + usize::from(cut) } else { 65_535 };
    let soup = soup::talk::soup(data);
    let file = soup::file::pcap(&soup.capture, snap_length);
    let open = || vec![Box::new(Cursor::new(file.clone())) as _];
    let options = Options { threads: 1, ..Options::default() };
    let once = analyze(open(), &options, &NoObserver).expect("a capture");
    let in_parts = analyze_in_parts(open(), &|| Ok(open()), &options, &NoObserver).expect("a capture");
    for analysis in [once, in_parts] {
        check(&analysis, soup.capture.segments.len() as u64);
    }
});

fn check(analysis: &Analysis, packets: u64) {
    assert_eq!(analysis.inputs[0].facts.packets, packets);
    invariants::check(analysis);
    for direction in analysis.connections.iter().flat_map(|connection| &connection.directions) {
        assert!(
            u64::from(direction.loss.retransmitted) <= direction.data_segments,
            "more retransmissions than segments"
        );
    }
    let header = JsonHeader { vmtrace_version: "0".into(), input_paths: vec!["fuzz".into()], ..JsonHeader::default() };
    analysis.write_json(&mut std::io::sink(), &header).expect("a sink takes everything");
}
