//! ICMP echo requests and replies (RFC 792, RFC 4443 section 4): who asked whom, with which numbers. Looked for only in frames
//! without TCP.

use std::net::IpAddr;

use crate::decode::numbers::protocol;
use crate::decode::other::{Other, OtherKind};
use crate::read::record::Record;

/// A request or a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    /// When it passed, Unix nanoseconds.
    pub time_ns: i64,
    /// Its frame.
    pub frame: u32,
    /// Number of the input file.
    pub input: u16,
    /// A reply; otherwise a request.
    pub is_reply: bool,
    /// Who sent it.
    pub from: IpAddr,
    /// To whom.
    pub to: IpAddr,
    /// Of the program that asks.
    pub identifier: u16,
    /// Of the request, and of the reply to it.
    pub sequence: u16,
}

/// The request or reply that `other` is, if it is one.
#[must_use]
pub fn read(other: &Other, bytes: &[u8], record: &Record) -> Option<Echo> {
    let OtherKind::Ip(number @ (protocol::ICMP | protocol::ICMP_V6)) = other.kind else { return None };
    let &[kind, _, _, _, i0, i1, s0, s1] = other.payload(bytes).first_chunk()?;
    let is_reply = match (number, kind) {
        (protocol::ICMP, 8) | (protocol::ICMP_V6, 128) => false,
        (protocol::ICMP, 0) | (protocol::ICMP_V6, 129) => true,
        _ => return None,
    };
    let (identifier, sequence) = (u16::from_be_bytes([i0, i1]), u16::from_be_bytes([s0, s1]));
    let [from, to] = other.addresses(bytes)?;
    let Record { time_ns, frame, input, .. } = *record;
    Some(Echo { time_ns, frame, input, is_reply, from, to, identifier, sequence })
}
