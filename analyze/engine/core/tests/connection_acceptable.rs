//! Numbers outside every window: counted, believed by nobody; and captures with holes, of which nothing is refused
//! (RFC 9293 section 3.10.7.4, RFC 5961 section 5).
//!
//! Subjects: `tcp/connection/far_jump.rs`, `tcp/connection/on_packet.rs`, `tcp/connection/own_data.rs`, `tcp/connection/acknowledged.rs`.

use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::tcp::events::close::Close;
use vmtrace_core::tcp::loss::retransmissions::LossCounters;
use vmtrace_core::tcp::summary::summary::ConnectionSummary;

/// A download in the open: rounds of segments, each round acknowledged once.
#[derive(Clone, Copy, Debug)]
struct Download {
    rounds: i64,
    segments: i64,
    rtt_ms: f64,
    scaled: bool,
    timestamps: bool,
    ipv6: bool,
    at_server: bool,
}

const PLAIN: Download =
    Download { rounds: 20, segments: 3, rtt_ms: 20.0, scaled: true, timestamps: false, ipv6: false, at_server: false };

impl Download {
    fn opened(self) -> Talk {
        let talk = if self.timestamps { Talk::new().with_timestamps() } else { Talk::new() };
        let talk = if self.ipv6 { talk.over_ipv6() } else { talk };
        let [to_server_ms, to_client_ms] = if self.at_server { [0.1, self.rtt_ms] } else { [self.rtt_ms, 0.1] };
        let offer = |segment: Segment| if self.scaled { segment } else { segment.no_scale() };
        talk.client(0.0, offer(syn()))
            .server(to_server_ms, offer(syn_ack()))
            .client(to_server_ms + to_client_ms, ack(0))
            .client(self.rtt_ms + 1.0, data(0, 300))
            .server(2.0 * self.rtt_ms + 1.0, ack(300))
    }

    fn round_ms(self, round: i64) -> f64 {
        3.0 * self.rtt_ms + 2.0 + round as f64 * (self.rtt_ms + 2.0)
    }

    fn first_of(self, round: i64) -> i64 {
        round * self.segments * i64::from(FULL)
    }

    fn round(self, talk: Talk, round: i64) -> Talk {
        let (at_ms, first) = (self.round_ms(round), self.first_of(round));
        let delay_ms = if self.at_server { self.rtt_ms } else { 0.05 };
        let talk = talk.each(0..self.segments, |talk, number| {
            let segment = data(first + number * i64::from(FULL), FULL).acking(300);
            talk.server(at_ms + 0.1 * number as f64, segment)
        });
        let acknowledging = Segment { start: Some(300), ..ack(self.first_of(round + 1)) };
        talk.client(at_ms + 0.1 * self.segments as f64 + delay_ms, acknowledging)
    }

    fn closed(self, talk: Talk) -> Talk {
        let (at_ms, end) = (self.round_ms(self.rounds), self.first_of(self.rounds));
        talk.client(at_ms, Segment { acknowledges: Some(end), ..fin(300) })
            .server(at_ms + self.rtt_ms, fin(end).acking(301))
            .client(at_ms + self.rtt_ms + 0.1, Segment { start: Some(301), ..ack(end + 1) })
    }

    /// With `stray` between two rounds.
    fn with(self, before_round: i64, stray: impl Fn(Talk, f64) -> Talk) -> ConnectionSummary {
        let talk = (0..self.rounds).fold(self.opened(), |talk, round| {
            let talk = if round == before_round { stray(talk, self.round_ms(round) - 1.0) } else { talk };
            self.round(talk, round)
        });
        self.closed(talk).summary()
    }

    fn clean(self) -> ConnectionSummary {
        self.with(-1, |talk, _| talk)
    }
}

/// What must not change: all that is reported of both directions, but for what counts the strays.
fn told(summary: &ConnectionSummary) -> String {
    let direction = |side: usize| {
        let direction = &summary.directions[side];
        let loss = LossCounters { unacceptable: 0, ..*direction.loss };
        let trips = direction.round_trips.as_ref().map(|trips| trips.moments);
        format!(
            "{} {} {} {loss:?} {trips:?} {:?} {:?}",
            direction.packets,
            direction.wire_bytes,
            direction.unique_payload_bytes,
            direction.unseen_acknowledged_bytes,
            direction.goodput_bps()
        )
    };
    format!("{} {:?} {} {}", summary.end_ns, summary.close, direction(CLIENT), direction(SERVER))
}

fn unacceptable(summary: &ConnectionSummary) -> [u32; 2] {
    [CLIENT, SERVER].map(|side| summary.directions[side].loss.unacceptable)
}

