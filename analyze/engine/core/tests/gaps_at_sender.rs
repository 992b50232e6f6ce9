//! Why no data passed for a while, at the sender: each cause with its decisive evidence, and with what tells it from its
//! neighbours (docs/methods.md, section 7).
//!
//! Subjects: `tcp/gaps/causes/mod.rs`, `tcp/gaps/causes/probes.rs`, `tcp/gaps/causes/window.rs`,
//! `tcp/gaps/causes/waiting.rs`, `tcp/gaps/causes/application.rs`, `tcp/gaps/gather.rs`, `tcp/gaps/watch.rs`, `tcp/gaps/state.rs`,
//! `tcp/direction/last_data.rs`, `tcp/connection/watching.rs`, `tcp/sender/silences.rs`.

use crate::playbook::gaps::*;
use crate::playbook::*;
use vmtrace_core::tcp::gaps::cause::Cause;

/// Full segments without PSH at each millisecond from `from` to `to`, numbered by that (from 50 on).
fn flow(talk: Talk, from: i32, to: i32) -> Talk {
    talk.each(from..to, |talk, n| talk.client(f64::from(n), segment(i64::from(n) - 50)))
}

/// The acknowledgement of segment `n`, seen at `time`, made (by its timestamp) at `made`.
fn answer(talk: Talk, time: f64, n: i32, made: f64) -> Talk {
    talk.server(time, ack((i64::from(n) - 49) * 1000).tsval(2_000_000 + made as u32).tsecr(1_000_000 + n as u32))
}

/// At the sender: full segments every millisecond, from 50 to 449 ms, each acknowledged after [`EMPTY_RTT`], later after
/// [`RTT`]. The last acknowledgement seen at 449 ms is that of segment 429; segments to 449 are outstanding.
fn running() -> Talk {
    let talk = Talk::seen_at_client(RTT).with_timestamps();
    (50..450).fold(talk, |talk, n| {
        let talk = match n {
            62..100 => answer(talk, f64::from(n) - 0.1, n - EMPTY_RTT, f64::from(n) - 10.0),
            108.. => answer(talk, f64::from(n) - 0.1, n - 20, f64::from(n) - 10.0),
            _ => talk,
        };
        flow(talk, n, n + 1)
    })
}

/// The same on a path before which no queue stands: the window limits.
fn running_without_queue() -> Talk {
    let talk = Talk::seen_at_client(RTT).with_timestamps();
    (50..450).fold(talk, |talk, n| {
        let talk = if n >= 70 { answer(talk, f64::from(n) - 0.1, n - 20, f64::from(n) - 10.0) } else { talk };
        flow(talk, n, n + 1)
    })
}

/// Such a path, on which the sender sends forty segments at once, each forty milliseconds: the path draws them out, and the
/// last one of each is acknowledged after 59 ms.
fn running_in_bursts() -> Talk {
    in_bursts(Talk::seen_at_client(RTT).with_timestamps(), 50, 0.0)
}

/// So it runs from segment `from` on, `shift` milliseconds later than its number says.
fn in_bursts(talk: Talk, from: i32, shift: f64) -> Talk {
    (from..from + 400).fold(talk, |talk, n| {
        let at = f64::from(n) + shift;
        let talk = if n >= from + 20 { answer(talk, at - 0.1, n - 20, at - 10.0) } else { talk };
        if (n - from) % 40 > 0 {
            return talk;
        }
        talk.each(0..40, |talk, m| talk.client(at + f64::from(m) * 0.01, segment(i64::from(n + m - 50))))
    })
}

/// The twenty acknowledgements outstanding, all within 1 ms from `at`, each made on time plus `late`.
fn backlog(talk: Talk, at: f64, late: f64) -> Talk {
    (430..450).fold(talk, |talk, n| answer(talk, at + f64::from(n - 430) * 0.05, n, f64::from(n) + 10.0 + late))
}

/// Goes on from `at`.
fn burst(talk: Talk, at: f64, first: i32) -> Talk {
    (0..20).fold(talk, |talk, n| talk.client(at + f64::from(n) * 0.05, segment(i64::from(first + n - 50))))
}

