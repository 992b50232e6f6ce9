//! Why no data passed for a while, at the receiver: each cause with its decisive evidence (docs/methods.md, section 7).
//!
//! Subjects: `tcp/gaps/pending.rs`, `tcp/gaps/receiver_return.rs`, `tcp/gaps/heard.rs`, `tcp/gaps/evidence.rs`,
//! `tcp/gaps/measures.rs`, `tcp/gaps/causes/held_back.rs`, `tcp/gaps/causes/stalled_sender.rs`, `tcp/gaps/causes/capture.rs`.

use crate::playbook::gaps::*;
use crate::playbook::*;
use vmtrace_core::tcp::events::factor::Factor;
use vmtrace_core::tcp::gaps::cause::Cause;

/// At the receiver: segment `n` at `at`, made at `made`, when the sender had heard what the receiver sent at `heard`;
/// acknowledged at once.
fn arrives(talk: Talk, n: i32, at: f64, made: f64, heard: f64) -> Talk {
    let sent = segment(i64::from(n) - 50).tsval(1_000_000 + made as u32).tsecr(2_000_000 + heard as u32);
    talk.client(at, sent).server(at + 0.05, ack((i64::from(n) - 49) * 1000))
}

/// Full segments each millisecond, sent 10 ms before by a sender that has heard what was acknowledged 20 ms before; those
/// acknowledgements waited for it as long as the data is late.
fn arriving(talk: Talk, from: i32, to: i32, shift: f64) -> Talk {
    (from..to).fold(talk, |talk, n| {
        let due = f64::from(n);
        arrives(talk, n, due + shift, due + shift - 10.0, due - 20.0)
    })
}

/// A queue stands from 100 ms on.
fn beside_receiver() -> Talk {
    let early = (50..108).fold(Talk::seen_at_server(RTT).with_timestamps(), |talk, n| {
        let due = f64::from(n);
        arrives(talk, n, due, due - 10.0, f64::from((n - EMPTY_RTT).min(88)))
    });
    arriving(early, 108, 450, 0.0)
}

fn beside_receiver_without_queue() -> Talk {
    arriving(Talk::seen_at_server(RTT).with_timestamps(), 50, 450, 0.0)
}

#[test]
fn beside_the_receiver_a_sender_that_has_all_it_needs_and_sends_nothing_past_its_probe_stood_still() {
    assert_eq!(gaps(&arriving(beside_receiver(), 450, 500, 200.0)), [(Cause::RemoteHostStall, 201)]);
}

#[test]
fn beside_the_receiver_a_sender_that_sends_two_and_hears_meanwhile_stood_still() {
    let sends = |count: i32, heard: f64| {
        let woken = |talk, n| {
            let at = 650.0 + f64::from(n - 450) * 0.1;
            arrives(talk, n, at, at - 10.0, if n == 450 { 430.0 } else { heard })
        };
        let talk = (450..450 + count).fold(beside_receiver(), woken);
        gaps(&arriving(talk, 450 + count, 500, 220.0))[0]
    };
    assert_eq!(sends(2, 433.0), (Cause::RemoteHostStall, 201));
    assert_eq!(sends(2, 430.0), (Cause::HostOrPath, 201));
    assert_eq!(sends(1, 433.0), (Cause::HostOrPath, 201));
}

#[test]
fn beside_the_receiver_a_sender_that_has_not_measured_yet_that_the_queue_is_gone_waits_as_long_as_with_it() {
    // A loop of 60 ms until 519 ms, and of 20 ms for the twenty segments before the silence.
    let drained = |queue: i32| {
        let queued = (450..520).fold(beside_receiver(), |talk, n| {
            let due = f64::from(n);
            arrives(talk, n, due, due - 10.0, due - f64::from(queue))
        });
        gaps(&arriving(arriving(queued, 520, 540, 0.0), 540, 590, 100.0))
    };
    assert_eq!(drained(20), [(Cause::RemoteHostStall, 101)]);
    assert_eq!(drained(60), [(Cause::HostOrPath, 101)]);
}