#[test]
fn an_acknowledgement_with_a_sequence_number_far_ahead_is_counted_alone() {
    let end = PLAIN.first_of(10);
    let stray = |talk: Talk, at_ms| talk.server(at_ms, Segment { start: Some(end + 100_000_000), ..ack(300) });
    let summary = PLAIN.with(10, stray);
    assert_eq!((unacceptable(&summary), told(&summary)), ([0, 1], told(&PLAIN.clean())));
}

#[test]
fn an_acknowledgement_of_what_nobody_sent_is_counted_alone() {
    let end = PLAIN.first_of(10);
    let stray = |talk: Talk, at_ms| talk.client(at_ms, Segment { start: Some(300), ..ack(end + 100_000_000) });
    let summary = PLAIN.with(10, stray);
    assert_eq!((unacceptable(&summary), told(&summary)), ([1, 0], told(&PLAIN.clean())));
}

#[test]
fn data_and_fin_of_a_former_connection_are_counted_alone() {
    let stray = |talk: Talk, at_ms| {
        talk.server(at_ms, data(-700_000_000, FULL).acking(900_000_000))
            .server(at_ms + 0.1, data(-700_000_000, FULL).acking(900_000_000))
            .server(at_ms + 0.5, fin(-600_000_000).acking(900_000_000))
    };
    let summary = PLAIN.with(10, stray);
    assert_eq!(unacceptable(&summary), [0, 3]);
    assert_eq!((summary.close, told(&summary)), (Close::Fin, told(&PLAIN.clean())));
}

#[test]
fn data_in_order_with_an_old_acknowledgement_is_counted_alone() {
    let download = Download { segments: 40, ..PLAIN };
    let end = download.first_of(10);
    let stray = |talk: Talk, at_ms| talk.client(at_ms, data(300, 10).acking(end - 300_000));
    let summary = download.with(10, stray);
    assert_eq!((unacceptable(&summary), told(&summary)), ([1, 0], told(&download.clean())));
}

/// The server still has a former connection: it sends a challenge ACK, is reset, and takes the SYN that comes again.
#[test]
fn a_challenge_ack_of_a_half_open_connection_acknowledges_nothing() {
    let talk = Talk::new()
        .client(0.0, syn())
        .server(40.0, Segment { start: Some(3_000_000), ..ack(500_000_000) })
        .client(40.1, Segment { start: Some(500_000_000), flags: vmtrace_core::packet::tcp_flags::RST, ..rst() })
        .client(1000.0, syn())
        .server(1040.0, syn_ack())
        .client(1040.1, Segment { start: Some(0), ..ack(0) })
        .client(1041.0, data(0, 300))
        .server(1081.0, Segment { start: Some(0), ..ack(300) })
        .each(0..30, |talk, number| {
            talk.server(1100.0 + f64::from(number), data(i64::from(number) * 1000, FULL))
                .client(1100.1 + f64::from(number), ack(i64::from(number) * 1000 + 1000))
        });
    let summary = talk.summary();
    assert_eq!((summary.handshake_complete, unacceptable(&summary)), (true, [0, 1]));
    let [client, server] = &summary.directions;
    assert_eq!([client.loss.syn, client.loss.retransmitted, server.loss.retransmitted], [1, 0, 0]);
    assert_eq!([client.unseen_acknowledged_bytes, server.unseen_acknowledged_bytes], [0, 0]);
    assert_eq!(server.unique_payload_bytes, 30_000);
}

#[test]
fn a_reset_that_no_window_allows_is_counted() {
    let stray = |talk: Talk, at_ms| talk.client(at_ms, Segment { start: Some(900_000_000), ..rst() });
    let summary = PLAIN.with(10, stray);
    assert_eq!((unacceptable(&summary), told(&summary)), ([1, 0], told(&PLAIN.clean())));
}

/// The capture has lost 60 MB of a transfer with a window of 128 kB: both sides show where it goes on.
#[test]
fn both_sides_show_that_the_capture_missed_more_than_a_window() {
    for first_is_data in [true, false] {
        let talk = (0..10).fold(PLAIN.opened(), |talk, round| PLAIN.round(talk, round));
        let gone = 60_000_000;
        let talk = if first_is_data { talk } else { talk.client(950.0, Segment { start: Some(300), ..ack(gone) }) };
        let talk = talk.each(0..50, |talk, number| {
            let (at_ms, start) = (1000.0 + f64::from(number), gone + i64::from(number) * 1000);
            talk.server(at_ms, data(start, FULL).acking(300)).client(at_ms + 0.05, ack(start + 1000))
        });
        let summary = talk.summary();
        assert_eq!(unacceptable(&summary), [0, 0]);
        let server = &summary.directions[SERVER];
        assert_eq!((server.data_packets, server.unique_payload_bytes), (80, 80_000));
        assert_eq!((server.loss.retransmitted, server.unseen_acknowledged_bytes), (0, 60_000_000 - 30_000));
    }
}

