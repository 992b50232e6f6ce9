//! What limited a transfer (methods, section 6.6), on transfers of a sender that is modelled in the open: a window that
//! follows a rule, a path with a round trip and a rate, acknowledgements for every segment.

mod playbook;

use std::collections::VecDeque;

use playbook::*;
use vmtrace_core::analysis::Options;
use vmtrace_core::tcp::limits::{Factor, Run, Share, Shares};
use vmtrace_core::tcp::summary::ConnectionSummary;
use vmtrace_core::tcp::token_bucket::{Kind, TokenBucket};

const SEGMENT: u32 = FULL;
/// The server's timestamp clock at 0 ms; it ticks once a millisecond.
const TICKS_AT_SERVER: u32 = 2_000_000;
/// The window scale of both sides is 7.
const WINDOW_UNIT: usize = 128;

/// A transfer of full segments from the client.
#[derive(Clone)]
struct Transfer {
    segments: usize,
    rtt_ms: f64,
    /// Time the path takes for a segment.
    serialization_ms: f64,
    /// After so many segments it takes another time.
    slower_ms: Option<(usize, f64)>,
    /// Data waits for so long behind other traffic, the handshake did not.
    behind_others_ms: f64,
    /// Segments in flight allowed, after so many have been acknowledged.
    window: fn(usize) -> usize,
    /// The receiver's window in segments.
    advertised: usize,
    /// The application gives so many segments and a short one at a time, and so often.
    writes: Option<(usize, f64)>,
    /// What both sides take in a segment, options included. Full segments have no PSH where they are smaller.
    offered: u16,
    beside_sender: bool,
    /// Away from the sender: time from data to its acknowledgement, as seen there.
    receiver_loop_ms: f64,
    timestamps: bool,
    /// The receiver's host stood still for so long before it answered the SYN.
    handshake_held_ms: f64,
    /// The sender's host stands still: when, and for how long.
    stalls_ms: &'static [(f64, f64)],
}

impl Default for Transfer {
    fn default() -> Self {
        Self {
            segments: 2000,
            rtt_ms: 20.0,
            serialization_ms: 0.01,
            slower_ms: None,
            behind_others_ms: 0.0,
            window: |_| 20,
            advertised: 5000,
            writes: None,
            offered: SEGMENT as u16,
            beside_sender: true,
            receiver_loop_ms: 0.05,
            timestamps: true,
            handshake_held_ms: 0.0,
            stalls_ms: &[],
        }
    }
}

