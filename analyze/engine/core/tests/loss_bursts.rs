//! Losses together or alone, and acknowledgements that were lost (docs/methods.md, section 5).

use crate::playbook::*;
use vmtrace_core::tcp::summary::summary::{AcknowledgementLoss, DirectionSummary};

fn client(talk: &Talk) -> DirectionSummary {
    talk.summary().directions[CLIENT].clone()
}

/// Bursts by length, and events.
fn bursts(talk: &Talk) -> Option<([u32; 6], u32)> {
    let bursts = client(talk).details?.bursts?;
    Some((bursts.lengths, bursts.events))
}

/// Ten segments, of which the fourth, fifth and eighth are lost and repaired after a round trip.
fn three_lost(talk: Talk) -> Talk {
    talk.each(0..10, |talk, n| talk.client(50.0 + n as f64, data(n * 1000, 1000)))
        .server(92.0, ack(3000))
        .each([(5000, 6000), (5000, 7000), (5000, 7000)], |talk, (start, end)| {
            talk.server(96.0, ack(3000).sack(start, end))
        })
        .server(99.0, ack(3000).sack(8000, 10_000).sack(5000, 7000))
        .client(99.1, data(3000, 1000))
        .client(99.2, data(4000, 1000))
        .client(99.3, data(7000, 1000))
        .server(140.0, ack(10_000))
}

#[test]
fn neighbours_that_are_lost_are_a_burst() {
    assert_eq!(bursts(&three_lost(Talk::seen_at_client(40.0))), Some(([1, 1, 0, 0, 0, 0], 1)));
    let direction = client(&three_lost(Talk::seen_at_client(40.0)));
    let found = direction.details.as_ref().and_then(|details| details.bursts.as_ref()).expect("losses");
    assert_eq!((found.count(), found.longest, found.mean_segments()), (2, 2, Some(1.5)));
    let rate = direction.loss_rate().expect("data");
    assert_eq!(found.ratio(rate), Some(1.5 * (1.0 - rate)));
}

#[test]
fn between_the_hosts_what_is_lost_behind_the_capture_point_counts_as_well_as_what_is_lost_before_it() {
    // 25 ms to either host and back. Two of ten segments are lost behind the capture point, so that no number is missing here.
    let behind = three_lost(Talk::new().open(25.0, 25.0));
    let direction = client(&behind);
    assert_eq!((direction.lost_by_identification.get(), direction.lost_inferred()), (Some(0), 3));
    assert_eq!(direction.loss_rate(), Some(3.0 / direction.data_segments as f64));
    let before = Talk::new()
        .open(25.0, 25.0)
        .each(0..10, |talk, n| talk.client(50.0 + n as f64, data(n * 1000, 1000)))
        .lost_before_capture(CLIENT, 3)
        .client(60.0, data(13_000, 1000));
    let direction = client(&before);
    assert_eq!((direction.lost_by_identification.get(), direction.lost_inferred()), (Some(3), 0));
    assert_eq!(direction.loss_rate(), Some(3.0 / (3 + direction.data_segments) as f64));
}

#[test]
fn what_arrives_late_was_not_lost() {
    let talk = Talk::seen_at_server(40.0)
        .with_timestamps()
        .client(50.0, data(1000, 1000).tsval(50))
        .client(51.0, data(0, 1000).tsval(49))
        .server(51.1, ack(2000));
    assert_eq!(bursts(&talk), None);
}

#[test]
fn a_repeat_that_the_receiver_did_not_need_is_no_loss() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .client(300.0, data(0, 1000))
        .server(340.0, ack(1000))
        .server(341.0, ack(1000).sack(0, 1000));
    assert_eq!(bursts(&talk), None);
}

#[test]
fn at_the_receiver_what_fills_a_hole_was_lost() {
    let talk = Talk::new()
        .with_timestamps()
        .open(0.1, 40.0)
        .client(50.0, data(0, 1000))
        .client(53.0, data(3000, 1000))
        .server(53.1, ack(1000).sack(3000, 4000))
        .client(94.0, data(1000, 1000))
        .client(94.1, data(2000, 1000));
    let found = client(&talk).details.and_then(|details| details.bursts).expect("losses");
    assert_eq!((found.lengths, found.segments), ([0, 1, 0, 0, 0, 0], 2));
}

/// So many acknowledgements, each of a segment that came just before; those in `lost` do not arrive.
fn acknowledged(talk: Talk, lost: &[i64]) -> Talk {
    talk.each(0..40, |talk, n| {
        let talk = talk.client(50.0 + n as f64, data(n * 1000, 1000));
        let talk = if lost.contains(&n) { talk.lost_before_capture(SERVER, 1) } else { talk };
        if lost.contains(&n) { talk } else { talk.server(90.0 + n as f64, ack((n + 1) * 1000)) }
    })
}

fn lost_acknowledgements(talk: &Talk) -> Option<AcknowledgementLoss> {
    client(talk).details?.acknowledgements
}

#[test]
fn acknowledgements_lost_on_the_way_leave_numbers_out() {
    let talk = |lost: &[i64]| acknowledged(Talk::new().with_ttl(64, 57).open(40.0, 0.1), lost);
    let loss = |lost, passed| Some(AcknowledgementLoss { lost, passed });
    assert_eq!(lost_acknowledgements(&talk(&[])), loss(0, 41), "with the SYN-ACK");
    assert_eq!(lost_acknowledgements(&talk(&[3, 4, 20])), loss(3, 38));
    assert_eq!(loss(10, 30).and_then(|loss| loss.rate()), Some(0.25));
}

#[test]
fn beside_the_receiver_no_acknowledgement_has_been_lost_yet() {
    assert_eq!(lost_acknowledgements(&acknowledged(Talk::new().with_ttl(57, 64).open(0.1, 40.0), &[])), None);
}

#[test]
fn numbers_of_another_kind_tell_nothing_of_acknowledgements() {
    let windows = acknowledged(Talk::new().with_ttl(64, 120).open(40.0, 0.1), &[3]);
    assert_eq!(lost_acknowledgements(&windows), None, "a Windows host numbers connections together");
    let ipv6 = acknowledged(Talk::new().over_ipv6().open(40.0, 0.1), &[3]);
    assert_eq!(lost_acknowledgements(&ipv6), None);
    let without = acknowledged(Talk::seen_at_client(40.0).without_identifications(), &[]);
    assert_eq!(lost_acknowledgements(&without), None);
}

#[test]
fn where_data_is_missing_too_numbers_do_not_say_what_was_lost() {
    let talk = acknowledged(Talk::seen_at_client(40.0), &[3])
        .server(200.0, data(1000, 1000).acking(40_000))
        .server(260.0, data(0, 1000).acking(40_000));
    assert_eq!(lost_acknowledgements(&talk), None);
}