#[test]
fn beside_the_receiver_the_end_of_a_write_is_the_senders_application() {
    let talk = beside_receiver().client(450.0, data(400_000, 300).tsval(1_000_440)).server(450.1, ack(400_300));
    let talk = talk.client(650.0, data(400_300, 1000).tsval(1_000_640)).server(650.1, ack(401_300));
    assert_eq!(gaps(&talk), [(Cause::SenderApplication, 200)]);
}

/// Cause of the pause after two hundred frames of `bytes` and one of `last`.
fn cause_after_joined(bytes: u32, last: u32) -> Cause {
    let [size, rest] = [bytes, last].map(i64::from);
    let frame = |talk: Talk, at: f64, start: i64, length: u32| {
        talk.client(at, data(start, length)).server(at + 0.1, ack(start + i64::from(length)))
    };
    let talk = (0..200).fold(Talk::seen_at_server(RTT), |talk, n| frame(talk, 50.0 + n as f64, n * size, bytes));
    let talk = frame(talk, 250.0, 200 * size, last);
    only_cause(&frame(talk, 450.0, 200 * size + rest, bytes))
}

#[test]
fn receive_offload_joins_the_end_of_a_write_to_what_comes_before_it() {
    assert_eq!(cause_after_joined(2000, 2300), Cause::SenderApplication);
    assert_eq!(cause_after_joined(2000, 3000), Cause::HostOrPath);
}

#[test]
fn on_a_path_that_takes_less_than_both_sides_do_joined_segments_do_not_end_a_write() {
    assert_eq!(cause_after_joined(1800, 2700), Cause::HostOrPath);
}

#[test]
fn beside_the_receiver_a_sender_that_had_taken_in_all_acknowledgements_did_not_stand_still() {
    // The same, but what it sends echoes the last acknowledgement: it was there to hear it.
    let ran = (450..500).fold(beside_receiver(), |talk, n| {
        let at = f64::from(n) + 200.0;
        arrives(talk, n, at, at - 10.0, f64::from(n.min(449)))
    });
    assert_eq!(gaps(&ran), [(Cause::HostOrPath, 201)]);
}

/// The segments that were under way are held, and come `apart` milliseconds after one another from 650 on.
fn held(talk: Talk, apart: f64) -> Talk {
    held_until(talk, 650.0, apart, 450..500)
}

/// Those of them with these numbers, as if segment 450 had come at `at`.
fn held_until(talk: Talk, at: f64, apart: f64, numbers: std::ops::Range<i32>) -> Talk {
    numbers.fold(talk, |talk, n| {
        let due = f64::from(n);
        arrives(talk, n, at + f64::from(n - 450) * apart, due - 10.0, due - 20.0)
    })
}

/// Two segments were on their way out when all stalled, a third was made `made` milliseconds after the beginning of the
/// silence, and all others at its end by a sender that had heard what the receiver sent until `heard`.
fn woken_with_old_segments(made: f64, heard: f64) -> (Cause, i64) {
    let old = held_until(beside_receiver(), 650.0, 0.1, 450..452);
    let third = arrives(old, 452, 650.2, 450.0 + made, heard);
    let woken = (453..500).fold(third, |talk, n| arrives(talk, n, f64::from(n) + 198.0, f64::from(n) + 188.0, heard));
    gaps(&woken)[0]
}

#[test]
fn beside_the_receiver_what_a_sender_had_made_before_it_stopped_comes_first_when_it_wakes() {
    assert_eq!(woken_with_old_segments(190.0, 432.0), (Cause::RemoteHostStall, 201));
}

#[test]
fn beside_the_receiver_a_probe_among_what_was_held_shows_a_sender_that_ran() {
    assert_eq!(woken_with_old_segments(100.0, 432.0), (Cause::HostOrPath, 201));
}

#[test]
fn beside_the_receiver_a_sender_that_had_heard_all_that_old_segments_left_unsaid_did_not_stand_still() {
    assert_eq!(woken_with_old_segments(190.0, 449.0), (Cause::HostOrPath, 201));
}

