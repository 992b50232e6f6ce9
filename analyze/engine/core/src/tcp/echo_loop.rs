//! The round trip between the capture point and a sender of data to whom nobody sends any, where the handshake was not captured:
//! how long after an acknowledgement the first data passes that echoes it (RFC 7323: TSecr repeats the newest TSval received).
//! With it [`super::vantage`] is known of a transfer that was under way when the capture began.
//!
//! That is never less than the round trip, but more if the sender had nothing to send. So it counts only if data kept coming
//! meanwhile, or if it is so short that the capture is beside the sender in any case.

use super::connection::Connection;
use super::sender_loop::BREAK_DIVISOR;
use super::sequence::serial_difference;
use super::vantage::BESIDE_SHARE;
use crate::packet::{Packet, option_bits, tcp_flags};

/// So many round trips are enough.
const ENOUGH: u32 = 8;
/// A connection that has not shown them by then is given up: its packets take the long way meanwhile.
const MOST_PACKETS: u32 = 4096;

/// What is sought of one side's data.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EchoLoop {
    /// TSval of an acknowledgement, the first with it, and when it passed.
    marker: Option<(u32, i64)>,
    /// When data passed last, and the longest time without any around the marker and since.
    last_data_ns: Option<i64>,
    longest_pause_ns: i64,
    found: u32,
}

impl EchoLoop {
    fn acknowledged(&mut self, tsval: u32, time_ns: i64) {
        if self.marker.is_none() {
            (self.marker, self.longest_pause_ns) = (Some((tsval, time_ns)), 0);
        }
    }

    /// Data passes: the time since the marker if it echoes that, and whether data kept coming.
    fn sent(&mut self, tsecr: u32, time_ns: i64) -> Option<(i64, bool)> {
        let pause_ns = self.last_data_ns.replace(time_ns).map_or(i64::MAX, |last| time_ns.saturating_sub(last));
        self.longest_pause_ns = self.longest_pause_ns.max(pause_ns);
        let (_, passed_ns) = self.marker.take_if(|(tsval, _)| serial_difference(tsecr, *tsval) >= 0)?;
        let taken_ns = time_ns.saturating_sub(passed_ns);
        (taken_ns >= 0).then_some((taken_ns, self.longest_pause_ns <= taken_ns / BREAK_DIVISOR))
    }
}

/// Both sides' data, and the packets looked at.
#[derive(Debug, Default)]
pub(super) struct EchoLoops {
    sides: [EchoLoop; 2],
    packets: u32,
}

impl Connection {
    /// Looks at a packet before it changes anything.
    #[cold]
    pub(super) fn seek_loops(&mut self, packet: &Packet, side: usize) {
        let Some(mut loops) = self.echo_loops.take() else { return };
        loops.packets += 1;
        if loops.packets > MOST_PACKETS || packet.options & option_bits::TIMESTAMPS == 0 {
            return;
        }
        if packet.payload_length > 0
            && let Some((taken_ns, kept_coming)) = loops.sides[side].sent(packet.tsecr, packet.time_ns)
        {
            let beside = |far_ns: i64| taken_ns as f64 <= BESIDE_SHARE * far_ns as f64;
            if kept_coming || self.loops_ns[1 - side].is_some_and(beside) {
                loops.sides[side].found += 1;
                if self.loops_ns[side].is_none_or(|known_ns| taken_ns < known_ns) {
                    self.set_loop(side, taken_ns);
                }
            }
        }
        let newest = self.halves[side].live.as_deref().and_then(|live| live.clock.newest());
        if packet.has(tcp_flags::ACK) && newest.is_some_and(|newest| serial_difference(packet.tsval, newest) > 0) {
            loops.sides[1 - side].acknowledged(packet.tsval, packet.time_ns);
        }
        match (0..2).find(|&side| loops.sides[side].found >= ENOUGH) {
            Some(side) => self.sees_through_loop(side),
            None => self.echo_loops = Some(loops),
        }
    }

    /// Away from the sender what passes reaches it only later.
    fn sees_through_loop(&mut self, side: usize) {
        if let (false, Some(loop_ns)) = (self.beside[side], self.loops_ns[side])
            && let Some(live) = self.halves[side].live.as_deref_mut()
        {
            live.view.set_loop(loop_ns);
        }
    }
}
