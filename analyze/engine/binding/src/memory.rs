//! What the process takes in memory, against what it may: what connections take is estimated, this is measured.

use std::fs::read_to_string;

/// Of what the process is given this share is for connections; a part of the rest is what Python and the engine take before any.
const CONNECTIONS_SHARE: (u64, u64) = (3, 4);

/// See [`CONNECTIONS_SHARE`].
const START_BYTES: u64 = 64 << 20;

/// Of the address space that the process may have, this share is used before it counts as full.
const FULL_SHARE: (u64, u64) = (9, 10);

/// Memory that the process may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    most_resident_bytes: u64,
    most_virtual_bytes: u64,
}

impl Memory {
    /// So much, and no more address space than the system gives.
    pub(crate) fn of(bytes: u64) -> Self {
        let limit = number_in("/proc/self/limits", "Max address space");
        let most_virtual_bytes = limit.map_or(u64::MAX, |bytes| bytes / FULL_SHARE.1 * FULL_SHARE.0);
        Self { most_resident_bytes: bytes, most_virtual_bytes }
    }

    /// What connections may take of it.
    pub(crate) fn budget_bytes(&self) -> usize {
        let bytes = self.most_resident_bytes;
        let share = bytes.saturating_sub(START_BYTES) / CONNECTIONS_SHARE.1 * CONNECTIONS_SHARE.0;
        usize::try_from(share.max(bytes / 4)).unwrap_or(usize::MAX)
    }

    /// The process takes all of it.
    pub(crate) fn is_full(&self) -> bool {
        let takes = |name: &str| number_in("/proc/self/status", name).map(|kibibytes| kibibytes << 10);
        takes("VmRSS:").is_some_and(|bytes| bytes > self.most_resident_bytes)
            || self.most_virtual_bytes < u64::MAX
                && takes("VmSize:").is_some_and(|bytes| bytes > self.most_virtual_bytes)
    }
}

/// The first number of the line that begins so; none where there is no such file, line or number.
fn number_in(path: &str, beginning: &str) -> Option<u64> {
    let text = read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(beginning))?;
    line.split_whitespace().next()?.parse().ok()
}
