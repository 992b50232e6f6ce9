//! What limited a transfer (docs/verdict.md, "What limits"), on transfers of a sender that is modelled in the open.
//!
//! Subjects: `tcp/limits/judge.rs`, `tcp/limits/round.rs`, `tcp/limits/watch.rs`, `tcp/limits/share.rs`,
//! `tcp/limits/slow_start.rs`, `tcp/limits/summary.rs`, `tcp/verdict/factors/setup.rs`,
//! `tcp/verdict/factors/slow_start.rs`, `tcp/verdict/factors/receiver_window.rs`,
//! `tcp/verdict/factors/congestion_window.rs`, `tcp/verdict/factors/unknown.rs`, `tcp/limits/second_stage.rs`.

use crate::playbook::modelled::*;
use crate::playbook::*;
use vmtrace_core::tcp::events::factor::Factor;

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
    assert!(open.sentence.contains("a capture at the sender, or one with timestamps"), "{}", open.sentence);
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
    assert!(confidence < alone, "{confidence}, alone {alone}");
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
        assert!(factor == Factor::BottleneckBandwidth && confidence < 0.8, "{factor:?} {confidence}");
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