/// Goes on with segment `next` at `at`, and twice more the receiver stalls for 150 ms after a probe: what it then
/// acknowledges is more than the path carries.
fn stands_twice_more(talk: Talk, next: i32, at: f64) -> Talk {
    (0..2).fold(talk, |talk, number| {
        let (first, shift) = (next + 100 * number, at - f64::from(next) + 200.0 * f64::from(number));
        let running = (first..first + 100).fold(talk, |talk, n| {
            let at = f64::from(n) + shift;
            answer(talk, at - 0.1, n - 20, at - 10.0).client(at, segment(i64::from(n - 50)))
        });
        let end = f64::from(first + 100) + shift;
        answer(running.client(end + 48.0, segment(i64::from(first + 49))), end + 199.0, first + 99, end + 188.0)
    })
}

/// The causes of all gaps.
fn causes(talk: &Talk) -> Vec<Cause> {
    gaps(talk).iter().map(|gap| gap.0).collect()
}

#[test]
fn the_words_of_the_contract_are_all_there() {
    let names: Vec<&str> = Cause::ALL.iter().map(|cause| cause.name()).collect();
    assert_eq!(
        names.join(" "),
        "local_host_stall remote_host_stall path_hold host_or_path sender_application receiver_window timeout \
         tail_probe ack_clock pacing_or_shaping capture_artifact unknown"
    );
    assert!(Cause::ALL.iter().enumerate().all(|(number, cause)| *cause as usize == number));
}

#[test]
fn nothing_of_either_side_no_probe_on_time_then_old_acknowledgements_at_once_is_a_stall_of_this_host() {
    let talk = burst(backlog(running(), 650.0, 0.0), 651.1, 450);
    assert_eq!(gaps(&talk), [(Cause::LocalHostStall, 202)]);
}

#[test]
fn so_it_is_if_the_overdue_probe_goes_out_before_the_backlog_is_taken_in() {
    let talk = burst(backlog(running().client(650.0, segment(399)), 650.2, 0.0), 651.3, 450);
    assert_eq!(gaps(&talk), [(Cause::LocalHostStall, 201)]);
}

#[test]
fn where_the_capture_ends_with_the_overdue_probe_new_data_after_the_timeout_is_a_stall_of_this_host() {
    assert_eq!(gaps(&running().client(750.0, segment(400))), [(Cause::LocalHostStall, 301)]);
    // By then no timeout was due, only a probe, which not every kernel sends.
    assert_eq!(gaps(&running().client(650.0, segment(400))), [(Cause::HostOrPath, 201)]);
    // What is retransmitted may be a kernel's whose timeout is longer.
    assert_eq!(gaps(&running().client(750.0, segment(380))), [(Cause::Timeout, 301)]);
    // What is not full is the end of a write; the answers to it may be what the capture missed.
    let ended = running().client(450.0, data(400_000, 300)).client(750.0, data(400_300, 1000));
    assert_eq!(only_cause(&ended), Cause::SenderApplication);
}

#[test]
fn shorter_than_the_probe_it_could_be_the_path() {
    let talk = burst(backlog(running(), 500.0, 0.0), 501.1, 450);
    assert_eq!(gaps(&talk), [(Cause::HostOrPath, 52)]);
}

#[test]
fn a_probe_on_time_and_old_acknowledgements_later_are_a_path_that_held_packets() {
    let probed = running().client(498.0, segment(399));
    let talk = burst(backlog(probed, 650.0, 0.0), 651.1, 450);
    assert_eq!(gaps(&talk), [(Cause::PathHold, 49), (Cause::PathHold, 153)]);
    // The probe may carry new data.
    let probed = running().client(498.0, segment(400));
    let talk = burst(backlog(probed, 650.0, 0.0), 651.1, 451);
    assert_eq!(gaps(&talk), [(Cause::PathHold, 49), (Cause::PathHold, 153)]);
}

#[test]
fn new_acknowledgements_of_all_at_once_that_do_not_answer_the_probe_are_a_stall_of_a_receiver_that_stands_still() {
    let probed = running().client(498.0, segment(399));
    let talk = burst(answer(probed, 650.0, 449, 639.0), 650.2, 450);
    assert_eq!(gaps(&talk), [(Cause::HostOrPath, 49), (Cause::HostOrPath, 152)]);
    let often = gaps(&stands_twice_more(talk, 470, 671.0));
    assert_eq!(often[..2], [(Cause::RemoteHostStall, 49), (Cause::RemoteHostStall, 152)]);
    assert!(often.iter().all(|gap| gap.0 == Cause::RemoteHostStall), "{often:?}");
}

