//! The opening of a connection as a limit: time from the first SYN to the first data.

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::share::{Share, Shares};

/// What belongs to setup.
#[derive(Debug, Clone, Copy)]
pub struct Opening {
    /// First packet of the connection.
    pub start_ns: i64,
    /// First data of the direction.
    pub first_data_ns: i64,
    /// End of the TCP handshake, and of the TLS handshake if there is one.
    pub end_ns: i64,
    /// When the sender had heard what it answers with its first data: up to then it waited for the other side. None if that had
    /// said nothing.
    pub asked_ns: Option<i64>,
    /// SYN and its last retransmission, SYN-ACK and its last, and the acknowledgement, as far as they were seen: when, and the frame.
    pub handshake: [Option<(i64, u32)>; 5],
    /// First frame of the connection.
    pub frame: u32,
    /// What passed first was retransmitted by a timer.
    pub waited_for_timer: bool,
}

/// A run is named by the longest part of its rounds: what is more than that part comes from what a handshake looks like.
pub(crate) fn move_to_setup(shares: &mut Shares, mut wanted: Share, from: Factor) {
    for factor in [from, Factor::Idle, Factor::Application] {
        let moved = shares[factor as usize].take(wanted);
        wanted.take(moved);
        shares[Factor::Setup as usize].add(moved);
    }
}

#[cfg(test)]
mod tests {
    use super::Opening;
    use crate::tcp::events::factor::Factor;
    use crate::tcp::limits::runs::Run;
    use crate::tcp::limits::share::Share;
    use crate::tcp::limits::summary::LimitsSummary;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn a_run_across_the_end_of_the_handshake_is_setup_up_to_there() {
        let mut summary = LimitsSummary::default();
        for shares in [&mut summary.shares, &mut summary.underlying] {
            shares[Factor::Idle as usize] = Share { time_ns: 1_000_000_000, bytes: 0 };
            shares[Factor::Application as usize] = Share { time_ns: 1_000_000_000, bytes: 800 };
        }
        summary.runs =
            vec![Run { start_ns: SECOND, end_ns: 3 * SECOND, factor: Factor::Idle, bytes: 800, frames: [4, 9] }];
        let (start_ns, first_data_ns, end_ns) = (0, SECOND, 5 * SECOND / 2);
        summary.take_opening(Opening {
            start_ns,
            first_data_ns,
            end_ns,
            asked_ns: None,
            handshake: [None; 5],
            frame: 1,
            waited_for_timer: false,
        });
        let times_ns = |factor: Factor| summary.shares[factor as usize].time_ns;
        let all = [Factor::Setup, Factor::Idle, Factor::Application].map(times_ns);
        assert_eq!(all, [2_500_000_000, 0, 500_000_000], "of 3 s");
        let runs: Vec<_> = summary.runs.iter().map(|run| (run.factor, run.start_ns, run.end_ns)).collect();
        assert_eq!(runs, [(Factor::Setup, 0, end_ns), (Factor::Idle, end_ns, 3 * SECOND)]);
    }
}
