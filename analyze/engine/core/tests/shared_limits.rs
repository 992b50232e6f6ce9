//! Connections that share a bottleneck, from their packets to the document.
//!
//! Subjects: `tcp/shared_limits/mod.rs`, `tcp/summary/over_time.rs`, `tcp/verdict/shared.rs`, `output/describe/document.rs`.

use crate::playbook::*;
use vmtrace_core::analysis::{Analysis, Options};
use vmtrace_core::tcp::events::factor::Factor;

const FLOWS: usize = 4;
const SLOT_MS: f64 = 20.0;
/// Full segments of all connections in a slot.
const IN_A_SLOT: f64 = 48.0;

struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1u64 << 24) as f64
    }
}

/// Segments of each connection in each slot: by weights that wander, of all together or of each alone.
fn segments(shared: bool) -> Vec<[u32; FLOWS]> {
    let (mut dice, mut weights) = (Dice(9), [1.0f64; FLOWS]);
    let slots = (0..250).map(|_| {
        weights = weights.map(|weight| (weight * (0.85 + 0.3 * dice.roll())).clamp(0.3, 3.0));
        let all = if shared { weights.iter().sum() } else { FLOWS as f64 };
        weights.map(|weight| ((IN_A_SLOT * weight / all).round() as u32).max(1))
    });
    slots.collect()
}

/// An upload captured at the client, 30 ms from the server: what is sent is acknowledged 45 ms later.
fn upload(number: usize, slots: &[[u32; FLOWS]]) -> Talk {
    let mut lines = Vec::new();
    let mut sent = 0i64;
    for (slot, counts) in slots.iter().enumerate() {
        for packet in 0..counts[number] {
            let within = (f64::from(packet) + number as f64 / FLOWS as f64) / f64::from(counts[number]);
            let time_ms = 60.0 + (slot as f64 + within) * SLOT_MS;
            lines.push((time_ms, CLIENT, data(sent, FULL).without_push()));
            sent += i64::from(FULL);
            lines.push((time_ms + 45.0, SERVER, ack(sent).window(60_000)));
        }
    }
    lines.sort_by(|one, other| one.0.total_cmp(&other.0));
    let talk = Talk::new().between(1, 40_000 + number as u16, 2, 443).open(30.0, 0.1);
    talk.each(lines, |talk, (time_ms, side, segment)| talk.line(side, time_ms, segment))
}

fn analysis(shared: bool) -> Analysis {
    let slots = segments(shared);
    let talks: Vec<Talk> = (0..FLOWS).map(|number| upload(number, &slots)).collect();
    analysis_of(&merged(&talks), &Options::default())
}

#[test]
fn a_bottleneck_is_told_once_and_bounds_each_of_its_connections() {
    let analysis = analysis(true);
    let [limit] = analysis.shared_limits.as_slice() else { panic!("{:?}", analysis.shared_limits) };
    assert_eq!(limit.connections, [1, 2, 3, 4]);
    assert_eq!((limit.factor, limit.burst_bytes), (Factor::BottleneckBandwidth, None));
    let rate_bps = IN_A_SLOT * 1040.0 * 8e3 / SLOT_MS;
    assert!((limit.rate_bps / rate_bps - 1.0).abs() < 0.05, "{} instead of {rate_bps}", limit.rate_bps);
    for connection in &analysis.connections {
        let sentence = connection.verdict_sentence().unwrap_or_default();
        assert!(sentence.contains("with 3 other connections"), "{sentence}");
        let reference = connection.limits(CLIENT).and_then(|limits| limits.reference_bytes_s).unwrap_or(f64::MAX);
        assert!(reference * 8.0 < 0.5 * rate_bps, "{reference}");
    }
    let json = json_of(&analysis);
    let listed = r#""shared_limits":[{"connections":[1,2,3,4],"kind":"bottleneck_bandwidth","rate_bps":"#;
    assert!(json.contains(listed), "{json}");
}

#[test]
fn connections_that_know_nothing_of_each_other_share_nothing() {
    let analysis = analysis(false);
    assert!(analysis.shared_limits.is_empty());
    assert!(json_of(&analysis).contains(r#""shared_limits":[]"#));
}

#[test]
fn what_is_appended_keeps_the_numbers_of_its_connections() {
    let mut first = analysis(true);
    first.append(analysis(true));
    let ids: Vec<&[u32]> = first.shared_limits.iter().map(|limit| limit.connections.as_slice()).collect();
    assert_eq!(ids, [[1, 2, 3, 4], [5, 6, 7, 8]]);
}
