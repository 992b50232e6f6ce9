//! Flights of the last rounds, and what is usual among them.

const KEPT: usize = 8;

/// Of fewer rounds nothing is usual.
const FEWEST: usize = 4;

/// See the module.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Recent {
    flights: [f32; KEPT],
    count: u8,
    next: u8,
}

impl Recent {
    pub(crate) fn push(&mut self, flight: f64) {
        self.flights[usize::from(self.next)] = flight as f32;
        self.next = (self.next + 1) % KEPT as u8;
        self.count = (self.count + 1).min(KEPT as u8);
    }

    /// The least; 0 without any.
    pub(crate) fn least(&self) -> f64 {
        let flights = self.flights.iter().take(usize::from(self.count));
        flights.copied().reduce(f32::min).map_or(0.0, f64::from)
    }

    /// The median; none of fewer than four.
    pub(crate) fn usual(&self) -> Option<f64> {
        let count = usize::from(self.count);
        let mut sorted = self.flights;
        // Until it is full it is filled from the front.
        sorted[..count].sort_unstable_by(f32::total_cmp);
        let middle = |at: usize| f64::from(sorted[at]);
        (count >= FEWEST).then(|| (middle((count - 1) / 2) + middle(count / 2)) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_flight_is_the_median_of_the_last_eight() {
        let mut recent = Recent::default();
        [9.0, 1.0, 2.0].into_iter().for_each(|flight| recent.push(flight));
        assert_eq!((recent.usual(), recent.least()), (None, 1.0));
        recent.push(4.0);
        assert_eq!(recent.usual(), Some(3.0));
        (0..8).for_each(|_| recent.push(50.0));
        assert_eq!(recent.usual(), Some(50.0));
    }
}
