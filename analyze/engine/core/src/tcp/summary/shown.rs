//! What acknowledgements and the place of the capture show of a direction beside its numbers.

/// In how many flights data was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flights {
    /// Nothing of it was acknowledged.
    NoneAcknowledged,
    /// All of it was sent before any of it was acknowledged.
    One,
    /// More was sent after that.
    Several,
}

/// What acknowledgements and the place of the capture show of a direction, in the room of one byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shown(u8);

impl Shown {
    /// More than one flight, as far as is known; neither the place nor foreign reports.
    pub const NOTHING: Self = Self(0);
    const NONE_ACKNOWLEDGED: u8 = 1;
    const ONE_FLIGHT: u8 = 2;
    pub(crate) const BEHIND_SENDER: u8 = 4;
    pub(crate) const FOREIGN_REPORTS: u8 = 8;
    pub(crate) const UNSEEN: u8 = 16;

    /// `behind_sender`: the capture is known to stand behind the sender. `foreign_reports`: too many reports are about other numbers.
    pub fn new(flights: Flights, behind_sender: bool, foreign_reports: bool) -> Self {
        let flights = match flights {
            Flights::NoneAcknowledged => Self::NONE_ACKNOWLEDGED,
            Flights::One => Self::ONE_FLIGHT,
            Flights::Several => 0,
        };
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        Self(flights | bit(behind_sender, Self::BEHIND_SENDER) | bit(foreign_reports, Self::FOREIGN_REPORTS))
    }

    /// Nothing of the direction is in the capture, though it was there.
    pub(crate) fn unseen(self) -> Self {
        Self(self.0 | Self::UNSEEN)
    }

    /// In how many flights data was sent.
    pub fn flights(self) -> Flights {
        match self.0 & (Self::NONE_ACKNOWLEDGED | Self::ONE_FLIGHT) {
            Self::NONE_ACKNOWLEDGED => Flights::NoneAcknowledged,
            Self::ONE_FLIGHT => Flights::One,
            _ => Flights::Several,
        }
    }

    pub(crate) fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_read_as_it_was_written() {
        for flights in [Flights::NoneAcknowledged, Flights::One, Flights::Several] {
            for (behind, foreign) in [(false, true), (true, false)] {
                let shown = Shown::new(flights, behind, foreign);
                assert_eq!(shown.flights(), flights);
                assert_eq!([shown.has(Shown::BEHIND_SENDER), shown.has(Shown::FOREIGN_REPORTS)], [behind, foreign]);
            }
        }
    }
}
