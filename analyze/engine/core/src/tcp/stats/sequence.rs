//! Sequence numbers without wrapping: 32-bit wire values to 64-bit positions (RFC 9293 section 3.4).

/// Where positions start, so that values before the first one seen stay positive.
pub const ORIGIN: u64 = 1 << 40;

/// The position nearest to `reference` that has the wire value `sequence`.
#[inline]
pub fn unwrap(reference: u64, sequence: u32) -> u64 {
    let delta = sequence.wrapping_sub(reference as u32) as i32;
    reference.wrapping_add_signed(i64::from(delta))
}

/// The position of the first sequence number seen of a direction.
#[inline]
pub fn first_position(sequence: u32) -> u64 {
    ORIGIN + u64::from(sequence)
}

/// `a - b` of 32-bit serial numbers (timestamps), RFC 1982.
#[inline]
pub fn serial_difference(a: u32, b: u32) -> i32 {
    a.wrapping_sub(b) as i32
}

/// `a - b` of 16-bit serial numbers (IP identification), RFC 1982.
#[inline]
pub fn serial_difference_16(a: u16, b: u16) -> i16 {
    a.wrapping_sub(b) as i16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_position_within_half_the_space_is_found_again(start in ORIGIN..ORIGIN + (1 << 50), step in -0x7fff_ffffi64..0x7fff_ffff) {
            let position = start.wrapping_add_signed(step);
            prop_assert_eq!(unwrap(start, position as u32), position);
        }
    }

    #[test]
    fn the_space_wraps_forward() {
        let start = first_position(0xffff_fff0);
        assert_eq!(unwrap(start, 0x10), start + 0x20);
    }
}