#[test]
fn one_side_that_goes_on_three_times_shows_it_too() {
    let talk = (0..10).fold(PLAIN.opened(), |talk, round| PLAIN.round(talk, round));
    let talk = talk.each(0..50, |talk, number| {
        talk.server(1000.0 + f64::from(number), data(60_000_000 + i64::from(number) * 1000, FULL).acking(300))
    });
    let server = &talk.summary().directions[SERVER];
    assert_eq!((server.loss.unacceptable, server.data_packets, server.unique_payload_bytes), (0, 80, 80_000));
}

/// Open after ten rounds, and silent for two minutes; then what `late` adds.
fn after_silence(late: impl Fn(Talk, f64, i64) -> Talk) -> ConnectionSummary {
    let talk = (0..10).fold(PLAIN.opened(), |talk, round| PLAIN.round(talk, round));
    late(talk, 120_000.0, PLAIN.first_of(10)).summary()
}

#[test]
fn after_a_long_silence_a_stray_neither_prolongs_nor_resumes() {
    let silent = after_silence(|talk, _, _| talk);
    let by_number = after_silence(|talk, at_ms, end| {
        talk.client(at_ms, Segment { start: Some(300), ..ack(end + 100_000_000) })
            .server(at_ms + 1.0, Segment { start: Some(end - 900_000_000), ..ack(300) })
    });
    let by_reset = after_silence(|talk, at_ms, _| talk.client(at_ms, Segment { start: Some(900_000_000), ..rst() }));
    for (stray, counted) in [(by_number, [1, 1]), (by_reset, [1, 0])] {
        assert_eq!((unacceptable(&stray), told(&stray)), (counted, told(&silent)));
        let resumed = stray.ending.as_deref().and_then(|ending| ending.resumed);
        assert!(resumed.is_none(), "{resumed:?}");
    }
}

#[test]
fn a_stray_does_not_refute_a_reset() {
    let reset = |stray: bool| {
        let talk = (0..10).fold(PLAIN.opened(), |talk, round| PLAIN.round(talk, round));
        let (at_ms, end) = (PLAIN.round_ms(10), PLAIN.first_of(10));
        let talk =
            talk.client(at_ms, Segment { start: Some(300), ..rst() }).server(at_ms + 5.0, data(end, FULL).acking(300));
        let behind = Segment { start: Some(-900_000_000), ..ack(end + 1000) };
        if stray { talk.client(at_ms + 80.0, behind).summary() } else { talk.summary() }
    };
    let [clean, stray] = [false, true].map(reset);
    assert_eq!(unacceptable(&stray), [1, 0]);
    assert_eq!((stray.close, told(&stray)), (Close::Reset, told(&clean)));
}

/// A stray of either side: how far its numbers lie, and what it carries.
#[derive(Clone, Copy, Debug)]
struct Stray {
    side: usize,
    round: i64,
    sequence: i64,
    acknowledgement: i64,
    length: u32,
}

fn downloads() -> impl Strategy<Value = Download> {
    (3i64..30, 1i64..12, 1.0..200.0, any::<[bool; 4]>()).prop_map(|(rounds, segments, rtt_ms, has)| {
        let [scaled, timestamps, ipv6, at_server] = has;
        Download { rounds, segments, rtt_ms, scaled, timestamps, ipv6, at_server }
    })
}

fn strays() -> impl Strategy<Value = Stray> {
    // The window is 128 kB with its scale, and 1000 bytes without: a number two windows and more away is outside either.
    let far = prop_oneof![300_000i64..2_000_000_000, -2_000_000_000i64..-1_000_000];
    let number = prop_oneof![3 => far, 1 => Just(0i64)];
    (0usize..2, 0i64..30, number.clone(), number, prop_oneof![Just(0u32), 1u32..1000])
        .prop_map(|(side, round, sequence, acknowledgement, length)| Stray {
            side,
            round,
            sequence,
            acknowledgement,
            length,
        })
        .prop_filter("one number is outside", |stray| stray.sequence != 0 || stray.acknowledgement != 0)
}

#[test]
fn in_a_download_of_twelve_segments_nothing_is_told_of_a_stray_either() {
    for at_server in [false, true] {
        let download = Download { rounds: 3, segments: 4, rtt_ms: 1.0, scaled: false, at_server, ..PLAIN };
        let shown = download
            .with(2, |talk, at_ms| talk.line(SERVER, at_ms, data(download.first_of(2) + 300_000, 0).acking(300_300)));
        assert_eq!((unacceptable(&shown), told(&shown)), ([0, 1], told(&download.clean())));
    }
}

