//! Time and bytes that fall to each limiting factor.

use std::ops::{Index, IndexMut};

use crate::tcp::events::factor::Factor;

/// A gap that has a factor of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CutGap {
    /// Time of the packet before it.
    pub start_ns: i64,
    /// Time of the packet that ended it.
    pub end_ns: i64,
    /// What it was.
    pub factor: Factor,
    /// Frames before and after.
    pub frames: [u32; 2],
    /// The window was full in it.
    pub limited: bool,
    /// Nothing was in flight in it.
    pub idle: bool,
}

/// Time and bytes of one factor.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Share {
    /// Time, nanoseconds.
    pub time_ns: u64,
    /// Bytes delivered in it.
    pub bytes: u64,
}

impl Share {
    /// No time, no bytes.
    const NOTHING: Self = Self { time_ns: 0, bytes: 0 };

    /// Puts another one to it. Clocks that jump back and forth can make more time than a number holds.
    pub(crate) fn add(&mut self, other: Self) {
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// Takes so much out, or what there is.
    pub(crate) fn take(&mut self, wanted: Self) -> Self {
        let taken = Self { time_ns: wanted.time_ns.min(self.time_ns), bytes: wanted.bytes.min(self.bytes) };
        self.time_ns -= taken.time_ns;
        self.bytes -= taken.bytes;
        taken
    }
}

/// Shares of all factors. Few have one in a transfer, and only these take room.
#[derive(Debug, Clone, Default)]
pub struct Shares(Vec<(Factor, Share)>);

impl Shares {
    /// Those that were changed, in the order of the factors. All others are nothing.
    pub fn iter(&self) -> impl Iterator<Item = (Factor, Share)> {
        self.0.iter().copied()
    }

    /// They stay as they are for long: without room for others, or for what came to nothing.
    pub(crate) fn shrink(&mut self) {
        self.0.retain(|(_, share)| *share != Share::NOTHING);
        self.0.shrink_to_fit();
    }

    fn place(&self, factor: Factor) -> Result<usize, usize> {
        self.0.binary_search_by_key(&factor, |(factor, _)| *factor)
    }
}

impl Index<Factor> for Shares {
    type Output = Share;

    fn index(&self, factor: Factor) -> &Share {
        self.place(factor).map_or(&Share::NOTHING, |place| &self.0[place].1)
    }
}

impl IndexMut<Factor> for Shares {
    fn index_mut(&mut self, factor: Factor) -> &mut Share {
        let place = self.place(factor).unwrap_or_else(|place| {
            self.0.insert(place, (factor, Share::NOTHING));
            place
        });
        &mut self.0[place].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_as_they_were_written_in_the_order_of_factors() {
        let mut shares = Shares::default();
        shares[Factor::Idle].add(Share { time_ns: 5, bytes: 1 });
        shares[Factor::Setup].add(Share { time_ns: 7, bytes: 2 });
        shares[Factor::Idle].add(Share { time_ns: 1, bytes: 1 });
        assert_eq!(
            [shares[Factor::Idle].time_ns, shares[Factor::Setup].time_ns, shares[Factor::Unknown].time_ns],
            [6, 7, 0]
        );
        assert_eq!(shares.iter().map(|(factor, _)| factor).collect::<Vec<_>>(), [Factor::Setup, Factor::Idle]);
    }
}
