//! What passed of a direction in which time: spacing, peaks, the series of bins, and trains of packets.

use crate::tcp::events::acked::{Acked, Rejected, RoundTrip};
use crate::tcp::events::context::Context;
use crate::tcp::events::observer::Observer;
use crate::tcp::events::sent::Sent;
use crate::tcp::rates::ack_trains::AckTrains;
use crate::tcp::rates::packet_trains::{Arrivals, TrainPacket, Trains};
use crate::tcp::rates::peaks::PeakRates;
use crate::tcp::rates::series::RateSeries;
use crate::tcp::rates::spacing::Spacing;

/// What passed of a direction in which time.
#[derive(Debug, Clone, Default)]
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
    /// What the path carries, by trains of its acknowledgements, of whatever length.
    pub ack_trains: AckTrains,
}

impl Rates {
    /// As new, with the room of its lists.
    pub fn renewed(&mut self) -> Self {
        Self { spacing: self.spacing.renewed(), ..Self::default() }
    }
}

impl Observer for Rates {
    #[inline(always)]
    fn on_sent(&mut self, sent: &Sent<'_>, _context: &Context) {
        self.spacing.add(sent.data.packet, sent.spacing_ns);
    }

    #[inline(always)]
    fn on_acked(&mut self, acked: &Acked<'_>, _context: &Context) {
        let packet = acked.packet;
        match acked.advances {
            Some(RoundTrip::Sample(newest, _)) => {
                self.series.receiver_loop(newest.until(packet));
                let (time_ns, bytes) = (packet.time_ns, packet.acknowledgement);
                self.answers.add(TrainPacket { time_ns, bytes, sent_ns: newest.time_ns });
                self.ack_trains.add(time_ns, bytes);
            }
            Some(RoundTrip::Rejected(why, _)) => {
                self.answers.interrupt();
                if why == Rejected::LaterCovered {
                    self.ack_trains.add(packet.time_ns, packet.acknowledgement);
                } else {
                    self.ack_trains.interrupt();
                }
            }
            Some(RoundTrip::None) | None => {}
        }
    }
}
