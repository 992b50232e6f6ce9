//! Numbers as text, eight digits at a time and with trailing zeros cut: exact for nanoseconds, and many times faster than
//! shortest-float printing.

const EIGHT_DIGITS: u64 = 100_000_000;
/// Eight times the character `0`.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// The digits of a value below 10^8, one in each byte, the first in the lowest.
///
/// Two numbers of four digits, then four of two, then eight of one, side by side in one register. The divisions are
/// multiplications by a reciprocal, exact for numbers of so few digits.
#[inline]
fn eight_digits(value: u64) -> u64 {
    let halves = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((halves * 5243) >> 19) & 0x0000_007f_0000_007f;
    let pairs = hundreds | ((halves - hundreds * 100) << 16);
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((pairs - tens * 10) << 8)
}

/// Appends as many of these characters as are to be kept.
#[inline]
fn push_some<const N: usize>(out: &mut Vec<u8>, characters: [u8; N], keep: usize) {
    let length = out.len() + keep;
    // All and back again: a copy of a length that varies costs more.
    out.extend_from_slice(&characters);
    out.truncate(length);
}

/// Appends an unsigned integer and the character `end`.
#[inline]
pub fn push_unsigned(out: &mut Vec<u8>, value: u64, end: u8) {
    if value < 10 {
        out.extend_from_slice(&[b'0' + value as u8, end]);
    } else {
        push_digits(out, value, end);
    }
}

fn push_digits(out: &mut Vec<u8>, value: u64, end: u8) {
    // Seven digits leave room for the end.
    if value < EIGHT_DIGITS / 10 {
        let digits = eight_digits(value);
        let leading = digits.trailing_zeros() / 8;
        let text = ((digits | ZEROS) >> (8 * leading)) | (u64::from(end) << (64 - 8 * leading));
        push_some(out, text.to_le_bytes(), 9 - leading as usize);
    } else {
        push_many_digits(out, value);
        out.push(end);
    }
}

fn push_many_digits(out: &mut Vec<u8>, value: u64) {
    let digits = eight_digits(value % EIGHT_DIGITS);
    let leading = if value >= EIGHT_DIGITS {
        push_many_digits(out, value / EIGHT_DIGITS);
        0
    } else {
        digits.trailing_zeros() / 8
    };
    push_some(out, ((digits | ZEROS) >> (8 * leading)).to_le_bytes(), 8 - leading as usize);
}

/// Appends a signed integer and the character `end`.
#[inline]
pub fn push_signed(out: &mut Vec<u8>, value: i64, end: u8) {
    if value < 0 {
        out.push(b'-');
    }
    push_unsigned(out, value.unsigned_abs(), end);
}

/// Appends `value / 10^DECIMALS` (nine decimals at most) and the character `end`: without trailing zeros, but always with
/// a decimal. Readers that take a column's type from its first values would cut all others down to integers.
pub fn push_fixed<const DECIMALS: u32>(out: &mut Vec<u8>, value: i64, end: u8) {
    let scale = const { 10u64.pow(DECIMALS) };
    if value < 0 {
        out.push(b'-');
    }
    let magnitude = value.unsigned_abs();
    let whole = magnitude / scale;
    let billionths = (magnitude % scale) * const { 10u64.pow(9 - DECIMALS) };
    let first_decimal = b'0' + (billionths / EIGHT_DIGITS) as u8;
    let others = eight_digits(billionths % EIGHT_DIGITS);
    let keep = 8 - others.leading_zeros() as usize / 8;
    // All that stands side by side goes in one piece, however many digits it turns out to be.
    let others = u128::from(others | ZEROS);
    if whole < 10 {
        let front = [b'0' + whole as u8, b'.', first_decimal, 0];
        let text = u128::from(u32::from_le_bytes(front)) | (others << 24);
        push_some(out, text.to_le_bytes(), 3 + keep);
    } else {
        push_digits(out, whole, b'.');
        push_some(out, (u128::from(first_decimal) | (others << 8)).to_le_bytes(), 1 + keep);
    }
    out.push(end);
}

/// The numbers of one byte, each with a point behind it, and how many characters that is.
static OCTETS: [([u8; 4], u8); 256] = octets();

const fn octets() -> [([u8; 4], u8); 256] {
    let mut octets = [([b'.'; 4], 4); 256];
    let mut value = 0;
    while value < octets.len() {
        let digits = [value / 100, value / 10 % 10, value % 10];
        let leading = (value < 100) as usize + (value < 10) as usize;
        let mut index = leading;
        while index < digits.len() {
            octets[value].0[index - leading] = b'0' + digits[index] as u8;
            index += 1;
        }
        octets[value].1 -= leading as u8;
        value += 1;
    }
    octets
}

