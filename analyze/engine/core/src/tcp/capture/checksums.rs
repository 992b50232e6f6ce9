//! Whether a segment's checksum is right (RFC 9293 section 3.1), of the segments that are looked at, and what a wrong one means.
//!
//! Nothing else touches every byte: a sample is looked at, which the segments choose themselves, so that threads and slices choose
//! alike.
//!
//! Rule: docs/methods.md, "Wrong checksums".

use crate::packet::{Packet, option_bits, tcp_flags};

/// Of segments the one in 32 whose checksum has no such bit: checksums are spread evenly.
const SAMPLED_BITS: u16 = 0x1f;

/// TCP, as the pseudo-header names it.
const PROTOCOL: u16 = 6;

/// Of a header without options, bytes.
pub const FIXED_LENGTH: u32 = 20;

/// Of one direction, so many segments.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Checksums {
    /// That were right.
    pub right: u32,
    /// That were wrong.
    pub wrong: u32,
    /// Whose checksum the sender's network card was to write.
    pub left_to_card: u32,
}

/// What became of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// As it should be.
    Right,
    /// Something else.
    Wrong,
    /// The sum of the pseudo-header: a network card writes the rest.
    LeftToCard,
}

/// It is one of the sample, or opens a connection.
#[inline(always)]
pub fn is_sampled(packet: &Packet) -> bool {
    packet.checksum & SAMPLED_BITS == 0 || packet.flags & tcp_flags::SYN != 0
}

/// [`check`] may be asked about it, and then needs its header: of what is read in another run the rest is not kept.
pub fn needs_header(packet: &Packet) -> bool {
    let is_whole = packet.payload_captured == packet.payload_length
        && u32::from(packet.options_captured) + FIXED_LENGTH == u32::from(packet.tcp_header_length);
    is_whole && (packet.payload_length > 0 || is_sampled(packet))
}

/// Looks at a segment; none if not all of it is there, or its IP header does not say what the checksum covers.
pub fn check(packet: &Packet, bytes: &[u8]) -> Option<Checked> {
    let header_length = u32::from(packet.tcp_header_length);
    let whole = packet.payload_captured == packet.payload_length
        && u32::from(packet.options_captured) + FIXED_LENGTH == header_length
        && packet.options_offset >= FIXED_LENGTH
        && packet.payload_offset == packet.options_offset + u32::from(packet.options_captured);
    let address_bytes = match (packet.ip_version, packet.ip_header_length) {
        (4, 20) => 8,
        (6, _) if packet.options & option_bits::HIDDEN_DESTINATION == 0 => 32,
        _ => return None,
    };
    // None is written where the field is 0: a tool that made the packet left it out.
    if !whole || packet.checksum == 0 {
        return None;
    }
    let addresses = bytes.get(packet.address_offset as usize..)?.get(..address_bytes)?;
    let length = header_length + packet.payload_length;
    let segment = bytes.get((packet.options_offset - FIXED_LENGTH) as usize..)?.get(..length as usize)?;
    // Of a header that was cut the options lie nearer to its beginning.
    if !segment.starts_with(&packet.ports.to_be_bytes()) {
        return None;
    }
    let without_length = sum(addresses, u64::from(PROTOCOL.to_be()));
    let pseudo = sum(&u64::from(length).to_be_bytes(), u64::from(without_length.to_be()));
    if packet.checksum == pseudo || packet.checksum == without_length {
        return Some(Checked::LeftToCard);
    }
    let is_right = sum(segment, u64::from(pseudo.to_be())) == 0xffff;
    Some(if is_right { Checked::Right } else { Checked::Wrong })
}

/// The Internet checksum's sum (RFC 1071), beginning with `start`, which is in network order as the bytes are.
fn sum(bytes: &[u8], start: u64) -> u16 {
    let mut total = start;
    let mut add = |word: u64| {
        let (sum, carried) = total.overflowing_add(word);
        total = sum + u64::from(carried);
    };
    let (words, rest) = bytes.as_chunks::<8>();
    words.iter().for_each(|word| add(u64::from_ne_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    add(u64::from_ne_bytes(last));
    while total >> 16 != 0 {
        total = (total & 0xffff) + (total >> 16);
    }
    u16::from_be(total as u16)
}

impl Checksums {
    /// Counts a look.
    pub fn count(&mut self, checked: Checked) {
        let counter = match checked {
            Checked::Right => &mut self.right,
            Checked::Wrong => &mut self.wrong,
            Checked::LeftToCard => &mut self.left_to_card,
        };
        *counter = counter.saturating_add(1);
    }

    /// How many are wrong though neither offload nor rewriting explains it. `is_answered`: the peer has taken what the side sent.
    /// `is_repeated`: some of that came more than once.
    pub fn unexplained(&self, is_answered: bool, is_repeated: bool) -> u32 {
        let was_taken = is_answered && (self.wrong > self.right || !is_repeated);
        let is_explained = self.left_to_card > 0 || was_taken;
        if is_explained { 0 } else { self.wrong }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_rfc_in_any_alignment() {
        // RFC 1071 section 3.
        let example = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(sum(&example, 0), 0xddf2);
        assert_eq!(sum(&example[..3], 0), 0xf201);
        assert_eq!(sum(&[0xff; 4096], 0), 0xffff);
        assert_eq!(sum(&[], 0), 0);
    }

    #[test]
    fn offload_and_rewriting_explain_wrong_ones() {
        let of = |right, wrong, left_to_card| Checksums { right, wrong, left_to_card };
        let told = |sums: Checksums| [(true, true), (true, false), (false, true)].map(|(a, r)| sums.unexplained(a, r));
        assert_eq!(told(of(9, 2, 0)), [2, 0, 2]);
        assert_eq!(told(of(1, 9, 0)), [0, 0, 9]);
        assert_eq!(told(of(9, 2, 1)), [0, 0, 0]);
    }
}
