//! The words of outcomes: times, sides, counted things, and ICMP errors.

use crate::decode::icmp::{IcmpError, Meaning};
use crate::tcp::summary::summary::ConnectionSummary;

/// Client (0) or server (1).
pub(crate) fn name(side: usize) -> &'static str {
    ["client", "server"][side & 1]
}

/// A length of time with no more digits than it needs.
pub(crate) fn lasting(time_ns: i64) -> String {
    let time_ns = time_ns.max(0);
    let (value, unit) = match time_ns {
        1_000_000_000.. => (time_ns as f64 / 1e9, "s"),
        1_000_000.. => (time_ns as f64 / 1e6, "ms"),
        _ => (time_ns as f64 / 1e3, "µs"),
    };
    let digits = if value < 99.95 { format!("{value:.1}") } else { format!("{value:.0}") };
    format!("{} {unit}", digits.strip_suffix(".0").unwrap_or(&digits))
}

/// A number with its thing.
pub(crate) fn plural(count: u64, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{} {thing}s", grouped(count)) }
}

/// Digits in groups of three.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// "once", "twice", "5 times".
pub(crate) fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{} times", grouped(count)),
    }
}

/// "seventh" for 7.
pub(crate) fn ordinal(count: u64) -> String {
    const WORDS: [&str; 10] =
        ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];
    let word = count.checked_sub(1).and_then(|index| WORDS.get(usize::try_from(index).ok()?));
    word.map_or_else(|| format!("{count}th"), |word| (*word).to_owned())
}

/// With a capital letter.
pub(crate) fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What an error says.
pub(crate) fn meaning_in_words(error: &IcmpError) -> String {
    match error.meaning() {
        Meaning::PortUnreachable if is_of_protocol(error) => "that TCP is unreachable".to_owned(),
        Meaning::PortUnreachable => "that the port is unreachable".to_owned(),
        Meaning::Prohibited => "that a filter forbids it".to_owned(),
        Meaning::HostUnreachable => "that the host is unreachable".to_owned(),
        Meaning::NetworkUnreachable => "that the network is unreachable".to_owned(),
        Meaning::TooBig => match error.mtu {
            Some(mtu) => format!("that no packet above {} bytes passes", grouped(u64::from(mtu))),
            None => "that the packets are too large".to_owned(),
        },
        Meaning::TimeExceeded => "that the packet passed too many hops".to_owned(),
        Meaning::Other => format!("an error (type {}, code {})", error.kind, error.code),
    }
}

/// It is about the protocol, not the port (RFC 792: code 2).
pub(crate) fn is_of_protocol(error: &IcmpError) -> bool {
    error.from.is_ipv4() && (error.kind, error.code) == (3, 2)
}

/// Who sent the error. Its address is with the ICMP errors of the connection: sentences name none, so that they can be shown around.
pub(crate) fn reporter(summary: &ConnectionSummary, error: &IcmpError) -> &'static str {
    match [0, 1].map(|side| summary.address(side) == error.from) {
        [true, _] => "the client's own host",
        [_, true] => "the server's host",
        _ => "a device on the path",
    }
}

/// The error as evidence.
pub(crate) fn icmp_in_words(summary: &ConnectionSummary, error: &IcmpError) -> String {
    let protocol = if error.from.is_ipv4() { "ICMP" } else { "ICMPv6" };
    let (reporter, meaning) = (reporter(summary, error), meaning_in_words(error));
    format!("{protocol} type {} code {}: {reporter} reports {meaning}", error.kind, error.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_digits_that_they_need() {
        assert_eq!(
            [0, 400_000, 67_000_000_000, 58_710_000_000, 350_400_000_000].map(lasting),
            ["0 µs", "400 µs", "67 s", "58.7 s", "350 s"]
        );
    }

    #[test]
    fn counts_are_words_of_english() {
        assert_eq!([1, 2, 1500].map(times), ["once", "twice", "1,500 times"]);
        assert_eq!([1, 1_234_567].map(|count| plural(count, "SYN")), ["1 SYN", "1,234,567 SYNs"]);
        assert_eq!([7, 12].map(ordinal), ["seventh", "12th"]);
        assert_eq!([capitalised("no ACK"), capitalised("")], ["No ACK", ""]);
    }
}
