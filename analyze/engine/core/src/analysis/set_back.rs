//! Records that step back in time: were they stored late, or was the clock set back? What each sender numbers says which order is
//! right, that of the file or that of the times.

use std::collections::{HashMap, HashSet};

use crate::decode::frame::{Decoded, decode};
use crate::packet::{Packet, tcp_flags};
use crate::read::record::Record;
use crate::tcp::stats::sequence::{serial_difference, serial_difference_16};

/// Records before the step that are looked at.
const LOOKED_BACK: usize = 4096;

/// Farther apart, identifications say nothing of order.
const NEAR_NUMBERS: u16 = 1000;

/// So many times more packets must show one order as show the other: what is sent again goes back in its numbers.
const MOSTLY: usize = 4;

/// True if senders go on behind the step where they were before it, though their times are earlier: then the order in the file
/// is right. `before` are records before the step, the last one first; `behind` those behind it that are earlier; at least `fewest`
/// of them must show it.
pub(super) fn file_order_is_right<'a>(
    fewest: usize,
    before: impl Iterator<Item = (&'a Record, &'a [u8])>,
    behind: impl Iterator<Item = (&'a Record, &'a [u8])>,
) -> bool {
    let (mut last, mut last_data) = (HashMap::new(), HashMap::new());
    for (record, bytes) in before.take(LOOKED_BACK) {
        let Decoded::Tcp(packet) = decode(bytes, record) else { continue };
        let [flow, _] = packet.flows();
        last.entry(flow).or_insert(packet);
        if packet.payload_length > 0 {
            last_data.entry(flow).or_insert(packet);
        }
    }
    let (mut forth, mut back) = (0usize, 0usize);
    let mut directions = HashSet::new();
    let mut is_certain = fewest == 1;
    for (record, bytes) in behind {
        let Decoded::Tcp(packet) = decode(bytes, record) else { continue };
        let [flow, opposite] = packet.flows();
        let is_later = |before: &&Packet| before.time_ns > packet.time_ns;
        if let Some(last) = last.get(&flow).filter(is_later) {
            let by_clock = by_clock(last, &packet);
            let progress = if by_clock == 0 { by_numbers(last, &packet) } else { by_clock };
            if progress > 0 {
                directions.insert(flow);
            }
            is_certain |= by_clock > 0;
            forth += usize::from(progress > 0);
            back += usize::from(progress < 0);
        }
        // Nobody acknowledges what has not come: neither the last data of the other side, nor its last packet this one.
        let is_causal = last_data.get(&opposite).filter(is_later).is_some_and(|data| acknowledges(&packet, data));
        is_certain |= is_causal;
        forth += if is_causal { fewest } else { 0 };
        let is_acknowledged = last.get(&opposite).filter(is_later).is_some_and(|last| acknowledges(last, &packet));
        back += if is_acknowledged { fewest } else { 0 };
    }
    // What was sent again goes back in its numbers: those of one sender alone may mislead.
    (is_certain || directions.len() > 1) && forth >= fewest && forth > MOSTLY * back
}

/// It acknowledges the last byte of the data.
fn acknowledges(packet: &Packet, data: &Packet) -> bool {
    let end = data.sequence.wrapping_add(data.payload_length);
    let is_acknowledgement = packet.has(tcp_flags::ACK) && data.payload_length > 0;
    is_acknowledgement && serial_difference(packet.acknowledgement, end) >= 0
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
