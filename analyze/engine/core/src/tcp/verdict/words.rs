//! Numbers in the words of a sentence: shares, times, rates and amounts, each with its unit.

/// A share, in whole percent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A small share, in hundredths of a percent; what is little is not shown as nothing.
pub(crate) fn fine_percent(share: f64) -> String {
    let is_seen = share <= 0.0 || share >= 0.00005;
    if is_seen { format!("{:.2} %", share * 100.0) } else { "less than 0.01 %".to_owned() }
}

/// A length of time, with its unit; what is little is not shown as nothing.
pub(crate) fn seconds(time_ns: u64) -> String {
    match time_ns {
        1_000_000_000.. => format!("{:.1} s", time_ns as f64 / 1e9),
        1_000_000.. | 0 => format!("{:.0} ms", time_ns as f64 / 1e6),
        _ => format!("{:.0} µs", (time_ns as f64 / 1e3).ceil()),
    }
}

/// A length of time with three digits, for what is compared.
pub(crate) fn fine_seconds(time_ns: u64) -> String {
    let mut text = String::new();
    push_fine_seconds(&mut text, time_ns);
    text
}

/// The same behind what stands in `text`. Each connection with requests has some, so that no formatter is asked.
pub(crate) fn push_fine_seconds(text: &mut String, time_ns: u64) {
    // The last digit that is shown, and how many stand behind the point.
    let (last_ns, decimals, unit) = match time_ns {
        1_000_000_000.. => (10_000_000, 2, " s"),
        100_000_000.. => (1_000_000, 0, " ms"),
        10_000_000.. => (100_000, 1, " ms"),
        1_000_000.. => (10_000, 2, " ms"),
        _ => {
            push_decimal(text, time_ns.div_ceil(1000), 0);
            return text.push_str(" µs");
        }
    };
    push_decimal(text, time_ns / last_ns + u64::from(time_ns % last_ns >= last_ns / 2), decimals);
    text.push_str(unit);
}

/// Appends an integer whose last `decimals` digits stand behind the point.
pub(crate) fn push_decimal(text: &mut String, value: u64, decimals: u32) {
    // The last digit first: each place is divided by a constant.
    let (mut digits, mut left) = ([0; MOST_CHARACTERS], value);
    let (mut first, mut places) = (digits.len(), 0);
    while left > 0 || places <= decimals {
        first -= 1;
        digits[first] = b'0' + (left % 10) as u8;
        (left, places) = (left / 10, places + 1);
        if places == decimals {
            first -= 1;
            digits[first] = b'.';
        }
    }
    digits[first..].iter().for_each(|&digit| text.push(char::from(digit)));
}

/// An integer has at most 20 digits; behind the point stand fewer.
const MOST_CHARACTERS: usize = 24;

/// Bits per second with three digits.
pub fn rate(bps: f64) -> String {
    let (value, unit) = match bps {
        bps if bps < 1e3 => return format!("{bps:.0} bit/s"),
        bps if bps >= 1e9 => (bps / 1e9, "Gbit/s"),
        bps if bps >= 1e6 => (bps / 1e6, "Mbit/s"),
        bps => (bps / 1e3, "kbit/s"),
    };
    if value >= 100.0 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

/// An amount, with its unit.
pub(crate) fn bytes(count: f64) -> String {
    match count {
        count if count >= 1e6 => format!("{:.1} MB", count / 1e6),
        count if count >= 1e3 => format!("{:.0} kB", count / 1e3),
        count => format!("{count:.0} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_little_is_not_told_as_nothing() {
        assert_eq!(
            [0, 300, 400_000, 1_000_000, 1_500_000_000].map(seconds),
            ["0 ms", "1 µs", "400 µs", "1 ms", "1.5 s"]
        );
        assert_eq!([400.0, 1000.0, 64_256.0, 2.5e6].map(bytes), ["400 bytes", "1 kB", "64 kB", "2.5 MB"]);
        assert_eq!(
            [40.0, 999.0, 1000.0, 12e6, 345e6].map(rate),
            ["40 bit/s", "999 bit/s", "1.0 kbit/s", "12.0 Mbit/s", "345 Mbit/s"]
        );
        assert_eq!(
            [300, 20_000, 1_500_000, 12_340_000, 80_020_000, 235_000_000, 1_500_000_000].map(fine_seconds),
            ["1 µs", "20 µs", "1.50 ms", "12.3 ms", "80.0 ms", "235 ms", "1.50 s"]
        );
        assert_eq!(
            [0, 1_004_999, 1_005_000, 9_999_999, 999_999_999, 12_345_678_901].map(fine_seconds),
            ["0 µs", "1.00 ms", "1.01 ms", "10.00 ms", "1000 ms", "12.35 s"]
        );
        assert_eq!([0.0, 1e-6, 0.0123].map(fine_percent), ["0.00 %", "less than 0.01 %", "1.23 %"]);
    }
}
