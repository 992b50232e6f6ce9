//! Records that step back in time: were they stored late, or was the clock set back? What each sender numbers says which order is
//! right, that of the file or that of the times.

use crate::decode::frame::{Decoded, decode};
use crate::keyed::{KeyedMap, KeyedSet};
use crate::packet::{Packet, tcp_flags};
use crate::read::record::Record;
use crate::tcp::stats::sequence::{serial_difference, serial_difference_16};

/// The longest that earlier records of an interface are waited for. A larger step back is no disorder: the clock was set, or another
/// capture begins.
pub(super) const LONGEST_DISORDER_NS: i64 = 1_000_000_000;

/// Records behind such a step that are looked at: other frames may stand between.
pub(super) const LOOKED_FAR_AHEAD: usize = 1024;

/// So many such steps are looked at; of a file that has more, each is the clock's.
pub(super) const MOST_FAR_STEPS: usize = 256;

/// Packets that must show which order is right.
pub(super) const FEWEST_SHOWING: usize = 3;

/// Records before the step that are looked at.
const LOOKED_BACK: usize = 4096;

/// Farther apart, identifications say nothing of order.
const NEAR_NUMBERS: u16 = 1000;

/// So many times more packets must show one order as show the other: what is retransmitted goes back in its numbers.
const MOSTLY: usize = 4;

/// So many segments that were acknowledged before them are more than a sender retransmits needlessly.
const FEWEST_ACKNOWLEDGED: usize = 8;

/// Flows that are remembered before those are left out that have not been seen for long.
const MOST_FLOWS: usize = 4 * LOOKED_BACK;

/// The last packets of each flow before a step. Each record is decoded once, however many steps there are.
#[derive(Default)]
pub(super) struct LastPackets {
    by_flow: KeyedMap<(u32, u32), LastOfFlow>,
    /// Records so far.
    count: u64,
}

#[derive(Clone, Copy)]
struct LastOfFlow {
    any: PlacedRecord,
    data: Option<PlacedRecord>,
}

/// A packet, and how many records came before it.
type PlacedRecord = (Packet, u64);

impl LastPackets {
    /// How many of the records before a step are worth noting.
    pub(super) const LONGEST: usize = LOOKED_BACK;

    /// The next record.
    pub(super) fn note(&mut self, record: &Record, bytes: &[u8]) {
        let place = self.count;
        self.count += 1;
        let Decoded::Tcp(packet) = decode(bytes, record) else { return };
        let [flow, _] = packet.flows();
        let placed = (packet, place);
        let of_flow = self.by_flow.entry(flow).or_insert(LastOfFlow { any: placed, data: None });
        of_flow.any = placed;
        if packet.payload_length > 0 {
            of_flow.data = Some(placed);
        }
        if self.by_flow.len() > MOST_FLOWS {
            let oldest = self.oldest();
            self.by_flow.retain(|_, of_flow| of_flow.any.1 >= oldest);
        }
    }

    /// Records that were noted.
    #[cfg(test)]
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    fn oldest(&self) -> u64 {
        self.count.saturating_sub(LOOKED_BACK as u64)
    }

    fn recent(&self, placed: Option<PlacedRecord>, packet: &Packet) -> Option<Packet> {
        let (last, _) = placed.filter(|(last, place)| *place >= self.oldest() && last.time_ns > packet.time_ns)?;
        Some(last)
    }

    /// The last packet of a flow, if it is later than `packet` by its time.
    fn last(&self, flow: (u32, u32), packet: &Packet) -> Option<Packet> {
        self.recent(self.by_flow.get(&flow).map(|of_flow| of_flow.any), packet)
    }

    /// The same of the last with data.
    fn last_data(&self, flow: (u32, u32), packet: &Packet) -> Option<Packet> {
        self.recent(self.by_flow.get(&flow).and_then(|of_flow| of_flow.data), packet)
    }
}

/// Which order of the records around a step back in time their senders show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OrderShown {
    /// That in the file: senders go on behind the step where they were before it, though their times are earlier.
    File,
    /// That of the times: what stands behind the step was sent before.
    Times,
    /// Neither.
    Nothing,
}

impl OrderShown {
    /// What stands behind a step that is no disorder is another capture. `has_headers`: a header of a file or a section stands there.
    pub(super) fn is_another_capture(self, has_headers: bool) -> bool {
        match self {
            Self::Times => true,
            Self::Nothing => has_headers,
            Self::File => false,
        }
    }
}

