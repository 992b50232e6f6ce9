//! Who sets the pace of a sender that leaves pauses: its application, or its kernel (docs/verdict.md, `application` and `send_buffer`).
//!
//! Subjects: `tcp/verdict/factors/application.rs`, `tcp/limits/application.rs`,
//! `tcp/verdict/factors/doubts.rs`.

use crate::playbook::*;
use vmtrace_core::tcp::events::factor::Factor;

const FIRST_MS: f64 = 300.0;

/// Sends of so many full segments, each at its time, which are acknowledged one by one a round trip later.
#[derive(Clone, Copy)]
struct Sends<'a> {
    count: usize,
    segments: i64,
    /// Each ends with PSH.
    pushed: bool,
    /// When each begins.
    begins_ms: &'a dyn Fn(usize) -> f64,
    round_trip_ms: f64,
    /// By how much longer the acknowledgements of each take.
    later_ms: &'a dyn Fn(usize) -> f64,
    /// How long each has waited in the sender's host before it passes.
    waits_ms: f64,
}

impl Default for Sends<'_> {
    fn default() -> Self {
        Self {
            count: 1500,
            segments: 1,
            pushed: true,
            begins_ms: &|at| 4.0 * at as f64,
            round_trip_ms: 20.6,
            later_ms: &|_| 0.0,
            waits_ms: 0.0,
        }
    }
}

impl Sends<'_> {
    /// The factor of the verdict, with timestamps: data echoes the last acknowledgement that its sender had heard.
    fn seen(&self, at_client: bool) -> Option<Factor> {
        self.verdict(at_client).map(|(factor, _)| factor)
    }

    /// The same, and how sure it is.
    fn verdict(&self, at_client: bool) -> Option<(Factor, f64)> {
        let way_ms = if at_client { 0.0 } else { self.round_trip_ms / 2.0 };
        let passes_ms = |at: usize| FIRST_MS + way_ms + (self.begins_ms)(at);
        let answered_ms =
            |at: usize| passes_ms(at) + if at_client { self.round_trip_ms } else { 0.05 } + (self.later_ms)(at);
        let mut lines: Vec<(f64, usize, Segment)> = Vec::new();
        for at in 0..self.count {
            let sent_ms = passes_ms(at) - 2.0 * way_ms - self.waits_ms;
            let heard_ms = (0..at).rev().map(answered_ms).find(|time_ms| *time_ms <= sent_ms).unwrap_or(FIRST_MS);
            for segment in 0..self.segments {
                let position = (at as i64 * self.segments + segment) * i64::from(FULL);
                let ends = self.pushed && segment == self.segments - 1;
                let full = data(position, FULL).tsecr(tsval_of_server(heard_ms));
                let later_ms = 0.01 * segment as f64;
                lines.push((passes_ms(at) + later_ms, CLIENT, if ends { full } else { full.without_push() }));
                let answer = ack(position + i64::from(FULL)).tsval(tsval_of_server(answered_ms(at)));
                lines.push((answered_ms(at) + later_ms, SERVER, answer));
            }
        }
        lines.sort_by(|one, other| one.0.total_cmp(&other.0));
        let talk = Talk::new().with_timestamps();
        let talk = if at_client { talk.open(self.round_trip_ms, 0.1) } else { talk.open(0.1, self.round_trip_ms) };
        let talk = lines.into_iter().fold(talk, |talk, (time_ms, side, segment)| talk.line(side, time_ms, segment));
        talk.summary().verdict().map(|verdict| (verdict.factor, verdict.confidence))
    }
}

/// It ticks once a millisecond.
fn tsval_of_server(time_ms: f64) -> u32 {
    2_000_000 + time_ms as u32
}

#[test]
fn single_segments_that_are_all_there_is_to_send_are_the_application_at_either_end() {
    let sends = Sends::default();
    assert_eq!([true, false].map(|at_client| sends.seen(at_client)), [Some(Factor::Application); 2]);
}

#[test]
fn segments_that_are_not_the_end_of_what_was_written_are_paced() {
    assert_eq!(Sends { pushed: false, ..Sends::default() }.seen(true), Some(Factor::SendBuffer));
    // Linux hands down two, and sets PSH on what the network card cuts.
    let pairs = Sends { segments: 2, ..Sends::default() };
    assert_eq!(pairs.seen(true), Some(Factor::SendBuffer));
}

