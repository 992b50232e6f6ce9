//! What a direction measures in steps of time: when a step is over, the counters it keeps anyway are read. For most packets
//! that is one comparison.

use crate::packet::Packet;
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::kernel::FEWEST_DATA_PACKETS;
use crate::tcp::rates::peaks::Peaks;
use crate::tcp::rates::series::{Series, SeriesTotals};

/// A packet with data is about to be counted.
#[inline(always)]
pub(crate) fn keep_steps(direction: &mut Direction, packet: &Packet) {
    if direction.live.as_ref().is_some_and(|live| live.rates.peaks.is_due(packet.time_ns)) {
        end_steps(direction, packet);
    }
}

/// An acknowledgement of the direction's data is about to be taken.
#[inline(always)]
pub(crate) fn keep_rates(direction: &mut Direction, time_ns: i64) {
    if direction.live.as_ref().is_some_and(|live| live.rates.series.is_due(time_ns))
        && direction.first_data_ns.is_some()
    {
        end_bin(direction, time_ns);
    }
}

/// A packet with data passes, whose timestamp has not been taken yet.
#[inline(always)]
pub(crate) fn keep_arrivals(direction: &mut Direction, packet: &Packet) {
    if direction.live.as_ref().is_some_and(|live| live.rates.arrivals.is_due(packet.time_ns)) {
        step_arrivals(direction, packet);
    }
}

#[inline(never)]
fn step_arrivals(direction: &mut Direction, packet: &Packet) {
    let bytes = data_wire_bytes(direction);
    if let Some(live) = direction.live.as_deref_mut() {
        live.rates.arrivals.step(packet, bytes, &live.capture.clock);
    }
}

#[inline(never)]
fn end_steps(direction: &mut Direction, packet: &Packet) {
    if direction.live.as_ref().is_some_and(|live| live.rates.series.is_due(packet.time_ns)) {
        end_bin(direction, packet.time_ns);
    }
    keep_arrivals(direction, packet);
    let bytes = data_wire_bytes(direction);
    let Some(live) = direction.live.as_deref_mut() else { return };
    let last_frame = live.rates.spacing.last().map(|(_, frame)| frame).unwrap_or(packet.frame);
    live.rates.peaks.roll(packet.time_ns, packet.frame, bytes, last_frame);
}

#[cold]
fn end_bin(direction: &mut Direction, time_ns: i64) {
    let start_ns = direction.first_data_ns.unwrap_or(time_ns);
    let (data_packets, arrived_bytes) = (direction.data_packets_so_far(), arrived_bytes(direction));
    let waits = |live: &mut Live| live.rates.series.waits(time_ns, start_ns, data_packets, arrived_bytes);
    if direction.live.as_deref_mut().is_none_or(waits) {
        return;
    }
    let totals = rate_totals(direction);
    if let Some(live) = direction.live.as_deref_mut() {
        live.rates.series.roll(time_ns, start_ns, &totals);
    }
}

/// Bytes on the wire of all packets but pure acknowledgements.
fn data_wire_bytes(direction: &Direction) -> u64 {
    (direction.wire_bytes + direction.together.wire_bytes()).saturating_sub(direction.ledger.pure_acknowledgements)
}

/// Payload, each position once.
fn arrived_bytes(direction: &Direction) -> u64 {
    direction.unique_payload_bytes + direction.together.payload_bytes()
}

fn rate_totals(direction: &Direction) -> SeriesTotals {
    if direction.live.is_none() {
        return SeriesTotals::default();
    }
    SeriesTotals {
        data_packets: direction.data_packets_so_far(),
        arrived_bytes: arrived_bytes(direction),
        acknowledged_bytes: direction.acknowledged_bytes(),
    }
}

/// The peaks and the series of a direction that is over, if it had enough data for them.
pub(crate) fn finish_steps(direction: &mut Direction) -> (Option<Box<Peaks>>, Option<Series>) {
    let (totals, bytes) = (rate_totals(direction), data_wire_bytes(direction));
    let Some(live) = direction.live.as_deref_mut() else { return (None, None) };
    let last_frame = live.rates.spacing.last().map(|(_, frame)| frame).unwrap_or(0);
    // Most directions have too little: theirs are not copied.
    let peaks = Some(&live.rates.peaks).filter(|_| totals.data_packets >= FEWEST_DATA_PACKETS).copied();
    let series = std::mem::take(&mut live.rates.series).finish(&totals);
    (peaks.and_then(|peaks| peaks.finish(bytes, last_frame)).map(Box::new), series)
}
