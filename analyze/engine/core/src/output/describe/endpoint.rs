//! Address and port of one side as text.

use std::io::Write;
use std::net::Ipv6Addr;

use crate::output::fixed::{push_ipv4, push_unsigned};
use crate::tcp::summary::summary::ConnectionSummary;

/// Appends `address:port`, IPv6 in brackets, and the character `end`.
pub fn push_endpoint(out: &mut Vec<u8>, summary: &ConnectionSummary, side: usize, end: u8) {
    if summary.ip_version == 4 {
        let [a, b, c, d, e, f, g, h, ..] = summary.addresses;
        push_ipv4(out, if side == 0 { [a, b, c, d] } else { [e, f, g, h] });
        out.push(b':');
    } else {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&summary.addresses[side * 16..side * 16 + 16]);
        // A Vec takes all that is written.
        let _ = write!(out, "[{}]:", Ipv6Addr::from(bytes));
    }
    push_unsigned(out, u64::from(summary.ports[side]), end);
}

/// `address:port` as text.
pub fn endpoint(summary: &ConnectionSummary, side: usize) -> String {
    let mut out = Vec::new();
    push_endpoint(&mut out, summary, side, b' ');
    out.pop();
    String::from_utf8(out).unwrap_or_default()
}
