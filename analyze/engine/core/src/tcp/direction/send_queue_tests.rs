//! Records of what was sent: acknowledged, cut, marked, and the same of very many.
//!
//! Subjects: `tcp/direction/send_queue.rs`, `tcp/direction/wide_queue.rs`, `tcp/direction/widening.rs`.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

fn segment(start: u64, length: u32, time_ns: i64) -> Segment {
    Segment { start, length, time_ns, frame: 0, tsval: 0, segment_size: 1000, state: 0 }
}

fn queue(count: u64) -> SegmentQueue {
    let mut queue = SegmentQueue::default();
    (0..count).for_each(|index| queue.push(segment(index * 1000, 1000, index as i64)));
    queue
}

#[test]
fn a_cumulative_acknowledgement_belongs_to_the_newest_segment() {
    let acknowledged = queue(3).acknowledge(2000, 0);
    assert_eq!(acknowledged.covered.newest.map(|segment| segment.time_ns), Some(1));
    assert_eq!(acknowledged.covered.wire_segments, 2);
}

#[test]
fn an_acknowledgement_inside_a_superpacket_leaves_the_rest() {
    let mut queue = SegmentQueue::default();
    queue.push(segment(0, 5000, 7));
    let acknowledged = queue.acknowledge(2000, 0);
    assert_eq!((acknowledged.covered.wire_segments, acknowledged.covered.newest.map(|s| s.time_ns)), (2, Some(7)));
    assert_eq!(queue.acknowledge(5000, 0).covered.wire_segments, 3);
}

#[test]
fn retransmitting_the_middle_of_a_superpacket_marks_only_that() {
    let mut queue = SegmentQueue::default();
    queue.push(segment(0, 5000, 7));
    assert_eq!(queue.retransmit(2000, 3000, 9, 1, 0).previous_time_ns, Some(7));
    assert!(!queue.acknowledge(2000, 0).any_retransmitted);
    assert!(queue.acknowledge(3000, 0).any_retransmitted);
    assert!(!queue.acknowledge(5000, 0).any_retransmitted);
}

#[test]
fn lost_and_resent_bytes_come_back_to_zero() {
    let mut queue = queue(5);
    queue.sack(2000, 5000, 0);
    queue.mark_lost_below(2000);
    assert_eq!(queue.lost_and_resent(), (2000, 0));
    queue.retransmit(0, 1000, 9, 1, 0);
    assert_eq!(queue.lost_and_resent(), (2000, 1000));
    queue.acknowledge(5000, 5000);
    assert_eq!(queue.lost_and_resent(), (0, 0));
}

#[test]
fn what_is_acknowledged_is_remembered_for_a_while() {
    let mut queue = SegmentQueue::default();
    (0..1000).for_each(|n| {
        queue.push(segment(n * 1000, 1000, n as i64));
        queue.acknowledge((n + 1) * 1000, 0);
    });
    let time_ns = |position: u64| queue.recent(position).map(|segment| segment.time_ns);
    assert_eq!([950_000, 950_999, 999_999].map(time_ns), [Some(950), Some(950), Some(999)]);
    assert_eq!([0, 1_000_000].map(time_ns), [None, None]);
    assert!(queue.list.capacity() <= 4 * REMEMBERED, "{}", queue.list.capacity());
}

#[test]
fn an_original_delivered_after_a_later_one_is_out_of_order() {
    let mut queue = queue(3);
    assert_eq!(queue.sack(2000, 3000, 0).late_originals, 0);
    assert_eq!(queue.sack(1000, 2000, 3000).late_originals, 1);
    assert_eq!(queue.acknowledge(3000, 3000).late_originals, 1);
}

/// What one may do to a queue.
#[derive(Debug, Clone)]
enum Step {
    Send(u32),
    PassOver(u32),
    Fill(Index, u32),
    Acknowledge(Index),
    Report(Index, u32),
    Resend(Index, u32),
    Lose(Index),
    TimeOut,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let at = any::<Index>;
    let step = prop_oneof![
        4 => (1u32..3000).prop_map(Step::Send),
        2 => (1u32..3000).prop_map(Step::PassOver),
        3 => (at(), 1u32..2000).prop_map(|(at, length)| Step::Fill(at, length)),
        2 => at().prop_map(Step::Acknowledge),
        3 => (at(), 1u32..4000).prop_map(|(at, length)| Step::Report(at, length)),
        2 => (at(), 1u32..4000).prop_map(|(at, length)| Step::Resend(at, length)),
        1 => at().prop_map(Step::Lose),
        1 => Just(Step::TimeOut),
    ];
    proptest::collection::vec(step, 1..120)
}