#[test]
fn a_probe_within_a_silence_does_not_make_two_of_it() {
    let once = running();
    assert_eq!(causes(&stands_twice_more(once, 450, 450.0)), [Cause::HostOrPath; 3]);
}

#[test]
fn what_ended_before_the_timer_was_overdue_is_a_stall_of_a_host_that_stands_still() {
    let short = |end: f64| burst(backlog(running(), end, 0.0), end + 1.1, 450);
    let again = |end: f64| {
        let went_on = (470..600).fold(short(end), |talk, n| {
            let at = f64::from(n) + end - 448.0;
            answer(talk, at - 0.1, n - 20, at - 10.0).client(at, segment(i64::from(n - 50)))
        });
        let woke = (580..600).fold(went_on, |talk, n| {
            answer(talk, end + 352.0 + f64::from(n - 580) * 0.05, n, f64::from(n) + end - 438.0)
        });
        causes(&burst(woke, end + 353.1, 600))
    };
    assert_eq!(causes(&short(496.0)), [Cause::HostOrPath]);
    assert_eq!(again(496.0), [Cause::LocalHostStall; 2]);
    // Shorter than the time of a probe it may be anything.
    assert_eq!(again(486.0), [Cause::HostOrPath, Cause::LocalHostStall]);
}

#[test]
fn a_path_that_is_seen_to_hold_acknowledgements_may_have_held_the_data_before_as_well() {
    let probed = running().client(498.0, segment(399));
    let stalled = burst(answer(probed, 650.0, 449, 639.0), 650.2, 450);
    let went_on = (470..600).fold(stalled, |talk, n| {
        let at = f64::from(n) + 201.0;
        answer(talk, at - 0.1, n - 20, at - 10.0).client(at, segment(i64::from(n) - 50))
    });
    let held = (580..600).fold(went_on.client(848.0, segment(549)), |talk, n| {
        answer(talk, 1000.0 + f64::from(n - 580) * 0.05, n, f64::from(n) + 211.0)
    });
    let causes = causes(&stands_twice_more(burst(held, 1001.1, 600), 620, 1022.0));
    assert_eq!(causes[..4], [Cause::HostOrPath, Cause::HostOrPath, Cause::PathHold, Cause::PathHold]);
    assert!(!causes.contains(&Cause::RemoteHostStall));
}

#[test]
fn on_a_path_before_which_no_queue_stands_they_may_have_been_held_by_it() {
    let probed = running_without_queue().client(498.0, segment(399));
    let talk = burst(answer(probed, 650.0, 449, 639.0), 650.2, 450);
    assert!(!causes(&stands_twice_more(talk, 470, 671.0)).contains(&Cause::RemoteHostStall));
}

#[test]
fn what_such_a_path_carries_may_show_only_later() {
    let probed = running_without_queue().client(498.0, segment(399));
    let stalled = burst(answer(probed, 650.0, 449, 639.0), 650.2, 450);
    let answered = (450..470).fold(stalled, |talk, n| {
        let at = 671.0 + f64::from(n - 450);
        answer(talk, at, n, at - 10.0)
    });
    let talk = stands_twice_more(in_bursts(answered, 470, 230.0), 870, 1140.0);
    assert_eq!(gaps(&talk)[..2], [(Cause::RemoteHostStall, 49), (Cause::RemoteHostStall, 152)]);
}

#[test]
fn on_such_a_path_that_draws_bursts_out_it_cannot_have_held_what_is_acknowledged_at_once() {
    let probed = running_in_bursts().client(548.0, segment(399));
    let at_once = burst(answer(probed.clone(), 750.0, 449, 739.0), 750.2, 450);
    assert!(gaps(&stands_twice_more(at_once, 470, 771.0)).contains(&(Cause::RemoteHostStall, 202)));
    let at_its_rate = (430..450).fold(probed, |talk, n| {
        let at = 320.0 + f64::from(n);
        answer(talk, at, n, at - 10.0)
    });
    let at_its_rate = stands_twice_more(burst(at_its_rate, 769.2, 450), 470, 790.0);
    assert!(!causes(&at_its_rate).contains(&Cause::RemoteHostStall));
}

