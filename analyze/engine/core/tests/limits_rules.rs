//! The rules for a round that look at the rounds around it (docs/verdict.md, "What limits"), on rounds written down.
//!
//! Subjects: `tcp/limits/background.rs`, `tcp/summary/decision.rs`, `tcp/verdict/factors/path_mtu.rs`,
//! `tcp/verdict/factors/sack_not_agreed.rs` (real captures: tests/traces/test_field2.py).

use vmtrace_core::tcp::limits::application::is_application_limited;
use vmtrace_core::tcp::limits::background::Background;
use vmtrace_core::tcp::limits::bottleneck::{is_behind_long_queue, is_bottleneck_limited};
use vmtrace_core::tcp::limits::known::KnownRound;
use vmtrace_core::tcp::limits::round::Round;

const NUMBER: usize = 24;
/// A round in the middle of them.
const MIDDLE: usize = NUMBER / 2;

/// Rounds one after another: the length of each in milliseconds, and all else of it.
fn rounds(of_number: impl Fn(usize) -> (i64, Round)) -> Vec<KnownRound> {
    let mut start_ns = 0;
    let mut next = |number| {
        let (length_ms, round) = of_number(number);
        let end_ns = start_ns + length_ms * 1_000_000;
        KnownRound::from(Round { start_ns: std::mem::replace(&mut start_ns, end_ns), end_ns, ..round })
    };
    (0..NUMBER).map(&mut next).collect()
}

/// Away from the sender without timestamps: a buffer of 500 kB that is filled in bursts, with silences of 85 ms that lie in two
/// rounds of three; or the same flights and rates where data comes all the time.
fn filled_in_bursts(silence_ms: u64) -> Vec<KnownRound> {
    let kinds =
        [(160, 520_000, 300_000.0, silence_ms), (72, 450_000, 225_000.0, silence_ms), (93, 520_000, 370_000.0, 1)];
    rounds(|number| {
        let (length_ms, max_flight, mean_flight, gap_ms) = kinds[number % 3];
        let delivered_bytes = length_ms as u64 * 3300;
        let round = Round {
            delivered_bytes,
            mean_flight,
            max_flight,
            longest_gap_ns: gap_ms.min(length_ms as u64) * 1_000_000,
            data_packets: (delivered_bytes / 1460) as u32,
            segment_size: 1460,
            ..Round::default()
        };
        (length_ms, round)
    })
}

#[test]
fn where_data_comes_with_pauses_no_flight_that_varies_makes_it_a_full_path() {
    let background = Background { min_rtt_ns: Some(90_000_000), no_loss_yet: true };
    assert!(!is_bottleneck_limited(&filled_in_bursts(85), MIDDLE, &background));
    assert!(is_bottleneck_limited(&filled_in_bursts(2), MIDDLE, &background));
}

/// At the receiver: bursts behind other traffic, each round trip twice the shortest.
fn behind_others() -> Vec<KnownRound> {
    let round = Round {
        delivered_bytes: 50_000,
        max_flight: 52_000,
        mean_flight: 50_000.0,
        rtt_ns: Some(61_000_000),
        least_rtt_ns: Some(60_000_000),
        longest_gap_ns: 40_000_000,
        data_packets: 35,
        segment_size: 1448,
        ..Round::default()
    };
    rounds(|_| (60, round))
}

#[test]
fn a_queue_that_stands_shows_a_path_that_others_fill_between_the_bursts_of_a_sender_that_has_lost_packets() {
    let among = |no_loss_yet| Background { min_rtt_ns: Some(30_000_000), no_loss_yet };
    assert!(is_bottleneck_limited(&behind_others(), MIDDLE, &among(false)));
    assert!(!is_bottleneck_limited(&behind_others(), MIDDLE, &among(true)));
    let without_queue = Background { min_rtt_ns: Some(58_000_000), no_loss_yet: false };
    assert!(!is_bottleneck_limited(&behind_others(), MIDDLE, &without_queue));
}

