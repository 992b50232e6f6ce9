//! What the caller of an analysis gives: what to do, a compiler of filters, and who is to hear of the progress.

use crate::secrets::SharedKeys;
use crate::tcp::capture::lag::Lag;
use crate::tcp::flow::selection::{Detail, KnownConnection};
use crate::tcp::flow::table::Shard;

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
    /// The same of connections that an analysis before has found ([`crate::analysis::results::Analysis::known`]); then nothing else is analysed.
    pub known_connections: Vec<KnownConnection>,
    /// Keys of protected traffic; those that the captures hold are added.
    pub key_log: SharedKeys,
    /// Bytes of their payload by which datagrams are known in another capture; none: they are not kept one by one.
    pub datagrams_known_by_bytes: Option<u32>,
    /// Frames to take.
    pub filter: Option<Box<dyn FilterCompiler>>,
    /// Hosts that an analysis before found to be recorded late: their packets get their true time.
    pub lags: Vec<Lag>,
    /// Bytes that connections may take in memory before [`crate::analysis::parts::analyze_in_parts`] takes them in parts; none for the usual.
    pub room_bytes: Option<usize>,
    /// Bytes that all connections may take, what is left of those that are over included. Beyond that SYNs without a reply are summed
    /// up, and where that is not enough the reading ends; none: there is no bound.
    pub budget_bytes: Option<usize>,
}

impl Options {
    pub(crate) fn detail(&self) -> Detail {
        Detail::of(&self.detail_connections, &self.known_connections)
    }

    /// An empty shard.
    pub(crate) fn shard(&self) -> Shard {
        let mut shard = Shard::new(self.oversize_abs_ns, self.detail());
        shard.shared.environment.keys = self.key_log.clone();
        shard
    }
}