#[test]
fn a_delayed_acknowledgement_in_between_shows_that_the_receiver_ran_and_the_path_held_the_rest() {
    let delayed = answer(running(), 490.0, 430, 479.0);
    let probed = delayed.client(490.1, segment(400)).client(540.0, segment(400));
    let talk = burst(answer(probed, 750.0, 450, 739.0), 750.2, 451);
    assert_eq!(gaps(&talk)[1..], [(Cause::PathHold, 49), (Cause::PathHold, 210)]);
}

#[test]
fn so_are_part_of_them_if_that_is_more_than_the_path_carries() {
    // First the acknowledgement that was delayed when it stopped, a tick later, all at once, one for the rest.
    let probed = running().client(498.0, segment(399));
    let delayed = answer(probed, 650.0, 430, 639.0);
    let talk = stands_twice_more(burst(answer(delayed, 660.0, 449, 649.0), 660.2, 450), 470, 681.0);
    assert_eq!(causes(&talk)[..2], [Cause::RemoteHostStall; 2]);
    // A little now and a little then is what the path carries meanwhile.
    let probed = running().client(498.0, segment(399));
    let late = (0..4).fold(probed, |talk, n| {
        let at = 650.0 + f64::from(n) * 6.0;
        answer(talk, at, 434 + n * 5, at - 10.0)
    });
    let talk = stands_twice_more(burst(late, 668.2, 450), 470, 689.0);
    assert_eq!(causes(&talk)[..2], [Cause::HostOrPath; 2]);
    let probed = running().client(498.0, segment(399));
    let delayed = answer(probed, 650.0, 430, 639.0);
    let talk = stands_twice_more(burst(answer(delayed, 651.0, 445, 640.0), 651.2, 450), 470, 672.0);
    assert_eq!(causes(&talk)[..2], [Cause::RemoteHostStall; 2]);
}

/// Segment 430 was lost: what follows it is acknowledged selectively until 446 ms, and 447 repeats it.
fn repairing() -> Talk {
    let lost = running();
    let reported = (431..447).fold(lost, |talk, n| {
        let at = f64::from(n) + 20.0;
        let said = ack(380_000).sack(381_000, (i64::from(n) - 49) * 1000).tsval(2_000_000 + (at - 10.0) as u32);
        talk.server(at, said.tsecr(1_000_429))
    });
    reported.client(466.5, segment(380)).client(466.6, segment(400))
}

#[test]
fn in_loss_recovery_what_is_acknowledged_selectively_is_acknowledged() {
    // Nothing cumulative, but all at once the reports of twenty segments, and of more that were sent meanwhile.
    let more =
        (401..430).fold(repairing(), |talk, n| talk.client(466.6 + f64::from(n - 400) * 0.01, segment(i64::from(n))));
    let silent_until = |at: f64, apart: f64| {
        let reported = (447..480).fold(more.clone(), |talk, n| {
            let time = at + f64::from(n - 447) * apart;
            let said = ack(380_000).sack(381_000, (i64::from(n) - 49) * 1000).tsval(2_000_000 + (time - 10.0) as u32);
            talk.server(time, said.tsecr(1_000_429))
        });
        let end = at + 33.0 * apart;
        stands_twice_more(burst(reported, end + 0.1, 480), 500, end + 21.0)
    };
    assert_eq!(gaps(&silent_until(670.0, 0.02))[0], (Cause::RemoteHostStall, 203));
    assert_ne!(gaps(&silent_until(670.0, 1.0))[0].0, Cause::RemoteHostStall);
}

#[test]
fn in_loss_recovery_only_what_a_timeout_sent_tells_whether_it_was_answered() {
    let more =
        (401..430).fold(repairing(), |talk, n| talk.client(466.6 + f64::from(n - 400) * 0.01, segment(i64::from(n))));
    let answered = |acknowledged: i64, echoed: u32| {
        let all_at_once = (447..480).fold(more.clone().client(690.0, segment(380)), |talk, n| {
            let time = 800.0 + f64::from(n - 447) * 0.02;
            let said = ack(acknowledged).sack(381_000, (i64::from(n) - 49) * 1000);
            talk.server(time, said.tsval(2_000_000 + (time - 10.0) as u32).tsecr(echoed))
        });
        gaps(&stands_twice_more(burst(all_at_once, 800.8, 480), 500, 822.0))[0]
    };
    assert_eq!(answered(380_000, 1_000_429), (Cause::RemoteHostStall, 223));
    assert_eq!(answered(381_000, 1_000_690), (Cause::Timeout, 223));
    // What fills the hole is echoed: this was the fast retransmission, which had arrived before the stall.
    assert_eq!(answered(381_000, 1_000_466), (Cause::RemoteHostStall, 223));
}

