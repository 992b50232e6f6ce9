//! Random packets on a few connections: numbers, flags, options, lengths and times that no stack would send, mixed with
//! enough plausible ones to lead deep into the rules.

use super::{Segment, Talk, data};
use crate::captures::{Frame, Order, enhanced, interface, option, section};
use proptest::prelude::*;

/// One random packet: which connection, which side, when after the one before.
#[derive(Clone)]
pub struct Line {
    pub talk: usize,
    pub side: usize,
    pub delay_ns: i64,
    /// The frame before it of that connection once more.
    pub repeat: bool,
    pub segment: Segment,
    /// The frame claims to have been so long.
    pub claimed_length: Option<u32>,
}

impl std::fmt::Debug for Line {
    /// Short enough to read a failing sequence.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Segment { flags, start, length, acknowledges, sack, tsval, tsecr, id, .. } = &self.segment;
        write!(f, "{}.{} {:+} ns {flags:#x} {start:?}+{length} ", self.talk, self.side, self.delay_ns)?;
        write!(f, "ack {acknowledges:?} {sack:?} ts {tsval:?} {tsecr:?} id {id:?} {:?}", self.segment.raw_options)?;
        write!(f, "{}{:?}", if self.repeat { " again" } else { "" }, self.claimed_length)
    }
}

/// Connections the packets are of.
pub const TALKS: usize = 5;

fn positions() -> impl Strategy<Value = i64> {
    prop_oneof![
        12 => (0..40i64).prop_map(|n| n * 500),
        2 => -3..20_000i64,
        1 => any::<i32>().prop_map(i64::from),
    ]
}

fn delays() -> impl Strategy<Value = i64> {
    prop_oneof![
        20 => 0..50_000_000i64,
        4 => 0..1_000_000_000i64,
        1 => -2_000_000_000..20_000_000_000i64,
        1 => any::<i64>().prop_map(|wild| wild >> 2),
    ]
}

fn flags() -> impl Strategy<Value = u16> {
    prop_oneof![30 => Just(0x10u16), 3 => Just(0x02), 3 => Just(0x12), 3 => Just(0x11), 1 => Just(0x14), 1 => 0u16..512]
}

fn lengths() -> impl Strategy<Value = u32> {
    prop_oneof![4 => Just(0u32), 6 => Just(500), 2 => Just(1000), 2 => Just(1), 1 => 0..65_000u32]
}

fn numbers() -> impl Strategy<Value = (u16, u16, Option<u16>, u32, u32)> {
    let ids = prop_oneof![3 => Just(None), 1 => Just(Some(0)), 1 => (100..160u16).prop_map(Some)];
    let windows = prop_oneof![6 => Just(1000u16), 1 => Just(0), 1 => any::<u16>()];
    let ticks = || prop_oneof![10 => 1_000..3_000u32, 1 => any::<u32>()];
    (flags(), windows, ids, ticks(), ticks())
}

fn options() -> impl Strategy<Value = Option<Vec<u8>>> {
    let random = prop::collection::vec(any::<u8>(), 0..=10).prop_map(|words| {
        let known = [0, 1, 2, 3, 4, 5, 8, 10, 34, 254];
        Some(words.iter().flat_map(|&word| [known[usize::from(word) % 10], word % 12, word, 255 - word]).collect())
    });
    let tiny_mss = Just(Some(vec![2, 4, 0, 1]));
    prop_oneof![12 => Just(None), 1 => random, 1 => tiny_mss]
}

fn segments() -> impl Strategy<Value = Segment> {
    let blocks = prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec((positions(), positions()), 1..4)];
    (positions(), positions(), lengths(), blocks, numbers(), options(), any::<bool>()).prop_map(
        |(start, acknowledges, length, sack, (flags, window, id, tsval, tsecr), raw_options, from_frame)| Segment {
            flags,
            window,
            id,
            sack: if flags & 0x02 == 0 { sack } else { Vec::new() },
            tsval: Some(tsval),
            tsecr: Some(tsecr),
            raw_options,
            acknowledges: Some(acknowledges),
            captured: Some(8),
            length_zero: from_frame && length > 20_000,
            ..data(start, length)
        },
    )
}

pub fn lines(most: usize) -> impl Strategy<Value = Vec<Line>> {
    let claimed = prop_oneof![30 => Just(None), 1 => any::<u32>().prop_map(Some)];
    let line = (0..TALKS, 0..2usize, delays(), prop::bool::weighted(0.05), segments(), claimed);
    let line = line.prop_map(|(talk, side, delay_ns, repeat, segment, claimed_length)| Line {
        talk,
        side,
        delay_ns,
        repeat,
        segment,
        claimed_length,
    });
    prop::collection::vec(line, 1..most)
}

/// The packets as frames in the order they were made, with times that may run backwards.
pub fn frames(lines: &[Line]) -> Vec<Frame> {
    let mut talks = [
        Talk::new(),
        Talk::new().between(3, 50_000, 4, 80),
        Talk::new().over_ipv6(),
        Talk::new().between(5, 50_000, 4, 80).with_isn(u32::MAX - 3000, u32::MAX - 100).without_identifications(),
        Talk::new().between(6, 7, 4, 80).with_timestamps(),
    ];
    let mut time_ns = super::START_NS;
    let mut frames = Vec::new();
    for line in lines {
        time_ns = time_ns.wrapping_add(line.delay_ns);
        let talk = &mut talks[line.talk];
        if !line.repeat || talk.frames().is_empty() {
            *talk = talk.clone().starting_at(talk.frames().len()).line(line.side, 0.0, line.segment.clone());
        }
        let mut frame = Frame { time_ns, ..talk.frames()[0].clone() };
        if let Some(claimed) = line.claimed_length {
            frame.original_length = claimed.max(frame.bytes.len() as u32);
        }
        frames.push(frame);
    }
    frames
}

/// A pcapng file, which can tell any time.
pub fn file(frames: &[Frame]) -> Vec<u8> {
    let order = Order::Little;
    let mut file = [section(order), interface(order, 1, 0, &option(order, 9, &[9]))].concat();
    frames.iter().for_each(|frame| file.extend(enhanced(order, 0, frame.time_ns as u64, frame, &[])));
    file
}
