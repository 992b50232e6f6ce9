//! A send buffer, or a congestion window, before and after a loss (methods, section 6.6, label 10): rounds of so many segments
//! each, written down, of which the first of some is lost once.

mod playbook;

use playbook::*;
use vmtrace_core::tcp::limits::Factor;

/// Rounds one after another.
struct Rounds<'a> {
    number: usize,
    round_trip_ms: f64,
    /// Segments of each.
    segments: &'a dyn Fn(usize) -> usize,
    /// Those of which the first segment is lost.
    losing: &'a [usize],
}

/// When the first round begins.
const FIRST_MS: f64 = 300.0;
/// Between two segments.
const STEP_MS: f64 = 0.05;

impl Rounds<'_> {
    /// Each segment answers the acknowledgement of the one in its place of the round before. A segment that is lost is sent again
    /// when the others of its round have been reported.
    fn talk(&self) -> Talk {
        let mut lines: Vec<(f64, usize, Segment)> = Vec::new();
        let (mut begins_ms, mut sent) = (FIRST_MS, 0i64);
        let full = i64::from(FULL);
        for round in 0..self.number {
            let (first, count) = (sent, (self.segments)(round));
            let loses = self.losing.contains(&round);
            for segment in 0..count {
                let at_ms = begins_ms + STEP_MS * segment as f64;
                lines.push((at_ms + 0.001, CLIENT, data(sent, FULL)));
                sent += full;
                let answer = match (loses, segment) {
                    (true, 0) => continue,
                    (true, _) => ack(first).sack(first + full, sent),
                    (false, _) => ack(sent),
                };
                lines.push((at_ms + self.round_trip_ms, SERVER, answer));
            }
            begins_ms += self.round_trip_ms;
            if loses {
                begins_ms += STEP_MS * count as f64;
                lines.push((begins_ms, CLIENT, data(first, FULL)));
                begins_ms += self.round_trip_ms;
                lines.push((begins_ms, SERVER, ack(sent)));
            }
        }
        lines.sort_by(|one, other| one.0.total_cmp(&other.0));
        lines.into_iter().fold(Talk::seen_at_client(self.round_trip_ms), |talk, (time_ms, side, segment)| {
            talk.line(side, time_ms, segment)
        })
    }

    /// Seconds of each factor before a round trip ahead of the first loss, and those after that.
    fn seconds(&self, factor: Factor) -> [f64; 2] {
        let summary = self.talk().summary();
        let limits = summary.limits(CLIENT).expect("long enough");
        let listed: u64 = limits.list().iter().filter(|limit| limit.factor == factor).map(|limit| limit.time_ns).sum();
        let loss_ns = START_NS + ms(FIRST_MS + self.round_trip_ms * self.losing[0] as f64);
        let mut times_ns = [0, 0];
        for run in limits.runs.iter().filter(|run| run.factor == factor) {
            times_ns[usize::from(run.start_ns >= loss_ns)] += run.duration_ns();
        }
        // A round that is partly recovery is drawn as one of both.
        let apart_ns = (times_ns[0] + times_ns[1]).abs_diff(listed);
        assert!(apart_ns < ms(4.0 * self.round_trip_ms) as u64, "runs and times say the same");
        times_ns.map(|time_ns| time_ns as f64 / 1e9)
    }
}

#[test]
fn a_send_buffer_limits_before_a_loss_that_is_repaired_and_after_it() {
    let rounds = Rounds { number: 1000, round_trip_ms: 20.0, segments: &|_| 20, losing: &[500] };
    let [before_s, after_s] = rounds.seconds(Factor::SendBuffer);
    assert!(before_s > 9.5 && after_s > 9.5, "{before_s} s before, {after_s} s after");
    let verdict = rounds.talk().summary().verdict().expect("long enough");
    assert_eq!(verdict.factor, Factor::SendBuffer);
}

#[test]
fn a_flight_that_stands_still_after_a_loss_for_no_longer_than_a_window_may_is_none() {
    // For three seconds.
    let rounds = Rounds { number: 650, round_trip_ms: 20.0, segments: &|_| 20, losing: &[500] };
    let [before_s, after_s] = rounds.seconds(Factor::SendBuffer);
    assert!(before_s > 9.5 && after_s == 0.0, "{before_s} s before, {after_s} s after");
}

#[test]
fn a_congestion_window_that_stands_still_where_it_has_lost_before_is_no_send_buffer() {
    // CUBIC (RFC 9438): from 0.7 of 100 segments it is back after 4.2 s, near which it hardly grows, and goes on.
    let cubic = |round: usize| (100.0 + 0.4 * ((round as f64 - 5.0) / 10.0 - 4.2).powi(3)) as usize;
    let rounds = Rounds { number: 80, round_trip_ms: 100.0, segments: &cubic, losing: &[4] };
    assert_eq!(rounds.seconds(Factor::SendBuffer), [0.0, 0.0]);
    assert!(rounds.seconds(Factor::CongestionWindow)[1] > 6.0);
}
