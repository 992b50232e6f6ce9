//! Whether bytes lead to an IP packet whose own checksum says so: what a port does not prove, or only half.

use crate::decode::layer::Layer;
use crate::decode::numbers::protocol;
use crate::decode::view::View;
use crate::decode::{ethernet, link, ppp, wifi};

/// How much must be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    /// A port speaks for it: an IPv6 packet, which has no checksum of its own, must be of the length that is left.
    ByPort,
    /// Nothing but its look: IPv6 must carry a TCP segment with the right checksum.
    ByLook,
}

/// Layers up to the IP header.
const MOST_LAYERS: usize = 8;

const IPV6_BYTES: usize = 40;

/// True if `layer` leads to a sound IP packet.
pub(super) fn is_proved(mut view: View<'_>, mut layer: Layer, strictness: Strictness) -> bool {
    for _ in 0..MOST_LAYERS {
        let next = match layer {
            Layer::Ip => return is_sound(&view, strictness),
            Layer::Protocol(protocol::IPV4 | protocol::IPV6) => Ok(Layer::Ip),
            Layer::Protocol(protocol::GRE) => crate::decode::gre::read(&mut view).map(|entered| entered.inner),
            Layer::Link(number) => link::read(&mut view, number),
            Layer::Ethernet => ethernet::read(&mut view),
            Layer::EtherType(kind) => ethernet::payload(&mut view, kind),
            Layer::Llc => ethernet::llc(&mut view),
            Layer::Wifi => wifi::read(&mut view),
            Layer::Ppp => ppp::read(&mut view),
            _ => return false,
        };
        match next {
            Ok(next) => layer = next,
            Err(_) => return false,
        }
    }
    false
}

fn is_sound(view: &View<'_>, strictness: Strictness) -> bool {
    match view.byte(0).map(|first| (first >> 4, usize::from(first & 15) * 4)) {
        Some((4, length)) => {
            let header = view.data.get(..length).filter(|header| header.len() >= 20);
            let is_long_enough = view.u16(2).is_some_and(|total| usize::from(total) >= length);
            is_long_enough && header.is_some_and(|header| sum(header, 0) == 0xffff)
        }
        Some((6, _)) => match strictness {
            Strictness::ByPort => view.u16(4).is_some_and(|length| u32::from(length) + IPV6_BYTES as u32 == view.wire),
            Strictness::ByLook => has_sound_segment(view),
        },
        _ => false,
    }
}

/// An IPv6 packet with a TCP segment whose checksum is right, or was left to the network card.
fn has_sound_segment(view: &View<'_>) -> bool {
    let Some((header, segment)) = view.data.split_first_chunk::<IPV6_BYTES>() else { return false };
    let [_, _, _, _, l0, l1, next, _, addresses @ ..] = header;
    let length = u16::from_be_bytes([*l0, *l1]);
    let (Some(segment), protocol::TCP, 20..) = (segment.get(..usize::from(length)), *next, length) else {
        return false;
    };
    let pseudo = sum(addresses, u64::from(length) + u64::from(protocol::TCP));
    let written = segment.get(16..).and_then(|rest| rest.first_chunk()).map(|bytes| u16::from_be_bytes(*bytes));
    written == Some(pseudo) || sum(segment, u64::from(pseudo)) == 0xffff
}

/// The Internet checksum's sum (RFC 1071), beginning with `start`.
fn sum(bytes: &[u8], start: u64) -> u16 {
    let mut total = start;
    let mut words = bytes.chunks_exact(2);
    for word in words.by_ref() {
        total += u64::from(u16::from_be_bytes([word[0], word[1]]));
    }
    total += words.remainder().first().map_or(0, |&last| u64::from(last) << 8);
    while total >> 16 != 0 {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}
