//! Flights of senders that are made up here, round trip by round trip.
//!
//! Subjects: `tcp/congestion/observed.rs`, `tcp/congestion/after_losses.rs`, `tcp/congestion/probes.rs`, `tcp/congestion/round_trip.rs`,
//! `tcp/congestion/without_sack.rs`.

use super::*;
use crate::tcp::congestion::evidence::ShownControl;

const RTT_NS: i64 = 50_000_000;

/// Rounds of one round trip each.
#[derive(Default)]
struct Sender {
    observed: Observed,
    now_ns: i64,
}

impl Sender {
    fn round(&mut self, flight: f64, change: impl FnOnce(&mut FlightRoundTrip)) {
        let mut round = FlightRoundTrip {
            start_ns: self.now_ns,
            end_ns: self.now_ns + RTT_NS,
            largest: flight,
            mean: flight,
            rtt_ns: Some(RTT_NS as u64),
            ..FlightRoundTrip::default()
        };
        change(&mut round);
        self.now_ns = round.end_ns;
        self.observed.take(&round);
    }

    fn loss(&mut self, flight: f64) {
        self.round(flight, |round| (round.repairs, round.reductions) = (true, 1));
    }

    /// Six losses, so many round trips apart, of a window of `full` segments at each of which `beta` is left.
    fn sawtooth(full: f64, beta: f64, trips: usize, window: impl Fn(f64, usize) -> f64) -> Self {
        let mut sender = Self::default();
        for _ in 0..6 {
            (0..trips).for_each(|trip| sender.round(window(beta * full, trip), |_| ()));
            sender.loss(full);
        }
        sender
    }

    fn named(self) -> Option<(ShownControl, f64)> {
        self.observed.finish(true).and_then(|named| named.control)
    }

    /// BBR that neither loses nor is held up: one of eight rounds with a quarter more.
    fn cycle(&mut self, flight: f64) {
        self.round(1.25 * flight, |_| ());
        (0..7).for_each(|_| self.round(flight, |_| ()));
    }
}

fn cubic(after: f64, trip: usize) -> f64 {
    let (origin, time_s) = (after / 0.7, trip as f64 * RTT_NS as f64 / 1e9);
    (origin + 0.4 * (time_s - ((origin - after) / 0.4).cbrt()).powi(3)).max(after + 0.53 * trip as f64)
}

#[test]
fn half_and_a_segment_a_round_trip_is_reno() {
    let sender = Sender::sawtooth(80.0, 0.5, 40, |after, trip| after + trip as f64);
    let (control, confidence) = sender.named().expect("six losses");
    assert_eq!(control, ShownControl::Reno);
    assert!(confidence > 0.9, "{confidence}");
}

#[test]
fn seven_tenths_and_a_curve_is_cubic() {
    let (control, confidence) = Sender::sawtooth(150.0, 0.7, 90, cubic).named().expect("six losses");
    assert_eq!(control, ShownControl::Cubic);
    assert!(confidence > 0.9, "{confidence}");
}

#[test]
fn what_is_reduced_and_grows_otherwise_has_no_name() {
    // Seven eighths are a Scalable TCP's, and half with a fifth of a segment a round trip is nobody's here.
    for (beta, growth) in [(0.875, 1.0), (0.5, 0.2), (0.6, 1.0)] {
        let trips = ((1.0 - beta) * 100.0 / growth) as usize;
        let named =
            Sender::sawtooth(100.0, beta, trips, |after, trip| after + growth * trip as f64).observed.finish(true);
        assert_eq!(named.expect("losses were seen").control, None, "{beta} {growth}");
    }
}

#[test]
fn a_window_that_another_limit_holds_shows_nothing() {
    let mut sender = Sender::default();
    for _ in 0..6 {
        (0..20).for_each(|_| sender.round(40.0, |round| round.is_bound = true));
        sender.round(40.0, |round| (round.repairs, round.reductions, round.is_bound) = (true, 1, true));
    }
    assert_eq!(sender.observed.finish(true), None);
}

