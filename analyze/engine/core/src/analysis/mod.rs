//! The whole way from readers to results: reading, decoding and TCP analysis, on one thread or several.
//!
//! Reading is serial, decoding goes chunk by chunk on any thread, and connections are shared out over shards, each of
//! which sees its packets in order.
//!
//! ```text
//! parts      the readings that it takes: one, or more where memory or a lag asks for it
//!   lag      a host that was recorded late, put right in another reading
//!   serial   one reading in one loop
//!   parallel the same on several threads
//!     stage  what both share: chunks taken in, filtered, counted by input
//! reading    what a reading leaves, and how several become one result
//! ```

pub(crate) mod lag;
pub(crate) mod parallel;
pub mod part;
pub(crate) mod parts;
pub(crate) mod reading;
pub(crate) mod serial;
pub(crate) mod stage;

use std::ops::Range;

use crate::analysis::part::Part;
use crate::analysis::reading::Reading;
use crate::dns::Lookups;
use crate::read::merge::open;
use crate::read::{ChunkSource, Input, InputFacts, ReadError};
use crate::tcp::capture::lag::Lag;
use crate::tcp::flow::memory_budget::Room;
use crate::tcp::flow::selection::Detail;
use crate::tcp::rates::syn_series::OpeningSeries;
use crate::tcp::rows::rows::Rows;
use crate::tcp::summary::summary::ConnectionSummary;

pub use crate::analysis::parts::analyze_in_parts;
pub use crate::tcp::flow::selection::KnownConnection;

/// Turns a filter into a BPF program for a link type.
pub trait FilterCompiler: Send + Sync {
    /// Packed `struct bpf_insn` for frames of `link_type` (LINKTYPE_ number).
    ///
    /// # Errors
    /// One line that says what is wrong with the filter.
    fn compile(&self, link_type: u16, snap_length: u32) -> Result<Vec<u8>, String>;
}

/// Watches a run.
pub trait Observer: Send + Sync {
    /// Called every few chunks with the bytes consumed of the files; true ends the run, keeping what there is.
    fn progress(&self, consumed_bytes: u64) -> bool;
}

/// Watches nothing.
pub struct NoObserver;

impl Observer for NoObserver {
    fn progress(&self, _consumed_bytes: u64) -> bool {
        false
    }
}

/// What to do.
#[derive(Default)]
pub struct Options {
    /// Threads; 0 and 1 both mean one.
    pub threads: usize,
    /// Spacing above this is oversize, instead of the adaptive rule; nanoseconds.
    pub oversize_abs_ns: Option<u64>,
    /// What one connection may carry at most in either direction, bits of IP packets a second.
    pub allowed_bps: Option<f64>,
    /// Connections (by number) whose packets are wanted one by one.
    pub detail_connections: Vec<u32>,
    /// The same of connections that an analysis before has found ([`Analysis::known`]); then nothing else is analysed.
    pub known_connections: Vec<KnownConnection>,
    /// Frames to take.
    pub filter: Option<Box<dyn FilterCompiler>>,
    /// Hosts that an analysis before found to be recorded late: their packets get their true time.
    pub lags: Vec<Lag>,
    /// Bytes that connections may take in memory before [`analyze_in_parts`] takes them in parts; none for the usual.
    pub room_bytes: Option<usize>,
}

impl Options {
    fn detail(&self) -> Detail {
        Detail::of(&self.detail_connections, &self.known_connections)
    }
}