impl Transfer {
    /// The capture of it.
    fn talk(&self) -> Talk {
        let mut lines: Vec<(f64, usize, Segment)> = Vec::new();
        let (mut sent, mut acknowledged, mut link_free_ms, mut now_ms) = (0usize, 0usize, 0.0f64, self.rtt_ms + 1.0);
        let mut answers: VecDeque<f64> = VecDeque::new();
        // What the sender has heard last, as timestamps tell it: at first what opened the connection.
        let mut heard = Some(TICKS_AT_SERVER);
        while acknowledged < self.segments {
            let given = self.writes.map_or(self.segments, |(piece, every_ms)| {
                (piece * (1 + ((now_ms - self.rtt_ms - 1.0) / every_ms) as usize)).min(self.segments)
            });
            let limit = (self.window)(acknowledged).min(self.advertised);
            while sent < given && sent - acknowledged < limit {
                let slower_ms = self.slower_ms.filter(|(after, _)| sent >= *after).map(|(_, slower_ms)| slower_ms);
                let passes_ms = link_free_ms.max(now_ms) + slower_ms.unwrap_or(self.serialization_ms);
                link_free_ms = passes_ms;
                let arrives_ms = passes_ms + self.behind_others_ms;
                let length = match self.writes {
                    Some((piece, _)) if (sent + 1).is_multiple_of(piece) => SEGMENT / 2,
                    _ => SEGMENT,
                };
                let captured_ms = if self.beside_sender { now_ms } else { arrives_ms };
                let segment = data(self.position(sent), length);
                let is_pushed = u32::from(self.offered) == SEGMENT || length < SEGMENT;
                let segment = if is_pushed { segment } else { segment.without_push() };
                lines.push((captured_ms, CLIENT, Segment { tsecr: heard, ..segment }));
                answers.push_back(arrives_ms + self.rtt_ms);
                sent += 1;
            }
            let written_ms = self
                .writes
                .filter(|_| sent == given && given < self.segments)
                .map(|(piece, every_ms)| self.rtt_ms + 1.0 + every_ms * (given / piece) as f64 + 1e-6);
            match (answers.front().copied(), written_ms) {
                (Some(answer_ms), write) if write.is_none_or(|write| answer_ms <= write) => {
                    answers.pop_front();
                    acknowledged += 1;
                    now_ms = answer_ms;
                    let captured_ms =
                        if self.beside_sender { now_ms } else { now_ms - self.rtt_ms + self.receiver_loop_ms };
                    let window = (self.advertised * SEGMENT as usize).div_ceil(WINDOW_UNIT) as u16;
                    let segment = ack(self.position(acknowledged)).window(window);
                    heard = Some(TICKS_AT_SERVER + captured_ms as u32);
                    lines.push((captured_ms, SERVER, Segment { tsval: heard, ..segment }));
                }
                (_, Some(write_ms)) => now_ms = write_ms,
                (answer, None) => assert!(answer.is_some(), "the model waits for something"),
            }
        }
        lines.sort_by(|one, other| one.0.total_cmp(&other.0));
        lines.iter_mut().for_each(|line| line.0 += self.handshake_held_ms);
        let receiver_loop_ms = if self.beside_sender { self.rtt_ms } else { self.receiver_loop_ms };
        let talk = if self.timestamps { Talk::new().with_timestamps() } else { Talk::new() };
        let answered_ms = self.handshake_held_ms + receiver_loop_ms;
        let open = talk.open_with_sizes(answered_ms, (self.rtt_ms - receiver_loop_ms).max(0.05), [self.offered; 2]);
        lines.into_iter().fold(open, |talk, (time_ms, side, mut segment)| {
            // What was under way when the host stopped had been stamped by then.
            let late_ticks = self.late_ms(time_ms - self.rtt_ms) as u32;
            segment.tsval = segment.tsval.map(|tsval| tsval + late_ticks);
            talk.line(side, time_ms + self.late_ms(time_ms), segment)
        })
    }

    /// How much later than without stalls it is.
    fn late_ms(&self, time_ms: f64) -> f64 {
        self.stalls_ms.iter().filter(|(at_ms, _)| *at_ms < time_ms).map(|(_, for_ms)| for_ms).sum()
    }

    /// Stream position of a segment: those that end a write are half as long.
    fn position(&self, number: usize) -> i64 {
        let short = self.writes.map_or(0, |(piece, _)| number / piece);
        (number * SEGMENT as usize - short * SEGMENT as usize / 2) as i64
    }

    fn summary(&self) -> ConnectionSummary {
        self.talk().summary()
    }

    /// Share of the time that a factor took.
    fn share(&self, factor: Factor) -> f64 {
        let summary = self.summary();
        let list = summary.limits(CLIENT).map(|limits| limits.list()).unwrap_or_default();
        list.iter().find(|limit| limit.factor == factor).map_or(0.0, |limit| limit.fraction)
    }

    fn verdict(&self) -> (Factor, f64) {
        self.summary().verdict().map_or((Factor::Unknown, 0.0), |verdict| (verdict.factor, verdict.confidence))
    }
}

/// The same transfer at either end of the path.
fn at_both_ends(transfer: Transfer) -> [Transfer; 2] {
    [Transfer { beside_sender: true, ..transfer.clone() }, Transfer { beside_sender: false, ..transfer }]
}

fn window_limited() -> Transfer {
    Transfer { window: |_| 1000, advertised: 20, ..Transfer::default() }
}

fn send_buffer_limited() -> Transfer {
    Transfer { window: |_| 20, ..Transfer::default() }
}

fn path_limited() -> Transfer {
    Transfer { window: |acknowledged| 10 + acknowledged / 20, serialization_ms: 1.0, ..Transfer::default() }
}

