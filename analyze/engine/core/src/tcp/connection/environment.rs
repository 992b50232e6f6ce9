//! What connections of a shard share while their packets are taken: settings in, rows, SYN series and clock steps out.

use crate::secrets::SharedKeys;
use crate::tcp::direction::direction::Live;
use crate::tcp::gaps::host_silences::Standstills;
use crate::tcp::limits::rules::RoundRule;
use crate::tcp::limits::second_stage::Reassignment;
use crate::tcp::rates::syn_series::OpeningSeries;
use crate::tcp::rows::recorder::RowRecorder;
use crate::tcp::stats::pool::Pool;

/// A step of the capture clock against the hosts' clocks.
#[derive(Debug, Clone, Copy)]
pub struct ClockStep {
    /// Input it was seen in.
    pub input: u16,
    /// When, by the capture clock.
    pub time_ns: i64,
    /// How far the capture clock jumped ahead.
    pub ahead_ns: i64,
}

/// What connections share while their packets are taken.
#[derive(Clone, Default)]
pub struct Environment {
    /// The user's limit for unusually long pauses.
    pub fixed_spacing_limit_ns: Option<u64>,
    /// What limits a round, in the order in which it is asked.
    pub round_rules: &'static [RoundRule],
    /// What changes the time by factor once rounds were judged, in the order in which it runs.
    pub reassignments: &'static [Reassignment],
    /// Keys of what is inside TLS.
    pub keys: SharedKeys,
    /// SYNs over time.
    pub openings: OpeningSeries,
    /// Per-packet rows.
    pub rows: RowRecorder,
    /// Clock steps, as connections see them.
    pub clock_steps: Vec<ClockStep>,
    /// Conversation state of directions that are over, for others.
    pub lives: Pool<Live>,
    /// Silences of connections that are over, for others.
    pub(crate) standstills: Pool<Standstills>,
}

impl Environment {
    /// A direction's conversation state as it is at first; none if none is left over.
    pub fn live(&mut self) -> Option<Box<Live>> {
        let mut live = self.lives.take()?;
        live.renew();
        Some(live)
    }

    /// Silences of hosts as they are at first: none.
    pub(crate) fn standstills(&mut self) -> Box<Standstills> {
        let mut standstills = self.standstills.take().unwrap_or_default();
        standstills.renew();
        standstills
    }
}
