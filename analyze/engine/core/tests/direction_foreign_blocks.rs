//! SACK blocks about numbers that were never sent: a firewall that randomises sequence numbers leaves those in options as they
//! were. What they should have said is not known, and named as such.

use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::tcp::summary::summary::DirectionSummary;

/// The client's data at its own capture point: of every five segments the first is lost and retransmitted, and the blocks that
/// report the others lie `off` away.
fn upload(groups: i64, off: i64) -> DirectionSummary {
    let talk = Talk::seen_at_client(40.0).each(0..groups, |talk, group| {
        let (at_ms, first) = (50.0 + 100.0 * group as f64, group * 5000);
        let sent = talk.each(0..5, |talk, number| talk.client(at_ms, data(first + number * 1000, FULL)));
        let reported = sent.each(1..5, |talk, number| {
            talk.server(at_ms + 40.0, ack(first).sack(first + 1000 + off, first + (number + 1) * 1000 + off))
        });
        reported.client(at_ms + 40.1, data(first, FULL)).server(at_ms + 80.1, ack(first + 5000))
    });
    talk.summary().directions[CLIENT].clone()
}

#[test]
fn losses_are_not_known_where_reports_are_of_other_numbers() {
    let direction = upload(10, 1_234_567_890);
    assert_eq!((direction.loss.sacked_beyond_sent, direction.loss.retransmitted), (40, 10));
    assert_eq!((direction.knows_losses(), direction.loss_rate()), (false, None));
    assert_eq!(direction.caveat(), Some("sack_blocks_beyond_sent"));
    let reasons: Vec<_> =
        direction.not_measured().map(|(field, _)| field).filter(|field| field.starts_with("loss.")).collect();
    assert!(
        ["loss.spurious_segments", "loss.lost_segments_inferred", "loss.loss_rate"]
            .iter()
            .all(|field| reasons.contains(field))
    );
}

#[test]
fn right_blocks_are_believed() {
    let direction = upload(10, 0);
    assert_eq!((direction.loss.sacked_beyond_sent, direction.lost_inferred(), direction.loss.spurious), (0, 10, 0));
    assert!(direction.knows_losses() && direction.caveat().is_none());
}

#[test]
fn a_few_damaged_blocks_leave_the_rest_known() {
    let talk = Talk::seen_at_client(40.0).each(0..40, |talk, group| {
        let (at_ms, first) = (50.0 + 100.0 * f64::from(group), i64::from(group) * 2000);
        let off = if group == 20 { 900_000_000 } else { 0 };
        talk.client(at_ms, data(first, FULL))
            .client(at_ms, data(first + 1000, FULL))
            .server(at_ms + 40.0, ack(first).sack(first + 1000 + off, first + 2000 + off))
            .client(at_ms + 240.0, data(first, FULL))
            .server(at_ms + 280.0, ack(first + 2000))
    });
    let direction = &talk.summary().directions[CLIENT];
    assert_eq!((direction.loss.sacked_beyond_sent, direction.knows_losses(), direction.lost_inferred()), (1, true, 40));
}

proptest! {
    #![proptest_config(captures::cases(30))]

    #[test]
    fn every_foreign_block_is_counted_and_none_believed(
        groups in 1i64..20, off in prop_oneof![500_000i64..2_000_000_000, -2_000_000_000i64..-500_000],
    ) {
        let direction = upload(groups, off);
        prop_assert_eq!((i64::from(direction.loss.sacked_beyond_sent), i64::from(direction.loss.retransmitted)), (4 * groups, groups));
        prop_assert_eq!((direction.knows_losses(), direction.loss.network_duplicates, direction.loss.reordered), (false, 0, 0));
    }
}
