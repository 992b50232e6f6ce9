//! A send buffer, or a congestion window, before and after a loss (docs/verdict.md, `send_buffer`): rounds of so many
//! segments each, written down, of which the first of some is lost once.

use crate::playbook::*;
use vmtrace_core::tcp::events::factor::Factor;

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
    /// Each segment answers the acknowledgement of the one in its place of the round before. A segment that is lost is retransmitted
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

/// Writes with Nagle's algorithm off, one after another: so many full segments each, and a short one.
const WRITE_SEGMENTS: usize = 11;
const WRITE_BYTES: i64 = WRITE_SEGMENTS as i64 * FULL as i64 + FULL as i64 / 2;
const WRITES: usize = 300;
/// The shortest time that a host takes to wake a writer, and between its segments.
const WAKING_MS: f64 = 0.1;
const ROUND_TRIP_MS: f64 = 40.0;

/// When each write begins at the sender.
type Begins = fn(usize) -> f64;

/// The send buffer has room for two writes: each begins when all of the one before the last is acknowledged.
fn when_the_buffer_has_room(write: usize) -> f64 {
    let pair_ms = (write / 2) as f64 * (ROUND_TRIP_MS + 2.0 * WAKING_MS + STEP_MS * WRITE_SEGMENTS as f64);
    FIRST_MS + pair_ms + if write.is_multiple_of(2) { 0.0 } else { 13.0 }
}

/// As many writes in a round trip, each when its time has come.
fn at_its_own_pace(write: usize) -> f64 {
    FIRST_MS + 17.0 * write as f64
}

/// Seen at the client, which sends, or at the server.
fn written(begins_ms: Begins, at_client: bool) -> Talk {
    let mut lines: Vec<(f64, usize, Segment)> = Vec::new();
    let way_ms = ROUND_TRIP_MS / 2.0;
    let [data_later_ms, answer_later_ms] = if at_client { [0.0, ROUND_TRIP_MS] } else { [way_ms, way_ms + 0.05] };
    for write in 0..WRITES {
        let start = write as i64 * WRITE_BYTES;
        for segment in 0..=WRITE_SEGMENTS {
            let (at_ms, position) =
                (begins_ms(write) + STEP_MS * segment as f64, start + segment as i64 * i64::from(FULL));
            let length = if segment == WRITE_SEGMENTS { FULL / 2 } else { FULL };
            lines.push((at_ms + data_later_ms, CLIENT, data(position, length)));
            lines.push((at_ms + answer_later_ms, SERVER, ack(position + i64::from(length))));
        }
    }
    lines.sort_by(|one, other| one.0.total_cmp(&other.0));
    let talk = if at_client { Talk::seen_at_client(ROUND_TRIP_MS) } else { Talk::seen_at_server(ROUND_TRIP_MS) };
    lines.into_iter().fold(talk, |talk, (time_ms, side, segment)| talk.line(side, time_ms, segment))
}

/// The factor of the verdict at the client and at the server.
fn verdicts(begins_ms: Begins) -> [Option<Factor>; 2] {
    [true, false].map(|at_client| written(begins_ms, at_client).summary().verdict().map(|verdict| verdict.factor))
}

#[test]
fn writes_that_end_short_and_follow_acknowledgements_are_kept_back_by_the_send_buffer() {
    assert_eq!(verdicts(when_the_buffer_has_room), [Some(Factor::SendBuffer); 2]);
}

#[test]
fn writes_that_end_short_and_follow_no_acknowledgement_are_the_application() {
    assert_eq!(verdicts(at_its_own_pace), [Some(Factor::Application); 2]);
}

#[test]
fn whole_segments_at_the_pace_of_an_application_are_its_limit_though_the_flight_is_always_the_same() {
    let rounds = Rounds { number: 200, round_trip_ms: 20.0, segments: &|_| 20, losing: &[] };
    assert_eq!(rounds.talk().summary().verdict().map(|verdict| verdict.factor), Some(Factor::SendBuffer));
    assert_eq!(at_pace(None).summary().verdict().map(|verdict| verdict.factor), Some(Factor::Application));
}