/// Away from the sender without timestamps, 40 packets each in 20 ms, whose acknowledgements fall unevenly into the rounds. In so
/// many of five a packet comes 2 ms late.
fn with_late_packets(of_five: usize) -> Vec<KnownRound> {
    rounds(|number| {
        let round = Round {
            delivered_bytes: if number.is_multiple_of(2) { 56_000 } else { 60_000 },
            mean_flight: 50_000.0,
            max_flight: 58_000 + (number as u64 % 3) * 2000,
            longest_gap_ns: if number % 5 < of_five { 2_500_000 } else { 600_000 },
            data_packets: 40,
            segment_size: 1460,
            ..Round::default()
        };
        (20, round)
    })
}

#[test]
fn without_timestamps_one_late_packet_is_no_pause_and_one_in_every_other_round_is() {
    let background = Background { min_rtt_ns: Some(15_000_000), no_loss_yet: true };
    for (of_five, full) in [(0, true), (1, true), (2, false), (5, false)] {
        let rounds = with_late_packets(of_five);
        assert_eq!(is_bottleneck_limited(&rounds, MIDDLE, &background), full, "{of_five} of five");
    }
}

/// Pieces of a third of a round each, of which some end with a full segment, or wait for the next one.
fn of_pieces(longest_gap_ms: u64) -> Vec<KnownRound> {
    rounds(|number| {
        let round = Round {
            delivered_bytes: 28_000,
            mean_flight: 25_000.0,
            max_flight: 35_000,
            longest_gap_ns: longest_gap_ms * 1_000_000,
            data_packets: 20,
            short_packets: u32::from(number % 4 != 0),
            segment_size: 1428,
            ..Round::default()
        };
        (68, round)
    })
}

#[test]
fn between_rounds_with_the_end_of_a_piece_one_that_pauses_is_the_applications_too() {
    let background = Background { min_rtt_ns: Some(68_000_000), no_loss_yet: true };
    assert!((8..16).all(|index| is_application_limited(&of_pieces(23), index, &background)));
    assert!(!is_application_limited(&of_pieces(4), MIDDLE, &background));
}

#[test]
fn messages_that_never_fill_a_segment_are_the_application_s_even_where_they_grow() {
    let of_bytes = |mean_flight: f64, retransmitted: u32| {
        rounds(|number| {
            let round = Round {
                delivered_bytes: 400 << (number / 4),
                mean_flight,
                max_flight: 1600,
                data_packets: 3,
                short_packets: 2,
                segment_size: 1448,
                retransmitted,
                slow_start: true,
                ..Round::default()
            };
            (100, round)
        })
    };
    let background = Background { min_rtt_ns: Some(100_000_000), no_loss_yet: true };
    assert!(is_application_limited(&of_bytes(700.0, 0), MIDDLE, &background));
    assert!(!is_application_limited(&of_bytes(1500.0, 0), MIDDLE, &background));
    assert!(!is_application_limited(&of_bytes(700.0, 1), MIDDLE, &background));
}

/// Two round trips of a slow link, the shorter of which took so many milliseconds.
fn two_round_trips(shortest_ms: u64, idle_ms: u64) -> Vec<KnownRound> {
    let round = Round {
        delivered_bytes: 40_000,
        mean_flight: 50_000.0,
        max_flight: 60_000,
        limited_ns: 1_500_000_000,
        least_rtt_ns: Some(shortest_ms * 1_000_000),
        idle_ns: idle_ms * 1_000_000,
        data_packets: 28,
        segment_size: 1448,
        ..Round::default()
    };
    rounds(|_| (2000, round)).into_iter().take(2).collect()
}

#[test]
fn a_queue_of_seconds_shows_a_full_link_in_however_few_round_trips() {
    let background = Background { min_rtt_ns: Some(66_000_000), no_loss_yet: true };
    let is_full = |shortest_ms, idle_ms| is_behind_long_queue(&two_round_trips(shortest_ms, idle_ms), 1, &background);
    assert!(is_full(1900, 0));
    assert!(!is_full(500, 0), "a host that is late");
    assert!(!is_full(1900, 300), "nothing in flight for a while");
    let far = Background { min_rtt_ns: Some(600_000_000), no_loss_yet: true };
    assert!(!is_behind_long_queue(&two_round_trips(1900, 0), 1, &far), "a long path");
}