#[test]
fn a_stall_in_the_first_tenth_of_a_second_is_one_though_the_timestamps_are_young() {
    let talk = (21..90).fold(Talk::seen_at_client(RTT).with_timestamps(), |talk, n| {
        let talk = if n >= 41 { answer(talk, f64::from(n) - 0.1, n - 20, f64::from(n) - 10.0) } else { talk };
        talk.client(f64::from(n), segment(i64::from(n) - 21))
    });
    let acknowledged = |n: i32| ack((i64::from(n) - 20) * 1000).tsval(2_000_010 + n as u32).tsecr(1_000_000 + n as u32);
    let late = (70..90).fold(talk, |talk, n| talk.server(300.0 + f64::from(n - 70) * 0.05, acknowledged(n)));
    assert_eq!(gaps(&burst(late, 301.1, 119)), [(Cause::LocalHostStall, 212)]);
}

#[test]
fn new_acknowledgements_at_the_paths_own_rate_could_be_either() {
    let probed = running().client(498.0, segment(399));
    let late = (430..450).fold(probed, |talk, n| {
        let at = 650.0 + f64::from(n - 430);
        answer(talk, at, n, at - 10.0)
    });
    let talk = stands_twice_more(burst(late, 670.2, 450), 470, 691.0);
    assert!(!causes(&talk).contains(&Cause::RemoteHostStall));
}

#[test]
fn a_probe_that_is_answered_repaired_a_loss() {
    // Segments 445 to 449 were lost: the others are acknowledged on time.
    let acknowledged = (430..445).fold(running(), |talk, n| answer(talk, f64::from(n) + 20.0, n, f64::from(n) + 10.0));
    let probed = acknowledged.client(506.0, segment(399));
    let answered = probed.server(526.0, ack(395_000).sack(399_000, 400_000).tsval(2_000_516).tsecr(1_000_506));
    let talk = answered.client(526.1, segment(395)).client(526.2, segment(396));
    assert_eq!(gaps(&talk), [(Cause::TailProbe, 57)]);
}

#[test]
fn a_timeout_after_a_loss_is_a_timeout() {
    let probed = running().client(498.0, segment(399)).client(718.0, segment(380));
    let answered = probed.server(738.0, ack(381_000).tsval(2_000_728).tsecr(1_000_718));
    let talk = answered.client(738.1, segment(381)).client(738.2, segment(382));
    assert_eq!(gaps(&talk), [(Cause::TailProbe, 49), (Cause::Timeout, 220)]);
}

/// The last segment (450) is short and has PSH; all are acknowledged on time.
fn drained() -> Talk {
    let last = running().client(450.0, data(400_000, 300));
    let talk = (430..450).fold(last, |talk, n| answer(talk, f64::from(n) + 19.9, n, f64::from(n) + 10.0));
    talk.server(470.0, ack(400_300))
}

#[test]
fn acknowledgements_go_on_and_the_last_segment_ends_a_write_then_the_sender_had_nothing_to_send() {
    let talk = drained().client(900.0, data(400_300, 1000)).client(900.1, data(401_300, 1000));
    assert_eq!(gaps(&talk), [(Cause::SenderApplication, 450)]);
}

#[test]
fn a_repeat_just_before_the_pause_does_not_say_that_the_sender_had_more_to_send() {
    // Segment 446, a full one without PSH, is lost and repeated; the write ended with a short one.
    let last = running().client(450.0, data(400_000, 300));
    let talk = (430..446).fold(last, |talk, n| answer(talk, f64::from(n) + 19.9, n, f64::from(n) + 10.0));
    let reported = (447..451).fold(talk, |talk, n| {
        let end = ((i64::from(n) - 49) * 1000).min(400_300);
        let said = ack(396_000).sack(397_000, end).tsval(2_000_010 + n as u32).tsecr(1_000_000 + n as u32);
        talk.server(f64::from(n) + 19.9, said)
    });
    let repaired = reported.client(470.0, segment(396)).server(490.0, ack(400_300).tsval(2_000_480).tsecr(1_000_470));
    let talk = repaired.client(900.0, data(400_300, 1000)).client(900.1, data(401_300, 1000));
    assert_eq!(gaps(&talk), [(Cause::SenderApplication, 430)]);
}

