//! Lists of a connection that were full: what a peer sends must not take any room it likes, so the oldest entries are forgotten. What
//! is said of the connection may then be less than exact, and says so.
//!
//! Rule: docs/methods.md, "Bounds of what is remembered".

/// A list that has a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListBound {
    /// Data passed over.
    Holes,
    /// What the receiver reports selectively.
    SackBlocks,
    /// Retransmissions, and what D-SACKs say of them.
    Retransmissions,
    /// Data that came twice, until it is known who made the copy.
    Copies,
    /// Data that waits for its acknowledgement.
    Segments,
    /// Acknowledgements on their way from the capture point to the sender.
    Acknowledgements,
    /// Pauses whose cause is not known yet.
    Pauses,
    /// SYN-ACKs with numbers of their own.
    SynAcks,
    /// Resets.
    Resets,
}

impl ListBound {
    /// All, by number.
    pub const ALL: [Self; 9] = [
        Self::Holes,
        Self::SackBlocks,
        Self::Retransmissions,
        Self::Copies,
        Self::Segments,
        Self::Acknowledgements,
        Self::Pauses,
        Self::SynAcks,
        Self::Resets,
    ];

    /// As reports name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holes => "holes",
            Self::SackBlocks => "sack_blocks",
            Self::Retransmissions => "retransmissions",
            Self::Copies => "copies",
            Self::Segments => "segments",
            Self::Acknowledgements => "acknowledgements",
            Self::Pauses => "pauses",
            Self::SynAcks => "syn_acks",
            Self::Resets => "resets",
        }
    }
}

/// Those that were reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BoundsReached(u16);

impl BoundsReached {
    /// One more, if it was.
    pub fn add(&mut self, bound: ListBound, is_reached: bool) {
        self.0 |= u16::from(is_reached) << bound as u16;
    }

    /// None was.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// All of them.
    pub fn list(self) -> impl Iterator<Item = ListBound> {
        ListBound::ALL.into_iter().filter(move |bound| self.0 & 1 << *bound as u16 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_were_reached_come_back_in_their_order() {
        let mut reached = BoundsReached::default();
        assert!(reached.is_empty());
        for (bound, is_reached) in [(ListBound::Resets, true), (ListBound::Pauses, false), (ListBound::Holes, true)] {
            reached.add(bound, is_reached);
        }
        assert_eq!(reached.list().map(ListBound::name).collect::<Vec<_>>(), ["holes", "resets"]);
    }
}
