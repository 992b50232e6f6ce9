//! A JSON document being written: keys, brackets, lists and strings. What stands in it is said in `json`.

use crate::output::describe::visitor::Common;
use crate::output::fixed::Seconds;
use crate::output::key::Key;

/// Bytes gathered before they are written: few enough that a writer which copies them finds them in a near cache.
pub(super) const BUFFER_BYTES: usize = 64 << 10;

/// Nothing in it has to be escaped. All bytes are asked, many at a time, which is less than stopping at the first.
fn is_plain(text: &str) -> bool {
    let plain = |byte: u8| (b' '..=b'~').contains(&byte) & !matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&');
    text.bytes().fold(true, |all, byte| all & plain(byte))
}

/// A JSON document being written. Every member and item ends with a comma; the brace or bracket that closes takes the
/// place of the last one.
pub(super) struct Json {
    pub(super) out: Vec<u8>,
    /// Texts of the parts that connections have in common; empty until the first of them was written.
    pub(super) common: [Vec<u8>; Common::COUNT],
    pub(super) seconds: Seconds,
    /// Limits are reported run by run, too.
    pub(super) with_runs: bool,
}

impl Json {
    pub(super) fn new(with_runs: bool) -> Self {
        Self { out: Self::room(), common: Default::default(), seconds: Seconds::default(), with_runs }
    }

    /// For what is gathered, and the connection that completes it.
    pub(super) fn room() -> Vec<u8> {
        Vec::with_capacity(BUFFER_BYTES + 16_384)
    }

    #[inline]
    pub(super) fn key(&mut self, key: Key) {
        self.constant(key.texts().quoted);
    }

    pub(super) fn string_key(&mut self, key: &str) {
        self.string(key);
        self.out.push(b':');
    }

    /// Text that needs no escapes.
    #[inline(always)]
    pub(super) fn constant(&mut self, text: &'static str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// A key with what `push` makes of its value, or nothing or null if there is none. `unset` is the whole member if the value is
    /// zero or false.
    #[inline(always)]
    pub(super) fn member<T>(
        &mut self,
        key: Key,
        value: Option<T>,
        unset: Option<&'static str>,
        push: impl FnOnce(&mut Self, T),
    ) {
        match (value, unset) {
            (None, _) if key.is_written(false, false) => self.constant(key.texts().null),
            (Some(_), Some(text)) if key.is_written(true, false) => self.constant(text),
            (Some(value), None) => {
                self.key(key);
                push(self, value);
            }
            _ => {}
        }
    }

    /// Closes an object or a list.
    #[inline]
    pub(super) fn close(&mut self, bracket: u8) {
        match self.out.last_mut() {
            Some(last) if *last == b',' => *last = bracket,
            _ => self.out.push(bracket),
        }
        self.out.push(b',');
    }

    /// A string from a file or a peer: control characters (C1 and those of writing direction, too), quotes and what HTML could take
    /// for markup are escaped.
    pub(super) fn string(&mut self, text: &str) {
        self.out.push(b'"');
        if is_plain(text) {
            self.out.extend_from_slice(text.as_bytes());
        } else {
            self.escaped(text);
        }
        self.out.push(b'"');
    }

    fn escaped(&mut self, text: &str) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        for character in text.chars() {
            match character {
                '"' => self.out.extend_from_slice(b"\\\""),
                '\\' => self.out.extend_from_slice(b"\\\\"),
                '\0'..='\u{1f}'
                | '\u{7f}'..='\u{9f}'
                | '<'
                | '>'
                | '&'
                | '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}' => {
                    let digit = |place: usize| HEX[character as usize >> (4 * place) & 15];
                    self.out.extend_from_slice(&[b'\\', b'u', digit(3), digit(2), digit(1), digit(0)]);
                }
                _ => self.out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }

    /// A word of our own, which needs no escapes.
    #[inline]
    pub(super) fn word_item(&mut self, word: &'static str) {
        self.out.push(b'"');
        self.word_end(word);
    }

    /// The same behind the quote that begins it.
    #[inline]
    pub(super) fn word_end(&mut self, word: &'static str) {
        debug_assert!(is_plain(word), "{word}");
        self.out.extend_from_slice(word.as_bytes());
        self.out.extend_from_slice(b"\",");
    }

    pub(super) fn text_item(&mut self, text: &str) {
        self.string(text);
        self.out.push(b',');
    }

    /// A list; `item` writes one, with its comma.
    pub(super) fn list<T>(&mut self, key: Key, items: impl Iterator<Item = T>, mut item: impl FnMut(&mut Self, T)) {
        self.key(key);
        self.out.push(b'[');
        for value in items {
            item(self, value);
        }
        self.close(b']');
    }
}
