//! Numbers as text with a fixed number of decimals, trailing zeros cut: exact for nanoseconds, and many times faster than
//! shortest-float printing.

const PAIRS: &[u8; 200] =
    b"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

/// Appends an unsigned integer.
#[inline]
pub fn push_unsigned(out: &mut Vec<u8>, value: u64) {
    if value < 10 {
        out.push(b'0' + value as u8);
    } else {
        push_digits(out, value);
    }
}

fn push_digits(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut start = digits.len();
    while value >= 100 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        start -= 2;
        digits[start..start + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if value >= 10 {
        start -= 2;
        let pair = value as usize * 2;
        digits[start..start + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        start -= 1;
        digits[start] = b'0' + value as u8;
    }
    out.extend_from_slice(&digits[start..]);
}

/// Appends a signed integer.
#[inline]
pub fn push_signed(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push_unsigned(out, value.unsigned_abs());
}

/// Appends `value / 10^DECIMALS`, without trailing zeros (but always as a number with a point or an integer).
#[inline]
pub fn push_fixed<const DECIMALS: usize>(out: &mut Vec<u8>, value: i64) {
    let scale = 10u64.pow(DECIMALS as u32);
    if value < 0 {
        out.push(b'-');
    }
    let magnitude = value.unsigned_abs();
    push_unsigned(out, magnitude / scale);
    let mut fraction = magnitude % scale;
    if fraction == 0 {
        out.extend_from_slice(b".0");
        return;
    }
    let mut length = DECIMALS;
    if DECIMALS > 3 && fraction.is_multiple_of(1000) {
        (fraction, length) = (fraction / 1000, length - 3);
        if DECIMALS > 6 && fraction.is_multiple_of(1000) {
            (fraction, length) = (fraction / 1000, length - 3);
        }
    }
    while fraction.is_multiple_of(10) {
        (fraction, length) = (fraction / 10, length - 1);
    }
    let mut digits = [b'0'; 20];
    digits[0] = b'.';
    let mut place = length;
    while fraction > 0 {
        digits[place] = b'0' + (fraction % 10) as u8;
        fraction /= 10;
        place -= 1;
    }
    out.extend_from_slice(&digits[..=length]);
}

/// Appends a float with `DECIMALS` decimals; what is not finite or too large as `null`.
#[inline]
pub fn push_float<const DECIMALS: usize>(out: &mut Vec<u8>, value: f64) {
    let scaled = value * 10f64.powi(DECIMALS as i32);
    if scaled.is_finite() && scaled.abs() < 9e18 {
        push_fixed::<DECIMALS>(out, scaled.round() as i64);
    } else if value.is_finite() && value.abs() < 9e18 {
        push_fixed::<0>(out, value.round() as i64);
    } else {
        out.extend_from_slice(b"null");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).expect("digits")
    }

    proptest! {
        #[test]
        fn integers_read_back(value: i64, unsigned: u64) {
            prop_assert_eq!(text(|out| push_signed(out, value)), value.to_string());
            prop_assert_eq!(text(|out| push_unsigned(out, unsigned)), unsigned.to_string());
        }

        #[test]
        fn nanoseconds_read_back_exactly(value in -4_000_000_000_000_000i64..4_000_000_000_000_000) {
            let printed = text(|out| push_fixed::<9>(out, value));
            let seconds: f64 = printed.parse().expect("a number");
            prop_assert_eq!((seconds * 1e9).round() as i64, value);
        }
    }

    #[test]
    fn zeros_are_cut_but_a_decimal_stays() {
        assert_eq!(text(|out| push_fixed::<9>(out, 1_500_000_000)), "1.5");
        assert_eq!(text(|out| push_fixed::<9>(out, 2_000_000_000)), "2.0");
        assert_eq!(text(|out| push_fixed::<3>(out, -7)), "-0.007");
        assert_eq!(text(|out| push_float::<3>(out, f64::NAN)), "null");
    }
}
