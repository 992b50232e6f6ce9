//! What limited a direction, as its summary keeps it.

use crate::tcp::congestion::evidence::Named;
use crate::tcp::events::factor::Factor;
use crate::tcp::events::holder::Holder;
use crate::tcp::events::sharing::Sharing;
use crate::tcp::limits::inferred_window::InferredWindow;
use crate::tcp::limits::marks::Mark;
use crate::tcp::limits::runs::FactorRun;
use crate::tcp::limits::share::{Share, Shares};
use crate::tcp::limits::tally::{BufferRounds, FullRounds, ReducedRounds, WindowRounds};
use crate::tcp::loss::reductions::Reductions;
use crate::tcp::rates::ack_trains::TrainRates;
use crate::tcp::rates::delivered::DeliveredSeries;

/// What [`crate::tcp::limits::judge::Limits`] comes to.
#[derive(Debug, Clone, Default)]
pub struct LimitsSummary {
    /// Time and bytes by factor.
    pub shares: Shares,
    /// The same, where recovery does not hide what would have limited the transfer without it.
    pub underlying: Shares,
    /// What the transfer reaches when nothing but path and congestion control limits it, bytes/s; none without any such time.
    pub reference_bytes_s: Option<f64>,
    /// What an allowance lets pass at most, bytes/s; none if none is known.
    pub allowed_bytes_s: Option<f64>,
    /// From the first SYN to the last of its retransmissions; none if it was sent once.
    pub syn_retransmitted_ns: Option<u64>,
    /// Time after the last data, to the end of the connection, in which nothing held it back.
    pub after_data_ns: u64,
    /// Packets leave two by two, at a fixed clock.
    pub leaves_in_pairs: bool,
    /// What seemed a send buffer leaves at a fixed clock.
    pub clocked: bool,
    /// Most of the link's time is what congestion control took, and two reductions and its use alone show that.
    pub nearly_full: bool,
    /// The receiver's window, where only the flight shows its scale.
    pub inferred_window: Option<InferredWindow>,
    /// Factors in time order.
    pub runs: Vec<FactorRun>,
    /// Rounds judged.
    pub rounds: u64,
    /// Those of them in which the round trip was seen.
    pub timed_rounds: u64,
    /// Those of them that the congestion window limited.
    pub window_rounds: WindowRounds,
    /// Of the application's time, what its messages were on their way while both sides took turns.
    pub turn_ways_ns: u64,
    /// Those in which the window began to be reduced.
    pub reduced_rounds: ReducedRounds,
    /// Those in which the path seemed to be full.
    pub full_rounds: FullRounds,
    /// What the rounds say that the send buffer seemed to limit.
    pub buffer_rounds: BufferRounds,
    /// Frames along it, in time order.
    pub marks: Vec<Mark>,
    /// What the path carries by trains of acknowledgements.
    pub trains: Option<TrainRates>,
    /// Round trip without a queue, nanoseconds.
    pub shortest_ns: Option<u64>,
    /// Recoveries, by offset in the stream.
    pub reductions: Reductions,
    /// SACK was offered by the client, by the server; both unless it was not agreed.
    pub sack_offered: [bool; 2],
    /// What was delivered when, until limits that connections share are found.
    pub delivered: Option<Box<DeliveredSeries>>,
    /// What was delivered kept to this rate all the time, bits/s of payload.
    pub steady_bps: Option<f64>,
    /// Losses came late, or all at once without a queue: a policer may have dropped what was lost.
    pub policed_losses: bool,
    /// Time after which a host ran again, each time, nanoseconds; none without a rhythm.
    pub stall_period_ns: Option<u64>,
    /// The sender's congestion control, as it is known at the sender; none where nothing showed one.
    pub control: Option<Named>,
    /// The limit that the connection shares with others.
    pub sharing: Option<Box<Sharing>>,
}

/// One entry of the result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// What limited the transfer.
    pub factor: Factor,
    /// For how long.
    pub time_ns: u64,
    /// Share of the whole time that this is, 0 to 1.
    pub fraction: f64,
    /// What the reference rate would have delivered more in that time; none without a reference.
    pub lost_bytes: Option<u64>,
}

impl LimitsSummary {
    /// It stays for long: without room for more.
    pub(crate) fn shrink(&mut self) {
        self.shares.shrink();
        self.underlying.shrink();
        self.runs.shrink_to_fit();
        self.marks.shrink_to_fit();
    }

    /// Nanoseconds judged.
    pub fn time_ns(&self) -> u64 {
        self.shares.iter().map(|(_, share)| share.time_ns).sum()
    }

    /// Nanoseconds in which somebody held the transfer up.
    pub(crate) fn held_ns(&self, holder: Holder) -> u64 {
        self.shares.iter().filter(|(factor, _)| factor.holder() == holder).map(|(_, share)| share.time_ns).sum()
    }

    /// Bytes that the reference rate would have delivered in a share's time beyond what was delivered.
    pub fn lost_bytes(&self, share: &Share) -> Option<u64> {
        let reached = self.reference_bytes_s? * share.time_ns as f64 / 1e9;
        Some((reached - share.bytes as f64).max(0.0) as u64)
    }

    /// Factors that took time, the longest first.
    pub fn list(&self) -> Vec<Limit> {
        let all_ns = self.time_ns().max(1) as f64;
        let mut list: Vec<Limit> = self
            .shares
            .iter()
            .filter(|(_, share)| share.time_ns > 0)
            .map(|(factor, share)| Limit {
                factor,
                time_ns: share.time_ns,
                fraction: share.time_ns as f64 / all_ns,
                lost_bytes: self.lost_bytes(&share),
            })
            .collect();
        list.sort_by_key(|limit| std::cmp::Reverse(limit.time_ns));
        list
    }
}
