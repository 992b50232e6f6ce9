//! An entry of the account, and the ledger in which entries are gathered.

use crate::tcp::events::factor::Factor;
use crate::tcp::events::owner::Owner;

/// Time of one owner and one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// Whose time it was.
    pub owner: Owner,
    /// What it was spent on.
    pub kind: Factor,
    /// How long, nanoseconds.
    pub time_ns: u64,
    /// By how much shorter the connection would have been without; none where that is not known.
    pub saves_ns: Option<u64>,
}

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    entries: Vec<Entry>,
}

/// Most accounts have fewer entries.
const USUAL_ENTRIES: usize = 8;

impl Default for Ledger {
    fn default() -> Self {
        Self { entries: Vec::with_capacity(USUAL_ENTRIES) }
    }
}

impl Ledger {
    /// Adds to the entry of that owner and kind.
    pub(crate) fn add(&mut self, owner: Owner, kind: Factor, time_ns: u64, saves_ns: Option<u64>) {
        if time_ns == 0 {
            return;
        }
        let is_it = |entry: &&mut Entry| entry.owner == owner && entry.kind == kind;
        match self.entries.iter_mut().find(is_it) {
            Some(entry) => {
                entry.time_ns = entry.time_ns.saturating_add(time_ns);
                entry.saves_ns = match (entry.saves_ns, saves_ns) {
                    (Some(one), Some(other)) => Some(one.saturating_add(other)),
                    (one, other) => one.or(other),
                };
            }
            None => self.entries.push(Entry { owner, kind, time_ns, saves_ns }),
        }
    }

    fn time_ns(&self) -> u64 {
        self.entries.iter().map(|entry| entry.time_ns).sum()
    }

    /// All, the longest first; what is missing to `all_ns` is unknown, and what is too much is taken from the longest.
    pub(crate) fn into_entries(mut self, all_ns: u64) -> Vec<Entry> {
        self.add(Owner::Unknown, Factor::Unknown, all_ns.saturating_sub(self.time_ns()), None);
        self.entries.sort_by_key(|entry| std::cmp::Reverse(entry.time_ns));
        let mut over_ns = self.time_ns().saturating_sub(all_ns);
        for entry in &mut self.entries {
            let taken_ns = over_ns.min(entry.time_ns);
            entry.time_ns -= taken_ns;
            entry.saves_ns = entry.saves_ns.map(|saves_ns| saves_ns.min(entry.time_ns));
            over_ns -= taken_ns;
        }
        self.entries.retain(|entry| entry.time_ns > 0);
        self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_adds_up_whatever_is_put_in(times_ns in proptest::collection::vec((0..Factor::COUNT, 0u64..1000), 0..20), all_ns in 0u64..5000) {
            let mut ledger = Ledger::default();
            times_ns.iter().for_each(|&(kind, time_ns)| ledger.add(Owner::Path, Factor::ALL[kind], time_ns, Some(time_ns)));
            let entries = ledger.into_entries(all_ns);
            prop_assert_eq!(entries.iter().map(|entry| entry.time_ns).sum::<u64>(), all_ns);
            prop_assert!(entries.iter().all(|entry| entry.saves_ns.is_none_or(|saves_ns| saves_ns <= entry.time_ns)));
        }
    }
}
