//! What connections show to be wrong with the captures they were read from, counted for each input when a connection is over:
//! its summary is at hand then, while a look at all of them in the end would fetch each from memory once more.

use crate::tcp::capture::lag::{HostAddress, Lag, add_lag};
use crate::tcp::summary::summary::ConnectionSummary;

/// What was found in the connections of one input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// Bytes acknowledged but never captured, of connections of which both directions are there.
    unseen_acked_bytes: u64,
    /// Connections of which one direction alone is in the capture, and others.
    pub one_direction_connections: u64,
    other_connections: u64,
    /// Frames captured twice.
    pub duplicates: u64,
    /// Frames recorded out of order.
    pub reordered: u64,
    /// Packets with a wrong checksum that no offload explains.
    pub bad_checksums: u64,
}

impl Faults {
    /// Bytes acknowledged but never captured; none where of all connections one direction alone is there.
    pub fn unseen_acked_bytes(&self) -> Option<u64> {
        let is_known = self.one_direction_connections == 0 || self.other_connections > 0;
        is_known.then_some(self.unseen_acked_bytes)
    }
}

/// Faults by the number of the input.
#[derive(Debug, Clone, Default)]
pub struct CaptureFaults {
    by_input: Vec<Faults>,
    lags: Vec<Lag>,
}

impl CaptureFaults {
    /// Those of one input; none were found in one that no connection was seen in.
    pub fn of(&self, input: usize) -> Faults {
        self.by_input.get(input).copied().unwrap_or_default()
    }

    /// Those of an input, to be added to.
    pub fn at(&mut self, input: u16) -> &mut Faults {
        let index = usize::from(input);
        if self.by_input.len() <= index {
            self.by_input.resize(index + 1, Faults::default());
        }
        &mut self.by_input[index]
    }

    /// Counts what a connection that is over shows.
    pub fn count(&mut self, summary: &ConnectionSummary) {
        let faults = self.at(summary.input);
        let one_direction = unseen_side(summary).is_some();
        faults.one_direction_connections += u64::from(one_direction);
        faults.other_connections += u64::from(!one_direction);
        for direction in &summary.directions {
            faults.unseen_acked_bytes += if one_direction { 0 } else { direction.unseen_acknowledged_bytes };
            faults.duplicates += u64::from(direction.loss.capture_duplicates);
            faults.reordered += u64::from(direction.loss.capture_reordered);
            faults.bad_checksums += u64::from(direction.loss.bad_checksums);
        }
        for (side, direction) in summary.directions.iter().enumerate() {
            if let Some(lag_ns) = direction.details.as_ref().and_then(|details| details.lag_ns) {
                let host = HostAddress::of_side(&summary.addresses, summary.ip_version, side);
                add_lag(&mut self.lags, Lag { input: summary.input, host, lag_ns });
            }
        }
    }

    /// Hosts that were recorded late.
    pub fn lags(&self) -> &[Lag] {
        &self.lags
    }

    /// Adds others.
    pub fn merge(&mut self, other: &Self) {
        other.lags.iter().for_each(|lag| add_lag(&mut self.lags, *lag));
        for (input, more) in (0..).zip(&other.by_input) {
            let faults = self.at(input);
            faults.unseen_acked_bytes += more.unseen_acked_bytes;
            faults.one_direction_connections += more.one_direction_connections;
            faults.other_connections += more.other_connections;
            faults.duplicates += more.duplicates;
            faults.reordered += more.reordered;
            faults.bad_checksums += more.bad_checksums;
        }
    }
}

/// More than a sender sends before it must have heard something: RFC 6928 section 2, and as much again.
const MOST_UNHEARD_SEGMENTS: u64 = 20;

/// The side of which nothing is there, though the other has certainly heard of it: both directions go different ways, and one passes
/// the capture.
///
/// Rule: docs/methods.md, "One direction only".
pub(crate) fn unseen_side(summary: &ConnectionSummary) -> Option<usize> {
    (0..2).find(|&side| {
        let [missing, there] = [&summary.directions[side], &summary.directions[1 - side]];
        let has_heard = missing.unseen_acknowledged_bytes > 0 || there.data_segments > MOST_UNHEARD_SEGMENTS;
        missing.packets == 0 && there.packets > 0 && has_heard
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_adds_those_of_the_same_input() {
        let (mut one, mut other) = (CaptureFaults::default(), CaptureFaults::default());
        one.at(0).duplicates = 2;
        other.at(0).duplicates = 3;
        other.at(2).reordered = 1;
        one.merge(&other);
        assert_eq!((one.of(0).duplicates, one.of(2).reordered, one.of(7)), (5, 1, Faults::default()));
    }
}
