//! One flow on both sides of a device that rewrites sequence numbers: each packet counts once.
//!
//! Subjects: `tcp/connection/rewritten.rs`, `tcp/connection/open.rs`, `tcp/summary/kept.rs`.

use crate::captures::Frame;
use crate::playbook::*;
use vmtrace_core::analysis::{Analysis, Options};

/// So much later a packet is on the other side of the device.
const BEHIND_MS: f64 = 0.16;

#[derive(Clone, Copy)]
struct Flow {
    ipv6: bool,
    timestamps: bool,
    upload: bool,
}

const PLAIN: Flow = Flow { ipv6: false, timestamps: true, upload: true };

impl Flow {
    /// As one side of the device shows it. `late_ms`: by so much the packets of client, server come later.
    fn seen(self, isn: [u32; 2], late_ms: [f64; 2]) -> Talk {
        let base = if self.ipv6 { Talk::new().over_ipv6() } else { Talk::new() };
        let base = if self.timestamps { base.with_timestamps() } else { base };
        let [client_ms, server_ms] = late_ms;
        let opened = base
            .with_isn(isn[0], isn[1])
            .client(client_ms, syn())
            .server(10.0 + server_ms, syn_ack())
            .client(20.0 + client_ms, ack(0));
        let sends = opened.each(0..60_i64, |talk, n| {
            let at_ms = 30.0 + 25.0 * n as f64;
            match self.upload {
                true => talk
                    .client(at_ms + client_ms, data(n * 1000, 1000))
                    .server(at_ms + 20.0 + server_ms, ack((n + 1) * 1000)),
                false => talk
                    .server(at_ms + server_ms, data(n * 1000, 1000))
                    .client(at_ms + 20.0 + client_ms, ack((n + 1) * 1000)),
            }
        });
        let (sent, got) = if self.upload { (60_000, 0) } else { (0, 60_000) };
        sends
            .client(2000.0 + client_ms, fin(sent))
            .server(2020.0 + server_ms, fin(got))
            .client(2040.0 + client_ms, Segment { start: Some(sent + 1), ..ack(got + 1) })
    }

    /// Both sides, of which the outer one has moved numbers.
    fn on_both(self, moved: [u32; 2]) -> Vec<Frame> {
        let isn = [7_000_u32, 90_000];
        let outer = [isn[0].wrapping_add(moved[0]), isn[1].wrapping_add(moved[1])];
        merged(&[self.seen(isn, [0.0, BEHIND_MS]), self.seen(outer, [BEHIND_MS, 0.0])])
    }
}

fn check(analysis: &Analysis, frames: usize, flow: Flow, name: &str) {
    assert_eq!(analysis.connections.len(), 1, "{name}");
    let connection = &analysis.connections[0];
    let [client, server] = &connection.directions;
    assert!(connection.handshake_complete && connection.handshake_rtt_ns().is_some(), "{name}");
    assert_eq!(client.packets + server.packets, frames as u64 / 2, "{name}");
    assert_eq!(analysis.inputs[0].duplicates, frames as u64 / 2, "{name}");
    let unique = [client.unique_payload_bytes, server.unique_payload_bytes];
    assert_eq!(unique, if flow.upload { [60_000, 0] } else { [0, 60_000] }, "{name}");
    for direction in [client, server] {
        let loss = &direction.loss;
        let faults = [loss.retransmitted, loss.spurious, loss.unacceptable, loss.syn, loss.fin, loss.reordered];
        assert_eq!(faults, [0; 6], "{name}");
    }
}

#[test]
fn each_packet_counts_once_whichever_numbers_are_rewritten() {
    for moved in
        [[1_339_931_510, 3_127_819_292], [1_339_931_510, 0], [300_000_000, 0], [0_u32.wrapping_sub(77_000_000), 5]]
    {
        for flow in
            [PLAIN, Flow { upload: false, ..PLAIN }, Flow { timestamps: false, ..PLAIN }, Flow { ipv6: true, ..PLAIN }]
        {
            let frames = flow.on_both(moved);
            let name = format!("{moved:?} v6 {} stamped {} upload {}", flow.ipv6, flow.timestamps, flow.upload);
            check(&analysis_of(&frames, &Options::default()), frames.len(), flow, &name);
        }
    }
}

#[test]
fn only_the_servers_packets_may_be_there_twice() {
    let isn = [7_000, 90_000];
    let inner = PLAIN.seen(isn, [0.0, BEHIND_MS]);
    let outer = PLAIN.seen([isn[0] + 500_000_000, isn[1] + 900_000_000], [BEHIND_MS, 0.0]).only(SERVER);
    for talks in [[inner.clone(), outer.clone()], [outer, inner]] {
        let frames = merged(&talks);
        let analysis = analysis_of(&frames, &Options::default());
        let connection = &analysis.connections[0];
        assert_eq!(analysis.connections.len(), 1);
        assert!(connection.handshake_complete && connection.handshake_rtt_ns().is_some());
        assert_eq!(connection.directions[SERVER].loss.syn, 0);
        assert_eq!(analysis.inputs[0].duplicates, 62);
        assert!(connection.directions.iter().all(|direction| direction.loss.unacceptable == 0));
    }
}

#[test]
fn a_syn_with_another_number_later_is_another_connection() {
    let again = Talk::new().client(0.0, syn()).frames()[0].clone();
    let mut other = Talk::new().with_isn(500_000_000, 0).client(60.0, syn()).frames()[0].clone();
    other.time_ns = again.time_ns + ms(60.0);
    assert_eq!(analysis_of(&[again, other], &Options::default()).connections.len(), 2);
}
