//! DER (X.690) as far as the names in a certificate need it: one element after the other, nothing copied, no recursion.

/// Tags that are read.
pub(super) mod tag {
    pub const BOOLEAN: u8 = 0x01;
    pub const OCTET_STRING: u8 = 0x04;
    pub const OBJECT_IDENTIFIER: u8 = 0x06;
    pub const SEQUENCE: u8 = 0x30;
    pub const SET: u8 = 0x31;
    /// `[0]` constructed: the version of a certificate.
    pub const VERSION: u8 = 0xa0;
    /// `[3]` constructed: the extensions of a certificate.
    pub const EXTENSIONS: u8 = 0xa3;
    /// `[2]` primitive: a DNS name among alternative names.
    pub const DNS_NAME: u8 = 0x82;
}

/// An element: its tag, and its content or as much of that as is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Element<'a> {
    pub(super) tag: u8,
    pub(super) content: &'a [u8],
    /// The content is there to its end.
    pub(super) whole: bool,
}

/// Elements that follow each other. Ends at what is malformed (a tag of several bytes, an indefinite length) or cut off.
#[derive(Debug, Clone, Copy)]
pub(super) struct Elements<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Element<'a>> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            // No certificate is longer than the three bytes of a TLS length can say.
            0x81..=0x83 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 3))?;
                (bytes.iter().fold(0, |length, &byte| length << 8 | usize::from(byte)), rest)
            }
            _ => {
                self.0 = &[];
                return None;
            }
        };
        let whole = length <= rest.len();
        let (content, after) = rest.split_at(length.min(rest.len()));
        self.0 = after;
        (tag & 0x1f != 0x1f).then_some(Element { tag, content, whole })
    }
}

impl<'a> Elements<'a> {
    /// The next element's content, if it has this tag.
    pub(super) fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|element| element.tag == tag).map(|element| element.content)
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_lengths_are_read() {
        let long = [&[0x04, 0x82, 0x01, 0x00][..], &[7; 256], &[0x05, 0x00]].concat();
        let found: Vec<(u8, usize, bool)> = Elements(&long).map(|e| (e.tag, e.content.len(), e.whole)).collect();
        assert_eq!(found, [(0x04, 256, true), (0x05, 0, true)]);
    }

    #[test]
    fn what_is_cut_or_odd_ends_the_walk() {
        assert_eq!(Elements(&[0x30, 0x05, 1, 2]).next(), Some(Element { tag: 0x30, content: &[1, 2], whole: false }));
        assert_eq!(Elements(&[0x30]).next(), None);
        assert_eq!(Elements(&[0x30, 0x80, 0, 0]).next(), None, "indefinite");
        assert_eq!(Elements(&[0x30, 0x84, 0, 0, 0, 0]).next(), None, "more than a message can hold");
        assert_eq!(Elements(&[0x3f, 0x01, 0]).next(), None, "tag of several bytes");
    }
}