/// Three full segments each forty milliseconds, acknowledged after ninety; every fourth time with a short one.
fn pieces() -> Talk {
    let full = i64::from(FULL) - 12; // without the timestamps
    let start = |number: i64| 3 * full * number + 400 * (number + 3).div_euclid(4);
    (0..12).fold(Talk::seen_at_client(90.0).with_timestamps(), |talk, number| {
        let at = 100.0 + 40.0 * number as f64;
        let talk = talk.each(0..3, |talk, n| {
            talk.client(at + 0.1 * n as f64, data(start(number) + full * n, full as u32).without_push())
        });
        let tail = data(start(number) + 3 * full, 400);
        let talk = if number % 4 == 0 { talk.client(at + 0.3, tail) } else { talk };
        if number < 2 { talk } else { talk.server(at + 10.0, ack(start(number - 1))) }
    })
}

#[test]
fn while_a_short_segment_is_not_acknowledged_the_end_of_the_next_piece_may_wait() {
    let causes = causes(&pieces());
    // Once it is, what was left would go out.
    let expected = [Cause::SenderApplication, Cause::SenderApplication, Cause::HostOrPath, Cause::HostOrPath];
    assert_eq!(causes[..8], [expected, expected].concat());
}

#[test]
fn a_closed_window_that_an_update_opens_is_the_receivers() {
    let closed = (430..450).fold(running(), |talk, n| {
        let window = if n == 449 { 0 } else { 100 };
        let ack = ack((i64::from(n) - 49) * 1000).window(window).tsval(2_000_010 + n as u32);
        talk.server(f64::from(n) + 19.9, ack)
    });
    let talk = burst(closed.server(700.0, ack(400_000).window(1000)), 700.2, 450);
    assert_eq!(gaps(&talk), [(Cause::ReceiverWindow, 251)]);
    // A stall of the application while the window is open: the same but for the window.
    let open = (430..450).fold(running(), |talk, n| answer(talk, f64::from(n) + 19.9, n, f64::from(n) + 10.0));
    assert_ne!(gaps(&burst(open, 700.2, 450))[0].0, Cause::ReceiverWindow);
}

#[test]
fn a_full_window_waits_for_its_acknowledgement() {
    // 3000 bytes are allowed, on a path of 40 ms.
    let talk = Talk::new().client(0.0, syn().no_scale()).server(40.0, syn_ack()).client(40.1, ack(0));
    let talk = talk.server(41.0, ack(0).window(3000)).each(0..10, |talk, n: i64| {
        let at = 50.0 + n as f64 * 40.0;
        let talk = talk.each(0..3, |talk, k| talk.client(at, segment(n * 3 + k)));
        talk.server(at + 39.9, ack((n + 1) * 3000).window(3000))
    });
    assert!(gaps(&talk).iter().all(|gap| gap.0 == Cause::ReceiverWindow), "{:?}", gaps(&talk));
    assert_eq!(gaps(&talk).len(), 9);
}

#[test]
fn a_congestion_window_waits_for_its_acknowledgement() {
    let talk = Talk::seen_at_client(40.0).with_timestamps().each(0..10, |talk, n: i64| {
        let at = 50.0 + n as f64 * 40.0;
        let talk = talk.each(0..3, |talk, k| talk.client(at, segment(n * 3 + k)));
        talk.server(at + 39.9, ack((n + 1) * 3000))
    });
    assert!(gaps(&talk).iter().all(|gap| gap.0 == Cause::AckClock), "{:?}", gaps(&talk));
}

