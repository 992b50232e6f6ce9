//! Numbers on their way to another process: little-endian, one behind the other. What is read may be anything: it is whole or none.

/// Reads what `extend_from_slice` of `to_le_bytes` has written.
#[derive(Debug, Clone, Copy)]
pub struct Packed<'a>(&'a [u8]);

impl<'a> Packed<'a> {
    /// What is to be read.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next bytes; none if they are not all there.
    pub fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (found, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*found)
    }

    /// The next number.
    pub fn u16(&mut self) -> Option<u16> {
        self.bytes().map(u16::from_le_bytes)
    }

    /// The next number.
    pub fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    /// The next number.
    pub fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    /// The next number.
    pub fn i64(&mut self) -> Option<i64> {
        self.bytes().map(i64::from_le_bytes)
    }

    /// The next number.
    pub fn f64(&mut self) -> Option<f64> {
        self.bytes().map(f64::from_le_bytes)
    }

    /// A number of items, then these.
    pub fn list<T>(&mut self, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        (0..self.u32()?).map(|_| one(self)).collect()
    }
}

/// Writes a list as [`Packed::list`] reads it.
pub fn put_list<T>(out: &mut Vec<u8>, list: &[T], one: impl Fn(&mut Vec<u8>, &T)) {
    out.extend_from_slice(&(list.len() as u32).to_le_bytes());
    list.iter().for_each(|item| one(out, item));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_list_comes_back_and_cut_it_is_none(list in proptest::collection::vec(0u64..u64::MAX, 0..20), cut in 1usize..9) {
            let mut bytes = Vec::new();
            put_list(&mut bytes, &list, |out, number| out.extend_from_slice(&number.to_le_bytes()));
            let mut packed = Packed::new(&bytes);
            prop_assert_eq!(packed.list(Packed::u64), Some(list.clone()));
            prop_assert!(packed.is_empty());
            let short = &bytes[..bytes.len().saturating_sub(cut)];
            prop_assert_eq!(Packed::new(short).list(Packed::u64), None);
        }
    }
}
