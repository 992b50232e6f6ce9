//! Which identifications are known, and how many are missing.
//!
//! Subjects: `tcp/loss/ip_id.rs`.

use super::*;
use proptest::prelude::*;
use std::collections::HashSet;

proptest! {
    /// In rows and with any jump, within a word of the memory and far beyond all of it.
    #[test]
    fn of_the_last_thousand_numbers_those_that_were_seen_are_known(
        rows in prop::collection::vec((0u16..3000, 1u16..200), 1..40),
    ) {
        let mut tracker = IpIdentifications::default();
        let (mut next, mut seen) = (60_000u16, HashSet::new());
        for (jump, length) in rows {
            let first = next.wrapping_add(jump);
            next = first.wrapping_add(length);
            (0..length).for_each(|place| {
                let id = first.wrapping_add(place);
                add(&mut tracker, id, 1, true);
                seen.insert(tracker.next_position() - 1);
            });
        }
        let newest = tracker.next_position() - 1;
        for position in newest - WINDOW + 1..newest {
            prop_assert_eq!(tracker.is_known(position as u16), seen.contains(&position), "{}", newest - position);
        }
    }
}

fn add(tracker: &mut IpIdentifications, ip_id: u16, segments: u32, contiguous: bool) {
    tracker.add(ip_id, segments, contiguous, NeighbouringId::default);
}

fn feed(ids: impl IntoIterator<Item = u16>) -> Option<u64> {
    let mut tracker = IpIdentifications::default();
    let mut previous = None;
    for id in ids {
        add(&mut tracker, id, 1, previous.is_some_and(|previous: u16| id.wrapping_sub(previous) & 0x7fff == 1));
        previous = Some(id);
    }
    tracker.missing()
}

#[test]
fn missing_numbers_are_counted_across_the_wrap() {
    assert_eq!(feed((65_500..=65_535).chain(0..20).chain(23..100)), Some(3));
}

#[test]
fn a_late_number_is_not_missing() {
    assert_eq!(feed((0..20).chain([21, 22, 23, 20]).chain(24..60)), Some(0));
}

#[test]
fn a_repeated_number_counts_once() {
    assert_eq!(feed((0..20).chain([19, 19]).chain(21..60)), Some(1));
}

#[test]
fn numbers_that_do_not_follow_one_another_prove_nothing() {
    let mut tracker = IpIdentifications::default();
    (0..100u16).for_each(|id| add(&mut tracker, id.wrapping_mul(7), 1, true));
    assert_eq!(tracker.missing(), None);
    assert_eq!(feed(std::iter::repeat_n(0, 50)), None);
}

#[test]
fn a_superpacket_takes_as_many_numbers_as_it_has_segments() {
    let mut tracker = IpIdentifications::default();
    (0..20u16).for_each(|index| add(&mut tracker, index * 10, 10, true));
    assert_eq!(tracker.missing(), Some(0));
}

#[test]
fn cards_that_count_in_fifteen_bits_leave_nothing_out() {
    let first_keeps_the_bit = |id: u16| if id.is_multiple_of(7) { id } else { id & 0x7fff };
    assert_eq!(feed((0xb5a4..0xb7a4).map(first_keeps_the_bit)), Some(0));
    assert_eq!(feed((0x7ff0..=0x7fff).chain(0..100)), Some(0));
    assert_eq!(feed((0x7ff0..=0x7fff).chain(3..100)), Some(3));
}

#[test]
fn numbers_that_rise_tell_the_order_though_some_go_elsewhere() {
    let looks_rising = |ids: &[u16]| {
        let mut tracker = IpIdentifications::default();
        ids.iter().for_each(|&id| add(&mut tracker, id, 1, true));
        (tracker.looks_rising(), tracker.missing())
    };
    assert_eq!(looks_rising(&[65_000, 65_003, 65_500, 2, 3, 90, 400, 401, 700, 900]), (true, None));
    assert_eq!(looks_rising(&[65_000, 100, 40_000, 7, 22_000, 9, 31_000]), (false, None));
}

#[test]
fn zero_is_no_number_unless_those_around_are_near() {
    assert_eq!(feed([0, 0].into_iter().chain(5000..5020).chain([0]).chain(5020..5040)), Some(0));
    assert_eq!(feed((65_500..=65_533).chain(0..20)), Some(2));
}