fn growing_slowly() -> Transfer {
    // One more segment for each window acknowledged, far below what the path takes (2000 in a round trip).
    Transfer { window: |acknowledged| (100.0 + 2.0 * acknowledged as f64).sqrt() as usize, ..Transfer::default() }
}

fn over_in_slow_start() -> Transfer {
    Transfer { segments: 1200, window: |acknowledged| 10 + acknowledged, rtt_ms: 50.0, ..Transfer::default() }
}

fn written_in_pieces() -> Transfer {
    Transfer { segments: 600, window: |_| 60, writes: Some((6, 50.0)), ..Transfer::default() }
}

#[test]
fn a_window_that_is_always_full_is_the_limit() {
    for transfer in at_both_ends(window_limited()) {
        assert!(transfer.share(Factor::ReceiverWindow) > 0.9, "{}", transfer.share(Factor::ReceiverWindow));
        assert_eq!(transfer.verdict().0, Factor::ReceiverWindow);
    }
}

#[test]
fn a_flight_that_never_grows_below_the_window_is_the_senders_own_limit() {
    for transfer in at_both_ends(send_buffer_limited()) {
        assert!(transfer.share(Factor::SendBuffer) > 0.9, "{}", transfer.share(Factor::SendBuffer));
        assert_eq!(transfer.verdict().0, Factor::SendBuffer);
    }
}

#[test]
fn bursts_of_the_same_size_were_never_faster_than_one_in_a_round_trip() {
    for limited in [send_buffer_limited(), window_limited()] {
        for transfer in at_both_ends(limited) {
            let summary = transfer.summary();
            let reference = summary.limits(CLIENT).and_then(|limits| limits.reference_bytes_s).unwrap_or_default();
            let goodput = summary.directions[CLIENT].goodput_bps().unwrap_or_default() / 8.0;
            assert!((reference / goodput - 1.0).abs() < 0.05, "{reference} of {goodput} bytes/s");
        }
    }
}

#[test]
fn a_queue_and_a_rate_that_stays_show_the_path() {
    for transfer in at_both_ends(path_limited()) {
        assert!(transfer.share(Factor::BottleneckBandwidth) > 0.75, "{}", transfer.share(Factor::BottleneckBandwidth));
        assert_eq!(transfer.verdict().0, Factor::BottleneckBandwidth);
    }
}

#[test]
fn segments_smaller_than_both_sides_take_are_no_sign_of_an_application_that_gives_too_little() {
    for transfer in at_both_ends(Transfer { offered: 1028, ..path_limited() }) {
        assert!(transfer.share(Factor::BottleneckBandwidth) > 0.75, "{}", transfer.share(Factor::BottleneckBandwidth));
        assert_eq!(transfer.verdict().0, Factor::BottleneckBandwidth);
    }
}

#[test]
fn an_application_that_writes_pieces_in_smaller_segments_is_still_the_limit() {
    for transfer in at_both_ends(Transfer { offered: 1028, ..written_in_pieces() }) {
        assert!(transfer.share(Factor::Application) > 0.9, "{}", transfer.share(Factor::Application));
        assert_eq!(transfer.verdict().0, Factor::Application);
    }
}

/// A full path of 48 Mbit/s between hosts in one rack: 20 microseconds of way, 10 ms of queue.
fn path_limited_nearby() -> Transfer {
    let nearby = Transfer { rtt_ms: 0.05, receiver_loop_ms: 0.02, serialization_ms: 0.24, ..Transfer::default() };
    Transfer { segments: 6000, window: |acknowledged| 10 + acknowledged.min(4000) / 100, ..nearby }
}

#[test]
fn between_hosts_nearby_a_full_path_is_no_application_that_waits() {
    for transfer in at_both_ends(path_limited_nearby()) {
        let shares = [Factor::BottleneckBandwidth, Factor::Application].map(|factor| transfer.share(factor));
        assert!(shares[0] > 0.8 && shares[1] < 0.05, "beside the sender: {}: {shares:?}", transfer.beside_sender);
        assert_eq!(transfer.verdict().0, Factor::BottleneckBandwidth);
    }
}

