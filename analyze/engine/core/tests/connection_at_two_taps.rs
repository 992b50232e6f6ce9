//! What two capture points half a round trip apart saw, in one file: each packet twice, and yet sent once (docs/methods.md,
//! section 2 rule 3).
//!
//! Subjects: `tcp/capture/two_taps.rs`.

use crate::playbook::captures::Frame;
use crate::playbook::*;
use vmtrace_core::tcp::summary::summary::ConnectionSummary;

/// One way between the capture points, which are beside the hosts.
const HALF: f64 = 40.0;
const RTT: f64 = 2.0 * HALF;

/// A conversation as it was captured beside the client, and at the server half a round trip later or earlier. Of the client's
/// segments those in `lost` never came there.
struct BothEnds {
    beside_client: Talk,
    lost: Vec<usize>,
}

impl BothEnds {
    fn of(beside_client: Talk) -> Self {
        Self { beside_client, lost: Vec::new() }
    }

    /// The `index`-th frame of the conversation (counted from 0) got lost behind the client's capture point.
    fn losing(mut self, index: usize) -> Self {
        self.lost.push(index);
        self
    }

    fn frames(&self) -> Vec<Frame> {
        let of_client: Vec<Frame> = self.beside_client.clone().only(CLIENT).frames().to_vec();
        let mut frames = self.beside_client.frames().to_vec();
        for (index, frame) in self.beside_client.frames().iter().enumerate() {
            let from_client = of_client.iter().any(|own| own.time_ns == frame.time_ns && own.bytes == frame.bytes);
            let later_ns = if from_client { ms(HALF) } else { -ms(HALF) };
            if !self.lost.contains(&index) {
                frames.push(Frame { time_ns: frame.time_ns + later_ns, ..frame.clone() });
            }
        }
        frames.sort_by_key(|frame| frame.time_ns);
        frames
    }

    fn summary(&self) -> ConnectionSummary {
        let mut analysis = analysis_of(&self.frames(), &Default::default());
        assert_eq!(analysis.connections.len(), 1, "one connection");
        check_consistency(&analysis);
        *analysis.connections.remove(0)
    }

    /// Data segments of the client, those retransmitted, those of them that were needless, and those that came out of order.
    fn counts(&self) -> (u64, u32, u32, u32) {
        let summary = self.summary();
        let direction = &summary.directions[CLIENT];
        let loss = *direction.loss;
        assert_eq!(loss.network_duplicates, 0, "the capture made the copies");
        (direction.data_segments, loss.retransmitted, loss.spurious, loss.reordered)
    }
}

/// Segments that can be told apart by nothing but their headers.
fn plain() -> Talk {
    Talk::new().over_ipv6()
}

