//! ICMP echo requests and replies (RFC 792, RFC 4443 section 4): who asked whom, with which numbers. Looked for only in frames
//! without TCP.

use std::net::IpAddr;

use crate::decode::ip_header::{Addresses, IpHeader};
use crate::decode::numbers::protocol;
use crate::decode::view::View;

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

/// The request or reply that `view` is at, if it is one; time, frame and input are left to the caller.
pub(super) fn read(view: &View<'_>, number: u8, header: Option<&IpHeader<'_>>) -> Option<Echo> {
    let is_reply = match (number, view.byte(0)?) {
        (protocol::ICMP, 8) | (protocol::ICMP_V6, 128) => false,
        (protocol::ICMP, 0) | (protocol::ICMP_V6, 129) => true,
        _ => return None,
    };
    let (identifier, sequence) = (view.u16(4)?, view.u16(6)?);
    let (from, to) = match header?.addresses {
        Addresses::V4(&[a, b, c, d, e, f, g, h]) => ([a, b, c, d].into(), [e, f, g, h].into()),
        Addresses::V6(source, destination) => ((*source).into(), (*destination).into()),
    };
    let (time_ns, frame, input) = (0, 0, 0);
    Some(Echo { time_ns, frame, input, is_reply, from, to, identifier, sequence })
}
