//! MPLS label stacks (RFC 3032) and what they carry, which no field tells.

use crate::decode::ip;
use crate::decode::layer::Layer;
use crate::decode::link::follows;
use crate::decode::reason::Undecoded;
use crate::decode::view::{HeaderPart, View};

/// Pseudo-wire control word (RFC 4385 section 3).
const CONTROL_WORD: usize = 4;

/// Where the EtherType stands in an Ethernet header.
const TYPE_OFFSET: usize = 12;

/// Reads the labels and guesses the payload: IP by its version, else an Ethernet pseudo-wire with or without a control
/// word (RFC 4448), told apart by where a known EtherType stands.
pub(super) fn read(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    // Bounded by the frame: each turn consumes four bytes. The third byte's last bit marks the bottom of the stack.
    while view.take::<4>(HeaderPart::Link)?[2] & 1 == 0 {}
    if ip::plausible(view) {
        return Ok(Layer::Ip);
    }
    let kind_at = |offset: usize| view.u16(offset).is_some_and(follows);
    let first = view.head::<1>(HeaderPart::Link)?[0];
    if kind_at(TYPE_OFFSET) && !(first >> 4 == 0 && kind_at(TYPE_OFFSET + CONTROL_WORD)) {
        return Ok(Layer::Ethernet);
    }
    match first >> 4 {
        0 => view.skip(CONTROL_WORD, HeaderPart::Link).map(|()| Layer::Ethernet),
        // Associated channel (RFC 4385 section 5): management.
        1 => Err(Undecoded::NotIp),
        4 | 6 => Ok(Layer::Ip),
        _ => Ok(Layer::Ethernet),
    }
}
