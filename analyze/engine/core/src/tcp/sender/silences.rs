//! The latest long silences of a direction as its sender saw it, for the causes of gaps and what they cut out of a round.

const MOST_SILENCES: usize = 4;

/// A time without any event, long enough for a gap.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silence {
    /// Time of the event before it.
    pub start_ns: i64,
    /// Time of the event that ended it.
    pub end_ns: i64,
    /// The window was full.
    pub limited: bool,
    /// Nothing was in flight.
    pub idle: bool,
}

/// See the module: a ring.
#[derive(Debug, Clone)]
pub(crate) struct Silences {
    latest: [Silence; MOST_SILENCES],
    count: usize,
}

impl Default for Silences {
    fn default() -> Self {
        // A constant: made one by one, they would be read again before all are written.
        const NONE: Silence = Silence { start_ns: 0, end_ns: 0, limited: false, idle: false };
        Self { latest: [NONE; MOST_SILENCES], count: 0 }
    }
}

impl Silences {
    /// Remembers one.
    #[cold]
    pub(crate) fn note(&mut self, silence: Silence) {
        self.latest[self.count % MOST_SILENCES] = silence;
        self.count += 1;
    }

    /// The one that shares most time with a gap, if any does.
    pub(crate) fn within(&self, start_ns: i64, end_ns: i64) -> Option<Silence> {
        let within = |silence: &&Silence| silence.start_ns < end_ns && silence.end_ns > start_ns;
        let known = self.latest.iter().take(self.count);
        known.filter(within).max_by_key(|silence| silence.end_ns.min(end_ns) - silence.start_ns.max(start_ns)).copied()
    }
}
