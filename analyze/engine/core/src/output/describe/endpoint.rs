//! Address and port of one side as text.

use std::io::Write;
use std::net::{IpAddr, Ipv6Addr};

use crate::output::fixed::{push_ipv4, push_unsigned};
use crate::tcp::requests::servers::ServerKey;
use crate::tcp::summary::summary::ConnectionSummary;

/// Appends `address:port`, IPv6 in brackets, and the character `end`.
pub fn push_endpoint(out: &mut Vec<u8>, summary: &ConnectionSummary, side: usize, end: u8) {
    let length = if summary.ip_version == 4 { 4 } else { 16 };
    let mut address = [0; 16];
    address[..length].copy_from_slice(&summary.addresses[side * length..(side + 1) * length]);
    push_address(out, &(address, summary.ip_version, summary.ports[side]), end);
}

/// The same of an address (of IPv4 the first four bytes), version and port.
pub fn push_address(out: &mut Vec<u8>, &(address, version, port): &ServerKey, end: u8) {
    if version == 4 {
        let [a, b, c, d, ..] = address;
        push_ipv4(out, [a, b, c, d]);
        out.push(b':');
    } else {
        // A Vec takes all that is written.
        let _ = write!(out, "[{}]:", Ipv6Addr::from(address));
    }
    push_unsigned(out, u64::from(port), end);
}

/// `address:port` as text.
pub fn endpoint(summary: &ConnectionSummary, side: usize) -> String {
    text(|out| push_endpoint(out, summary, side, b' '))
}

/// The same of an address.
pub fn address(address: &ServerKey) -> String {
    text(|out| push_address(out, address, b' '))
}

/// The same; without a port the address alone.
pub fn address_and_port(address: IpAddr, port: Option<u16>) -> String {
    match (address, port) {
        (_, None) => address.to_string(),
        (IpAddr::V4(address), Some(port)) => format!("{address}:{port}"),
        (IpAddr::V6(address), Some(port)) => format!("[{address}]:{port}"),
    }
}

fn text(push: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    push(&mut out);
    out.pop();
    String::from_utf8(out).unwrap_or_default()
}
