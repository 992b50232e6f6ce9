//! The row of a packet, for those who want the packets of a connection one by one: what its connection knows of it.

use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::connection::connection::Connection;
use crate::tcp::events::row::RowSeen;
use crate::tcp::rows::rows::{Field, Row};
use crate::tcp::rtt::covering::Lengthened;
use crate::tcp::stats::sequence::unwrap;

/// The row of a packet, sent by `side`, which has been taken.
pub(crate) fn packet_row(connection: &Connection, packet: &Packet, side: usize, seen: &RowSeen) -> Row {
    let [own, peer] = [&connection.directions[side], &connection.directions[1 - side]];
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
    let mut row = Row::default();
    let mut put = |field: Field, value: Option<i64>| row.set(field, value);
    put(Field::Connection, Some(i64::from(connection.identity.id)));
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
    put(Field::Flags, Some(i64::from(packet.flags & tcp_flags::OF_HEADER)));
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
    put(Field::SackedBytes, Some(peer.live.as_ref().map_or(0, |live| live.acks.scoreboard.total() as i64)));
    put(Field::RawSequence, Some(i64::from(packet.sequence)));
    put(Field::TsVal, stamped.then(|| i64::from(packet.tsval)));
    put(Field::TsEcr, (stamped && packet.has(tcp_flags::ACK)).then(|| i64::from(packet.tsecr)));
    put(Field::Identification, (packet.ip_version == 4).then(|| i64::from(packet.ip_id)));
    row
}
