//! ICMP errors (RFC 792, RFC 1191, RFC 4443) that quote a TCP segment: from whom, of what kind, of which connection. Looked
//! for only in frames without TCP. A quote holds at least the ports and the sequence number, often no more.

use std::net::IpAddr;

use crate::decode::ip_header::{Addresses, IpHeader};
use crate::decode::numbers::protocol;
use crate::decode::view::View;

/// IP headers that are followed in a quote: of what entered a tunnel, the outer one comes first.
const MOST_QUOTED_HEADERS: usize = 3;

/// Type, code, checksum and what depends on the type.
const ICMP_HEADER_BYTES: usize = 8;

/// Extension headers that are followed in a quoted IPv6 header.
const MOST_EXTENSIONS: usize = 4;

/// An error, and the segment that it is about.
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
    /// The largest packet that goes further, bytes; none if that is not said.
    pub mtu: Option<u32>,
    /// Source and destination of the segment.
    pub addresses: [IpAddr; 2],
    /// Its ports.
    pub ports: [u16; 2],
    /// Its sequence number; none if the quote was cut before it.
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

/// The error that `view` is at, if it is one and quotes a TCP segment; time and frame are left to the caller.
pub(super) fn read(view: &View<'_>, number: u8, header: Option<&IpHeader<'_>>) -> Option<IcmpError> {
    let [kind, code] = [view.byte(0)?, view.byte(1)?];
    let is_error = match number {
        protocol::ICMP => matches!(kind, 3 | 4 | 11 | 12),
        protocol::ICMP_V6 => matches!(kind, 1..=4),
        _ => false,
    };
    if !is_error {
        return None;
    }
    let mtu = match (number, kind, code) {
        // A router of former times leaves it 0.
        (protocol::ICMP, 3, 4) => view.u16(6).map(u32::from),
        (protocol::ICMP_V6, 2, _) => {
            view.u16(4).zip(view.u16(6)).map(|(high, low)| u32::from(high) << 16 | u32::from(low))
        }
        _ => None,
    };
    let from = match header?.addresses {
        Addresses::V4(&[a, b, c, d, ..]) => [a, b, c, d].into(),
        Addresses::V6(source, _) => (*source).into(),
    };
    let (addresses, ports, sequence) = quote(view.data.get(ICMP_HEADER_BYTES..)?)?;
    let (time_ns, frame, mtu) = (0, 0, mtu.filter(|mtu| *mtu > 0));
    Some(IcmpError { time_ns, frame, kind, code, from, mtu, addresses, ports, sequence })
}

type Quote = ([IpAddr; 2], [u16; 2], Option<u32>);

/// The innermost TCP segment of a quoted packet.
fn quote(mut bytes: &[u8]) -> Option<Quote> {
    for _ in 0..MOST_QUOTED_HEADERS {
        let (addresses, next, payload) = match bytes.first()? >> 4 {
            4 => quoted_v4(bytes)?,
            6 => quoted_v6(bytes)?,
            _ => return None,
        };
        match next {
            protocol::TCP => {
                let &[s0, s1, d0, d1] = payload.first_chunk()?;
                let ports = [u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1])];
                let sequence = payload.get(4..).and_then(|rest| rest.first_chunk()).copied().map(u32::from_be_bytes);
                return Some((addresses, ports, sequence));
            }
            protocol::IPV4 | protocol::IPV6 => bytes = payload,
            _ => return None,
        }
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
    let source: [u8; 16] = *bytes.get(8..)?.first_chunk()?;
    let destination: [u8; 16] = *bytes.get(24..)?.first_chunk()?;
    let (mut next, mut payload) = (*bytes.get(6)?, bytes.get(40..)?);
    for _ in 0..MOST_EXTENSIONS {
        let length = match next {
            protocol::HOP_BY_HOP | protocol::ROUTING | protocol::DESTINATION => (usize::from(*payload.get(1)?) + 1) * 8,
            protocol::FRAGMENT => 8,
            _ => break,
        };
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
        let (addresses, ports, sequence) = quoted(&[&V4, &[0x9c, 0x40, 1, 0xbb, 0, 0, 3, 0xe7]]).expect("a quote");
        assert_eq!(addresses, [IpAddr::from([192, 0, 2, 1]), IpAddr::from([198, 18, 0, 9])]);
        assert_eq!((ports, sequence), ([40000, 443], Some(999)));
    }

    #[test]
    fn a_quote_that_is_cut_behind_the_ports_has_no_number() {
        assert_eq!(quoted(&[&V4, &[0x9c, 0x40, 1, 0xbb, 0]]).expect("a quote").2, None);
        assert_eq!(quoted(&[&V4, &[0x9c, 0x40, 1]]), None);
    }

    #[test]
    fn what_entered_a_tunnel_is_found_behind_the_outer_header() {
        let outer = [0x45, 0, 0, 80, 0, 1, 0x40, 0, 64, 4, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let (addresses, ..) = quoted(&[&outer, &V4, &[0, 1, 0, 2, 0, 0, 0, 3]]).expect("a quote");
        assert_eq!(addresses[0], IpAddr::from([192, 0, 2, 1]));
        assert_eq!(quoted(&[&outer, &outer, &outer, &V4, &[0; 8]]), None, "no more than three");
    }

    #[test]
    fn extension_headers_of_ipv6_are_passed_over() {
        let mut header = [0u8; 40];
        (header[0], header[6], header[8], header[24]) = (0x60, 60, 0xfd, 0xfd);
        let (_, ports, _) = quoted(&[&header, &[6, 0, 0, 0, 0, 0, 0, 0], &[0, 7, 0, 8]]).expect("a quote");
        assert_eq!(ports, [7, 8]);
    }

    #[test]
    fn later_fragments_and_other_protocols_give_nothing() {
        let (mut fragment, mut udp) = (V4, V4);
        (fragment[7], udp[9]) = (1, 17);
        assert_eq!([quoted(&[&fragment, &[0; 8]]), quoted(&[&udp, &[0; 8]])], [None, None]);
    }
}
