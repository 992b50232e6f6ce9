//! ICMP errors (RFC 792, RFC 1191, RFC 4443): from whom, of what kind, about which packet. Looked for only in frames without
//! TCP. A quote holds at least the ports and a TCP sequence number, often no more.

use std::net::IpAddr;

use crate::decode::numbers::protocol;
use crate::decode::other::{Other, OtherKind};
use crate::decode::routing::{self, Destination};
use crate::read::record::Record;

/// IP headers that are followed in a quote: of what entered a tunnel, the outer one comes first.
const MOST_QUOTED_HEADERS: usize = 3;

/// Type, code, checksum and what depends on the type.
const ICMP_HEADER_BYTES: usize = 8;

/// Extension headers that are followed in a quoted IPv6 header.
const MOST_EXTENSIONS: usize = 4;

/// An error, and the packet that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IcmpError {
    /// When it passed, Unix nanoseconds.
    pub time_ns: i64,
    /// Its frame.
    pub frame: u32,
    /// Type of ICMP or, where the addresses are of IPv6, of ICMPv6.
    pub kind: u8,
    /// What of that type.
    pub code: u8,
    /// Who sent it.
    pub from: IpAddr,
    /// To whom: the sender of the packet, or what the error was translated to.
    pub to: IpAddr,
    /// The largest packet that goes further, bytes; none if that is not said.
    pub mtu: Option<u32>,
    /// IP protocol of the packet.
    pub protocol: u8,
    /// Its source and destination.
    pub addresses: [IpAddr; 2],
    /// Its ports; of an echo the identifier and 0, of other protocols 0.
    pub ports: [u16; 2],
    /// TCP sequence number; none of other protocols, and if the quote was cut before it.
    pub sequence: Option<u32>,
}

/// What an error says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The port, or the protocol, is not served; firewalls that reject say so, too.
    PortUnreachable,
    /// A firewall forbids it.
    Prohibited,
    /// The host does not respond to its neighbour, or does not exist.
    HostUnreachable,
    /// There is no route.
    NetworkUnreachable,
    /// The packet is too large for a link, and may not be cut.
    TooBig,
    /// The packet went round in circles, or was sent with a small time to live.
    TimeExceeded,
    /// Something else.
    Other,
}

impl IcmpError {
    /// What it says.
    pub fn meaning(&self) -> Meaning {
        match (self.from.is_ipv4(), self.kind, self.code) {
            (true, 3, 2 | 3) | (false, 1, 4) => Meaning::PortUnreachable,
            (true, 3, 9 | 10 | 13) | (false, 1, 1 | 5 | 6) => Meaning::Prohibited,
            (true, 3, 4) | (false, 2, _) => Meaning::TooBig,
            (true, 3, 0 | 6 | 11) | (false, 1, 0 | 2) => Meaning::NetworkUnreachable,
            (true, 3, _) | (false, 1, _) => Meaning::HostUnreachable,
            (true, 11, _) | (false, 3, _) => Meaning::TimeExceeded,
            _ => Meaning::Other,
        }
    }
}

/// The error that `other` is, if it is one and quotes a packet.
#[must_use]
pub fn read(other: &Other, bytes: &[u8], record: &Record) -> Option<IcmpError> {
    let OtherKind::Ip(number @ (protocol::ICMP | protocol::ICMP_V6)) = other.kind else { return None };
    let message = other.payload(bytes);
    let &[kind, code, ..] = message.first_chunk::<2>()?;
    let is_error = match number {
        protocol::ICMP => matches!(kind, 3 | 4 | 11 | 12),
        _ => matches!(kind, 1..=4),
    };
    if !is_error {
        return None;
    }
    let rest: Option<[u8; 4]> = message.get(4..).and_then(<[u8]>::first_chunk).copied();
    let mtu = match (number, kind, code) {
        // A router of former times leaves it 0.
        (protocol::ICMP, 3, 4) => rest.map(|[_, _, high, low]| u32::from(u16::from_be_bytes([high, low]))),
        (protocol::ICMP_V6, 2, _) => rest.map(u32::from_be_bytes),
        _ => None,
    };
    let [from, to] = other.addresses(bytes)?;
    let Quote { protocol, addresses, ports, sequence } = quote(message.get(ICMP_HEADER_BYTES..)?)?;
    let mtu = mtu.filter(|mtu| *mtu > 0);
    let Record { time_ns, frame, .. } = *record;
    Some(IcmpError { time_ns, frame, kind, code, from, to, mtu, protocol, addresses, ports, sequence })
}

/// What is quoted.
#[derive(Debug, PartialEq, Eq)]
struct Quote {
    protocol: u8,
    addresses: [IpAddr; 2],
    ports: [u16; 2],
    sequence: Option<u32>,
}

/// The innermost packet that is quoted.
fn quote(mut bytes: &[u8]) -> Option<Quote> {
    for _ in 0..MOST_QUOTED_HEADERS {
        let (addresses, protocol, payload) = match bytes.first()? >> 4 {
            4 => quoted_v4(bytes)?,
            6 => quoted_v6(bytes)?,
            _ => return None,
        };
        if matches!(protocol, protocol::IPV4 | protocol::IPV6) {
            bytes = payload;
            continue;
        }
        let pair = |at: usize| payload.get(at..).and_then(<[u8]>::first_chunk).map(|pair| u16::from_be_bytes(*pair));
        let number = || payload.get(4..).and_then(<[u8]>::first_chunk).map(|word| u32::from_be_bytes(*word));
        let (ports, sequence) = match protocol {
            protocol::TCP => ([pair(0)?, pair(2)?], number()),
            protocol::UDP => ([pair(0)?, pair(2)?], None),
            protocol::ICMP | protocol::ICMP_V6 => ([pair(4)?, 0], None),
            _ => ([0; 2], None),
        };
        return Some(Quote { protocol, addresses, ports, sequence });
    }
    None
}