/// Takes a step; says all that it, and the queue after it, tell.
fn taken(
    queue: &mut SegmentQueue,
    step: &Step,
    sent: &mut u64,
    missing: &mut Vec<(u64, u64)>,
    una: &mut u64,
    time: i64,
) -> String {
    let within = |at: &Index, una: u64, sent: u64| una + at.index((sent - una).max(1) as usize) as u64;
    let told = match step {
        Step::Send(length) => {
            queue.push(segment(*sent, *length, time));
            *sent += u64::from(*length);
            String::new()
        }
        Step::PassOver(length) => {
            let halves = [*sent, *sent + u64::from(*length / 2), *sent + u64::from(*length)];
            missing.extend(halves.windows(2).map(|half| (half[0], half[1])).filter(|half| half.0 < half.1));
            *sent = halves[2];
            String::new()
        }
        Step::Fill(at, length) => {
            let start = within(at, *una, *sent);
            let end = (start + u64::from(*length)).min(*sent);
            let mut filled = Vec::new();
            missing.retain(|&(from, to)| {
                let is_within = start <= from && to <= end;
                filled.extend(is_within.then_some((from, to)));
                !is_within
            });
            for (from, to) in filled {
                queue.insert(Segment { state: state::LATE, ..segment(from, (to - from) as u32, time) });
            }
            String::new()
        }
        Step::Acknowledge(at) => {
            *una = within(at, *una, *sent);
            missing.retain(|hole| hole.0 >= *una);
            format!("{:?}", queue.acknowledge(*una, *una + 700))
        }
        Step::Report(at, length) => {
            let start = within(at, *una, *sent);
            format!("{:?}", queue.sack(start, (start + u64::from(*length)).min(*sent), start + 500))
        }
        Step::Resend(at, length) => {
            let start = within(at, *una, *sent);
            let end = (start + u64::from(*length)).min(*sent);
            let told = format!("{:?}", queue.retransmit(start, end, time, time as u32, time as u32 / 3));
            queue.mark_resent(start, end);
            told
        }
        Step::Lose(at) => {
            queue.mark_lost_below(within(at, *una, *sent));
            String::new()
        }
        Step::TimeOut => {
            queue.mark_all_lost();
            String::new()
        }
    };
    let places = [*una, (*una + *sent) / 2, sent.saturating_sub(1)];
    let of_places = places.map(|at| (queue.sent_once_ns(at), queue.recent(at).copied()));
    let open: Vec<Segment> = queue.unacknowledged_below(u64::MAX).copied().collect();
    let ends = (queue.last().copied(), queue.first().copied(), queue.first_repeated_below(*sent));
    format!(
        "{told} {of_places:?} {open:?} {ends:?} {:?} {:?} {}",
        queue.lost_and_resent(),
        queue.fates(),
        queue.is_empty()
    )
}

proptest! {
    #[test]
    fn as_a_tree_it_tells_what_it_tells_as_a_list(steps in steps(), wide_from in 0usize..20) {
        let (mut list, mut tree) = (SegmentQueue::default(), SegmentQueue::default());
        let mut states = [(0, Vec::new(), 0), (0, Vec::new(), 0)];
        for (number, step) in steps.iter().enumerate() {
            if number >= wide_from && tree.wide.is_none() && !tree.is_empty() {
                tree.widen();
            }
            let [told, told_by_tree] = [(&mut list, 0), (&mut tree, 1)].map(|(queue, which)| {
                let (sent, missing, una) = &mut states[which];
                taken(queue, step, sent, missing, una, number as i64)
            });
            prop_assert_eq!(told, told_by_tree);
        }
    }
}

#[test]
fn many_records_in_any_order_make_a_tree_and_few_a_list_again() {
    let mut queue = SegmentQueue::default();
    (0..2000).for_each(|n| queue.push(segment(2000 * n + 1000, 1000, n as i64)));
    assert!(queue.wide.is_none());
    (0..2000).rev().for_each(|n| queue.insert(segment(2000 * n, 1000, n as i64)));
    assert!(queue.wide.is_some() && queue.list.capacity() == 0);
    assert_eq!(queue.acknowledge(3_000_000, 0).covered.wire_segments, 3000);
    assert_eq!(queue.recent(2_999_999).map(Segment::end), Some(3_000_000));
    queue.push(segment(4_000_000, 1000, 0));
    assert_eq!(queue.acknowledge(3_900_000, 0).covered.wire_segments, 900);
    assert!(queue.wide.is_none());
    assert_eq!((queue.open().len(), queue.last().map(Segment::end)), (101, Some(4_001_000)));
}

#[test]
fn of_a_tree_that_nobody_acknowledges_the_oldest_are_forgotten() {
    let mut queue = SegmentQueue::default();
    (0..600).for_each(|n| queue.push(segment(1000 * n, 1000, 0)));
    queue.widen();
    let many = MOST_SEGMENTS as u64 + 10;
    (600..many).for_each(|n| queue.push(segment(1000 * n, 1000, 0)));
    assert!(queue.has_forgotten() && queue.wide.is_some());
    assert_eq!(queue.first().map(|first| first.start), Some(1000 * MOST_SEGMENTS as u64 / 2));
}