#[test]
fn between_hosts_nearby_and_without_timestamps_even_spacing_shows_the_path() {
    let transfer = Transfer { beside_sender: false, timestamps: false, ..path_limited_nearby() };
    assert!(transfer.share(Factor::BottleneckBandwidth) > 0.8, "{}", transfer.share(Factor::BottleneckBandwidth));
}

/// Every 3 ms a segment: an application that is paced, or a path of 4 Mbit/s.
fn paced_nearby() -> Transfer {
    let nearby = Transfer { rtt_ms: 0.05, receiver_loop_ms: 0.02, serialization_ms: 3.0, ..Transfer::default() };
    Transfer { segments: 1000, window: |_| 10, ..nearby }
}

#[test]
fn between_hosts_nearby_and_without_timestamps_a_paced_application_may_be_the_path() {
    let verdict = |timestamps| {
        let transfer = Transfer { beside_sender: false, timestamps, ..paced_nearby() };
        transfer.talk().summary().verdict().expect("a verdict")
    };
    let open = verdict(false);
    assert_eq!(open.undetermined_between, [Factor::Application, Factor::BottleneckBandwidth]);
    assert!(open.sentence.contains("a capture beside the sender, or one with timestamps"), "{}", open.sentence);
    assert_eq!(verdict(true).factor, Factor::BottleneckBandwidth);
}

#[test]
fn between_hosts_nearby_an_application_that_waits_is_the_limit() {
    for timestamps in [true, false] {
        let nearby = Transfer { rtt_ms: 0.05, receiver_loop_ms: 0.02, timestamps, ..written_in_large_pieces() };
        for transfer in at_both_ends(nearby) {
            assert!(transfer.share(Factor::Application) > 0.8, "{timestamps} {}", transfer.share(Factor::Application));
            assert_eq!(transfer.verdict().0, Factor::Application);
        }
    }
}

#[test]
fn a_window_that_grows_by_a_segment_each_round_is_the_congestion_window() {
    for transfer in at_both_ends(growing_slowly()) {
        assert!(transfer.share(Factor::CongestionWindow) > 0.7, "{}", transfer.share(Factor::CongestionWindow));
        assert_eq!(transfer.share(Factor::SendBuffer), 0.0);
    }
}

#[test]
fn behind_other_traffic_that_fills_the_path_a_window_is_no_sure_limit() {
    let [_, alone] = at_both_ends(growing_slowly());
    let behind_others = Transfer { behind_others_ms: 20.0, ..alone.clone() };
    let [(_, alone), (factor, confidence)] = [alone.verdict(), behind_others.verdict()];
    assert_eq!(factor, Factor::CongestionWindow);
    assert!(confidence <= 0.7 && alone > 0.7, "{confidence}, alone {alone}");
}

#[test]
fn a_transfer_whose_window_doubles_to_its_end_was_over_in_slow_start() {
    for transfer in at_both_ends(over_in_slow_start()) {
        assert!(transfer.share(Factor::SlowStart) > 0.6, "{}", transfer.share(Factor::SlowStart));
    }
}

/// Pieces of a hundred segments, less than a round trip's silence apart.
fn written_in_large_pieces() -> Transfer {
    Transfer {
        segments: 4000,
        rtt_ms: 40.0,
        serialization_ms: 0.1,
        window: |_| 150,
        writes: Some((100, 60.0)),
        ..Transfer::default()
    }
}

/// A hundred segments at once as soon as the last hundred are acknowledged: each burst queues up, and the queue is gone before
/// the next.
fn sent_in_bursts() -> Transfer {
    Transfer {
        segments: 4000,
        rtt_ms: 40.0,
        serialization_ms: 0.25,
        window: |acknowledged| 100 - acknowledged % 100,
        ..Transfer::default()
    }
}

#[test]
fn an_application_that_writes_large_pieces_is_the_limit_wherever_the_capture_is() {
    for transfer in at_both_ends(written_in_large_pieces()) {
        assert!(transfer.share(Factor::Application) > 0.8, "{}", transfer.share(Factor::Application));
        assert_eq!(transfer.verdict().0, Factor::Application);
    }
}

