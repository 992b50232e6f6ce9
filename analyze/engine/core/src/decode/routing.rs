//! Between which hosts an IPv6 packet goes, where its header names others: routing headers with segments left (RFC 8200 section 4.4)
//! and home addresses (RFC 6275 section 6.3). Checksums cover the final ones (RFC 8200 section 8.1), and so do connections.
//!
//! The rest of the engine reads addresses where the header has them. They are written there, and the frame is walked again.
//!
//! Rule: docs/methods.md, "Routing headers of IPv6".

use crate::decode::ip_header::Address6;

/// Routing types (IANA, "IPv6 Routing Types").
mod routing_type {
    pub const SOURCE_ROUTE: u8 = 0;
    pub const HOME_ADDRESS: u8 = 2;
    pub const RPL: u8 = 3;
    pub const SEGMENT_ROUTING: u8 = 4;
}

/// Home address option (RFC 6275 section 6.3).
const HOME_ADDRESS: u8 = 0xc9;

/// Before the addresses of all known types, bytes.
const FIXED_BYTES: usize = 8;

/// Where a routing header leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Destination {
    /// To that of the IPv6 header: no segment is left.
    Reached,
    /// There in the end.
    Final(Address6),
    /// It has segments left, and is of an unknown type or damaged.
    Hidden,
}

/// Reads a whole routing header; `current` is the destination in the IPv6 header.
pub(super) fn destination(header: &[u8], current: &Address6) -> Destination {
    let &[_, _, kind, left, ..] = header else { return Destination::Hidden };
    if left == 0 {
        return Destination::Reached;
    }
    let found = match kind {
        routing_type::SOURCE_ROUTE => last_of_list(header, usize::from(left)),
        routing_type::HOME_ADDRESS => last_of_list(header, usize::from(left)).filter(|_| header.len() == 24),
        routing_type::RPL => last_of_compressed(header, usize::from(left), current),
        routing_type::SEGMENT_ROUTING => first_of_segments(header, usize::from(left)),
        _ => None,
    };
    found.map_or(Destination::Hidden, Destination::Final)
}

/// RFC 2460 section 4.4: whole addresses in the order of the way.
fn last_of_list(header: &[u8], left: usize) -> Option<Address6> {
    let list = header.get(FIXED_BYTES..)?;
    let is_sound = list.len().is_multiple_of(16) && left <= list.len() / 16;
    list.last_chunk().copied().filter(|_| is_sound)
}

/// RFC 6554 section 3: without the bytes that all addresses, and then the last one, have in common with the destination.
fn last_of_compressed(header: &[u8], left: usize, current: &Address6) -> Option<Address6> {
    let &[_, _, _, _, common, padding, ..] = header else { return None };
    let (each, last) = (16 - usize::from(common >> 4), 16 - usize::from(common & 15));
    let list = header.get(FIXED_BYTES..header.len().checked_sub(usize::from(padding >> 4))?)?;
    let before_last = list.len().checked_sub(last)?;
    let is_sound = before_last.is_multiple_of(each) && left <= before_last / each + 1;
    let mut address = *current;
    address.get_mut(16 - last..)?.copy_from_slice(list.get(before_last..)?);
    Some(address).filter(|_| is_sound)
}

/// RFC 8754 section 2: the last segment comes first. One more may be left than there are: the destination stands for it (section 4.1.1).
fn first_of_segments(header: &[u8], left: usize) -> Option<Address6> {
    let segments = usize::from(*header.get(4)?) + 1;
    let list = header.get(FIXED_BYTES..)?.get(..segments * 16)?;
    list.first_chunk().copied().filter(|_| left <= segments)
}

/// Among destination options, the address that stands for the source.
pub(super) fn home_address(options: &[u8]) -> Option<Address6> {
    option(options, HOME_ADDRESS).copied()
}

