//! The numbers of a chunk's packets among all packets: one after the other, or with others between that are analysed elsewhere.

/// See the module.
#[derive(Debug, Clone, Copy)]
pub struct Orders<'a> {
    first: u64,
    places: &'a [u64],
}

impl<'a> Orders<'a> {
    /// All packets from number `first` on.
    pub fn from(first: u64) -> Self {
        Self { first, places: &[] }
    }

    /// Packets with these places behind the first `before` packets, ascending.
    pub fn of_places(before: u64, places: &'a [u64]) -> Self {
        Self { first: before, places }
    }

    /// The number of the packet at an index.
    #[inline]
    pub fn at(&self, index: usize) -> u64 {
        self.first + self.places.get(index).copied().unwrap_or(index as u64)
    }

    /// The number behind that of the last of `count` packets.
    #[inline]
    pub fn end(&self, count: usize) -> u64 {
        self.first + self.places.last().map_or(count as u64, |last| last + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_numbered_one_by_one_or_by_their_places() {
        let one_by_one = Orders::from(10);
        assert_eq!([one_by_one.at(0), one_by_one.at(3), one_by_one.end(4), one_by_one.end(0)], [10, 13, 14, 10]);
        let apart = Orders::of_places(100, &[2, 5, 9]);
        assert_eq!([apart.at(0), apart.at(2), apart.end(3)], [102, 109, 110]);
    }
}
