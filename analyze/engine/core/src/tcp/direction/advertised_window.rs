//! The window that limits one direction, as its receiver advertises it (RFC 9293 section 3.8.6, RFC 7323 section 2).
//!
//! Rule: docs/methods.md, "Advertised window".

use crate::decode::options::MAXIMUM_WINDOW_SHIFT;
use crate::packet::{Packet, option_bits};
use crate::tcp::kernel::{FARTHEST_JUMP, NEAR_BYTES};

/// Advertised windows of one direction's receiver.
#[derive(Debug, Default, Clone, Copy)]
pub struct AdvertisedWindow {
    /// Advertisements seen (segments with ACK, neither SYN nor RST).
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
    /// Advertisements of a window of zero.
    pub zero_windows: u32,
    zero_since_ns: Option<i64>,
    zero_time_ns: u64,
    /// The last one as it stood in the header, and in bytes; it came so often again, which is not in `count` and `sum` yet.
    last: u16,
    last_bytes: u64,
    repeats: u64,
}

impl AdvertisedWindow {
    /// True if the packet advertises an open window again, as it was, and nothing but that and timestamps.
    #[inline(always)]
    pub fn is_repeated(&self, packet: &Packet) -> bool {
        // Before the first advertisement the last one is zero.
        let others = option_bits::OTHERS | option_bits::CUT;
        packet.window == self.last && packet.window != 0 && packet.options & others == 0
    }

    /// True if the packet advertises what the one before it did, if there was one.
    #[inline]
    pub fn is_unchanged(&self, packet: &Packet) -> bool {
        self.count == 0 || packet.window == self.last
    }

    /// Takes an advertisement that [`Self::is_repeated`].
    #[inline(always)]
    pub fn add_repeated(&mut self, window_bytes: u64) {
        if window_bytes == self.last_bytes {
            self.repeats += 1;
        } else {
            self.add_scaled(window_bytes);
        }
    }

    /// Nothing but the scale has changed.
    #[cold]
    #[inline(never)]
    fn add_scaled(&mut self, window_bytes: u64) {
        self.count += 1;
        self.sum += window_bytes;
    }

    /// Takes one advertisement: as it stands in the header, and in bytes.
    #[inline(always)]
    pub fn add(&mut self, header_value: u16, window_bytes: u64, time_ns: i64) {
        if header_value == self.last && window_bytes == self.last_bytes && window_bytes != 0 {
            self.repeats += 1;
        } else {
            self.add_another(header_value, window_bytes, time_ns);
        }
    }

    #[inline(never)]
    fn add_another(&mut self, header_value: u16, window_bytes: u64, time_ns: i64) {
        (self.count, self.sum) = self.totals();
        (self.last, self.last_bytes, self.repeats) = (header_value, window_bytes, 0);
        // The first is one of these, too: if it is 0, everything stands as it should already.
        if window_bytes < self.min || window_bytes > self.max {
            self.widen(window_bytes);
        }
        self.count += 1;
        self.sum += window_bytes;
        if window_bytes == 0 || self.zero_since_ns.is_some() {
            self.add_around_zero(window_bytes, time_ns);
        }
    }

    /// How many there were, and their sum.
    fn totals(&self) -> (u64, u64) {
        (self.count + self.repeats, self.sum + self.repeats * self.last_bytes)
    }

    /// A window beyond those before it.
    fn widen(&mut self, window_bytes: u64) {
        if self.count == 0 {
            self.min = window_bytes;
        }
        self.min = self.min.min(window_bytes);
        self.max = self.max.max(window_bytes);
    }

    #[cold]
    fn add_around_zero(&mut self, window_bytes: u64, time_ns: i64) {
        if window_bytes == 0 {
            self.zero_windows = self.zero_windows.saturating_add(1);
            self.zero_since_ns.get_or_insert(time_ns);
        } else if let Some(since) = self.zero_since_ns.take() {
            let closed_ns = u64::try_from(time_ns.saturating_sub(since)).unwrap_or(0);
            self.zero_time_ns = self.zero_time_ns.saturating_add(closed_ns);
        }
    }

    /// Time the window was closed, nanoseconds, up to `end_ns`.
    pub fn zero_time_ns(&self, end_ns: i64) -> u64 {
        let open = self.zero_since_ns.map_or(0, |since| u64::try_from(end_ns.saturating_sub(since)).unwrap_or(0));
        self.zero_time_ns.saturating_add(open)
    }

    /// The one advertised last.
    pub(crate) fn latest_bytes(&self) -> u64 {
        self.last_bytes
    }

    /// A window was advertised.
    pub fn is_known(&self) -> bool {
        self.count > 0
    }

    /// How far from what is known of the data a number may lie, bytes: the largest window, by the largest scale where its own is not
    /// known. `unknown_bytes`: without advertisements.
    pub fn room_bytes(&self, is_scale_known: bool, unknown_bytes: u64) -> u64 {
        let most = match (self.is_known(), is_scale_known) {
            (false, _) => unknown_bytes,
            (true, true) => self.max,
            (true, false) => self.max << MAXIMUM_WINDOW_SHIFT,
        };
        most.clamp(u64::from(NEAR_BYTES), FARTHEST_JUMP)
    }

    /// Smallest, mean and largest window; none without advertisements.
    pub fn extremes(&self) -> Option<(u64, f64, u64)> {
        let (count, sum) = self.totals();
        (count > 0).then(|| (self.min, sum as f64 / count as f64, self.max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_closed_for_a_while_is_timed() {
        let mut window = AdvertisedWindow::default();
        for (time, bytes) in [(0, 1000), (10, 0), (20, 0), (50, 500)] {
            window.add(bytes, u64::from(bytes), time);
        }
        assert_eq!((window.zero_windows, window.zero_time_ns(100)), (2, 40));
        assert_eq!(window.extremes(), Some((0, 375.0, 1000)));
    }

    #[test]
    fn one_that_comes_again_counts_each_time() {
        let mut window = AdvertisedWindow::default();
        for bytes in [1000, 1000, 1000, 400, 400, 1000] {
            window.add(bytes, u64::from(bytes), 0);
        }
        window.add_repeated(1000);
        window.add_repeated(4000);
        assert_eq!(window.extremes(), Some((400, 9800.0 / 8.0, 1000)));
    }

    #[test]
    fn numbers_may_lie_a_window_away_by_the_largest_scale_unless_that_is_known() {
        let mut window = AdvertisedWindow::default();
        assert_eq!([0, 1 << 40].map(|unknown| window.room_bytes(true, unknown)), [1 << 16, 1 << 30]);
        window.add(50_000, 100_000, 0);
        window.add(10_000, 20_000, 0);
        assert_eq!([true, false].map(|is_known| window.room_bytes(is_known, 0)), [100_000, 1 << 30]);
    }

    #[test]
    fn a_window_never_opened_again_counts_to_the_end() {
        let mut window = AdvertisedWindow::default();
        window.add(0, 0, 10);
        assert_eq!(window.zero_time_ns(100), 90);
    }
}