/// Content of the first option of a kind and length (RFC 8200 section 4.2).
pub(super) fn option<const N: usize>(mut options: &[u8], kind: u8) -> Option<&[u8; N]> {
    loop {
        match *options {
            // The one option without a length: a single byte of padding.
            [0, ref rest @ ..] => options = rest,
            [found, length, ref rest @ ..] if found == kind && usize::from(length) == N => return rest.first_chunk(),
            [_, length, ref rest @ ..] => options = rest.get(usize::from(length)..)?,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Address6 = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x77];

    fn address(last: u8) -> Address6 {
        let mut address = NOW;
        address[15] = last;
        address
    }

    fn header(kind: u8, left: u8, four: [u8; 4], list: &[u8]) -> Vec<u8> {
        [&[6, (list.len() / 8) as u8, kind, left], &four[..], list].concat()
    }

    #[test]
    fn without_segments_left_nothing_changes_whatever_the_type() {
        for kind in 0..=255 {
            assert_eq!(destination(&header(kind, 0, [0; 4], &[9; 32]), &NOW), Destination::Reached);
        }
    }

    #[test]
    fn each_type_has_its_last_address_elsewhere() {
        let both = [address(1), address(2)].concat();
        let of = |kind, left, four, list: &[u8]| destination(&header(kind, left, four, list), &NOW);
        assert_eq!(of(0, 2, [0; 4], &both), Destination::Final(address(2)));
        assert_eq!(of(2, 1, [0; 4], &address(3)), Destination::Final(address(3)));
        assert_eq!(of(4, 1, [1, 0, 0, 0], &both), Destination::Final(address(1)));
        assert_eq!(of(4, 2, [1, 0, 0, 0], &both), Destination::Final(address(1)), "a reduced list");
        // Fifteen bytes in common for both; six of padding.
        assert_eq!(of(3, 2, [0xff, 6 << 4, 0, 0], &[4, 5, 0, 0, 0, 0, 0, 0]), Destination::Final(address(5)));
        // Fourteen for those before the last, none for it; six of padding.
        let list = [&[0, 4][..], &address(6), &[0; 6]].concat();
        assert_eq!(of(3, 1, [0xe0, 6 << 4, 0, 0], &list), Destination::Final(address(6)));
    }

    #[test]
    fn behind_a_list_of_segments_stand_other_things() {
        let with_tag = [&address(1)[..], &[5, 6, 0, 0, 0, 0, 0, 0]].concat();
        assert_eq!(destination(&header(4, 1, [0; 4], &with_tag), &NOW), Destination::Final(address(1)));
    }

    #[test]
    fn what_contradicts_itself_or_is_unknown_hides_the_way() {
        let of = |kind, left, four, list: &[u8]| destination(&header(kind, left, four, list), &NOW);
        let cases = [
            of(0, 3, [0; 4], &[1; 32]),
            of(0, 1, [0; 4], &[1; 24]),
            of(2, 1, [0; 4], &[1; 32]),
            of(3, 3, [0xff, 6 << 4, 0, 0], &[4, 5, 0, 0, 0, 0, 0, 0]),
            of(3, 1, [0xff, 15 << 4, 0, 0], &[4, 5, 0, 0, 0, 0, 0, 0]),
            of(3, 1, [0, 0, 0, 0], &[4, 5, 0, 0, 0, 0, 0, 0]),
            of(4, 1, [2, 0, 0, 0], &[1; 32]),
            of(4, 4, [1, 0, 0, 0], &[1; 32]),
            of(4, 1, [255, 0, 0, 0], &[1; 32]),
            of(5, 1, [0; 4], &[1; 32]),
            destination(&[6, 0], &NOW),
        ];
        assert!(cases.iter().all(|case| *case == Destination::Hidden), "{cases:?}");
    }

    #[test]
    fn a_home_address_stands_among_other_options() {
        let with_padding = [&[0, 1, 2, 0, 0, HOME_ADDRESS, 16][..], &address(8)].concat();
        assert_eq!(home_address(&with_padding), Some(address(8)));
        assert_eq!(home_address(&with_padding[..20]), None);
        assert_eq!(home_address(&[HOME_ADDRESS, 2, 1, 1]), None);
    }
}
