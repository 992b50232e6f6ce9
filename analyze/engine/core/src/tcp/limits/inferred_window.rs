//! The receiver's window where the capture began in mid-stream: the handshake with its scale was missed (RFC 7323 section 2.2),
//! but a flight that stands at the window shows the scale. No other scale of 0 to 14 makes the same of the field.
//!
//! Rule: docs/verdict.md, "A window scale from the flight".

use crate::decode::options::MAXIMUM_WINDOW_SHIFT;

/// By how many segments the flight may stay below the window: no further one fits, or no two.
const SEGMENTS_BELOW: u64 = 2;

/// Share of the window that this is at most, and segments that the window holds at least: else any flight would fit.
const MOST_BELOW: f64 = 0.1;

/// The window stays the same: its mean is so much of the largest.
const STEADY: f64 = 0.95;

/// A window that only the flight shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InferredWindow {
    /// Its scale.
    pub scale: u8,
    /// Bytes.
    pub bytes: u64,
}

impl InferredWindow {
    /// Of the field's mean and largest value, the largest flight and the size of a segment, bytes.
    pub(crate) fn of(mean: f64, largest: u64, flight: u64, segment: u64) -> Option<Self> {
        if mean < STEADY * largest as f64 || largest == 0 {
            return None;
        }
        let fits = |bytes: u64| {
            let below = bytes.saturating_sub(flight);
            flight <= bytes && below <= SEGMENTS_BELOW * segment && below as f64 <= MOST_BELOW * bytes as f64
        };
        (0..=MAXIMUM_WINDOW_SHIFT)
            .map(|scale| Self { scale, bytes: largest << scale })
            .find(|window| fits(window.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flight_that_stands_at_the_field_shows_its_scale() {
        let window = InferredWindow::of(629.0, 629, 55 * 1448, 1448);
        assert_eq!(window, Some(InferredWindow { scale: 7, bytes: 629 << 7 }));
        assert_eq!(InferredWindow::of(502.0, 502, 44 * 1448, 1448).map(|window| window.scale), Some(7));
    }

    #[test]
    fn a_flight_anywhere_else_or_a_window_that_moves_shows_none() {
        assert_eq!(InferredWindow::of(629.0, 629, 40 * 1448, 1448), None);
        assert_eq!(InferredWindow::of(400.0, 629, 55 * 1448, 1448), None);
        assert_eq!(InferredWindow::of(4.0, 4, 3 * 1448, 1448), None, "a segment is too much of it");
        assert_eq!(InferredWindow::of(0.0, 0, 0, 1448), None);
    }
}