proptest! {
    #![proptest_config(captures::cases(120))]

    #[test]
    fn whatever_number_is_outside_nothing_else_changes(download in downloads(), stray in strays()) {
        let round = stray.round % download.rounds;
        let sent = [300, download.first_of(round)];
        let side = stray.side;
        let shown = download.with(round, |talk, at_ms| {
            let start = sent[side] + stray.sequence;
            talk.line(side, at_ms, data(start, stray.length).acking(sent[1 - side] + stray.acknowledgement))
        });
        let mut counted = [0, 0];
        counted[side] = 1;
        prop_assert_eq!(unacceptable(&shown), counted);
        prop_assert_eq!(told(&shown), told(&download.clean()));
    }

    #[test]
    fn a_stray_behind_the_end_changes_nothing_either(download in downloads(), stray in strays(), after_ms in 1.0..90_000.0) {
        // Behind the end the windows are no longer known, and of the numbers those of the client: only what lies farther away is no
        // straggler.
        let of_client = if stray.side == CLIENT { stray.sequence } else { stray.acknowledgement };
        prop_assume!(!(-300_000_000..=300_000).contains(&of_client));
        let end = download.first_of(download.rounds);
        let sent = [301, end + 1];
        let at_ms = download.round_ms(download.rounds) + 2.0 * download.rtt_ms + after_ms;
        let side = stray.side;
        let talk = (0..download.rounds).fold(download.opened(), |talk, round| download.round(talk, round));
        let segment = data(sent[side] + stray.sequence, stray.length).acking(sent[1 - side] + stray.acknowledgement);
        let shown = download.closed(talk).line(side, at_ms, segment).summary();
        let mut counted = [0, 0];
        counted[side] = 1;
        prop_assert_eq!(unacceptable(&shown), counted);
        prop_assert_eq!(told(&shown), told(&download.clean()));
    }

    #[test]
    fn of_a_capture_with_a_hole_nothing_is_refused(
        download in downloads(), from in 0usize..8, windows in 1i64..2000, begun_later in any::<bool>(),
    ) {
        // What is missing in the middle may be any number of windows.
        let direction = download.rounds / 2;
        let skipped = windows * 100_000;
        let talk = (0..direction).fold(download.opened(), |talk, round| download.round(talk, round));
        let later = Download { rounds: 40, ..download };
        let talk = (0..30).fold(talk, |talk, round| {
            let (at_ms, first) = (download.round_ms(direction + round), later.first_of(direction + round) + skipped);
            let talk = talk.each(0..download.segments, |talk, number| {
                talk.server(at_ms + 0.1 * number as f64, data(first + number * i64::from(FULL), FULL).acking(300))
            });
            talk.client(at_ms + 1.9, Segment { start: Some(300), ..ack(first + download.segments * i64::from(FULL)) })
        });
        let talk = if begun_later { talk.starting_at(from) } else { talk };
        let kept = talk.frames().len();
        let summary = talk.summary();
        prop_assert_eq!(unacceptable(&summary), [0, 0]);
        prop_assert_eq!(summary.directions.iter().map(|direction| direction.packets).sum::<u64>(), kept as u64);
    }
}

/// A download of which the capture missed so many bytes in the middle.
fn with_a_jump(bytes: i64, acknowledged: bool) -> ConnectionSummary {
    let talk = Talk::seen_at_client(20.0).client(51.0, data(0, 300)).server(71.0, data(0, 1000).acking(300));
    let talk = talk.client(71.1, Segment { start: Some(300), ..ack(1000) });
    let talk = (0..4).fold(talk, |talk, number| {
        let (at_ms, start) = (500.0 + 10.0 * number as f64, 1000 + bytes + number * 1000);
        let talk = talk.server(at_ms, data(start, 1000).acking(300));
        if acknowledged { talk.client(at_ms + 0.1, Segment { start: Some(300), ..ack(start + 1000) }) } else { talk }
    });
    talk.summary()
}

#[test]
fn more_than_any_window_that_the_capture_missed_is_passed_over() {
    for bytes in [1_000_000_000, 1_200_000_000, 2_000_000_000] {
        for acknowledged in [false, true] {
            let server = &with_a_jump(bytes, acknowledged).directions[SERVER];
            let found = (server.payload_bytes, server.unique_payload_bytes, server.loss.retransmitted);
            assert_eq!(found, (5000, 5000, 0), "{bytes}, acknowledged: {acknowledged}");
            assert_eq!(server.loss.unacceptable, 0, "{bytes}, acknowledged: {acknowledged}");
        }
    }
}
