//! Segments that passed the capture point and were lost behind it: in the receiving host, or on the path behind a middle point.
//!
//! Subjects: `tcp/summary/summarize.rs`, `tcp/summary/summarize_direction.rs`.

use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::tcp::summary::summary::DirectionSummary;

/// How the receiver asks for what its host dropped.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asks {
    Sack,
    Duplicates,
    Timeout,
}

/// The server's data at the client: of each group of segments one is seen, dropped by the host, and retransmitted.
fn download(groups: i64, dropped: i64, asks: Asks, timestamps: bool) -> DirectionSummary {
    let talk = if timestamps { Talk::new().with_timestamps() } else { Talk::new() };
    let talk = match asks {
        Asks::Sack => talk.open(40.0, 0.1),
        _ => talk.client(0.0, syn().no_sack()).server(40.0, syn_ack().no_sack()).client(40.1, ack(0)),
    };
    let talk = talk.each(0..groups, |talk, group| {
        let (at_ms, first) = (50.0 + 1000.0 * group as f64, group * 6000);
        let dropped = if asks == Asks::Timeout { 5 } else { dropped };
        let hole = first + dropped * 1000;
        let talk = talk.each(0..6, |talk, number| {
            let (now_ms, start) = (at_ms + 0.2 * number as f64, first + number * 1000);
            // One tick of the server's clock: receivers echo what came in order last.
            let talk = talk.server(now_ms, data(start, FULL).tsval(2_000_000 + at_ms as u32));
            match number {
                number if number < dropped => talk.client(now_ms + 0.05, ack(start + 1000)),
                number if number == dropped => talk,
                _ if asks == Asks::Sack => talk.client(now_ms + 0.05, ack(hole).sack(hole + 1000, start + 1000)),
                _ => talk.client(now_ms + 0.05, ack(hole)),
            }
        });
        let again_ms = if asks == Asks::Timeout { at_ms + 700.0 } else { at_ms + 41.5 };
        talk.server(again_ms, data(hole, FULL)).client(again_ms + 0.05, ack(first + 6000))
    });
    talk.summary().directions[SERVER].clone()
}

#[test]
fn what_the_receiving_host_drops_is_lost_behind_the_capture_point() {
    for (asks, dropped) in [(Asks::Sack, 1), (Asks::Duplicates, 1), (Asks::Timeout, 5)] {
        let direction = download(12, dropped, asks, false);
        assert_eq!(direction.lost_behind(), Some(12), "{asks:?}");
        assert_eq!(
            (direction.loss.retransmitted, direction.loss.spurious, direction.lost_inferred()),
            (12, 0, 12),
            "{asks:?}"
        );
        assert!(direction.loss_rate().is_some_and(|rate| rate > 0.1), "{asks:?}");
    }
}

/// Control: the acknowledgement was lost on its way back, and what is retransmitted had been acknowledged here.
#[test]
fn what_was_acknowledged_here_is_not_lost_behind() {
    let talk = Talk::seen_at_client(40.0).each(0..10, |talk, number| {
        let (at_ms, start) = (50.0 + 500.0 * f64::from(number), i64::from(number) * 1000);
        talk.server(at_ms, data(start, FULL))
            .client(at_ms + 0.05, ack(start + 1000))
            .server(at_ms + 300.0, data(start, FULL))
            .client(at_ms + 300.05, ack(start + 1000).sack(start, start + 1000))
    });
    let direction = &talk.summary().directions[SERVER];
    assert_eq!((direction.lost_behind(), direction.loss.spurious), (Some(0), 10));
}

#[test]
fn beside_the_sender_there_is_no_such_number() {
    let talk =
        Talk::seen_at_client(40.0).client(50.0, data(0, FULL)).client(300.0, data(0, FULL)).server(340.0, ack(1000));
    assert_eq!(talk.summary().directions[CLIENT].lost_behind(), None);
}

/// Between the hosts: seen there, and seen again.
#[test]
fn a_middle_point_tells_what_was_lost_behind_it() {
    let talk = Talk::new().open(20.0, 20.0).each(0..10, |talk, group| {
        let (at_ms, first) = (50.0 + 500.0 * f64::from(group), i64::from(group) * 4000);
        let talk =
            talk.each(0..4, |talk, number| talk.client(at_ms + 0.1 * number as f64, data(first + number * 1000, FULL)));
        let talk = talk.each(1..4, |talk, number| {
            talk.server(at_ms + 20.0 + 0.1 * number as f64, ack(first).sack(first + 1000, first + (number + 1) * 1000))
        });
        talk.client(at_ms + 41.0, data(first, FULL)).server(at_ms + 61.0, ack(first + 4000))
    });
    assert_eq!(talk.summary().directions[CLIENT].lost_behind(), Some(10));
}

proptest! {
    #![proptest_config(captures::cases(40))]

    #[test]
    fn as_many_are_lost_behind_as_the_host_dropped(groups in 1i64..25, dropped in 0i64..3, sack in any::<bool>(), timestamps in any::<bool>()) {
        let direction = download(groups, dropped, if sack { Asks::Sack } else { Asks::Duplicates }, timestamps);
        prop_assert_eq!(direction.lost_behind(), Some(groups as u64));
        prop_assert_eq!((i64::from(direction.loss.retransmitted), direction.loss.spurious), (groups, 0));
    }
}