#[test]
fn beside_the_receiver_data_that_was_held_and_comes_at_the_paths_rate_may_be_held_by_path_or_host() {
    assert_eq!(gaps(&held(beside_receiver(), 1.0)), [(Cause::HostOrPath, 201)]);
}

/// So often from segment `n` on, `shift` milliseconds late: a hundred on time, and fifty that are held for 200 ms and then
/// come faster than the path carries them.
fn held_again(talk: Talk, n: i32, shift: f64, times: i32) -> Talk {
    (0..times).fold(talk, |talk, number| {
        let (first, shift) = (n + 150 * number, shift + 160.0 * f64::from(number));
        let on_time = (first..first + 100).fold(talk, |talk, n| {
            let at = f64::from(n) + shift;
            arrives(talk, n, at, at - 10.0, at - 20.0)
        });
        (first + 100..first + 150).fold(on_time, |talk, n| {
            let due = f64::from(n) + shift;
            let at = f64::from(first + 100) + shift + 200.0 + f64::from(n - first - 100) * 0.06;
            arrives(talk, n, at, due - 10.0, due - 20.0)
        })
    })
}

/// Goes on from segment `n`, and stalls for certain: it owes an acknowledgement for longer than any kernel delays one.
fn then_stood(talk: Talk, n: i32, shift: f64) -> Talk {
    let (at, last) = (f64::from(n + 60) + shift, n + 60);
    let went_on = (n..last).fold(talk, |talk, n| {
        let at = f64::from(n) + shift;
        arrives(talk, n, at, at - 10.0, at - 20.0)
    });
    let unacknowledged = segment(i64::from(last) - 50).tsval(999_990 + at as u32).tsecr(1_999_980 + at as u32);
    let owed = went_on.client(at, unacknowledged).server(at + 239.9, ack((i64::from(last) - 49) * 1000));
    (last + 1..last + 50).fold(owed, |talk, n| {
        let due = f64::from(n) + shift;
        arrives(talk, n, at + 240.0 + f64::from(n - last - 1), due - 10.0, due - 20.0)
    })
}

/// The causes of all gaps.
fn causes(talk: &Talk) -> Vec<Cause> {
    gaps(talk).iter().map(|gap| gap.0).collect()
}

#[test]
fn beside_the_receiver_data_that_was_held_and_comes_faster_than_the_path_carries_it_waited_before_a_host_that_stands_still()
 {
    let talk = held(beside_receiver(), 0.06);
    assert_eq!(gaps(&talk), [(Cause::HostOrPath, 201)]);
    assert_eq!(gaps(&then_stood(talk, 500, 160.0)), [(Cause::LocalHostStall, 201), (Cause::LocalHostStall, 240)]);
}

#[test]
fn beside_the_receiver_a_host_of_which_only_the_rate_tells_stands_still_if_it_tells_so_three_times() {
    let times = |times: i32| held_again(beside_receiver(), 450, 0.0, times);
    assert_eq!((causes(&times(2)), stalled_ms(&times(2))), (vec![Cause::HostOrPath; 2], 0));
    assert_eq!((causes(&times(3)), stalled_ms(&times(3))), (vec![Cause::LocalHostStall; 3], 603));
}

#[test]
fn beside_the_receiver_what_may_be_the_paths_is_the_hosts_if_that_is_one_that_stands_still() {
    let at_its_rate = held(beside_receiver(), 1.0);
    assert_eq!(stalled_ms(&at_its_rate), 0);
    assert_eq!(causes(&held_again(at_its_rate.clone(), 500, 200.0, 2)), [Cause::HostOrPath; 3]);
    assert_eq!(causes(&held_again(at_its_rate.clone(), 500, 200.0, 3)), [Cause::LocalHostStall; 4]);
    let certain = then_stood(at_its_rate, 500, 200.0);
    assert_eq!((causes(&certain), stalled_ms(&certain)), (vec![Cause::LocalHostStall; 2], 441));
}