#[test]
fn bursts_that_begin_a_little_after_all_was_acknowledged_are_the_application() {
    assert_eq!(bursts(0.1).summary().verdict().map(|verdict| verdict.factor), Some(Factor::SendBuffer));
    assert_eq!(bursts(3.0).summary().verdict().map(|verdict| verdict.factor), Some(Factor::Application));
}

/// Beside the client: twenty full segments at once, acknowledged one by one from 40 ms on for 6 ms, and so long after the last of these
/// the next.
fn bursts(after_ms: f64) -> Talk {
    let full = i64::from(FULL);
    (0..100).fold(Talk::seen_at_client(ROUND_TRIP_MS), |talk, burst| {
        let begins_ms = FIRST_MS + burst as f64 * (ROUND_TRIP_MS + 6.0 + after_ms);
        let start = burst * 20 * full;
        let talk = talk.each(0..20, |talk, n| talk.client(begins_ms + 0.01 * n as f64, data(start + n * full, FULL)));
        talk.each(1..=20, |talk, n| talk.server(begins_ms + ROUND_TRIP_MS + 0.3 * n as f64, ack(start + n * full)))
    })
}

#[test]
fn they_are_its_limit_after_a_loss_too() {
    let summary = at_pace(Some(1000)).summary();
    assert_eq!(summary.verdict().map(|verdict| verdict.factor), Some(Factor::Application));
    let shares = &summary.limits(CLIENT).expect("long enough").shares;
    assert_eq!(shares[Factor::SendBuffer].time_ns, 0);
}

/// Ten segments every 10 ms, 7 ms after what was sent two pieces before is acknowledged. One of them may be lost once.
fn at_pace(lost: Option<i64>) -> Talk {
    let full = i64::from(FULL);
    let sent_ms = |segment: i64| FIRST_MS + 10.0 * (segment / 10) as f64 + STEP_MS * (segment % 10) as f64;
    let repaired_ms = |segment: i64| sent_ms(segment) + 24.0;
    let mut lines: Vec<(f64, usize, Segment)> = Vec::new();
    for segment in 0..6000 {
        lines.push((sent_ms(segment), CLIENT, data(segment * full, FULL)));
        let answered_ms = sent_ms(segment) + 23.0;
        let answer = match lost {
            Some(lost) if segment == lost => continue,
            Some(lost) if segment > lost && answered_ms < repaired_ms(lost) + 23.0 => {
                ack(lost * full).sack((lost + 1) * full, (segment + 1) * full)
            }
            _ => ack((segment + 1) * full),
        };
        lines.push((answered_ms, SERVER, answer));
    }
    if let Some(lost) = lost {
        lines.push((repaired_ms(lost), CLIENT, data(lost * full, FULL)));
        let until = (0..).find(|segment| sent_ms(*segment) >= repaired_ms(lost)).unwrap_or(lost);
        lines.push((repaired_ms(lost) + 23.0, SERVER, ack(until * full)));
    }
    lines.sort_by(|one, other| one.0.total_cmp(&other.0));
    let talk = Talk::seen_at_client(23.0);
    lines.into_iter().fold(talk, |talk, (time_ms, side, segment)| talk.line(side, time_ms, segment))
}

#[test]
fn a_round_trip_that_is_longer_now_and_then_is_no_queue() {
    let steady = Rounds { number: 300, round_trip_ms: 20.0, segments: &|_| 20, losing: &[] };
    let late = |at: usize| at % 7 == 3;
    let mut talk = Talk::seen_at_client(steady.round_trip_ms);
    let (mut begins_ms, mut sent) = (FIRST_MS, 0i64);
    for round in 0..steady.number {
        let took_ms = steady.round_trip_ms + if late(round) { 6.0 } else { 0.0 };
        for segment in 0..20 {
            talk = talk.line(CLIENT, begins_ms + STEP_MS * f64::from(segment), data(sent, FULL));
            sent += i64::from(FULL);
        }
        for segment in 1..=20 {
            let position = sent - i64::from(20 - segment) * i64::from(FULL);
            talk = talk.line(SERVER, begins_ms + took_ms + STEP_MS * f64::from(segment), ack(position));
        }
        begins_ms += took_ms + STEP_MS * 21.0;
    }
    assert_eq!(talk.summary().verdict().map(|verdict| verdict.factor), Some(Factor::SendBuffer));
}