#[test]
fn a_queue_that_each_burst_makes_for_itself_is_no_full_path() {
    for transfer in at_both_ends(sent_in_bursts()) {
        assert_eq!(transfer.share(Factor::BottleneckBandwidth), 0.0);
        assert!(transfer.share(Factor::SendBuffer) > 0.8, "{}", transfer.share(Factor::SendBuffer));
    }
}

/// A buffer of 300 segments that grows as slowly as a congestion window does, and that its writer fills up whenever two thirds of
/// it are free.
fn refilled_in_bursts() -> Transfer {
    Transfer {
        segments: 16_000,
        rtt_ms: 40.0,
        serialization_ms: 0.25,
        window: |acknowledged| 300 + acknowledged / 400 - acknowledged % 200,
        ..Transfer::default()
    }
}

#[test]
fn a_flight_that_falls_far_below_its_peak_and_returns_is_the_senders_own_limit() {
    for (transfer, least) in at_both_ends(refilled_in_bursts()).into_iter().zip([0.8, 0.4]) {
        assert!(transfer.share(Factor::SendBuffer) > least, "{}", transfer.share(Factor::SendBuffer));
        assert_eq!(transfer.verdict().0, Factor::SendBuffer);
    }
}

/// The sender keeps the path just full, and for a part of a round in eight sends a quarter more, as BBR does.
fn probes_for_more() -> Transfer {
    Transfer {
        segments: 8000,
        rtt_ms: 60.0,
        serialization_ms: 0.6,
        window: |acknowledged| if acknowledged % 840 < 60 { 128 } else { 103 },
        ..Transfer::default()
    }
}

#[test]
fn a_probe_that_only_lengthens_the_round_trip_shows_the_path_wherever_the_capture_is() {
    let in_between = Transfer { beside_sender: false, receiver_loop_ms: 20.0, ..probes_for_more() };
    for transfer in at_both_ends(probes_for_more()).into_iter().chain([in_between]) {
        let share = transfer.share(Factor::BottleneckBandwidth);
        assert!(share > 0.6, "{share}");
    }
}

#[test]
fn without_timestamps_a_full_path_shows_at_the_receiver_by_the_even_spacing_of_its_packets() {
    let transfer = Transfer { beside_sender: false, timestamps: false, ..path_limited() };
    assert!(transfer.share(Factor::BottleneckBandwidth) > 0.75, "{}", transfer.share(Factor::BottleneckBandwidth));
    assert_eq!(transfer.share(Factor::SendBuffer), 0.0);
    let (factor, confidence) = transfer.verdict();
    assert!(factor == Factor::BottleneckBandwidth && confidence <= 0.75, "{factor:?} {confidence}");
}

#[test]
fn without_timestamps_bursts_and_pauses_at_the_receiver_are_no_full_path() {
    let transfer = Transfer { beside_sender: false, timestamps: false, ..send_buffer_limited() };
    assert_eq!(transfer.share(Factor::BottleneckBandwidth), 0.0);
    assert!(transfer.share(Factor::SendBuffer) > 0.8, "{}", transfer.share(Factor::SendBuffer));
}

#[test]
fn a_handshake_that_the_receiver_held_up_does_not_make_the_middle_of_the_path_its_sender_s_end() {
    let transfer = Transfer {
        segments: 6000,
        beside_sender: false,
        rtt_ms: 40.0,
        receiver_loop_ms: 30.0,
        handshake_held_ms: 300.0,
        ..path_limited()
    };
    let summary = transfer.summary();
    let limits = summary.limits(CLIENT).expect("long enough");
    assert!(2 * limits.timed_rounds > limits.rounds, "{} of {}", limits.timed_rounds, limits.rounds);
    assert!(transfer.share(Factor::BottleneckBandwidth) > 0.6, "{}", transfer.share(Factor::BottleneckBandwidth));
}