#[test]
fn beside_the_receiver_where_the_senders_host_would_have_stood_as_well_one_path_is_likelier_than_two_hosts() {
    // Sent before the sender had heard what came meanwhile, though no timer of its was due.
    let both = |times: i32| {
        let (first, shift) = (450 + 150 * times, 160.0 * f64::from(times));
        let held = held_again(beside_receiver(), 450, 0.0, times);
        (first..first + 150).fold(held, |talk, n| {
            let late = if n < first + 100 { 0.0 } else { 44.0 };
            let at = f64::from(n) + shift + late;
            arrives(talk, n, at, at - 10.0, at - late - 20.0)
        })
    };
    assert_eq!(causes(&both(4)), [Cause::HostOrPath; 5]);
    assert_eq!(causes(&both(5))[..5], [Cause::LocalHostStall; 5]);
    // Not if this host certainly stood.
    let certain = then_stood(both(3), 1050, 524.0);
    assert_eq!(
        causes(&certain),
        [[Cause::LocalHostStall; 3].as_slice(), &[Cause::HostOrPath, Cause::LocalHostStall]].concat()
    );
}

#[test]
fn beside_the_receiver_a_sender_that_stands_still_did_so_where_its_timer_was_only_just_due() {
    let late = |talk, n: i32, shift: f64, late: f64| arriving(talk, n, n + 50, shift + late);
    let just_due = late(beside_receiver(), 450, 0.0, 44.0);
    assert_eq!(gaps(&just_due), [(Cause::HostOrPath, 45)]);
    let again = |first_ms: f64| {
        let went_on = (500..600).fold(late(beside_receiver(), 450, 0.0, first_ms), |talk, n| {
            let at = f64::from(n) + first_ms;
            arrives(talk, n, at, at - 10.0, at - 20.0)
        });
        causes(&(600..650).fold(went_on, |talk, n| {
            let at = f64::from(n) + first_ms + 200.0;
            arrives(talk, n, at, at - 10.0, at - 220.0)
        }))
    };
    assert_eq!(again(44.0), [Cause::RemoteHostStall; 2]);
    assert_eq!(again(34.0), [Cause::HostOrPath, Cause::RemoteHostStall]);
}

#[test]
fn beside_the_receiver_where_no_queue_stands_before_the_path_it_may_have_held_what_comes_at_once() {
    assert_eq!(causes(&held_again(beside_receiver_without_queue(), 450, 0.0, 4)), [Cause::HostOrPath; 4]);
}

/// Sent in bursts of forty from `from` on, of which the path draws out so many, all `shift` milliseconds late.
fn in_bursts(talk: Talk, from: i32, shift: f64, drawn_out: i32) -> Talk {
    (from..from + 400).fold(talk, |talk, n| {
        let (burst, place) = (f64::from(from + (n - from) / 40 * 40) + shift, f64::from((n - from) % 40));
        let at = burst + if n < from + 40 * drawn_out { place } else { place * 0.1 };
        arrives(talk, n, at, burst - 10.0, burst - 20.0)
    })
}

fn beside_receiver_in_bursts(drawn_out: i32) -> Talk {
    in_bursts(Talk::seen_at_server(RTT).with_timestamps(), 50, 0.0, drawn_out)
}

#[test]
fn beside_the_receiver_a_path_that_draws_bursts_out_cannot_have_held_what_comes_at_once() {
    let last_after = |drawn_out: i32, apart: f64| {
        let talk = held_again(held(beside_receiver_in_bursts(drawn_out), apart), 500, 50.0 * apart + 150.0, 2);
        gaps(&talk).last().map(|gap| gap.0)
    };
    assert_eq!(last_after(10, 0.06), Some(Cause::LocalHostStall));
    assert_eq!(last_after(10, 1.0), Some(Cause::HostOrPath));
    assert_eq!(last_after(7, 0.06), Some(Cause::HostOrPath));
}

#[test]
fn beside_the_receiver_trains_that_come_later_tell_what_a_silence_before_them_was() {
    let later = |apart, drawn_out| {
        let talk = in_bursts(held(beside_receiver_without_queue(), apart), 500, 200.0, drawn_out);
        held_again(talk, 900, 200.0, 2)
    };
    let stall = later(0.06, 10);
    assert_eq!((gaps(&stall)[0], stalled_ms(&stall)), ((Cause::LocalHostStall, 201), 603));
    for talk in [later(1.0, 10), later(0.06, 1)] {
        assert_eq!((gaps(&talk)[0], stalled_ms(&talk)), ((Cause::HostOrPath, 201), 0));
    }
}