/// Each set of headers that a stack may send, with what there is to tell its packets apart.
fn headers() -> [(Talk, &'static str); 5] {
    [
        (plain().with_timestamps(), "timestamps"),
        (plain(), "neither timestamps nor identifications"),
        (Talk::new().with_timestamps(), "both"),
        (Talk::new().without_identifications().with_timestamps(), "identification 0"),
        (Talk::new(), "identifications"),
    ]
}

/// Twelve rounds of ten segments, each acknowledged.
fn rounds(talk: Talk) -> Talk {
    talk.each(0..12_i64, |talk, round| {
        let at_ms = 100.0 + (RTT + 1.0) * round as f64;
        let sent = talk.each(0..10_i64, |talk, n| {
            talk.client(at_ms + 0.3 * n as f64, data(1000 * (10 * round + n), 1000).without_push())
        });
        sent.each(0..10_i64, |talk, n| talk.server(at_ms + RTT + 0.3 * n as f64, ack(1000 * (10 * round + n + 1))))
    })
}

/// After [`rounds`]: ten segments of which the fourth gets lost, three reports of that, the repeat, and what it completes. The
/// index of the one that gets lost comes with it.
fn lossy(talk: Talk) -> (Talk, usize) {
    let talk = rounds(talk);
    let lost = talk.frames().len() + 3;
    let sent =
        talk.each(0..10_i64, |talk, n| talk.client(2000.0 + n as f64, data(120_000 + 1000 * n, 1000).without_push()));
    let acknowledged = sent.each(0..3_i64, |talk, n| talk.server(2000.0 + RTT + n as f64, ack(121_000 + 1000 * n)));
    let reported = acknowledged.each(4..10_i64, |talk, n| {
        talk.server(2000.0 + RTT + n as f64, ack(123_000).sack(124_000, 125_000 + 1000 * (n - 4)))
    });
    let again = reported.client(2006.1 + RTT, data(123_000, 1000).without_push());
    (again.server(2006.1 + 2.0 * RTT, ack(130_000)), lost)
}

#[test]
fn what_both_ends_saw_was_sent_once() {
    for (talk, what) in headers() {
        let both = BothEnds::of(rounds(talk.open(RTT, 0.1)));
        assert_eq!(both.counts(), (120, 0, 0, 0), "{what}");
        let summary = both.summary();
        assert_eq!(summary.directions.each_ref().map(|direction| direction.packets), [122, 121], "{what}");
        assert_eq!(summary.directions.each_ref().map(|direction| direction.loss.syn), [0, 0], "{what}");
        assert_eq!(summary.handshake_rtt_ns(), Some(ms(RTT + 0.1)), "{what}");
    }
}

#[test]
fn what_was_lost_between_both_ends_was_sent_again_once() {
    for (talk, what) in headers() {
        let (talk, lost) = lossy(talk.open(RTT, 0.1));
        let both = BothEnds::of(talk).losing(lost);
        assert_eq!(both.counts(), (131, 1, 0, 0), "{what}");
    }
}

#[test]
fn what_was_lost_at_the_end_was_sent_again_by_a_timer() {
    for (talk, what) in headers() {
        let talk = rounds(talk.open(RTT, 0.1));
        let tail = talk.frames().len();
        let again = talk.client(2000.0, data(120_000, 1000)).client(2000.0 + 2.2 * RTT, data(120_000, 1000));
        let both = BothEnds::of(again.server(2000.0 + 3.2 * RTT, ack(121_000))).losing(tail);
        assert_eq!(both.counts(), (122, 1, 0, 0), "{what}");
    }
}

#[test]
fn a_repeat_within_one_step_of_a_coarse_clock_is_none_of_the_copies() {
    // One step in half a second.
    let stamped = |at_ms: f64, position: i64| data(position, 1000).tsval(1_000_000 + at_ms as u32 / 500);
    let sent = (0..20_i64).fold(plain().with_timestamps().open(RTT, 0.1), |talk, n| {
        let at_ms = 100.0 + 95.0 * n as f64;
        talk.client(at_ms, stamped(at_ms, 1000 * n)).server(at_ms + RTT, ack(1000 * (n + 1)))
    });
    let tail = sent.frames().len();
    let again =
        [2010.0, 2010.0 + 1.1 * RTT].into_iter().fold(sent, |talk, at_ms| talk.client(at_ms, stamped(at_ms, 20_000)));
    let both = BothEnds::of(again.server(2010.0 + 2.1 * RTT, ack(21_000))).losing(tail);
    assert_eq!(both.counts(), (22, 1, 0, 0));
}

#[test]
fn a_queue_between_both_ends_makes_no_repeats() {
    // Each round's segments leave together and come out 8 ms apart: the last of them later than an answer to the first could come.
    for (talk, what) in headers() {
        let talk = talk.open(RTT, 0.1);
        let opening = talk.frames().len();
        let sent =
            talk.each(0..12_i64, |talk, n| talk.client(100.0 + 0.01 * n as f64, data(1000 * n, 1000).without_push()));
        let acknowledged =
            sent.each(0..12_i64, |talk, n| talk.server(100.0 + RTT + 8.0 * n as f64, ack(1000 * (n + 1))));
        let mut frames = BothEnds::of(acknowledged).frames();
        let mut copies = 0;
        for index in 0..frames.len() {
            let seen_before = frames[..index].iter().any(|frame| frame.bytes == frames[index].bytes);
            if seen_before && frames[index].bytes.len() > 1000 {
                frames[index].time_ns += ms(8.0) * copies;
                copies += 1;
            }
        }
        assert_eq!((opening, copies), (3, 12));
        frames.sort_by_key(|frame| frame.time_ns);
        let analysis = analysis_of(&frames, &Default::default());
        let direction = &analysis.connections[0].directions[CLIENT];
        assert_eq!((direction.data_segments, direction.loss.retransmitted), (12, 0), "{what}");
    }
}

#[test]
fn where_both_begin_in_mid_stream_timestamps_tell() {
    let talk = (0..60_i64).fold(plain().with_timestamps().open(RTT, 0.1), |talk, n| {
        talk.client(100.0 + 5.0 * n as f64, data(1000 * n, 1000).without_push())
    });
    let answered = talk.each(0..30_i64, |talk, n| talk.server(101.0 + RTT + 5.0 * n as f64, ack(1000 * (n + 1))));
    let reported = answered.each(31..60_i64, |talk, n| {
        talk.server(101.0 + RTT + 5.0 * n as f64, ack(30_000).sack(31_000, 1000 * (n + 1)))
    });
    let again = reported.client(102.0 + RTT + 300.0, data(30_000, 1000)).server(103.0 + 2.0 * RTT + 300.0, ack(60_000));
    let later = BothEnds::of(again.starting_at(3)).losing(30);
    assert_eq!(later.counts(), (61, 1, 0, 0));
}

#[test]
fn what_one_point_saw_is_not_taken_for_a_copy_of_it() {
    // The SYN and the SYN-ACK were copied on the way, and nothing else.
    let opened = plain().client(0.0, syn()).again(20.0).server(40.0, syn_ack()).again(60.0).client(80.0, ack(0));
    let (talk, _) = lossy(opened);
    let loss = *talk.summary().directions[CLIENT].loss;
    assert_eq!((loss.syn, loss.retransmitted), (0, 1));
}