#[test]
fn numbers_seen_not_long_ago_are_known_but_for_the_newest() {
    let mut tracker = IpIdentifications::default();
    [100..150u16, 151..200, 210..211].into_iter().flatten().for_each(|id| add(&mut tracker, id, 1, true));
    let known =
        |tracker: &IpIdentifications, ids: &[u16]| ids.iter().map(|&id| tracker.is_known(id)).collect::<Vec<_>>();
    assert_eq!(known(&tracker, &[99, 100, 150, 199, 205, 210, 211]), [false, true, false, true, false, false, false]);
    (211..2000).for_each(|id| add(&mut tracker, id, 1, true));
    assert_eq!(known(&tracker, &[199, 300, 1200, 1998, 1999]), [false, false, true, true, false]);
}

/// Of acknowledgements with these numbers, each of so many bytes.
fn missing_of(acknowledgements: impl IntoIterator<Item = (u16, u64)>) -> Option<u64> {
    let (mut tracker, mut acknowledged) = (IpIdentifications::default(), 0);
    for (id, acknowledges) in acknowledgements {
        tracker.add(id, 1, false, || NeighbouringId { whole: true, acknowledges, ..NeighbouringId::default() });
        acknowledged += acknowledges;
    }
    assert_eq!(tracker.missing(), None);
    tracker.missing_of_acknowledgements(acknowledged)
}

/// Each acknowledges two segments, those after a gap what the lost ones would have as well.
fn after_losses(ids: impl IntoIterator<Item = u16>) -> Option<u64> {
    let mut last = None;
    missing_of(ids.into_iter().map(|id| {
        let numbers = last.replace(id).map_or(1, |last| id.wrapping_sub(last));
        (id, if numbers < 100 { u64::from(numbers) * 2896 } else { 0 })
    }))
}

#[test]
fn acknowledgements_prove_their_numbers_by_themselves() {
    assert_eq!(after_losses((65_500..=65_535).chain(2..30).chain([35, 36, 33]).chain(37..50)), Some(2 + 4));
    assert_eq!(after_losses(0..15), None, "too few");
}

#[test]
fn numbers_that_others_take_too_prove_no_acknowledgement_lost() {
    let each_as_much = |ids: Vec<u16>| missing_of(ids.into_iter().map(|id| (id, 2896)));
    assert_eq!(each_as_much((0..200).map(|id| id * 3 + id % 2).collect()), None, "numbered together with others");
    assert_eq!(each_as_much((0..50).chain(51..100).chain(102..150).collect()), None, "now and then one to others");
    assert_eq!(each_as_much((0..50).chain(900..950).collect()), None, "more than was ever seen");
    assert_eq!(each_as_much((0..200u16).map(|id| id.wrapping_mul(40_503)).collect()), None, "drawn at random");
}

#[test]
fn what_was_sent_before_the_first_number_is_missing() {
    let mut tracker = IpIdentifications::default();
    tracker.sent_before(3);
    (50..70).for_each(|id| add(&mut tracker, id, 1, true));
    assert_eq!(tracker.missing(), Some(3));
    add(&mut tracker, 48, 1, false);
    assert_eq!(tracker.missing(), Some(2), "it has come late");
}

#[test]
fn a_gap_that_was_taken_for_other_packets_may_prove_to_be_data() {
    let mut tracker = IpIdentifications::default();
    add(&mut tracker, 50, 1, false);
    tracker.add(55, 1, true, || NeighbouringId { whole: true, ..NeighbouringId::default() });
    assert_eq!(tracker.elsewhere(), 4);
    tracker.sent_before(4);
    (56..90).for_each(|id| add(&mut tracker, id, 1, true));
    assert_eq!((tracker.missing(), tracker.elsewhere()), (Some(4), 0));
}

#[test]
fn numbers_left_out_where_all_data_is_there_are_of_something_else() {
    let mut tracker = IpIdentifications::default();
    let whole = || NeighbouringId { whole: true, ..NeighbouringId::default() };
    (0..20u16).for_each(|id| tracker.add(id, 1, true, whole));
    tracker.add(23, 1, true, whole);
    tracker.add(26, 1, false, NeighbouringId::default);
    assert_eq!((tracker.missing(), tracker.elsewhere()), (Some(5), 3));
}
