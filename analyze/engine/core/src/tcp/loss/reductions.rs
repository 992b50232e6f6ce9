//! Where congestion control had reason to reduce its window: the recoveries of a direction, by position.

/// Recoveries remembered; of more only the number is known.
const MOST: usize = 2048;

/// A recovery that began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reduction {
    /// Position up to which all data had been delivered, what was reported selectively added to it.
    pub position: u64,
    /// Bytes in flight in the round trip before.
    pub flight_bytes: u32,
    /// A timer began it.
    pub by_timeout: bool,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Reductions {
    list: Vec<Reduction>,
    count: u64,
}

impl Reductions {
    /// Another one.
    pub fn push(&mut self, reduction: Reduction) {
        self.count += 1;
        if self.list.len() < MOST {
            self.list.push(reduction);
        }
    }

    /// Their positions from the first byte of the stream on.
    pub fn since(mut self, base: u64) -> Self {
        self.list.iter_mut().for_each(|one| one.position = one.position.saturating_sub(base));
        self
    }

    /// The first of them, in order.
    pub fn list(&self) -> &[Reduction] {
        &self.list
    }

    /// All of them.
    pub fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_are_remembered_are_counted() {
        let mut reductions = Reductions::default();
        let one = Reduction { position: 1, flight_bytes: 2, by_timeout: false };
        (0..3000).for_each(|position| reductions.push(Reduction { position, ..one }));
        assert_eq!((reductions.list().len(), reductions.count()), (MOST, 3000));
        assert_eq!(reductions.list()[0].position, 0);
    }
}