#[test]
fn a_path_that_had_carried_more_before_is_not_surely_the_limit() {
    // Less than ten round trips at the higher rate are too few for a token bucket.
    let slower_ms = Some((180, 2.0));
    for transfer in at_both_ends(Transfer { slower_ms, window: |_| 60, segments: 1000, ..path_limited() }) {
        let (factor, confidence) = transfer.verdict();
        assert!(factor == Factor::BottleneckBandwidth && confidence <= 0.75, "{factor:?} {confidence}");
    }
}

#[test]
fn a_window_of_few_rounds_without_loss_is_left_open() {
    for transfer in at_both_ends(Transfer { segments: 70, ..growing_slowly() }) {
        let (factor, confidence) = transfer.verdict();
        assert!(factor == Factor::CongestionWindow && confidence < 0.6, "{factor:?} {confidence}");
    }
}

/// The writer ends a piece now and then with a short segment, while the window doubles in each round.
fn written_in_pieces_in_slow_start() -> Transfer {
    Transfer { segments: 1200, writes: Some((40, 1.0)), ..over_in_slow_start() }
}

#[test]
fn short_segments_do_no_harm_while_a_transfer_grows_as_in_slow_start() {
    for transfer in at_both_ends(written_in_pieces_in_slow_start()) {
        assert!(transfer.share(Factor::SlowStart) > 0.5, "{}", transfer.share(Factor::SlowStart));
        assert!(transfer.share(Factor::Application) < 0.1, "{}", transfer.share(Factor::Application));
    }
}

#[test]
fn every_piece_of_evidence_has_three_to_ten_frames() {
    let transfers = [window_limited(), path_limited(), growing_slowly(), over_in_slow_start(), written_in_pieces()];
    for transfer in transfers.into_iter().flat_map(at_both_ends) {
        let evidence = transfer.summary().verdict().map(|verdict| verdict.evidence).unwrap_or_default();
        assert!(!evidence.is_empty());
        for piece in evidence {
            assert!((3..=10).contains(&piece.frames.len()), "{}: {:?}", piece.text, piece.frames);
            assert!(piece.frames.is_sorted(), "{:?}", piece.frames);
            assert!(piece.frames.is_sorted_by_key(|place| place.time_ns), "{:?}", piece.frames);
        }
    }
}

#[test]
fn an_application_that_writes_pieces_is_the_limit() {
    for transfer in at_both_ends(written_in_pieces()) {
        assert!(transfer.share(Factor::Application) > 0.9, "{}", transfer.share(Factor::Application));
        assert_eq!(transfer.verdict().0, Factor::Application);
    }
}

#[test]
fn the_shares_of_all_factors_are_the_whole_time() {
    for transfer in [window_limited(), path_limited(), written_in_pieces()].into_iter().flat_map(at_both_ends) {
        let summary = transfer.summary();
        let limits = summary.limits(CLIENT).map(|limits| limits.list()).unwrap_or_default();
        let fractions: f64 = limits.iter().map(|limit| limit.fraction).sum();
        assert!((fractions - 1.0).abs() < 1e-9, "{fractions}");
        let direction = &summary.directions[CLIENT];
        let time_ns: u64 = limits.iter().map(|limit| limit.time_ns).sum();
        let data_ns = direction.data_time_ns.get().unwrap_or(0);
        assert!((time_ns as f64 / data_ns as f64 - 1.0).abs() < 0.05, "{time_ns} of {data_ns}");
    }
}

#[test]
fn runs_follow_one_another_without_gap_or_overlap() {
    for transfer in [window_limited(), path_limited(), written_in_pieces()].into_iter().flat_map(at_both_ends) {
        let summary = transfer.summary();
        let runs = summary.limits(CLIENT).map(|limits| limits.runs.clone()).unwrap_or_default();
        assert!(!runs.is_empty());
        assert!(runs.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns && pair[0].factor != pair[1].factor));
        assert!(runs.iter().all(|run| (1..=run.frames[1]).contains(&run.frames[0])), "frames of the capture, in order");
    }
}