#[test]
fn an_application_that_is_late_now_and_then_is_one_all_the_same() {
    let late = |at: usize| 4.0 * at as f64 + if at % 20 == 7 { 3.9 } else { 0.0 };
    assert_eq!(Sends { begins_ms: &late, ..Sends::default() }.seen(true), Some(Factor::Application));
}

#[test]
fn large_sends_that_always_come_a_while_after_the_last_acknowledgement_are_the_application() {
    // 5 ms after an acknowledgement and after a pause of 35 ms, while another send is in flight.
    let begins = |at: usize| 35.0 * at as f64;
    let sends = Sends { count: 400, segments: 45, begins_ms: &begins, round_trip_ms: 65.0, ..Sends::default() };
    assert_eq!(sends.seen(true), Some(Factor::Application));
}

#[test]
fn one_send_more_in_flight_while_an_acknowledgement_is_late_is_no_probe_of_the_path() {
    let late = |at: usize| if at % 9 < 2 { 4.0 } else { 0.0 };
    let begins = |at: usize| 5.8 * at as f64;
    let pairs = Sends { segments: 2, pushed: false, begins_ms: &begins, later_ms: &late, ..Sends::default() };
    assert_eq!(pairs.seen(true), Some(Factor::SendBuffer));
}

#[test]
fn what_has_waited_in_a_queue_says_nothing_of_the_application() {
    // As above, but it was handed down before the last acknowledgement came, as echoes tell.
    let begins = |at: usize| 35.0 * at as f64;
    let sends = Sends { count: 400, segments: 45, begins_ms: &begins, round_trip_ms: 65.0, ..Sends::default() };
    for at_client in [true, false] {
        assert_ne!(Sends { waits_ms: 8.0, ..sends }.seen(at_client), Some(Factor::Application));
    }
}

#[test]
fn uneven_sends_that_answer_nothing_may_be_the_application_s_and_those_at_a_clock_a_shaper_s() {
    // A flight that hardly varies, as a send buffer makes it, or pacing; but pacing is even, and a buffer is filled with acknowledgements.
    let uneven = |at: usize| 1.17 * at as f64 + 3.9 * (at / 25) as f64;
    let even = |at: usize| 1.28 * at as f64 + 0.9 * (at / 10) as f64;
    let at_a_clock = |at: usize| 1.36 * at as f64;
    let sends = Sends { count: 4000, pushed: false, ..Sends::default() };
    let verdict = |begins_ms: &dyn Fn(usize) -> f64| Sends { begins_ms, ..sends }.verdict(true).expect("long enough");
    let (factor, confidence) = verdict(&even);
    assert!(factor == Factor::SendBuffer && confidence > 0.8, "{factor:?} {confidence}");
    for open in [&uneven as &dyn Fn(usize) -> f64, &at_a_clock] {
        let (factor, confidence) = verdict(open);
        assert!(factor == Factor::SendBuffer && confidence <= 0.5, "{factor:?} {confidence}");
    }
}

#[test]
fn single_segments_that_end_what_was_written_are_no_sure_send_buffer_s_though_each_answers() {
    // The application's rhythm is that of the acknowledgements.
    let begins = |at: usize| 20.65 * at as f64;
    let sends = Sends { count: 500, begins_ms: &begins, ..Sends::default() };
    for at_client in [true, false] {
        let (factor, confidence) = sends.verdict(at_client).expect("long enough");
        assert!(factor == Factor::Application || confidence <= 0.5, "{factor:?} {confidence}");
    }
}

#[test]
fn what_a_queue_of_the_host_keeps_back_may_be_a_narrow_path_as_well() {
    // Even as pacing, two by two at a fixed clock: a shaper of the host may do that. Then handed down 5 ms before, while acknowledgements
    // come all the time.
    let begins = |at: usize| 2.5 * at as f64;
    let sends = Sends { count: 3000, segments: 2, pushed: false, begins_ms: &begins, ..Sends::default() };
    let (factor, confidence) = sends.verdict(true).expect("long enough");
    assert!(factor == Factor::SendBuffer && confidence <= 0.5, "{factor:?} {confidence}");
    let (factor, confidence) = Sends { waits_ms: 5.0, ..sends }.verdict(true).expect("long enough");
    assert!(factor == Factor::BottleneckBandwidth || confidence <= 0.5, "{factor:?} {confidence}");
}
