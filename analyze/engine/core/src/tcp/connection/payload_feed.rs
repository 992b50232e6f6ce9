//! The new stream bytes of a connection, handed to its TLS tracker as long as that has something to learn; those of a
//! connection to a resolver, to the reader of DNS.

use std::net::{IpAddr, Ipv6Addr};

use crate::dns;
use crate::dns::{Exchange, Transport};
use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::connection::Connection;
use crate::tcp::events::sent::Delivered;
use crate::tcp::stats::sequence::unwrap;
use crate::tls::{StreamDirection, TlsTracker};

/// A hole in the stream that is acknowledged is given up after this time (capture disorder is over by then).
const HOLE_PATIENCE_NS: i64 = 5_000_000;

impl Connection {
    #[inline(never)]
    pub(crate) fn feed_next_tls(&mut self, packet: &Packet, bytes: &[u8], side: usize) {
        let direction = &self.directions[side];
        let end = direction.max;
        let start = end - u64::from(packet.payload_length);
        let passed = self.tls.as_mut().is_some_and(|tracker| {
            let (offset, length) = (direction.stream_offset(start), packet.payload_length);
            tracker.at_frame(packet.frame);
            tracker.pass(stream_of(side), offset, captured_payload(packet, bytes), length, packet.time_ns)
        });
        if !passed {
            self.feed_tls(packet, bytes, side, &Delivered::Range((start, end, false)));
        }
    }

    pub(crate) fn feed_tls(&mut self, packet: &Packet, bytes: &[u8], side: usize, delivered: &Delivered) {
        if self.ports[1] == dns::PORT {
            return self.feed_dns(packet, bytes, side, delivered);
        }
        let direction = &self.directions[side];
        let first = unwrap(direction.max, packet.sequence.wrapping_add(u32::from(packet.has(tcp_flags::SYN))));
        let captured = captured_payload(packet, bytes);
        let stream = stream_of(side);
        let tracker = self.tls.get_or_insert_with(|| Box::new(TlsTracker::new()));
        for &(from, to, again) in delivered.ranges() {
            let skip = from.saturating_sub(first) as usize;
            let length = (to - from) as u32;
            let rest = captured.get(skip..).unwrap_or_default();
            let part = rest.get(..length as usize).unwrap_or(rest);
            tracker.at_frame(packet.frame);
            tracker.segment(stream, direction.stream_offset(from), part, length, packet.time_ns, again);
        }
        if !tracker.is_watching() {
            self.tls_settled = true;
            if tracker.facts().is_none() {
                self.tls = None;
            }
        }
        self.follow_sealed(packet, side);
    }

    #[cold]
    fn feed_dns(&mut self, packet: &Packet, bytes: &[u8], side: usize, delivered: &Delivered) {
        let direction = &self.directions[side];
        let first = unwrap(direction.max, packet.sequence.wrapping_add(u32::from(packet.has(tcp_flags::SYN))));
        let captured = captured_payload(packet, bytes);
        let exchange = self.exchange(packet, side);
        let streams = self.dns.get_or_insert_default();
        for &(from, to, _) in delivered.ranges() {
            let rest = captured.get(from.saturating_sub(first) as usize..).unwrap_or_default();
            streams.segment(exchange, side, direction.stream_offset(from), rest, (to - from) as u32);
        }
    }

    fn exchange(&self, packet: &Packet, side: usize) -> Exchange {
        let ends: [IpAddr; 2] = match self.addresses {
            [a, b, c, d, e, f, g, h, ..] if self.ip_version == 4 => [[a, b, c, d].into(), [e, f, g, h].into()],
            addresses => {
                let (client, server) = addresses.split_at(16);
                [client, server]
                    .map(|end| end.first_chunk::<16>().map_or(Ipv6Addr::UNSPECIFIED.into(), |end| (*end).into()))
            }
        };
        let there = [side, 1 - side];
        Exchange {
            addresses: there.map(|end| ends[end]),
            ports: there.map(|end| self.ports[end]),
            time_ns: packet.time_ns,
            input: self.input,
            transport: Transport::Tcp,
        }
    }

    /// Bytes that are acknowledged but were not captured will not come.
    pub(crate) fn skip_tls_holes(&mut self, packet: &Packet, side: usize) {
        let direction = &self.directions[side];
        let Some(live) = direction.live.as_deref().filter(|live| !live.holes.is_empty() || live.before.is_some())
        else {
            return;
        };
        let old = packet.time_ns.saturating_sub(HOLE_PATIENCE_NS);
        let before = live.before.as_ref().and_then(|before| before.holes.last_end_below(direction.una, old));
        if let Some(end) = live.holes.last_end_below(direction.una, old).max(before.filter(|&end| end > direction.base))
            && let Some(tracker) = &mut self.tls
        {
            tracker.skip_hole(stream_of(side), direction.stream_offset(end));
        }
    }
}

#[inline]
fn stream_of(side: usize) -> StreamDirection {
    if side == 0 { StreamDirection::ClientToServer } else { StreamDirection::ServerToClient }
}

/// What of the payload was captured.
#[inline]
pub(crate) fn captured_payload<'a>(packet: &Packet, bytes: &'a [u8]) -> &'a [u8] {
    let offset = packet.payload_offset as usize;
    bytes.get(offset..offset + packet.payload_captured as usize).unwrap_or_default()
}
