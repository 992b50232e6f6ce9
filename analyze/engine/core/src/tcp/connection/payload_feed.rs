//! The new stream bytes of a connection, handed to its TLS tracker as long as that has something to learn; those of a
//! connection to a resolver, to the reader of DNS; those of HTTP/2 in the clear, to that of frames.

use crate::tcp::connection::{opened_texts, speaking};
use std::net::{IpAddr, Ipv6Addr};

use crate::dns;
use crate::dns::{Exchange, Transport};
use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::connection::Connection;
use crate::tcp::connection::groups::{Identity, Streams};
use crate::tcp::direction::direction::Direction;
use crate::tcp::events::sent::Delivered;
use crate::tcp::stats::sequence::unwrap;
use crate::tls::{StreamDirection, TlsTracker};

/// A hole in the stream that is acknowledged is given up after this time (capture disorder is over by then).
const HOLE_PATIENCE_NS: i64 = 5_000_000;

/// Most bytes of what is no TLS are passed over.
#[inline(never)]
pub(super) fn feed(connection: &mut Connection, packet: &Packet, bytes: &[u8], side: usize, delivered: &Delivered) {
    if connection.identity.ports[1] == dns::PORT {
        let direction = &connection.directions[side];
        return feed_dns(&connection.identity, &mut connection.streams, direction, packet, bytes, side, delivered);
    }
    let direction = &connection.directions[side];
    if connection.streams.http2.is_some()
        && feed_http2(&mut connection.streams, direction, packet, bytes, side, delivered.ranges())
    {
        return;
    }
    let first = unwrap(direction.max, packet.sequence.wrapping_add(u32::from(packet.has(tcp_flags::SYN))));
    let captured = packet.captured_payload(bytes);
    let stream = stream_of(side);
    let tracker = connection.streams.tls.get_or_insert_with(|| Box::new(TlsTracker::new()));
    tracker.at_frame(packet.frame);
    let mut all_passed = true;
    for &(from, to, again) in delivered.ranges() {
        let skip = from.saturating_sub(first) as usize;
        let length = (to - from) as u32;
        let rest = captured.get(skip..).unwrap_or_default();
        let part = rest.get(..length as usize).unwrap_or(rest);
        let offset = direction.stream_offset(from);
        if again || !tracker.pass(stream, offset, part, length, packet.time_ns) {
            all_passed = false;
            tracker.segment(stream, offset, part, length, packet.time_ns, again);
        }
    }
    if all_passed {
        return;
    }
    if !tracker.is_watching() {
        connection.streams.tls_settled = true;
        if tracker.facts().is_none() {
            connection.streams.tls = None;
        }
    }
    let Connection { speech, streams, directions, terms, .. } = connection;
    speaking::follow_sealed(speech, streams, directions, terms, packet, side);
    if streams.http2.is_some() {
        opened_texts::follow(directions, streams, speech, packet, side);
    }
}

/// HTTP/2: frames cross until its end. True where it is in the clear: there is no TLS then.
#[cold]
fn feed_http2(
    streams: &mut Streams,
    direction: &Direction,
    packet: &Packet,
    bytes: &[u8],
    side: usize,
    ranges: &[(u64, u64, bool)],
) -> bool {
    let first = unwrap(direction.max, packet.sequence.wrapping_add(u32::from(packet.has(tcp_flags::SYN))));
    let captured = packet.captured_payload(bytes);
    let Some(reader) = &mut streams.http2 else { return false };
    reader.at_frame(packet.frame);
    for &(from, to, _) in ranges {
        if reader.is_over() {
            break;
        }
        let rest = captured.get(from.saturating_sub(first) as usize..).unwrap_or_default();
        reader.segment(side, direction.stream_offset(from), rest, (to - from) as u32, packet.time_ns);
    }
    if reader.is_clear() {
        streams.tls_settled = reader.is_over();
    }
    reader.is_clear()
}

#[cold]
fn feed_dns(
    identity: &Identity,
    streams: &mut Streams,
    direction: &Direction,
    packet: &Packet,
    bytes: &[u8],
    side: usize,
    delivered: &Delivered,
) {
    let first = unwrap(direction.max, packet.sequence.wrapping_add(u32::from(packet.has(tcp_flags::SYN))));
    let captured = packet.captured_payload(bytes);
    let exchange = exchange(identity, packet, side);
    let streams = streams.dns.get_or_insert_default();
    for &(from, to, _) in delivered.ranges() {
        let rest = captured.get(from.saturating_sub(first) as usize..).unwrap_or_default();
        streams.segment(exchange, side, direction.stream_offset(from), rest, (to - from) as u32);
    }
}

fn exchange(identity: &Identity, packet: &Packet, side: usize) -> Exchange {
    let ends: [IpAddr; 2] = match identity.addresses {
        [a, b, c, d, e, f, g, h, ..] if identity.ip_version == 4 => [[a, b, c, d].into(), [e, f, g, h].into()],
        addresses => {
            let (client, server) = addresses.split_at(16);
            [client, server]
                .map(|end| end.first_chunk::<16>().map_or(Ipv6Addr::UNSPECIFIED.into(), |end| (*end).into()))
        }
    };
    let there = [side, 1 - side];
    Exchange {
        addresses: there.map(|end| ends[end]),
        ports: there.map(|end| identity.ports[end]),
        time_ns: packet.time_ns,
        frame: packet.frame,
        input: identity.input,
        transport: Transport::Tcp,
    }
}

/// Bytes that are acknowledged but were not captured will not come.
#[inline(never)]
fn skip_tls_holes(direction: &Direction, streams: &mut Streams, packet: &Packet, side: usize) {
    let Some(live) = direction.live.as_deref() else { return };
    let old = packet.time_ns.saturating_sub(HOLE_PATIENCE_NS);
    let before = live.before.as_ref().and_then(|before| before.holes.last_end_below(direction.una, old));
    if let Some(end) = live.holes.last_end_below(direction.una, old).max(before.filter(|&end| end > direction.base)) {
        let offset = direction.stream_offset(end);
        if let Some(reader) = &mut streams.http2 {
            reader.skip_hole(side, offset);
        }
        if let Some(tracker) = &mut streams.tls {
            tracker.skip_hole(stream_of(side), offset);
        }
    }
}

#[inline]
fn stream_of(side: usize) -> StreamDirection {
    if side == 0 { StreamDirection::ClientToServer } else { StreamDirection::ServerToClient }
}

/// Until the TLS handshake is over, every acknowledgement may tell that it waits in vain for data of `sender`.
#[inline(always)]
pub(super) fn pass_tls_holes(direction: &Direction, streams: &mut Streams, packet: &Packet, sender: usize) {
    let misses_bytes = || direction.live.as_deref().is_some_and(|live| !live.holes.is_empty() || live.before.is_some());
    if !streams.tls_settled && misses_bytes() && (streams.tls.is_some() || streams.http2.is_some()) {
        skip_tls_holes(direction, streams, packet, sender);
    }
}
