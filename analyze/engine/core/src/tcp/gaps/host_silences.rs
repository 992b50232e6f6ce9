//! Silences of both hosts of a connection, whatever they send, and the rhythm in which one of them stalled.

use crate::packet::Packet;
use crate::tcp::gaps::rhythm::{HostSilence, LONGEST_NS, Rhythm};
use crate::tcp::stats::buckets::Span;
use crate::tcp::stats::reuse::room_of;

/// Silences kept of each host: those of the first minutes of a quota.
const MOST_SILENCES: usize = 2048;

/// What ends within this time is one silence.
const TOGETHER_NS: i64 = 2_000_000;

/// See the module: of client, server.
#[derive(Debug, Clone)]
pub(crate) struct Standstills {
    silences: [Vec<HostSilence>; 2],
    /// It owed something in one of them.
    owed: [bool; 2],
    /// When an acknowledgement of it ended a silence and left the edge of the window where it was.
    pub(crate) stood_ns: [i64; 2],
    pub(crate) found: Option<HostRhythm>,
}

impl Default for Standstills {
    fn default() -> Self {
        Self { silences: [Vec::new(), Vec::new()], owed: [false; 2], stood_ns: [Packet::NEVER_NS; 2], found: None }
    }
}

/// A host that stalled in a rhythm.
#[derive(Debug, Clone)]
pub(crate) struct HostRhythm {
    pub(crate) host: usize,
    pub(crate) rhythm: Rhythm,
    pub(crate) stops_ns: Vec<Span>,
}

/// A scheduler's rhythm begins no more of its periods after the connection.
const MOST_PERIODS_BEFORE: i64 = 20;

/// A silence begins so soon after the connection that a rhythm of this period may begin with it.
fn is_soon(silence: &HostSilence, begun_ns: i64, period_ns: i64) -> bool {
    silence.start_ns <= begun_ns.saturating_add(MOST_PERIODS_BEFORE * period_ns)
}

impl Standstills {
    /// Takes the next one of a host, in a connection that began at this time. Most hosts owe nothing: of them nothing is kept for long.
    pub(crate) fn add(&mut self, host: usize, silence: HostSilence, begun_ns: i64) {
        let list = &mut self.silences[host];
        if !self.owed[host] && !is_soon(&silence, begun_ns, LONGEST_NS) {
            *list = Vec::new();
            return;
        }
        self.owed[host] |= silence.owed;
        if let Some(last) = list.last_mut().filter(|last| silence.end_ns.saturating_sub(last.end_ns) < TOGETHER_NS) {
            last.owed |= silence.owed;
            last.start_ns = last.start_ns.min(silence.start_ns);
        } else if list.len() < MOST_SILENCES {
            list.push(silence);
        }
    }

    /// Looks for a rhythm since the connection began: of both hosts that of the one beside the capture, whose clock stands with it, or
    /// the surer one. One that begins later is that of a path which became longer: what is owed comes a round trip later then.
    pub(crate) fn find(&mut self, beside: [bool; 2], begun_ns: i64) {
        let rhythms = self.silences.each_ref().map(|silences| Rhythm::of(silences));
        let sure = |host: usize| rhythms[host].map_or(0.0, |rhythm| rhythm.weight);
        let near = (0..2).find(|&host| beside[host] && rhythms[host].is_some());
        let host = near.unwrap_or(usize::from(sure(1) > sure(0)));
        let silences = &self.silences[host];
        let first = silences.iter().find(|silence| silence.owed);
        let rhythm =
            rhythms[host].filter(|rhythm| first.is_some_and(|first| is_soon(first, begun_ns, rhythm.period_ns)));
        self.found = rhythm.map(|rhythm| HostRhythm { host, rhythm, stops_ns: rhythm.stops(silences) });
        self.silences.iter_mut().for_each(Vec::clear);
    }

    /// As it is at first, with the room of its lists.
    pub(crate) fn renew(&mut self) {
        *self = Self { silences: self.silences.each_mut().map(room_of), ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silences(of: [i64; 2], begun_ns: i64) -> Standstills {
        let mut standstills = Standstills::default();
        for (host, phase_ms) in of.into_iter().enumerate() {
            for number in 0..20 {
                let end_ns = (number * 100 + phase_ms) * 1_000_000;
                standstills.add(host, HostSilence { start_ns: end_ns - 80_000_000, end_ns, owed: true }, begun_ns);
            }
        }
        standstills
    }

    #[test]
    fn of_two_hosts_with_a_rhythm_the_one_beside_the_capture_stood_still() {
        for host in 0..2 {
            let mut standstills = silences([3, 45], 0);
            standstills.find([host == 0, host == 1], 0);
            assert_eq!(standstills.found.map(|found| (found.host, found.stops_ns.len())), Some((host, 20)));
        }
    }

    #[test]
    fn a_rhythm_that_begins_in_the_middle_is_a_longer_path() {
        for (begun_s, is_found) in [(-1, true), (-3, false)] {
            let begun_ns = begun_s * 1_000_000_000;
            let mut standstills = silences([3, 45], begun_ns);
            standstills.find([true, false], begun_ns);
            assert_eq!(standstills.found.is_some(), is_found);
        }
    }

    #[test]
    fn of_a_host_that_owes_nothing_for_long_nothing_is_kept() {
        let mut standstills = Standstills::default();
        for number in 0..100 {
            let start_ns = number * 100_000_000;
            let silence = HostSilence { start_ns, end_ns: start_ns + 50_000_000, owed: number == 50 };
            standstills.add(0, silence, 0);
        }
        assert_eq!(standstills.silences[0].capacity(), 0);
    }

    #[test]
    fn what_ends_together_is_one_silence() {
        let mut standstills = Standstills::default();
        for (start_ns, end_ns, owed) in [(10, 9_000_000, false), (5, 9_500_000, true), (9_500_000, 20_000_000, false)] {
            standstills.add(0, HostSilence { start_ns, end_ns, owed }, 0);
        }
        let first = HostSilence { start_ns: 5, end_ns: 9_000_000, owed: true };
        assert_eq!((standstills.silences[0].len(), standstills.silences[0][0]), (2, first));
    }
}