/// Which order is right. `before` are the last packets before the step; `behind` the records behind it that are earlier; at least
/// `fewest` of them must show it.
pub(super) fn order_shown<'a>(
    fewest: usize,
    before: &LastPackets,
    behind: impl Iterator<Item = (&'a Record, &'a [u8])>,
) -> OrderShown {
    let (mut forth, mut back) = (0usize, 0usize);
    let (mut directions, mut directions_back) = (KeyedSet::default(), KeyedSet::default());
    let (mut is_certain, mut is_certainly_back) = (fewest == 1, false);
    let mut acknowledged = 0usize;
    for (record, bytes) in behind {
        let Decoded::Tcp(packet) = decode(bytes, record) else { continue };
        let [flow, opposite] = packet.flows();
        if let Some(last) = before.last(flow, &packet) {
            let by_clock = by_clock(&last, &packet);
            let progress = if by_clock == 0 { by_numbers(&last, &packet) } else { by_clock };
            if progress > 0 {
                directions.insert(flow);
            }
            if progress < 0 {
                directions_back.insert(flow);
            }
            is_certain |= by_clock > 0;
            is_certainly_back |= by_clock < 0;
            forth += usize::from(progress > 0);
            back += usize::from(progress < 0);
        }
        // Nobody acknowledges what has not come: neither the last data of the other side, nor its last packet this one.
        let is_causal = before.last_data(opposite, &packet).is_some_and(|data| acknowledges(&packet, &data));
        is_certain |= is_causal;
        forth += if is_causal { fewest } else { 0 };
        // What a sender stamped earlier than its peer had echoed before the step was sent before that.
        let is_echoed = before.last(opposite, &packet).is_some_and(|last| is_echoed_before(&packet, &last));
        is_certainly_back |= is_echoed;
        back += usize::from(is_echoed);
        let is_acknowledged = before.last(opposite, &packet).is_some_and(|last| acknowledges(&last, &packet));
        back += if is_acknowledged { fewest } else { 0 };
        acknowledged += usize::from(is_acknowledged);
    }
    // What was retransmitted goes back in its numbers: those of one sender alone may mislead.
    let is_forth = is_certain || directions.len() > 1;
    let is_back = is_certainly_back || directions_back.len() > 1 || acknowledged >= FEWEST_ACKNOWLEDGED;
    if is_forth && forth >= fewest && forth > MOSTLY * back {
        OrderShown::File
    } else if is_back && back >= fewest && back > MOSTLY * forth {
        OrderShown::Times
    } else {
        OrderShown::Nothing
    }
}

/// It acknowledges the last byte of the data.
fn acknowledges(packet: &Packet, data: &Packet) -> bool {
    let end = data.sequence.wrapping_add(data.payload_length);
    let is_acknowledgement = packet.has(tcp_flags::ACK) && data.payload_length > 0;
    is_acknowledgement && serial_difference(packet.acknowledgement, end) >= 0
}

/// `last`, of the other side, echoes a later TSval of its sender (RFC 7323 section 3).
fn is_echoed_before(packet: &Packet, last: &Packet) -> bool {
    let stamps = packet.timestamp().zip(last.timestamp());
    last.has(tcp_flags::ACK) && stamps.is_some_and(|(tsval, _)| serial_difference(tsval, last.tsecr) < 0)
}

/// Positive if `then` was sent after `first` by the clock of their sender, negative if before, 0 if that does not show it.
fn by_clock(first: &Packet, then: &Packet) -> i32 {
    first.timestamp().zip(then.timestamp()).map_or(0, |(first, then)| serial_difference(then, first))
}

/// The same by the numbers in them.
fn by_numbers(first: &Packet, then: &Packet) -> i32 {
    let apart = serial_difference_16(then.ip_id, first.ip_id);
    let counted = first.ip_id != 0 && then.ip_id != 0 && apart.unsigned_abs() < NEAR_NUMBERS;
    let ways = [
        if counted { i32::from(apart) } else { 0 },
        serial_difference(then.sequence, first.sequence),
        serial_difference(then.acknowledgement, first.acknowledgement),
    ];
    ways.into_iter().find(|way| *way != 0).unwrap_or(0)
}