type QuotedIp<'a> = ([IpAddr; 2], u8, &'a [u8]);

fn quoted_v4(bytes: &[u8]) -> Option<QuotedIp<'_>> {
    let &[first, _, _, _, _, _, f0, f1, _, next, _, _, a, b, c, d, e, f, g, h] = bytes.first_chunk()?;
    let length = usize::from(first & 15) * 4;
    // Of a later fragment the ports are not quoted.
    let is_first_part = u16::from_be_bytes([f0, f1]) & 0x1fff == 0;
    let payload = bytes.get(length..).filter(|_| length >= 20 && is_first_part)?;
    Some(([[a, b, c, d].into(), [e, f, g, h].into()], next, payload))
}

fn quoted_v6(bytes: &[u8]) -> Option<QuotedIp<'_>> {
    let mut source: [u8; 16] = *bytes.get(8..)?.first_chunk()?;
    let mut destination: [u8; 16] = *bytes.get(24..)?.first_chunk()?;
    let (mut next, mut payload) = (*bytes.get(6)?, bytes.get(40..)?);
    for _ in 0..MOST_EXTENSIONS {
        let length = match next {
            protocol::HOP_BY_HOP | protocol::ROUTING | protocol::DESTINATION => (usize::from(*payload.get(1)?) + 1) * 8,
            protocol::FRAGMENT => 8,
            _ => break,
        };
        let header = payload.get(..length)?;
        match next {
            protocol::ROUTING => {
                if let Destination::Final(address) = routing::destination(header, &destination) {
                    destination = address;
                }
            }
            protocol::DESTINATION => source = header.get(2..).and_then(routing::home_address).unwrap_or(source),
            _ => {}
        }
        (next, payload) = (*payload.first()?, payload.get(length..)?);
    }
    Some(([source.into(), destination.into()], next, payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: [u8; 20] = [0x45, 0, 0, 60, 0, 1, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 198, 18, 0, 9];

    fn quoted(parts: &[&[u8]]) -> Option<Quote> {
        quote(&parts.concat())
    }

    #[test]
    fn a_quote_of_eight_bytes_has_ports_and_number() {
        let Quote { addresses, ports, sequence, .. } =
            quoted(&[&V4, &[0x9c, 0x40, 1, 0xbb, 0, 0, 3, 0xe7]]).expect("a quote");
        assert_eq!(addresses, [IpAddr::from([192, 0, 2, 1]), IpAddr::from([198, 18, 0, 9])]);
        assert_eq!((ports, sequence), ([40000, 443], Some(999)));
    }

    #[test]
    fn a_quote_that_is_cut_behind_the_ports_has_no_number() {
        assert_eq!(quoted(&[&V4, &[0x9c, 0x40, 1, 0xbb, 0]]).expect("a quote").sequence, None);
        assert_eq!(quoted(&[&V4, &[0x9c, 0x40, 1]]), None);
    }

    #[test]
    fn what_entered_a_tunnel_is_found_behind_the_outer_header() {
        let outer = [0x45, 0, 0, 80, 0, 1, 0x40, 0, 64, 4, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let Quote { addresses, .. } = quoted(&[&outer, &V4, &[0, 1, 0, 2, 0, 0, 0, 3]]).expect("a quote");
        assert_eq!(addresses[0], IpAddr::from([192, 0, 2, 1]));
        assert_eq!(quoted(&[&outer, &outer, &outer, &V4, &[0; 8]]), None, "no more than three");
    }

    #[test]
    fn extension_headers_of_ipv6_are_passed_over() {
        let mut header = [0u8; 40];
        (header[0], header[6], header[8], header[24]) = (0x60, 60, 0xfd, 0xfd);
        let Quote { ports, .. } = quoted(&[&header, &[6, 0, 0, 0, 0, 0, 0, 0], &[0, 7, 0, 8]]).expect("a quote");
        assert_eq!(ports, [7, 8]);

        // On its way to a segment: the last one is where it goes.
        header[6] = protocol::ROUTING;
        let last = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
        let segments = [&[6, 2, 4, 1, 0, 0, 0, 0][..], &last].concat();
        let Quote { ports, addresses, .. } = quoted(&[&header, &segments, &[0, 7, 0, 8]]).expect("a quote");
        assert_eq!((ports, addresses[1]), ([7, 8], IpAddr::from(last)));
    }

    #[test]
    fn datagrams_and_echoes_have_no_number() {
        let (mut udp, mut echo, mut esp) = (V4, V4, V4);
        (udp[9], echo[9], esp[9]) = (17, 1, 50);
        let of = |header: &[u8]| quoted(&[header, &[0, 1, 0, 53, 0, 7, 0, 9]]).expect("a quote");
        assert_eq!((of(&udp).ports, of(&udp).sequence), ([1, 53], None));
        assert_eq!(of(&echo).ports, [7, 0]);
        assert_eq!((of(&esp).ports, of(&esp).protocol), ([0, 0], 50));
    }

    #[test]
    fn later_fragments_give_nothing() {
        let mut fragment = V4;
        fragment[7] = 1;
        assert_eq!(quoted(&[&fragment, &[0; 8]]), None);
    }
}
