//! Makes the per-packet rows ([`crate::tcp::rows::rows`]) while packets are taken: notes what is known of each when it comes, and what is
//! known of it only later.

use std::collections::{HashMap, HashSet};

use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::connection::connection::Connection;
use crate::tcp::events::row::Seen;
use crate::tcp::rows::rows::{FIELDS, Field, RowChunk, Rows};
use crate::tcp::rtt::covering::Lengthened;
use crate::tcp::stats::sequence::unwrap;

/// Rows that are packed together. What packing takes beside the values is then less than a byte a row; before it they take
/// 0.9 MB.
const ROWS_TOGETHER: usize = 2048;

/// The rows so far.
#[derive(Debug, Default)]
pub struct RowRecorder {
    packed: Rows,
    open: [Vec<Option<i64>>; FIELDS],
    later: Later,
}

/// What became known of rows after they were written. All of it is put into them at the end, in one go: looked for at once, the
/// rows of each of thousands of connections would be looked for among those of all others.
#[derive(Debug, Default)]
struct Later {
    /// By connection, packets by time and frame whose round trips a host's stall lengthened.
    stalled: HashMap<u32, HashSet<(i64, u32)>>,
    /// By connection and whether the client sent it, what acknowledgements are too high by.
    shifts: HashMap<(u32, bool), Vec<Shift>>,
}

/// The data of a direction began by so much later than acknowledgements told.
#[derive(Debug, Clone, Copy)]
struct Shift {
    /// It is so in the rows up to this one.
    before_row: usize,
    by: u64,
}

impl RowRecorder {
    /// A host's stall lengthened what these packets, by time and frame, of a connection completed.
    pub(crate) fn mark_stalled(&mut self, connection: u32, packets: HashSet<(i64, u32)>) {
        if !packets.is_empty() {
            self.later.stalled.entry(connection).or_default().extend(packets);
        }
    }

    /// The data of `side` begins by so much later than acknowledgements told.
    pub(crate) fn shift_acknowledgements(&mut self, connection: u32, side: usize, by: u64) {
        if by > 0 {
            let shift = Shift { before_row: self.packed.chunks.len() * ROWS_TOGETHER + self.open[0].len(), by };
            self.later.shifts.entry((connection, side == 1)).or_default().push(shift);
        }
    }

    /// Adds a packet of `connection`, sent by `side`.
    pub fn push(&mut self, connection: &Connection, packet: &Packet, side: usize, seen: &Seen) {
        let (own, peer) = (&connection.halves[side], &connection.halves[1 - side]);
        let sends = packet.payload_length > 0;
        let flight = if sends { own } else { peer };
        let position = unwrap(own.max, packet.sequence.wrapping_add(u32::from(packet.has(tcp_flags::SYN))));
        let acknowledged = unwrap(peer.una, packet.acknowledgement);
        let acknowledges = packet.has(tcp_flags::ACK) && peer.begun;
        let trips = peer.live.as_ref().map(|live| &live.round_trips);
        let rejected = trips.and_then(|trips| trips.rejected_by(packet)).filter(|_| seen.round_trip.is_none());
        let delayed = seen.round_trip.is_some() && trips.is_some_and(|trips| trips.was_delayed(packet));
        let in_recovery = trips.and_then(|trips| trips.recovery.as_ref()?.completed_by(packet));
        let stamped = packet.options & option_bits::TIMESTAMPS != 0;
        let mut put = |field: Field, value: Option<i64>| self.open[field as usize].push(value);
        put(Field::Connection, Some(i64::from(connection.id)));
        put(Field::Input, Some(i64::from(packet.input)));
        put(Field::Frame, Some(i64::from(packet.frame)));
        put(Field::TimeNs, Some(packet.time_ns));
        put(Field::FromClient, Some(i64::from(side == 0)));
        put(Field::Kind, Some(seen.arrived.kind as i64));
        put(Field::Trigger, seen.arrived.trigger.map(|trigger| trigger as i64));
        put(Field::Sequence, Some(position.wrapping_sub(own.base) as i64));
        put(Field::Acknowledgement, acknowledges.then(|| acknowledged.wrapping_sub(peer.base) as i64));
        put(Field::PayloadBytes, Some(i64::from(packet.payload_length)));
        put(Field::WireBytes, Some(i64::from(packet.wire_length)));
        put(Field::Flags, Some(i64::from(packet.flags)));
        put(Field::WindowBytes, seen.window_bytes.map(|bytes| bytes as i64));
        put(Field::FlightBytes, flight.live.as_ref().map(|live| live.view.flight_bytes() as i64));
        put(Field::RttNs, seen.round_trip.map(|(rtt_ns, _)| rtt_ns as i64));
        put(Field::RttFrame, seen.round_trip.map(|(_, frame)| i64::from(frame)));
        put(Field::RttLengthenedBy, delayed.then_some(Lengthened::DelayedAcknowledgement as i64));
        put(Field::RttRejected, rejected.map(|reason| reason as i64));
        put(Field::RecoveryRttNs, in_recovery.map(|trip| trip.rtt_ns as i64));
        put(Field::RecoveryRttFrame, in_recovery.map(|trip| i64::from(trip.frame)));
        put(Field::RecoveryRttMethod, in_recovery.map(|trip| trip.answered as i64));
        put(Field::SpacingNs, seen.arrived.spacing_ns.map(|spacing_ns| spacing_ns as i64));
        put(Field::SackedBytes, Some(peer.live.as_ref().map_or(0, |live| live.scoreboard.total() as i64)));
        put(Field::RawSequence, Some(i64::from(packet.sequence)));
        put(Field::TsVal, stamped.then(|| i64::from(packet.tsval)));
        put(Field::TsEcr, (stamped && packet.has(tcp_flags::ACK)).then(|| i64::from(packet.tsecr)));
        put(Field::Identification, (packet.ip_version == 4).then(|| i64::from(packet.ip_id)));
        if self.open[0].len() == ROWS_TOGETHER {
            self.pack();
        }
    }