#[test]
fn segments_at_even_distances_with_nothing_that_holds_them_back_are_paced() {
    let talk = Talk::seen_at_client(40.0).with_timestamps().each(0..20, |talk, n: i64| {
        let at = 50.0 + n as f64 * 50.0;
        talk.client(at, segment(n)).server(at + 40.0, ack((n + 1) * 1000))
    });
    let causes: Vec<Cause> = gaps(&talk).iter().map(|gap| gap.0).collect();
    assert_eq!(&causes[6..], [Cause::PacingOrShaping; 13]);
}

#[test]
fn a_step_of_the_captures_clock_is_no_gap_of_the_transfer() {
    let stepped = running().set_capture_clock(200.0);
    let talk = (450..500).fold(stepped, |talk, n| {
        let talk = answer(talk, f64::from(n) - 0.1, n - 20, f64::from(n) - 10.0);
        flow(talk, n, n + 1)
    });
    assert_eq!(gaps(&talk), [(Cause::CaptureArtifact, 201)]);
}

#[test]
fn a_packet_made_before_the_stall_and_captured_after_it_is_no_step_of_the_clock() {
    let made_before = running().client(650.0, segment(400).tsval(1_000_449));
    let talk = burst(backlog(made_before, 650.2, 0.0), 651.4, 451);
    assert_eq!(gaps(&talk), [(Cause::LocalHostStall, 201)]);
}

#[test]
fn a_probe_that_wakes_with_the_backlog_does_not_show_that_this_host_ran() {
    let talk = burst(backlog(running().client(502.0, segment(399)), 502.2, 0.0), 503.3, 450);
    assert_eq!(gaps(&talk), [(Cause::HostOrPath, 53)]);
}

#[test]
fn a_timeout_a_little_late_that_wakes_with_the_backlog_is_a_stall_of_this_host() {
    // In loss recovery no probe is due. The timeout is, after 220 ms; a coarse clock makes it 8 ms later, and a tick.
    let woke = |timeout: f64, heard: f64| {
        let reported = (447..470).fold(repairing().client(timeout, segment(380)), |talk, n| {
            let said = ack(380_000).sack(381_000, (i64::from(n) - 49) * 1000).tsval(2_000_010 + n as u32);
            talk.server(heard + f64::from(n - 447) * 0.02, said.tsecr(1_000_429))
        });
        gaps(&burst(reported, heard + 0.5, 480))[0]
    };
    assert_eq!(woke(702.0, 702.2), (Cause::LocalHostStall, 235));
    // A timer on time, or answers that come after it, are no waking.
    assert_eq!(woke(690.0, 690.2), (Cause::HostOrPath, 223));
    assert_eq!(woke(702.0, 706.0), (Cause::PathHold, 235));
}

#[test]
fn an_acknowledgement_that_a_host_had_made_when_it_stopped_is_no_sign_of_a_path_that_held_it() {
    // At the sender: it comes first, six milliseconds before all the others, which are new.
    let probed = || running().client(498.0, segment(400));
    let woke =
        |second: f64, made: f64| burst(answer(answer(probed(), 650.0, 431, 441.0), second, 449, made), 656.2, 451);
    let often = stands_twice_more(woke(656.0, 645.0), 471, 677.0);
    assert_eq!(gaps(&often)[..2], [(Cause::RemoteHostStall, 49), (Cause::RemoteHostStall, 158)]);
    // Two that are old, and then new ones, were held on the way.
    let two = answer(answer(answer(probed(), 650.0, 431, 441.0), 650.1, 433, 443.0), 656.0, 449, 645.0);
    assert_eq!(gaps(&burst(two, 656.2, 451)), [(Cause::PathHold, 49), (Cause::PathHold, 158)]);
    assert_eq!(gaps(&woke(656.0, 448.0)), [(Cause::PathHold, 49), (Cause::PathHold, 158)]);
}

/// Round trip of a longer path while no queue stands, and with one, ms.
const LONG_RTTS: (i32, i32) = (100, 170);

/// Full segments at each millisecond from 50 to 999 ms, acknowledged after the first of them, from 400 ms on the other.
fn running_far() -> Talk {
    (50..1000).fold(Talk::seen_at_client(RTT).with_timestamps(), |talk, n| {
        let acknowledged = if n < 400 { n - LONG_RTTS.0 } else { (n - LONG_RTTS.1).max(299) };
        let at = f64::from(n);
        let talk = if acknowledged < 50 { talk } else { answer(talk, at - 0.1, acknowledged, at - 10.0) };
        flow(talk, n, n + 1)
    })
}

