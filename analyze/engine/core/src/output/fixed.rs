//! Numbers as text, three digits at a time and with trailing zeros cut: exact for nanoseconds, and many times faster than
//! shortest-float printing.

/// What one group of three digits can count to.
const GROUP: u64 = 1000;

/// What two can.
const TWO_GROUPS: u64 = GROUP * GROUP;

/// Eight times the character `0`.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// The three digits of every number below a thousand as text, leading zeros included, the first in the lowest byte.
static GROUPS: [u32; GROUP as usize] = groups();

const fn groups() -> [u32; GROUP as usize] {
    let mut groups = [0; GROUP as usize];
    let mut value = 0;
    while value < groups.len() {
        let number = value as u32;
        groups[value] = 0x30_3030 + ((number / 100) | ((number / 10 % 10) << 8) | ((number % 10) << 16));
        value += 1;
    }
    groups
}

/// The text of a number below a thousand.
#[inline(always)]
fn digits(number: u64) -> u64 {
    u64::from(GROUPS.get(number as usize).copied().unwrap_or_default())
}

/// The text of a number below a million, leading zeros included.
#[inline(always)]
fn six_digits(number: u64) -> u64 {
    digits(number / GROUP) | digits(number % GROUP) << 24
}

/// Appends the first characters of a text, at most as many as it may have.
#[inline(always)]
fn push_some(out: &mut Vec<u8>, text: u64, keep: usize) {
    // Asked here, the way that makes room is a jump out of the function: no register has to be kept for what comes after.
    if out.capacity() - out.len() < size_of::<u64>() {
        return make_room_and_push(out, text, keep);
    }
    let length = out.len() + keep;
    // All and back again: a copy of a length that varies costs more.
    out.extend_from_slice(&text.to_le_bytes());
    out.truncate(length);
}

