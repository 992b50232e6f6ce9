//! What a direction measures in steps of time: when a step is over, the counters it keeps anyway are read. For most packets
//! that is one comparison.

use crate::packet::Packet;
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::kernel::FEWEST_DATA_PACKETS;
use crate::tcp::rates::peaks::Peaks;
use crate::tcp::rates::series::{Series, Totals};

impl Direction {
    /// A packet with data is about to be counted.
    #[inline(always)]
    pub(crate) fn keep_steps(&mut self, packet: &Packet) {
        if self.live.as_ref().is_some_and(|live| live.rates.peaks.is_due(packet.time_ns)) {
            self.end_steps(packet);
        }
    }

    /// An acknowledgement of the direction's data is about to be taken.
    #[inline(always)]
    pub(crate) fn keep_rates(&mut self, time_ns: i64) {
        if self.live.as_ref().is_some_and(|live| live.rates.series.is_due(time_ns)) && self.first_data_ns.is_some() {
            self.end_bin(time_ns);
        }
    }

    /// A packet with data passes, whose timestamp has not been taken yet.
    #[inline(always)]
    pub(crate) fn keep_arrivals(&mut self, packet: &Packet) {
        if self.live.as_ref().is_some_and(|live| live.rates.arrivals.is_due(packet.time_ns)) {
            self.step_arrivals(packet);
        }
    }

    #[inline(never)]
    fn step_arrivals(&mut self, packet: &Packet) {
        let bytes = self.data_wire_bytes();
        if let Some(live) = self.live.as_deref_mut() {
            live.rates.arrivals.step(packet, bytes, &live.capture.clock);
        }
    }

    #[inline(never)]
    fn end_steps(&mut self, packet: &Packet) {
        if self.live.as_ref().is_some_and(|live| live.rates.series.is_due(packet.time_ns)) {
            self.end_bin(packet.time_ns);
        }
        self.keep_arrivals(packet);
        let bytes = self.data_wire_bytes();
        let Some(live) = self.live.as_deref_mut() else { return };
        let last_frame = live.rates.spacing.last().map(|(_, frame)| frame).unwrap_or(packet.frame);
        live.rates.peaks.roll(packet.time_ns, packet.frame, bytes, last_frame);
    }

    #[cold]
    fn end_bin(&mut self, time_ns: i64) {
        let start_ns = self.first_data_ns.unwrap_or(time_ns);
        let (data_packets, arrived_bytes) = (self.data_packets_so_far(), self.arrived_bytes());
        let waits = |live: &mut Live| live.rates.series.waits(time_ns, start_ns, data_packets, arrived_bytes);
        if self.live.as_deref_mut().is_none_or(waits) {
            return;
        }
        let totals = self.rate_totals();
        if let Some(live) = self.live.as_deref_mut() {
            live.rates.series.roll(time_ns, start_ns, &totals);
        }
    }

    /// Bytes on the wire of all packets but pure acknowledgements.
    fn data_wire_bytes(&self) -> u64 {
        (self.wire_bytes + self.together.wire_bytes()).saturating_sub(self.ledger.pure_acknowledgements)
    }

    /// Payload, each position once.
    fn arrived_bytes(&self) -> u64 {
        self.unique_payload_bytes + self.together.payload_bytes()
    }

    fn rate_totals(&self) -> Totals {
        if self.live.is_none() {
            return Totals::default();
        }
        Totals {
            data_packets: self.data_packets_so_far(),
            arrived_bytes: self.arrived_bytes(),
            acknowledged_bytes: self.acknowledged_bytes(),
        }
    }

    /// The peaks and the series of a direction that is over, if it had enough data for them.
    pub(crate) fn finish_steps(&mut self) -> (Option<Box<Peaks>>, Option<Series>) {
        let (totals, bytes) = (self.rate_totals(), self.data_wire_bytes());
        let Some(live) = self.live.as_deref_mut() else { return (None, None) };
        let last_frame = live.rates.spacing.last().map(|(_, frame)| frame).unwrap_or(0);
        // Most directions have too little: theirs are not copied.
        let peaks = Some(&live.rates.peaks).filter(|_| totals.data_packets >= FEWEST_DATA_PACKETS).copied();
        let series = std::mem::take(&mut live.rates.series).finish(&totals);
        (peaks.and_then(|peaks| peaks.finish(bytes, last_frame)).map(Box::new), series)
    }
}