/// Appends an IPv4 address.
#[inline]
pub fn push_ipv4(out: &mut Vec<u8>, address: [u8; 4]) {
    for byte in address {
        let (characters, length) = OCTETS[usize::from(byte)];
        push_some(out, characters, usize::from(length));
    }
    out.pop();
}

/// Appends a float and the character `end`: nine decimals below 1, six below a thousand, three below a million, one zero above,
/// which is what a clock of nanoseconds supports; what is not finite or too large as `null`.
pub fn push_float(out: &mut Vec<u8>, value: f64, end: u8) {
    let magnitude = value.abs();
    if magnitude < 1.0 {
        push_fixed::<9>(out, rounded(value * 1e9), end);
    } else if magnitude < 1e3 {
        push_fixed::<6>(out, rounded(value * 1e6), end);
    } else if magnitude < 1e6 {
        push_fixed::<3>(out, rounded(value * 1e3), end);
    } else if magnitude < 9e18 {
        push_fixed::<0>(out, rounded(value), end);
    } else {
        out.extend_from_slice(b"null");
        out.push(end);
    }
}

/// The nearest integer, halves away from zero.
#[inline]
pub fn rounded(value: f64) -> i64 {
    // As `round` does, without the call that it is on processors of the oldest kind.
    (value + 0.5f64.copysign(value)) as i64
}

/// A share or a confidence as every output writes it: more than three places were never meant.
pub fn thousandths(value: f64) -> f64 {
    rounded(value * 1e3) as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What is pushed, less the character that ends it.
    fn text(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = b"before".to_vec();
        push(&mut out);
        let text = String::from_utf8(out).expect("digits");
        text.strip_prefix("before").and_then(|text| text.strip_suffix(',')).expect("both stay").to_owned()
    }

    proptest! {
        #[test]
        fn integers_read_back(value: i64, unsigned: u64) {
            prop_assert_eq!(text(|out| push_signed(out, value, b',')), value.to_string());
            prop_assert_eq!(text(|out| push_unsigned(out, unsigned, b',')), unsigned.to_string());
        }

        #[test]
        fn nanoseconds_read_back_exactly(value in -4_000_000_000_000_000i64..4_000_000_000_000_000) {
            let printed = text(|out| push_fixed::<9>(out, value, b','));
            let seconds: f64 = printed.parse().expect("a number");
            prop_assert_eq!((seconds * 1e9).round() as i64, value);
        }
    }

    proptest! {
        #[test]
        fn floats_read_back_to_seven_digits(magnitude in -9.0f64..18.9, negative: bool) {
            let value = 10f64.powf(magnitude) * if negative { -1.0 } else { 1.0 };
            let printed: f64 = text(|out| push_float(out, value, b',')).parse().expect("a number");
            prop_assert!((printed - value).abs() <= 5.1e-10f64.max(5.1e-7 * value.abs()), "{printed} for {value}");
        }

        #[test]
        fn eight_digits_are_those_of_the_number(value in 0..EIGHT_DIGITS) {
            let characters = (eight_digits(value) | ZEROS).to_le_bytes().to_vec();
            prop_assert_eq!(characters, format!("{value:08}").into_bytes());
        }
    }

    #[test]
    fn no_digit_is_written_that_says_nothing() {
        assert_eq!(text(|out| push_fixed::<9>(out, 1_500_000_000, b',')), "1.5");
        assert_eq!(text(|out| push_fixed::<9>(out, 2_000_000_000, b',')), "2.0");
        assert_eq!(text(|out| push_fixed::<9>(out, 10_000_000_001, b',')), "10.000000001");
        assert_eq!(text(|out| push_fixed::<9>(out, 0, b',')), "0.0");
        assert_eq!(text(|out| push_fixed::<3>(out, -7, b',')), "-0.007");
        assert_eq!(text(|out| push_float(out, 64_256.0, b',')), "64256.0");
        assert_eq!(text(|out| push_float(out, 345_181.836_860_489, b',')), "345181.837");
        assert_eq!(text(|out| push_float(out, -1e-12, b',')), "0.0");
    }

    #[test]
    fn every_octet_of_an_address_is_its_number() {
        for byte in 0..=255 {
            let address = [byte, 1, 255 - byte, 0];
            let mut out = Vec::new();
            push_ipv4(&mut out, address);
            assert_eq!(String::from_utf8_lossy(&out), std::net::Ipv4Addr::from(address).to_string());
        }
    }

    #[test]
    fn what_is_no_number_is_null() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e19] {
            assert_eq!(text(|out| push_float(out, value, b',')), "null");
        }
    }
}