/// Segment `n` comes on time and is acknowledged at once or after 40 ms; those after it come 200 ms later, all at once.
fn held_after_one(talk: Talk, n: i32, shift: f64, delayed: bool) -> Talk {
    let at = f64::from(n) + shift;
    let last = segment(i64::from(n) - 50).tsval(999_990 + at as u32).tsecr(1_999_980 + at as u32);
    let answer_ms = if delayed { 40.0 } else { 0.1 };
    let talk = talk.client(at, last).server(at + answer_ms, ack((i64::from(n) - 49) * 1000));
    (n + 1..n + 50).fold(talk, |talk, later| {
        let due = f64::from(later) + shift;
        arrives(talk, later, at + 200.0 + f64::from(later - n - 1) * 0.06, due - 10.0, due - 20.0)
    })
}

#[test]
fn beside_the_receiver_one_that_spoke_when_the_data_was_due_already_did_not_hold_it() {
    let first =
        |delayed: bool| gaps(&held_again(held_after_one(beside_receiver(), 450, 0.0, delayed), 500, 160.0, 2))[0];
    assert_eq!(first(true), (Cause::PathHold, 200));
    assert_eq!(first(false), (Cause::LocalHostStall, 200));
}

/// Time of stalls in the limits of the client's data, ms.
fn stalled_ms(talk: &Talk) -> u64 {
    let shares = talk.summary().limits(CLIENT).map(|limits| limits.shares.clone());
    shares.map_or(0, |shares| shares[Factor::HostStall].time_ns / 1_000_000)
}

#[test]
fn beside_the_receiver_a_path_that_is_seen_to_hold_packets_may_have_held_those_before_as_well() {
    let twice = |delayed: bool| {
        let talk = (500..600).fold(held(beside_receiver(), 0.06), |talk, n| {
            let at = f64::from(n) + 160.0;
            arrives(talk, n, at, at - 10.0, at - 20.0)
        });
        held_again(held_after_one(talk, 600, 160.0, delayed), 650, 320.0, 2)
    };
    assert_eq!((causes(&twice(false)), stalled_ms(&twice(false))), (vec![Cause::LocalHostStall; 4], 803));
    let held = [Cause::HostOrPath, Cause::PathHold, Cause::HostOrPath, Cause::HostOrPath];
    assert_eq!((causes(&twice(true)), stalled_ms(&twice(true))), (held.to_vec(), 0));
}

#[test]
fn beside_the_receiver_one_hold_of_the_path_among_many_stalls_is_an_exception() {
    let after = |stalls: i32| {
        let talk = held_again(beside_receiver(), 450, 0.0, stalls);
        gaps(&held_after_one(talk, 450 + 150 * stalls, f64::from(stalls) * 160.0, true))[0].0
    };
    assert_eq!(after(4), Cause::HostOrPath);
    assert_eq!(after(5), Cause::LocalHostStall);
}

#[test]
fn it_may_take_this_host_a_while_until_it_is_at_its_backlog() {
    let first = arrives(beside_receiver(), 450, 650.0, 440.0, 430.0);
    let talk = held_until(first, 662.0, 0.06, 451..500);
    assert_eq!(causes(&held_again(talk, 500, 170.0, 2)), [Cause::LocalHostStall; 3]);
}

#[test]
fn so_it_may_if_more_than_one_segment_waits_at_the_path_before() {
    // Three at the bottleneck bandwidth, which may have been in its own hands, then the rest after a pause.
    let first = (450..453).fold(beside_receiver(), |talk, n| {
        let due = f64::from(n);
        arrives(talk, n, due + 200.0, due - 10.0, due - 20.0)
    });
    let talk = held_until(first, 662.0, 0.06, 453..475);
    assert_eq!(causes(&held_again(talk, 475, 190.0, 2)), [Cause::LocalHostStall; 3]);
}

