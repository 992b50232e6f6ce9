//! DNS messages behind their lengths, as TCP carries them; each also as a datagram of its own, question and answer.
#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use libfuzzer_sys::fuzz_target;
use vmtrace_core::dns::{DnsStreams, Exchange, Lookups, Transport};

/// Bytes of a segment.
const SEGMENT_BYTES: usize = 100;

fuzz_target!(|data: &[u8]| {
    let ends: [IpAddr; 2] = [Ipv4Addr::new(10, 0, 0, 1).into(), Ipv4Addr::new(10, 0, 0, 53).into()];
    let there = |time_ns, transport| Exchange { addresses: ends, ports: [40_000, 53], time_ns, frame: 1, input: 0, transport };
    let back = |exchange: Exchange| {
        let Exchange { addresses: [client, server], ports: [client_port, port], .. } = exchange;
        Exchange { addresses: [server, client], ports: [port, client_port], ..exchange }
    };
    let mut streams = DnsStreams::new();
    let mut lookups = Lookups::default();
    for (number, segment) in data.chunks(SEGMENT_BYTES).enumerate() {
        let (time_ns, offset) = (number as i64, (number * SEGMENT_BYTES) as u64);
        streams.segment(there(time_ns, Transport::Tcp), 0, offset, segment, segment.len() as u32);
        streams.segment(back(there(time_ns, Transport::Tcp)), 1, offset, segment, segment.len() as u32);
    }
    lookups.message(there(0, Transport::Udp), data, true);
    lookups.message(back(there(1, Transport::Udp)), data, false);
    lookups.merge([streams.into_lookups()]);
    for lookup in lookups.all() {
        assert!(lookup.message.addresses.len() <= 64 && lookup.message.aliases.len() <= 16, "{lookup:?}");
        assert!(lookup.message.name.as_ref().is_none_or(|name| name.len() <= 4 * 255));
    }
});