#[test]
fn a_probe_waits_no_longer_than_the_timeout_of_the_oldest_segment() {
    // That was sent 169 ms before the last: of 370 ms about 200 are left, of the probe's own time 340.
    let probed = running_far().client(1203.0, segment(950));
    let all_at_once = answer(probed.clone(), 1450.0, 999, 1440.0);
    let often = stands_twice_more(burst(all_at_once, 1450.2, 1001), 1021, 1471.0);
    assert_eq!(gaps(&often)[..2], [(Cause::RemoteHostStall, 204), (Cause::RemoteHostStall, 247)]);
    // It shows that this host ran: old acknowledgements were held on the way.
    let held = (830..1000)
        .fold(probed, |talk, n| answer(talk, 1450.0 + f64::from(n - 830) * 0.005, n, f64::from(n + LONG_RTTS.1 - 10)));
    assert_eq!(gaps(&burst(held, 1451.2, 1001)), [(Cause::PathHold, 204), (Cause::PathHold, 248)]);
    // Long before that, a single segment is no probe.
    let early = answer(running_far().client(1120.0, segment(950)), 1180.0, 999, 1170.0);
    let early = stands_twice_more(burst(early, 1180.2, 1001), 1021, 1201.0);
    assert_ne!(gaps(&early)[0].0, Cause::RemoteHostStall);
}

#[test]
fn a_probe_whose_answer_reports_it_as_a_repeat_met_lost_acknowledgements() {
    let probed = running().client(498.0, segment(399));
    let answered = probed.server(518.0, ack(400_000).sack(399_000, 400_000).tsval(2_000_508).tsecr(1_000_449));
    assert_eq!(gaps(&burst(answered, 518.2, 450)), [(Cause::TailProbe, 49)]);
}

#[test]
fn data_that_the_capture_missed_is_no_gap_either() {
    // 450 to 499 crossed unseen.
    let talk = (500..550).fold(running(), |talk, n| {
        let talk = answer(talk, f64::from(n) - 0.1, n - 20, f64::from(n) - 10.0);
        flow(talk, n, n + 1)
    });
    assert_eq!(gaps(&talk), [(Cause::CaptureArtifact, 51)]);
}

#[test]
fn keep_alives_are_the_applications_pause() {
    let talk = drained().client(900.0, Segment { length: 1, ..data(400_299, 1) });
    assert_eq!(only_cause(&talk), Cause::SenderApplication);
}

#[test]
fn without_timestamps_a_backlog_is_no_proof_of_a_stall() {
    let running = Talk::seen_at_client(RTT);
    let talk = (50..450).fold(running, |talk, n| {
        let talk = if n >= 70 { answer(talk, f64::from(n) - 0.1, n - 20, 0.0) } else { talk };
        flow(talk, n, n + 1)
    });
    assert_eq!(gaps(&burst(backlog(talk, 650.0, 0.0), 651.1, 450)), [(Cause::HostOrPath, 202)]);
}

#[test]
fn totals_by_cause_follow_the_limit_and_stalls_do_not() {
    let talk = burst(backlog(running(), 650.0, 0.0), 651.1, 450);
    for (limit, oversize) in [(None, 1), (Some(ms(100.0) as u64), 1), (Some(ms(300.0) as u64), 0)] {
        let spacing = spacing_with(&talk, limit);
        let counts = spacing.causes.map(|causes| {
            (causes.oversize[Cause::LocalHostStall as usize].count, causes.stalls.map(|stalls| stalls.count))
        });
        assert_eq!(counts, Some((oversize, Some(1))));
    }
}

#[test]
fn stalls_are_summed_up_for_the_direction() {
    let direction = burst(backlog(running(), 650.0, 0.0), 651.1, 450).summary().directions[CLIENT].clone();
    let stalls = direction.stalls().map(|stalls| (stalls.count, stalls.longest_ns as i64));
    assert_eq!(stalls, Some((1, ms(202.1))));
    // 420 segments within 602 ms, 400 of them outside the stall.
    assert!(direction.stall_lost_bytes().is_some_and(|bytes| (200_000..220_000).contains(&bytes)));
    assert!(direction.not_measured().any(|reason| reason == ("spacing.stall_period_s", "few_stalls")));
}