#[test]
fn beside_the_receiver_a_backlog_that_came_before_a_probe_was_due_may_be_the_paths() {
    let talk = held_until(beside_receiver(), 485.0, 0.06, 450..500);
    assert_eq!(gaps(&held_again(talk, 500, 20.0, 3))[0], (Cause::HostOrPath, 36));
}

#[test]
fn beside_the_receiver_an_acknowledgement_that_no_kernel_delays_so_long_shows_that_this_one_did_not_run() {
    let unacknowledged = |until: f64| {
        let sent = segment(400).tsval(1_000_440).tsecr(2_000_430);
        let talk = beside_receiver().client(450.0, sent).server(until - 0.1, ack(401_000));
        (451..500).fold(talk, |talk, n| {
            let due = f64::from(n);
            arrives(talk, n, until + f64::from(n - 451), due - 10.0, due - 20.0)
        })
    };
    assert_eq!(gaps(&unacknowledged(690.0)), [(Cause::LocalHostStall, 240)]);
    // Half a second of delay is allowed, 200 ms are usual.
    assert_eq!(gaps(&unacknowledged(600.0)), [(Cause::HostOrPath, 150)]);
    // So does the last segment of a transfer, if it waited as long.
    let sent = segment(400).tsval(1_000_440).tsecr(2_000_430);
    let last = |made: f64| arrives(beside_receiver().client(450.0, sent.clone()), 451, 690.0, made, 431.0);
    assert_eq!(gaps(&last(441.0)), [(Cause::LocalHostStall, 240)]);
    assert_ne!(gaps(&last(680.0))[0].0, Cause::LocalHostStall);
}

#[test]
fn beside_the_receiver_even_a_short_flow_that_goes_on_without_having_heard_anything_stood_still() {
    // Not long after another pause, and the last segment ends a write: an application could pause here, but would have heard.
    let paused = arriving(beside_receiver(), 450, 480, 25.0);
    let paused = paused.client(505.0, data(430_000, 1000).tsval(1_000_495).tsecr(2_000_484));
    let talk = paused.server(505.1, ack(431_000));
    let again = |heard: f64| {
        (481..530).fold(talk.clone(), |talk, n| {
            let at = f64::from(n) + 225.0;
            arrives(talk, n, at, at - 10.0, heard + f64::from(n - 481))
        })
    };
    assert_eq!(gaps(&again(485.0)).last(), Some(&(Cause::RemoteHostStall, 201)));
    assert_ne!(gaps(&again(505.0)).last(), Some(&(Cause::RemoteHostStall, 201)));
}

#[test]
fn beside_the_receiver_a_sender_that_waits_for_one_segment_may_wait_as_long_as_that_is_delayed() {
    // The same pause, once with twenty segments of which it had not heard, once with the last alone.
    let paused = |heard: u32| {
        let last = segment(400).tsval(1_000_445).tsecr(2_000_000 + heard);
        let talk = beside_receiver().client(455.0, last).server(455.1, ack(401_000));
        (451..500).fold(talk, |talk, n| {
            let at = f64::from(n) + 114.0;
            arrives(talk, n, at, at - 10.0, f64::from(heard) + f64::from(n - 451))
        })
    };
    assert_eq!(gaps(&paused(430)), [(Cause::RemoteHostStall, 110)]);
    assert_ne!(gaps(&paused(449))[0].0, Cause::RemoteHostStall);
}

#[test]
fn beside_the_receiver_a_delayed_acknowledgement_in_the_silence_does_not_wake_the_sender() {
    let last = segment(400).tsval(1_000_440).tsecr(2_000_430);
    let delayed = beside_receiver().client(450.0, last).server(495.0, ack(401_000));
    let talk = (451..500).fold(delayed, |talk, n| {
        let at = f64::from(n) + 400.0;
        arrives(talk, n, at, at - 10.0, f64::from(n) - 20.0)
    });
    assert_eq!(gaps(&talk), [(Cause::RemoteHostStall, 401)]);
}