#[test]
fn what_a_timer_repaired_does_not_count() {
    let mut sender = Sender::default();
    for _ in 0..6 {
        (0..30).for_each(|trip| sender.round(40.0 + trip as f64, |_| ()));
        sender.round(80.0, |round| {
            (round.repairs, round.reductions, round.is_bound, round.timed_out) = (true, 1, true, true);
        });
        sender.round(2.0, |round| round.repairs = true);
    }
    assert_eq!(sender.observed.finish(true), None);
}

#[test]
fn a_quarter_more_in_one_round_of_eight_is_bbr() {
    let mut sender = Sender::default();
    (0..8).for_each(|_| sender.cycle(60.0));
    assert!(matches!(sender.named(), Some((ShownControl::Bbr, confidence)) if confidence > 0.8));
}

#[test]
fn a_quarter_more_now_and_then_is_nothing() {
    let mut sender = Sender::default();
    for rest in [3, 12, 5, 20, 4, 15, 9, 11, 3, 30] {
        sender.round(75.0, |_| ());
        (0..rest).for_each(|_| sender.round(60.0, |_| ()));
    }
    assert_eq!(sender.observed.finish(true), None);
}

#[test]
fn four_segments_for_a_fifth_of_a_second_and_losses_that_reduce_nothing_are_bbr() {
    let mut sender = Sender::default();
    for _ in 0..4 {
        (0..9).for_each(|_| sender.round(60.0, |_| ()));
        sender.loss(60.0);
    }
    assert!(
        matches!(sender.observed.finish(true), Some(named) if named.control.is_none()),
        "losses alone show no more"
    );
    (0..4).for_each(|_| sender.round(4.0, |_| ()));
    (0..9).for_each(|_| sender.round(60.0, |_| ()));
    assert!(matches!(sender.named(), Some((ShownControl::Bbr, confidence)) if confidence > 0.8));
}

#[test]
fn slow_start_after_four_segments_is_no_probe() {
    let mut sender = Sender::default();
    (0..9).for_each(|_| sender.round(60.0, |_| ()));
    [4.0, 4.0, 8.0, 16.0, 20.0, 40.0, 60.0].into_iter().for_each(|flight| sender.round(flight, |_| ()));
    assert_eq!(sender.observed.finish(true), None);
}

#[test]
fn without_sack_the_flight_of_repairs_names_nothing() {
    // What has arrived behind the hole counts as in flight: 1.4 times the window, so that seven tenths look like half.
    let sawtooth = |is_blurred: bool| {
        let mut sender = Sender::default();
        for _ in 0..6 {
            (0..16).for_each(|trip| sender.round(cubic(24.0, trip), |_| ()));
            let before = cubic(24.0, 15);
            sender.round(1.4 * before, |round| {
                (round.repairs, round.reductions, round.is_blurred) = (true, 1, is_blurred)
            });
        }
        sender.named().map(|(control, _)| control)
    };
    assert_eq!(sawtooth(true), Some(ShownControl::Cubic));
    assert_ne!(sawtooth(false), Some(ShownControl::Cubic));
    // Nor are they rises of BBR, one in eight round trips.
    let risen = |is_blurred: bool| {
        let mut sender = Sender::default();
        for _ in 0..8 {
            sender.round(75.0, |round| (round.repairs, round.is_blurred) = (true, is_blurred));
            (0..7).for_each(|_| sender.round(60.0, |_| ()));
        }
        sender.named().map(|(control, _)| control)
    };
    assert_eq!([risen(true), risen(false)], [None, Some(ShownControl::Bbr)]);
}

#[test]
fn without_sack_no_name_is_sure() {
    let sure = |sack: bool| {
        let sender = Sender::sawtooth(40.0, 0.5, 20, |after, trip| after + trip as f64);
        sender.observed.finish(sack).and_then(|named| named.control)
    };
    assert_eq!([sure(true), sure(false)], [0.95, 0.75].map(|confidence| Some((ShownControl::Reno, confidence))));
    // One that is less sure with SACK stays so.
    let seen = |sack: bool| {
        let evidence = CongestionEvidence { reno: 3, neither: 1, ..CongestionEvidence::default() };
        Observed { evidence, ..Observed::default() }.finish(sack)
    };
    assert_eq!(seen(true), seen(false));
}