#[test]
fn a_host_that_stood_still_is_no_surer_than_the_pauses_that_say_so() {
    let stalls_ms: &[(f64, f64)] = &[(400.0, 400.0), (800.0, 500.0), (1200.0, 400.0)];
    let summary = Transfer { stalls_ms, ..window_limited() }.summary();
    let verdict = summary.verdict().expect("long enough");
    assert_eq!(verdict.factor, Factor::HostStall);
    let gaps = summary.directions[CLIENT].spacing.gaps();
    let surest = gaps.iter().filter(|gap| gap.cause.is_host_stall()).map(|gap| gap.confidence).reduce(f64::max);
    assert!(surest.is_some_and(|surest| verdict.confidence <= surest), "{surest:?} {}", verdict.confidence);
}

#[test]
fn a_verdict_names_frames_a_filter_and_what_would_help() {
    let verdict = window_limited().summary().verdict().expect("long enough");
    let evidence = &verdict.evidence[0];
    assert!((3..=10).contains(&evidence.frames.len()), "{:?}", evidence.frames);
    let list: Vec<String> = evidence.frames.iter().map(|place| place.frame.to_string()).collect();
    assert_eq!(evidence.display_filter, format!("frame.number in {{{}}}", list.join(", ")));
    assert_eq!(verdict.what_if[0].change, "twice the receiver's window");
    let now_bps = window_limited().summary().directions[CLIENT].goodput_bps().expect("it took time");
    let ratio = verdict.what_if[0].goodput_bps / now_bps;
    assert!((1.7..2.1).contains(&ratio), "{ratio}");
    assert!(verdict.confidence > 0.8 && verdict.undetermined_between.is_empty());
}

#[test]
fn an_unknown_window_scale_leaves_the_verdict_open() {
    let without_handshake = send_buffer_limited().talk().starting_at(3);
    let verdict = without_handshake.summary().verdict().expect("long enough");
    assert!(verdict.confidence < 0.6, "{}", verdict.confidence);
    assert!(!verdict.undetermined_between.is_empty());
    assert!(verdict.sentence.starts_with("Undetermined"), "{}", verdict.sentence);
}

#[test]
fn ten_packets_are_too_few_for_a_verdict() {
    let short = Transfer { segments: 9, ..Transfer::default() };
    assert!(short.summary().verdict().is_none());
}

#[test]
fn the_verdict_on_timeouts_says_how_often_timers_sent_again() {
    let waited = |repeats: &[f64]| {
        let round = |talk: Talk, round: i32| {
            let at = |n: i32| 50.0 + 42.0 * f64::from(round) + 0.2 * f64::from(n);
            let start = |n: i32| i64::from(10 * round + n) * 1000;
            let sent = (0..10).fold(talk, |talk, n| talk.client(at(n), data(start(n), 1000)));
            (0..10).fold(sent, |talk, n| talk.server(at(n) + 40.0, ack(start(n + 1))))
        };
        let lost = 40 * 1000;
        let talk = (0..4).fold(Talk::seen_at_client(40.0), round).client(260.0, data(lost, 1000));
        let talk = repeats.iter().fold(talk, |talk, &at| talk.client(at, data(lost, 1000)));
        talk.server(repeats[repeats.len() - 1] + 40.0, ack(lost + 1000)).summary().verdict().expect("a verdict")
    };
    for (repeats, said) in [
        (&[2_260.0][..], "(1 segment sent again by a timer)"),
        (&[700.0, 2_260.0], "(2 segments sent again by timers)"),
    ] {
        let verdict = waited(repeats);
        assert_eq!(verdict.factor, Factor::TimeoutWait);
        assert!(verdict.sentence.contains(said), "{}", verdict.sentence);
    }
}