#[test]
fn beside_the_receiver_a_sender_in_recovery_that_lets_its_timeout_pass_stood_still() {
    // 450 is lost: what follows is acknowledged selectively.
    let recovering = (451..470).fold(beside_receiver(), |talk, n| {
        let due = f64::from(n);
        let sent = segment(i64::from(n) - 50).tsval(1_000_000 + n as u32 - 10).tsecr(2_000_000 + n as u32 - 20);
        talk.client(due, sent).server(due + 0.05, ack(400_000).sack(401_000, (i64::from(n) - 49) * 1000))
    });
    let goes_on = |at: f64, heard: u32| {
        [470, 471, 472].into_iter().fold(recovering.clone(), |talk, n| {
            let sent = segment(i64::from(n) - 50).tsval(1_000_000 + at as u32 - 10).tsecr(2_000_000 + heard);
            talk.client(at + f64::from(n - 450) * 0.02, sent)
        })
    };
    assert_eq!(gaps(&goes_on(969.0, 451)), [(Cause::RemoteHostStall, 500)]);
    assert_ne!(gaps(&goes_on(609.0, 451))[0].0, Cause::RemoteHostStall);
    // Before it has heard of the loss its timer is the probe.
    assert_eq!(gaps(&goes_on(609.0, 450))[0].0, Cause::RemoteHostStall);
    assert_ne!(gaps(&goes_on(509.0, 450))[0].0, Cause::RemoteHostStall);
}

/// Segment `n` is lost, nineteen after it are acknowledged selectively; `pause` milliseconds later comes one that echoes what the
/// receiver sent `heard` milliseconds after the loss.
fn lost_and_went_on(talk: Talk, n: i32, shift: f64, pause: f64, heard: f64) -> Talk {
    let hole = (i64::from(n) - 50) * 1000;
    let sent = |n: i32, at: f64, echo: f64| {
        segment(i64::from(n) - 50).tsval(1_000_000 + at as u32 - 10).tsecr(2_000_000 + echo as u32)
    };
    let recovering = (n + 1..n + 20).fold(talk, |talk, each| {
        let at = f64::from(each) + shift;
        let selective = ack(hole).sack(hole + 1000, (i64::from(each) - 49) * 1000);
        talk.client(at, sent(each, at, at - 20.0)).server(at + 0.05, selective)
    });
    let at = f64::from(n + 19) + shift + pause;
    recovering.client(at, sent(n + 20, at, f64::from(n) + shift + heard))
}

#[test]
fn beside_the_receiver_a_sender_that_has_not_heard_of_a_loss_for_two_round_trips_does_not_wait_for_acknowledgements() {
    let cause = |pause: f64, heard: f64| causes(&lost_and_went_on(beside_receiver(), 450, 0.0, pause, heard));
    assert_eq!(cause(60.0, 0.0), [Cause::HostOrPath]);
    assert_eq!(cause(60.0, 2.0), [Cause::AckClock]);
    assert_eq!(cause(36.0, 0.0), [Cause::AckClock]);
    // It stalled before.
    let stood = arriving(beside_receiver(), 450, 550, 200.0);
    assert_eq!(causes(&lost_and_went_on(stood, 550, 200.0, 60.0, 0.0)), [Cause::RemoteHostStall; 2]);
}

#[test]
fn beside_the_receiver_a_probe_later_than_due_that_ignores_all_acknowledgements_is_one_of_a_sender_that_stood_still() {
    let probed = |at: f64, heard: u32| {
        let probe = segment(399).tsval(1_000_000 + at as u32 - 10).tsecr(2_000_000 + heard);
        let talk = beside_receiver().client(at, probe).server(at + 0.05, ack(400_000).sack(399_000, 400_000));
        arriving(talk, 450, 500, at + 1.0 - 450.0)
    };
    assert_eq!(gaps(&probed(560.0, 430))[0], (Cause::RemoteHostStall, 111));
    assert_eq!(gaps(&probed(500.0, 430))[0], (Cause::TailProbe, 51));
    assert_ne!(gaps(&probed(560.0, 449))[0].0, Cause::RemoteHostStall);
}

