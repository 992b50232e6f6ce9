//! What passed of a direction in which time: spacing, peaks, the series of bins, and trains of packets.

use crate::tcp::rates::packet_trains::Arrivals;
use crate::tcp::rates::packet_trains::Trains;
use crate::tcp::rates::peaks::PeakRates;
use crate::tcp::rates::series::RateSeries;
use crate::tcp::rates::spacing::Spacing;

/// What passed of a direction in which time.
#[derive(Debug, Default)]
pub struct Rates {
    /// Packet spacing.
    pub spacing: Spacing,
    /// Most bytes in short windows.
    pub peaks: PeakRates,
    /// What was delivered when.
    pub series: RateSeries,
    /// What the path carries where no queue stands, by the data.
    pub arrivals: Arrivals,
    /// The same by its acknowledgements.
    pub answers: Trains,
}

impl Rates {
    /// As new, with the room of its lists.
    pub fn renewed(&mut self) -> Self {
        Self { spacing: self.spacing.renewed(), ..Self::default() }
    }
}
