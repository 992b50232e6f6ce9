//! Probes of one byte that was sent before: keep-alives (RFC 9293 section 3.8.4) and probes of a closed window. A receiver that
//! uses SACK reports each as a duplicate (RFC 2883), which is neither a needless retransmission nor a copy by the network.
//!
//! Rule: docs/methods.md, "Reported probes".

/// The byte that was probed last, and how many of its probes may still be reported.
#[derive(Debug, Clone, Default)]
pub(crate) struct Probes {
    position: u64,
    unreported: u32,
}

impl Probes {
    /// A probe of the byte at `position` passed.
    pub(crate) fn sent(&mut self, position: u64) {
        if self.position != position {
            self.unreported = 0;
        }
        self.position = position;
        self.unreported = self.unreported.saturating_add(1);
    }

    /// The receiver reports `start..end` as a duplicate: is that a probe? Each is reported once.
    pub(crate) fn are_reported(&mut self, start: u64, end: u64) -> bool {
        let is_probe = self.unreported > 0 && start == self.position && end == start + 1;
        self.unreported -= u32::from(is_probe);
        is_probe
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_probe_is_reported_once_and_nothing_else_is() {
        let mut probes = Probes::default();
        assert!(!probes.are_reported(0, 1));
        probes.sent(9);
        probes.sent(9);
        assert_eq!(
            [(9, 11), (8, 9), (9, 10), (9, 10), (9, 10)].map(|(start, end)| probes.are_reported(start, end)),
            [false, false, true, true, false]
        );
    }

    #[test]
    fn a_probe_of_another_byte_takes_the_place_of_the_last() {
        let mut probes = Probes::default();
        probes.sent(9);
        probes.sent(20);
        assert_eq!([probes.are_reported(9, 10), probes.are_reported(20, 21)], [false, true]);
    }
}