    /// All rows, with what became known of them later.
    pub fn finish(mut self) -> Rows {
        if !self.open[0].is_empty() {
            self.pack();
        }
        for (chunk, first_row) in self.packed.chunks.iter_mut().zip((0..).step_by(ROWS_TOGETHER)) {
            if !self.later.stalled.is_empty() {
                self.later.mark_stalled(chunk);
            }
            if !self.later.shifts.is_empty() {
                self.later.shift_acknowledgements(chunk, first_row);
            }
        }
        self.packed
    }

    fn pack(&mut self) {
        self.packed.chunks.push(RowChunk::of(&self.open));
        self.open.iter_mut().for_each(Vec::clear);
    }
}

impl Later {
    fn mark_stalled(&self, chunk: &mut RowChunk) {
        let packets = chunk.values(Field::TimeNs).into_iter().zip(chunk.values(Field::Frame));
        let rows = chunk.values(Field::Connection).into_iter().zip(packets);
        let mut marks = chunk.values(Field::RttLengthenedBy);
        let mut any = false;
        for ((connection, (time_ns, frame)), mark) in rows.zip(&mut marks) {
            let (Some(connection), Some(time_ns), Some(frame)) = (connection, time_ns, frame) else { continue };
            let packets = self.stalled.get(&(connection as u32));
            if packets.is_some_and(|packets| packets.contains(&(time_ns, frame as u32))) {
                *mark = Some(Lengthened::HostStall as i64);
                any = true;
            }
        }
        if any {
            chunk.replace(Field::RttLengthenedBy, &marks);
        }
    }

    fn shift_acknowledgements(&self, chunk: &mut RowChunk, first_row: usize) {
        let senders = chunk.values(Field::Connection).into_iter().zip(chunk.values(Field::FromClient));
        let mut acknowledgements = chunk.values(Field::Acknowledgement);
        let mut any = false;
        for (row, ((connection, from_client), position)) in (first_row..).zip(senders.zip(&mut acknowledgements)) {
            let (Some(connection), Some(position)) = (connection, position) else { continue };
            let shifts = self.shifts.get(&(connection as u32, from_client == Some(1)));
            for shift in shifts.into_iter().flatten().filter(|shift| row < shift.before_row) {
                *position = position.saturating_sub_unsigned(shift.by);
                any = true;
            }
        }
        if any {
            chunk.replace(Field::Acknowledgement, &acknowledgements);
        }
    }
}
