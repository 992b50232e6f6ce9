//! One domain name out of a message (RFC 1035 sections 3.1 and 4.1.4).

/// Longest name on the wire with all its length bytes (RFC 1035 section 2.3.4).
const MAX_NAME_BYTES: usize = 255;

/// The two upper bits of a length byte that make it a pointer.
const POINTER: u8 = 0xc0;

/// Reads the name at `start` of a message: lower case, without the last dot ("" is the root), bytes that no host name has
/// as `\DDD` (RFC 4343 section 2.1). With it comes the offset behind the name. None if the name is malformed, runs in
/// circles or is not there to its end.
pub(super) fn read(message: &[u8], start: usize) -> Option<(String, usize)> {
    let mut text = String::new();
    let (mut at, mut limit, mut end) = (start, start, None);
    let mut wire_bytes = 1;
    loop {
        let length = *message.get(at)?;
        if length & POINTER == POINTER {
            let target = usize::from(u16::from_be_bytes([length & !POINTER, *message.get(at + 1)?]));
            end.get_or_insert(at + 2);
            // Only to what stands before everything read so far: so no name can run in circles.
            if target >= limit {
                return None;
            }
            (at, limit) = (target, target);
            continue;
        }
        if length & POINTER != 0 {
            return None;
        }
        if length == 0 {
            return Some((text, end.unwrap_or(at + 1)));
        }
        let label = message.get(at + 1..at + 1 + usize::from(length))?;
        wire_bytes += 1 + label.len();
        if wire_bytes > MAX_NAME_BYTES {
            return None;
        }
        if !text.is_empty() {
            text.push('.');
        }
        label.iter().for_each(|&byte| push_byte(&mut text, byte));
        at += 1 + label.len();
    }
}

fn push_byte(text: &mut String, byte: u8) {
    match byte {
        b'.' | b'\\' | 0..=b' ' | 0x7f.. => {
            text.push('\\');
            [byte / 100, byte / 10 % 10, byte % 10].into_iter().for_each(|digit| text.push(char::from(b'0' + digit)));
        }
        _ => text.push(char::from(byte.to_ascii_lowercase())),
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_is_followed_backwards() {
        let message = b"\x07Example\x03COM\x00\x03www\xc0\x00\xc0\x0d!";
        assert_eq!(read(message, 0), Some(("example.com".to_owned(), 13)));
        assert_eq!(read(message, 13), Some(("www.example.com".to_owned(), 19)));
        assert_eq!(read(message, 19), Some(("www.example.com".to_owned(), 21)));
    }

    #[test]
    fn circles_and_pointers_ahead_are_no_names() {
        assert_eq!(read(b"\xc0\x00", 0), None);
        assert_eq!(read(b"\x01a\xc0\x00", 0), None);
        assert_eq!(read(b"\xc0\x02\x01a\x00", 0), None);
        assert_eq!(read(b"\x01a\xc0\x04\xc0\x02", 4), None);
    }

    #[test]
    fn odd_bytes_are_escaped_and_reserved_lengths_refused() {
        assert_eq!(read(b"\x04a.\x00\xff\x00", 0), Some(("a\\046\\000\\255".to_owned(), 6)));
        assert_eq!(read(b"\x41a\x00", 0), None);
        assert_eq!(read(b"\x80a\x00", 0), None);
    }

    #[test]
    fn a_name_longer_than_255_bytes_is_none() {
        let label = |count: usize| [b"\x3f".as_slice(), &[b'x'; 63]].concat().repeat(count);
        let long = [label(4), vec![0]].concat();
        assert_eq!(read(&long, 0), None);
        let fits = [label(3), vec![0]].concat();
        assert_eq!(read(&fits, 0).map(|(name, end)| (name.len(), end)), Some((191, 193)));
    }
}