#[cold]
#[inline(never)]
fn make_room_and_push(out: &mut Vec<u8>, text: u64, keep: usize) {
    out.extend(text.to_le_bytes().into_iter().take(keep));
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

#[inline(never)]
fn push_digits(out: &mut Vec<u8>, value: u64, end: u8) {
    if value >= TWO_GROUPS {
        return push_many_digits(out, value, end);
    }
    let text = six_digits(value);
    // Without a branch on how many digits there are, which nobody can predict. The last is kept in any case.
    let leading = ((text ^ ZEROS) | 1 << 40).trailing_zeros() / 8;
    push_some(out, (text | u64::from(end) << 48) >> (8 * leading), 7 - leading as usize);
}

#[inline(never)]
fn push_many_digits(out: &mut Vec<u8>, value: u64, end: u8) {
    push_digits(out, value / TWO_GROUPS, end);
    // The last six digits take the place of the end.
    out.pop();
    push_some(out, six_digits(value % TWO_GROUPS) | u64::from(end) << 48, 7);
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
#[inline(never)]
pub fn push_fixed<const DECIMALS: u32>(out: &mut Vec<u8>, value: i64, end: u8) {
    match Short::of::<DECIMALS>(out, value) {
        Some(short) => short.push(out, end),
        None => push_long_fixed::<DECIMALS>(out, value, end),
    }
}

/// A number with one digit before the point, in one piece, and how many digits behind the point count.
#[derive(Debug, Default, Clone, Copy)]
struct Short {
    text: u128,
    kept: usize,
}

impl Short {
    /// None where it has more digits, or a sign, or `out` has no room.
    #[inline(always)]
    fn of<const DECIMALS: u32>(out: &Vec<u8>, value: i64) -> Option<Self> {
        let scale = const { 10u64.pow(DECIMALS) };
        // As an unsigned number what is negative is large.
        let magnitude = value as u64;
        if magnitude >= 10 * scale || out.capacity() - out.len() < size_of::<u128>() {
            return None;
        }
        let front = u64::from(b'.') << 8 | (u64::from(b'0') + magnitude / scale);
        let billionths = magnitude % scale * const { 10u64.pow(9 - DECIMALS) };
        // Most clocks show no more than microseconds: all of it is one word then.
        Some(if billionths.is_multiple_of(GROUP) {
            let six = six_digits(billionths / GROUP);
            let kept = 6 - ((six ^ ZEROS) << 16 | 1 << 16).leading_zeros() as usize / 8;
            Self { text: u128::from(front | six << 16), kept }
        } else {
            let Fraction { eight, ninth, kept } = Fraction::of(billionths);
            // Side by side, however many digits are kept.
            Self { text: u128::from(front) | u128::from(eight) << 16 | u128::from(ninth) << 80, kept }
        })
    }

    #[inline(always)]
    fn push(self, out: &mut Vec<u8>, end: u8) {
        let start = out.len();
        out.extend_from_slice(&self.text.to_le_bytes());
        if let Some(place) = out.get_mut(start + 2 + self.kept) {
            *place = end;
        }
        out.truncate(start + 3 + self.kept);
    }
}

/// Nanoseconds as seconds, with the text of those that were written last: of a single sample all quantiles are the same.
#[derive(Debug, Default)]
pub struct Seconds {
    value_ns: i64,
    short: Short,
}

impl Seconds {
    /// As [`push_fixed`].
    #[inline(never)]
    pub fn push(&mut self, out: &mut Vec<u8>, value_ns: i64, end: u8) {
        let is_known = value_ns == self.value_ns && self.short.kept > 0;
        if !is_known || out.capacity() - out.len() < size_of::<u128>() {
            match Short::of::<9>(out, value_ns) {
                Some(short) => *self = Self { value_ns, short },
                None => return push_long_fixed::<9>(out, value_ns, end),
            }
        }
        self.short.push(out, end);
    }
}

/// The same for what has a sign or several digits before the point, or finds no room.
#[inline(never)]
fn push_long_fixed<const DECIMALS: u32>(out: &mut Vec<u8>, value: i64, end: u8) {
    let scale = const { 10u64.pow(DECIMALS) };
    if value < 0 {
        out.push(b'-');
    }
    push_unsigned(out, value.unsigned_abs() / scale, b'.');
    let Fraction { eight, ninth, kept } =
        Fraction::of(value.unsigned_abs() % scale * const { 10u64.pow(9 - DECIMALS) });
    push_some(out, eight, kept.min(8));
    out.extend_from_slice(&[ninth, end]);
    if kept < 9 {
        out.pop();
        if let Some(last) = out.last_mut() {
            *last = end;
        }
    }
}

/// The digits behind a point.
struct Fraction {
    /// The first eight, as text.
    eight: u64,
    ninth: u8,
    /// How many of the nine say something; the first in any case.
    kept: usize,
}

impl Fraction {
    #[inline(always)]
    fn of(billionths: u64) -> Self {
        let millionths = billionths / GROUP;
        let last = digits(billionths % GROUP);
        let eight = digits(millionths / GROUP) | digits(millionths % GROUP) << 24 | last << 48;
        let ninth = (last >> 16) as u8;
        let kept_of_eight = 8 - ((eight ^ ZEROS) | 1).leading_zeros() as usize / 8;
        Self { eight, ninth, kept: if ninth == b'0' { kept_of_eight } else { 9 } }
    }
}

/// The numbers of one byte, each with a point behind it, and how many characters that is.
static OCTETS: [([u8; 8], u8); 256] = octets();

const fn octets() -> [([u8; 8], u8); 256] {
    let mut octets = [([b'.'; 8], 4); 256];
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
        push_some(out, u64::from_le_bytes(characters), usize::from(length));
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

        #[test]
        fn seconds_are_written_alike_again_and_again(times_ns in proptest::collection::vec(-3i64..3, 0..9), scale in 0u32..17) {
            let (mut seconds, mut again, mut plain) = (Seconds::default(), Vec::new(), Vec::new());
            for time_ns in times_ns.iter().map(|time_ns| time_ns * 10i64.pow(scale)) {
                seconds.push(&mut again, time_ns, b',');
                push_fixed::<9>(&mut plain, time_ns, b',');
            }
            prop_assert_eq!(again, plain);
        }

        #[test]
        fn microseconds_are_written_as_short_as_they_can_be(microseconds in 0i64..20_000_000) {
            let printed = text(|out| push_fixed::<9>(out, microseconds * 1000, b','));
            let (whole, part) = (microseconds / 1_000_000, format!("{:06}", microseconds % 1_000_000));
            let kept = part.trim_end_matches('0');
            prop_assert_eq!(printed, format!("{whole}.{}", if kept.is_empty() { "0" } else { kept }));
        }
    }

    proptest! {
        #[test]
        fn floats_read_back_to_seven_digits(magnitude in -9.0f64..18.9, negative: bool) {
            let value = 10f64.powf(magnitude) * if negative { -1.0 } else { 1.0 };
            let printed: f64 = text(|out| push_float(out, value, b',')).parse().expect("a number");
            prop_assert!((printed - value).abs() <= 5.1e-10f64.max(5.1e-7 * value.abs()), "{printed} for {value}");
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