/// Why there is no result at all.
#[derive(Debug)]
pub enum Failure {
    /// No input could be read: what is wrong with each.
    Read(Vec<ReadError>),
    /// The filter could not be compiled.
    Filter(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Read(errors) => {
                let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
                f.write_str(&lines.join("; "))
            }
            Self::Filter(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Failure {}

/// One input and what was found wrong with the capture.
#[derive(Debug, Clone, Default)]
pub struct InputSummary {
    /// What reading learnt.
    pub facts: InputFacts,
    /// TCP segments decoded.
    pub tcp_packets: u64,
    /// Frames without one, by reason.
    pub undecoded: Vec<(String, u64)>,
    /// Bytes acknowledged but never captured.
    pub unseen_acked_bytes: u64,
    /// Frames captured twice.
    pub duplicates: u64,
    /// Frames recorded out of order.
    pub reordered: u64,
    /// Steps of the capture clock.
    pub clock_steps: u64,
    /// So much later than others some hosts were recorded, nanoseconds.
    pub lag_ns: Option<i64>,
    /// That was taken away before the analysis.
    pub lag_removed: bool,
}

/// All results.
#[derive(Debug, Default)]
pub struct Analysis {
    /// The run was ended early.
    pub interrupted: bool,
    /// Inputs in the order given.
    pub inputs: Vec<InputSummary>,
    /// Connections in order of their first packet.
    pub connections: Summaries,
    /// SYNs over time.
    pub openings: OpeningSeries,
    /// Names looked up, with the addresses answered.
    pub lookups: Lookups,
    /// Packets of the connections asked for.
    pub rows: Rows,
    /// Inputs that could not be read (to their end).
    pub errors: Vec<ReadError>,
    /// Hosts that were recorded late, unless the options took that away: the times of their packets are wrong, and so is what
    /// follows from them.
    pub lags: Vec<Lag>,
    /// Hosts of which the options took it away.
    pub lags_removed: Vec<Lag>,
}

impl Analysis {
    /// Adds what was measured of further inputs, which were analysed apart: connections are numbered through, inputs
    /// follow each other.
    pub fn append(&mut self, mut next: Self) {
        let connections = u32::try_from(self.connections.len()).unwrap_or(u32::MAX);
        let inputs = u16::try_from(self.inputs.len()).unwrap_or(u16::MAX);
        for connection in &mut next.connections {
            connection.id = connection.id.saturating_add(connections);
            connection.input = connection.input.saturating_add(inputs);
        }
        self.interrupted |= next.interrupted;
        self.connections.append(&mut next.connections);
        self.inputs.append(&mut next.inputs);
        self.openings.merge(next.openings);
        self.lookups.merge([next.lookups.moved(inputs)]);
        self.rows.append(next.rows, connections, inputs);
        self.errors.extend(next.errors.into_iter().map(|error| error.moved(inputs)));
        let moved = |lag: Lag| Lag { input: lag.input.saturating_add(inputs), ..lag };
        self.lags.extend(next.lags.into_iter().map(moved));
        self.lags_removed.extend(next.lags_removed.into_iter().map(moved));
    }

    /// Adds the packets of connections that were known, with the numbers that they have.
    pub fn append_packets(&mut self, next: Self, first_input: u16) {
        self.interrupted |= next.interrupted;
        self.rows.append(next.rows, 0, first_input);
    }

    /// What an analysis of some of the inputs has to know to give the packets of these connections: those of them that lie in
    /// the inputs, and hosts that were recorded late.
    pub fn known(&self, numbers: &[u32], inputs: Range<u16>) -> (Vec<KnownConnection>, Vec<Lag>) {
        let found =
            numbers.iter().filter_map(|&number| Some((number, self.connections.get(number.checked_sub(1)? as usize)?)));
        let known = found.filter(|(_, summary)| inputs.contains(&summary.input));
        let lags = self.lags_removed.iter().filter(|lag| inputs.contains(&lag.input));
        (
            known.map(|(number, summary)| KnownConnection::of(summary, number)).collect(),
            lags.map(|lag| Lag { input: lag.input - inputs.start, ..*lag }).collect(),
        )
    }

    /// Adds `count` inputs that could not be read at all.
    pub fn append_unread(&mut self, count: usize, errors: Vec<ReadError>) {
        let first = u16::try_from(self.inputs.len()).unwrap_or(u16::MAX);
        self.inputs.resize_with(self.inputs.len() + count, Default::default);
        self.errors.extend(errors.into_iter().map(|error| error.moved(first)));
    }
}

/// Reads and analyses `inputs` as one capture.
///
/// # Errors
/// [`Failure`] if no input could be read, or the filter is wrong. Damage within a file is no error.
pub fn analyze(inputs: Vec<Input>, options: &Options, observer: &dyn Observer) -> Result<Analysis, Failure> {
    analyze_source(open(inputs), options, observer)
}

/// As [`analyze`], from a source that is already open.
///
/// # Errors
/// As [`analyze`].
pub fn analyze_source(
    source: Box<dyn ChunkSource>,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Analysis, Failure> {
    Reading::of_part(source, options, &Part::whole(Room::ANY), observer).map(|(reading, _)| reading.conclude(options))
}

/// Connections as the shards leave them: boxed one by one, so that gathering a million of them copies nothing.
#[allow(clippy::vec_box)]
pub type Summaries = Vec<Box<ConnectionSummary>>;
