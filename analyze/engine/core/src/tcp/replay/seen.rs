//! What a replay is made from.

use crate::tcp::limits::runs::FactorRun;
use crate::tcp::loss::reductions::Reduction;
use crate::tcp::rates::ack_trains::TrainRates;

/// Plain numbers of one direction of a connection that is over.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// What limited it when, and the bytes delivered meanwhile.
    pub runs: &'a [FactorRun],
    /// Recoveries, as far as they are remembered, and how many there were.
    pub reductions: &'a [Reduction],
    /// See `reductions`.
    pub recoveries: u64,
    /// Payload, each position once.
    pub bytes: f64,
    /// Payload of a full segment.
    pub segment_bytes: f64,
    /// From the first packet to the last, seconds.
    pub total_s: f64,
    /// From its first data to the acknowledgement of the last, as they passed, seconds; infinite if that is not known.
    pub data_s: f64,
    /// Round trip without a queue, seconds.
    pub round_trip_s: f64,
    /// An acknowledgement takes so much less time to the capture point than to the sender, seconds.
    pub behind_s: f64,
    /// The side that sends the data has opened the connection.
    pub sender_opens: bool,
    /// How much longer the long round trips were, seconds; 0 where none was seen.
    pub queue_s: f64,
    /// By trains of acknowledgements.
    pub trains: Option<TrainRates>,
    /// The best rate that rounds have shown, bytes/s.
    pub reference_bytes_s: Option<f64>,
    /// What an allowance lets pass at most, bytes/s.
    pub allowed_bytes_s: Option<f64>,
    /// Smallest and largest window that the receiver advertised, bytes; none if the scale is not known.
    pub window_bytes: Option<[f64; 2]>,
    /// How long the receiver kept its window closed, seconds.
    pub closed_window_s: f64,
    /// Most bytes that were ever in flight.
    pub largest_flight_bytes: f64,
    /// A token bucket on the path that drops what exceeds its rate.
    pub policed: bool,
    /// Timers ran out because packets came late: most of what was retransmitted had not been lost.
    pub needless_timeouts: bool,
}
