//! UDP datagrams of any content between two hosts, through flows, names and JSON. Each begins with three bytes: which ports,
//! who sends, how long the pause before it was; then its length and content.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use vmtrace_core::analysis::{NoObserver, Options, analyze};
use vmtrace_core::output::json::JsonHeader;

/// Ports whose datagrams are looked at in a way of their own.
const PORTS: [u16; 8] = [53, 123, 443, 4500, 4789, 5004, 5201, 51_820];

/// Header of a pcap file of raw IP packets.
const FILE: [u8; 24] = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0];

fuzz_target!(|data: &[u8]| {
    let (mut file, mut rest, mut time_us, mut sent) = (FILE.to_vec(), data, 0u32, 0u64);
    while let [choice, pause, length, more @ ..] = rest {
        let (payload, behind) = more.split_at(more.len().min(usize::from(*length)));
        rest = behind;
        time_us += u32::from(*pause) * 1000;
        sent += 1;
        let mut ports = [40_000 + u16::from(choice >> 6), PORTS[usize::from(choice & 7)]];
        let mut ends = [[10, 0, 0, 1], [10, 0, 0, 2]];
        if choice & 8 != 0 {
            ports.reverse();
            ends.reverse();
        }
        let total = 28 + payload.len() as u32;
        for word in [time_us / 1_000_000, time_us % 1_000_000, total, total] {
            file.extend(word.to_le_bytes());
        }
        file.extend([0x45, 0, 0, total as u8, 0, 0, 0, 0, 64, 17, 0, 0]);
        let at = file.len() - 10;
        file[at..at + 2].copy_from_slice(&(total as u16).to_be_bytes());
        file.extend(ends.concat());
        for word in [ports[0], ports[1], total as u16 - 20, 0] {
            file.extend(word.to_be_bytes());
        }
        file.extend(payload);
    }
    let options = Options { datagrams_known_by_bytes: Some(16), ..Options::default() };
    let Ok(analysis) = analyze(vec![Box::new(Cursor::new(file))], &options, &NoObserver) else { return };
    // What tunnels hold is no datagram of a flow, or none of its own.
    let passed = analysis.datagrams.flows.passings().map_or(0, |passings| passings.list().len() as u64);
    let lanes = || analysis.datagrams.flows.list().iter().flat_map(|flow| &flow.lanes);
    let joined: u64 = lanes().filter_map(|lane| lane.joins.as_ref()).map(|joins| joins.datagrams).sum();
    assert!(passed <= sent + joined, "{passed} of {sent}, and {joined} in frames of several");
    let counted: u64 = analysis.datagrams.protocols.iter().map(|(_, amount)| amount.packets).sum();
    assert_eq!(counted, sent, "every datagram is counted once");
    for lane in lanes() {
        let received = lane.totals().map_or(0, |totals| totals.received);
        let joined = lane.joins.as_ref().map_or(0, |joins| joins.datagrams);
        assert!(received <= lane.packets + joined, "more numbers than datagrams: {lane:?}");
    }
    analysis.write_json(&mut std::io::sink(), &JsonHeader::default()).expect("a sink takes everything");
});