#[test]
fn beside_the_receiver_a_timeout_that_wakes_with_old_acknowledgements_is_one_of_a_sender_that_stood_still() {
    // It sends again what has arrived long since; then, as if it had heard more meanwhile, other data.
    let next_echoes = |heard: u32, after: f64| {
        let repeat =
            |n: i64, at: f64, heard: u32| segment(n).tsval(1_000_000 + at as u32 - 10).tsecr(2_000_000 + heard);
        let timeout = beside_receiver().client(690.0, repeat(380, 690.0, 430));
        let answered = timeout.server(690.05, ack(400_000).sack(380_000, 381_000));
        let next = answered.client(690.0 + after, repeat(390, 690.0 + after, heard));
        gaps(&next.client(690.1 + after, repeat(391, 690.0 + after, heard)))[0]
    };
    assert_eq!(next_echoes(440, 0.5), (Cause::RemoteHostStall, 241));
    // Nothing newer, or only later; or it is the answer to the timeout: then what was lost is what it waited for.
    assert_eq!(next_echoes(430, 0.5), (Cause::Timeout, 241));
    assert_eq!(next_echoes(440, 3.5), (Cause::Timeout, 241));
    assert_eq!(next_echoes(690, 0.5), (Cause::Timeout, 241));
}

#[test]
fn beside_the_receiver_a_pause_of_one_round_trip_is_the_acknowledgement_clock() {
    assert_eq!(
        spacing_with(&arriving(beside_receiver(), 450, 500, 19.0), Some(ms(15.0) as u64)).gaps()[0].cause,
        Cause::AckClock
    );
}

#[test]
fn beside_the_receiver_such_an_acknowledgement_is_no_step_of_the_clock() {
    let sent = segment(400).tsval(1_000_440).tsecr(2_000_430);
    let goes_on = |jump: f64| {
        let made_before = beside_receiver().client(450.0, sent.clone()).server(690.0, ack(401_000).tsval(2_000_450));
        (451..500).fold(made_before, |talk, n| {
            let at = 696.0 + f64::from(n - 451) * 0.05;
            let sent = segment(i64::from(n) - 50).tsval(1_000_000 + n as u32 - 10).tsecr(2_000_000 + n as u32 - 20);
            talk.client(at, sent).server(at + 0.02, ack((i64::from(n) - 49) * 1000).tsval(2_000_456 + jump as u32))
        })
    };
    assert_eq!(gaps(&goes_on(240.0)), [(Cause::LocalHostStall, 246)]);
    assert_eq!(gaps(&goes_on(0.0)), [(Cause::CaptureArtifact, 246)]);
}

#[test]
fn beside_the_receiver_a_pause_in_which_data_arrived_unseen_is_the_captures() {
    // A hundred segments are missing that the receiver acknowledges at once, with the one that ends the pause.
    let missed = arriving(beside_receiver(), 550, 600, 200.0);
    assert_eq!(gaps(&missed), [(Cause::CaptureArtifact, 301)]);
}

#[test]
fn beside_the_receiver_data_that_only_an_acknowledgement_showed_to_be_sent_was_not_missed_by_the_capture() {
    // The last two of thirty segments get lost, and the sender's own acknowledgement tells that they were sent: its number lies
    // behind them. Then they come again after a timeout.
    let sent = (0..28).fold(Talk::seen_at_server(40.0), |talk, n| {
        let at = 50.0 + f64::from(n);
        talk.client(at, segment(i64::from(n))).server(at + 0.05, ack(i64::from(n + 1) * 1000))
    });
    let answered = sent.server(90.0, data(0, 100).acking(28_000)).client(130.0, empty(30_000).acking(100));
    let talk = answered.client(390.0, segment(28)).server(390.05, ack(29_000)).client(430.0, segment(29));
    assert_eq!(gaps(&talk)[0], (Cause::Timeout, 313));
    // What the server acknowledges without its having passed was missed.
    let missed = talk.until(3 + 28 * 2).server(90.0, ack(30_000)).client(390.0, segment(30));
    assert_eq!(gaps(&missed), [(Cause::CaptureArtifact, 313)]);
}
