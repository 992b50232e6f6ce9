//! Per-packet rows of the connections that were asked for, column by column.

use std::collections::HashSet;

use super::arrival::Kind;
use super::connection::{Connection, Seen};
use super::lengthened_trips::Lengthened;
use super::sequence::unwrap;
use crate::packet::{Packet, option_bits, tcp_flags};

/// Columns with one value for each packet. Positions are relative to the first byte of their direction.
#[derive(Debug, Default, Clone)]
pub struct Rows {
    /// Connection number.
    pub connection: Vec<u64>,
    /// Input number.
    pub input: Vec<u64>,
    /// Frame number within the input.
    pub frame: Vec<u64>,
    /// Capture time, Unix nanoseconds.
    pub time_ns: Vec<i64>,
    /// Sent by the client.
    pub from_client: Vec<bool>,
    /// What it was.
    pub kind: Vec<Kind>,
    /// Why it was sent again.
    pub trigger: Vec<Option<&'static str>>,
    /// First position of its data, relative.
    pub sequence: Vec<i64>,
    /// What it acknowledges, relative to the other direction.
    pub acknowledgement: Vec<Option<i64>>,
    /// Payload bytes.
    pub payload_bytes: Vec<u64>,
    /// Bytes on the wire.
    pub wire_bytes: Vec<u64>,
    /// TCP flags.
    pub flags: Vec<u64>,
    /// Window it advertises, bytes.
    pub window_bytes: Vec<Option<u64>>,
    /// Data in flight after it, of the direction whose data it sends or acknowledges.
    pub flight_bytes: Vec<Option<u64>>,
    /// Round trip it completes, nanoseconds.
    pub rtt_ns: Vec<Option<u64>>,
    /// Frame that was sampled.
    pub rtt_frame: Vec<Option<u64>>,
    /// What lengthened it beside the path.
    pub rtt_lengthened_by: Vec<Option<&'static str>>,
    /// Why it completes none though it acknowledges data.
    pub rtt_rejected: Vec<Option<&'static str>>,
    /// Round trip of loss recovery that it completes, nanoseconds.
    pub recovery_rtt_ns: Vec<Option<u64>>,
    /// How that is known.
    pub recovery_rtt_method: Vec<Option<&'static str>>,
    /// Frame that was sampled for it.
    pub recovery_rtt_frame: Vec<Option<u64>>,
    /// Distance from the data packet before it, nanoseconds.
    pub spacing_ns: Vec<Option<u64>>,
    /// Bytes the receiver holds above a hole, of the direction it acknowledges.
    pub sacked_bytes: Vec<u64>,
    /// Sequence number as in the header.
    pub raw_sequence: Vec<u64>,
    /// Timestamp value and echo reply as in the options (RFC 7323).
    pub tsval: Vec<Option<u64>>,
    /// See above.
    pub tsecr: Vec<Option<u64>>,
    /// Identification as in the IPv4 header.
    pub identification: Vec<Option<u64>>,
}

impl Rows {
    /// Puts further rows behind these.
    pub fn append(&mut self, mut next: Self) {
        self.connection.append(&mut next.connection);
        self.input.append(&mut next.input);
        self.frame.append(&mut next.frame);
        self.time_ns.append(&mut next.time_ns);
        self.from_client.append(&mut next.from_client);
        self.kind.append(&mut next.kind);
        self.trigger.append(&mut next.trigger);
        self.sequence.append(&mut next.sequence);
        self.acknowledgement.append(&mut next.acknowledgement);
        self.payload_bytes.append(&mut next.payload_bytes);
        self.wire_bytes.append(&mut next.wire_bytes);
        self.flags.append(&mut next.flags);
        self.window_bytes.append(&mut next.window_bytes);
        self.flight_bytes.append(&mut next.flight_bytes);
        self.rtt_ns.append(&mut next.rtt_ns);
        self.rtt_frame.append(&mut next.rtt_frame);
        self.rtt_lengthened_by.append(&mut next.rtt_lengthened_by);
        self.rtt_rejected.append(&mut next.rtt_rejected);
        self.recovery_rtt_ns.append(&mut next.recovery_rtt_ns);
        self.recovery_rtt_method.append(&mut next.recovery_rtt_method);
        self.recovery_rtt_frame.append(&mut next.recovery_rtt_frame);
        self.spacing_ns.append(&mut next.spacing_ns);
        self.sacked_bytes.append(&mut next.sacked_bytes);
        self.raw_sequence.append(&mut next.raw_sequence);
        self.tsval.append(&mut next.tsval);
        self.tsecr.append(&mut next.tsecr);
        self.identification.append(&mut next.identification);
    }

