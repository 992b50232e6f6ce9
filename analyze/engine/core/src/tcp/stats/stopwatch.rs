//! A stopwatch over capture time: how long a state has lasted in all.

/// Time in which something goes on, in pieces.
#[derive(Debug, Default, Clone, Copy)]
pub struct Stopwatch {
    since_ns: Option<i64>,
    total_ns: u64,
}

impl Stopwatch {
    /// It goes on from now.
    pub fn start(&mut self, time_ns: i64) {
        self.since_ns.get_or_insert(time_ns);
    }

    /// It goes on now.
    #[inline]
    pub fn is_running(&self) -> bool {
        self.since_ns.is_some()
    }

    /// It is over.
    pub fn stop(&mut self, time_ns: i64) {
        self.total_ns = self.total_ns(time_ns);
        self.since_ns = None;
    }

    /// Nanoseconds up to now.
    pub fn total_ns(&self, time_ns: i64) -> u64 {
        let running = self.since_ns.map_or(0, |since| u64::try_from(time_ns.saturating_sub(since)).unwrap_or(0));
        self.total_ns + running
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_add_up_and_a_second_start_changes_nothing() {
        let mut watch = Stopwatch::default();
        watch.start(100);
        watch.start(150);
        assert_eq!((watch.is_running(), watch.total_ns(160)), (true, 60));
        watch.stop(200);
        watch.start(1000);
        watch.stop(1001);
        assert_eq!((watch.is_running(), watch.total_ns(5000)), (false, 101));
    }

    #[test]
    fn time_that_runs_back_counts_as_none() {
        let mut watch = Stopwatch::default();
        watch.start(100);
        watch.stop(50);
        assert_eq!(watch.total_ns(200), 0);
    }
}