/// A transfer whose summary is given a policer that ran empty after a second, and what limited it since: the bucket at a third of the
/// rate that was possible, and waits for timeouts.
fn policed(kind: Kind) -> ConnectionSummary {
    let mut summary = growing_slowly().summary();
    let second = |number: i64| START_NS + number * 1_000_000_000;
    let run = |from: i64, to: i64, factor: Factor, bytes: u64| Run {
        start_ns: second(from),
        end_ns: second(to),
        factor,
        bytes,
        frames: [1, 2],
    };
    let runs = vec![
        run(0, 1, Factor::SlowStart, 3_000_000),
        run(1, 4, Factor::TokenBucket, 3_000_000),
        run(4, 7, Factor::TimeoutWait, 0),
    ];
    let bucket = TokenBucket {
        kind,
        burst_bytes: 2e6,
        rate_before_bps: 24e6,
        sustained_bps: 8e6,
        switch_ns: second(1),
        refill_bps: None,
        confidence: 0.9,
    };
    summary.directions[CLIENT].token_bucket = Some(Box::new(bucket));
    let limits = summary.judgement.as_deref_mut().and_then(|judgement| judgement.limits[CLIENT].as_deref_mut());
    let limits = limits.expect("long enough to judge");
    limits.reference_bytes_s = Some(3e6);
    limits.shares = Shares::default();
    for run in &runs {
        limits.shares[run.factor as usize] = Share { time_ns: run.duration_ns(), bytes: run.bytes };
    }
    limits.runs = runs;
    summary
}

#[test]
fn timeouts_for_what_a_policer_dropped_are_its_doing() {
    let verdict = |kind| policed(kind).verdict().expect("a verdict");
    let policer = verdict(Kind::Policer);
    assert_eq!((policer.factor, policer.undetermined_between.len()), (Factor::TokenBucket, 0));
    // 3 s at a third of 3 MB/s, 3 s of nothing: without the bucket both pass in a second.
    let without = policer.what_if.iter().find(|what_if| what_if.change == "no token bucket").expect("a remedy");
    let bits = growing_slowly().summary().directions[CLIENT].unique_payload_bytes as f64 * 8.0;
    assert!((without.goodput_bps / (bits / 2.0) - 1.0).abs() < 0.01, "{}", without.goodput_bps);
    // A shaper keeps what exceeds its rate: what was waited for was lost elsewhere.
    assert_eq!(verdict(Kind::Shaper).factor, Factor::TimeoutWait);
}

#[test]
fn nothing_beyond_a_known_allowance_was_possible() {
    let [slow_start, window] = [over_in_slow_start(), window_limited()].map(|transfer| transfer.talk());
    for talk in [slow_start, window] {
        let free = talk.summary();
        let reference_bytes_s =
            |summary: &ConnectionSummary| summary.limits(CLIENT).and_then(|limits| limits.reference_bytes_s);
        let lost_bytes = |summary: &ConnectionSummary| -> u64 {
            summary.limits(CLIENT).expect("long enough").list().iter().filter_map(|limit| limit.lost_bytes).sum()
        };
        let goodput_bps = free.directions[CLIENT].goodput_bps().expect("it took time");
        let with = |allowed_bps: f64| {
            let options = Options { allowed_bps: Some(allowed_bps), ..Options::default() };
            let mut analysis = talk.analysis_with(&options);
            *analysis.connections.remove(0)
        };
        // 1000 bytes of payload are 1040 of IP.
        let allowed = with(1.3 * goodput_bps * 1.04);
        let most_bytes_s = 1.3 * goodput_bps / 8.0;
        let expected = reference_bytes_s(&free).map(|free| free.min(most_bytes_s)).expect("a reference");
        let capped = reference_bytes_s(&allowed).expect("a reference");
        assert!((capped / expected - 1.0).abs() < 0.05, "{capped} and {expected} bytes/s");
        assert!(lost_bytes(&allowed) <= lost_bytes(&free));
        let promised = |summary: &ConnectionSummary| {
            let what_if = summary.verdict().expect("long enough").what_if;
            what_if.iter().map(|what_if| what_if.goodput_bps).fold(0.0, f64::max)
        };
        assert!(promised(&free) > 1.5 * goodput_bps, "{} of {goodput_bps} bit/s", promised(&free));
        assert!(promised(&allowed) < 1.05 * 8.0 * most_bytes_s, "{} of {goodput_bps} bit/s", promised(&allowed));
        // What the transfer reached was possible, whatever is said.
        let too_little = reference_bytes_s(&with(0.1 * goodput_bps)).expect("a reference");
        assert!(too_little > 0.8 * goodput_bps / 8.0, "{too_little} of {goodput_bps} bit/s");
    }
}