    /// A host's stall lengthened what these packets, by time and frame, of a connection completed.
    pub(super) fn mark_stalled(&mut self, connection: u32, packets: &HashSet<(i64, u32)>) {
        let rows = self.connection.iter().zip(&self.time_ns).zip(&self.frame).zip(&mut self.rtt_lengthened_by);
        for (((row_connection, time_ns), frame), lengthened_by) in rows {
            let completes = u32::try_from(*frame).is_ok_and(|frame| packets.contains(&(*time_ns, frame)));
            if completes && *row_connection == u64::from(connection) {
                *lengthened_by = Some(Lengthened::HostStall.name());
            }
        }
    }

    /// The data of `side` begins by so much later than acknowledgements told.
    pub(super) fn shift_acknowledgements(&mut self, connection: u32, side: usize, by: u64) {
        let rows = self.connection.iter().zip(&self.from_client).zip(&mut self.acknowledgement);
        let of_peer = |row: &((&u64, &bool), &mut Option<i64>)| {
            let ((row_connection, from_client), _) = row;
            **row_connection == u64::from(connection) && **from_client == (side == 1)
        };
        rows.filter(of_peer).for_each(|(_, acknowledgement)| {
            *acknowledgement = acknowledgement.map(|position| position.saturating_sub_unsigned(by));
        });
    }

    /// Adds a packet of `connection`, sent by `side`.
    pub fn push(&mut self, connection: &Connection, packet: &Packet, side: usize, seen: &Seen) {
        let (own, peer) = (&connection.halves[side], &connection.halves[1 - side]);
        let sends = packet.payload_length > 0;
        let flight = if sends { own } else { peer };
        let position = unwrap(own.max, packet.sequence.wrapping_add(u32::from(packet.has(tcp_flags::SYN))));
        let acknowledged = unwrap(peer.una, packet.acknowledgement);
        self.connection.push(u64::from(connection.id));
        self.input.push(u64::from(packet.input));
        self.frame.push(u64::from(packet.frame));
        self.time_ns.push(packet.time_ns);
        self.from_client.push(side == 0);
        self.kind.push(seen.arrived.kind);
        self.trigger.push(seen.arrived.trigger.map(super::loss::Trigger::name));
        self.sequence.push(position.wrapping_sub(own.base) as i64);
        self.acknowledgement
            .push((packet.has(tcp_flags::ACK) && peer.begun).then(|| acknowledged.wrapping_sub(peer.base) as i64));
        self.payload_bytes.push(u64::from(packet.payload_length));
        self.wire_bytes.push(u64::from(packet.wire_length));
        self.flags.push(u64::from(packet.flags));
        self.window_bytes.push(seen.window_bytes);
        self.flight_bytes.push(flight.live.as_ref().map(|live| live.view.flight_bytes()));
        self.rtt_ns.push(seen.round_trip.map(|(rtt_ns, _)| rtt_ns));
        self.rtt_frame.push(seen.round_trip.map(|(_, frame)| u64::from(frame)));
        let trips = peer.live.as_ref().map(|live| &live.round_trips);
        let rejected = trips.and_then(|trips| trips.rejected_by(packet)).filter(|_| seen.round_trip.is_none());
        let delayed = seen.round_trip.is_some() && trips.is_some_and(|trips| trips.was_delayed(packet));
        let in_recovery = trips.and_then(|trips| trips.recovery.as_ref()?.completed_by(packet));
        self.rtt_lengthened_by.push(delayed.then(|| Lengthened::DelayedAcknowledgement.name()));
        self.rtt_rejected.push(rejected.map(super::rtt::Rejected::name));
        self.recovery_rtt_ns.push(in_recovery.map(|trip| trip.rtt_ns));
        self.recovery_rtt_method.push(in_recovery.map(|trip| trip.answered.name()));
        self.recovery_rtt_frame.push(in_recovery.map(|trip| u64::from(trip.frame)));
        self.spacing_ns.push(seen.arrived.spacing_ns);
        self.sacked_bytes.push(peer.live.as_ref().map_or(0, |live| live.scoreboard.total()));
        let stamped = packet.options & option_bits::TIMESTAMPS != 0;
        self.raw_sequence.push(u64::from(packet.sequence));
        self.tsval.push(stamped.then(|| u64::from(packet.tsval)));
        self.tsecr.push((stamped && packet.has(tcp_flags::ACK)).then(|| u64::from(packet.tsecr)));
        self.identification.push((packet.ip_version == 4).then(|| u64::from(packet.ip_id)));
    }
}
