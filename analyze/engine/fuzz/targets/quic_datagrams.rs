//! Datagrams of one connection behind their lengths: as they come, and with keys that open what is under them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vmtrace_core::quic::{QuicState, UdpPayload};
use vmtrace_core::secrets::SharedKeys;

fuzz_target!(|data: &[u8]| {
    let log = SharedKeys::default();
    log.read(data);
    let random = "07".repeat(32);
    for label in ["CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0", "SERVER_HANDSHAKE_TRAFFIC_SECRET"] {
        log.read(format!("{label} {random} {}", "03".repeat(32)).as_bytes());
    }
    let mut states = [QuicState::default(), QuicState::with_keys(&log)];
    states[1].keep_packets();
    let mut rest = data;
    let mut time_ns = 0;
    while let Some(([side, high, low], after)) = rest.split_first_chunk::<3>() {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let (bytes, next) = after.split_at(after.len().min(length));
        time_ns += 1_000_000;
        for state in &mut states {
            state.datagram(UdpPayload { bytes, length: length as u32, time_ns, frame: 1, side: usize::from(side & 1) });
        }
        rest = next;
    }
    for summary in states.iter().filter_map(QuicState::summary) {
        assert!(summary.version_negotiation.len() <= 16);
        let Some(inside) = summary.inside else { continue };
        assert!(inside.streams.len() <= 20);
        for packets in inside.packets {
            assert!(packets.lost_before_one_rtt <= packets.lost_before && packets.seen <= packets.sent, "{packets:?}");
        }
    }
});
