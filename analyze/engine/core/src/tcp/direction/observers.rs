//! The events of one direction, made and shown to all that measures it ([`crate::tcp::events::observer`]): what both the general rules
//! and the fast path end with.

use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::capture::frame_sizes::{ETHERNET_PAYLOAD, most_payload};
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::direction::placed::Peer;
use crate::tcp::events::acked::{Acked, Advertised, RoundTrip};
use crate::tcp::events::context::Context;
use crate::tcp::events::observer::Observer;
use crate::tcp::events::sent::{Data, Kind, Numbering, Resumption, Sent};
use crate::tcp::rtt::samples::PACE_EVERY_SAMPLES;

/// The window of an acknowledgement.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    /// By how much it is scaled, if that is known.
    pub shift: Option<u8>,
    /// The packet has one.
    pub is_told: bool,
}

impl Window {
    /// That of `packet`: SYN and RST have none.
    pub fn of(packet: &Packet, shift: Option<u8>) -> Self {
        Self { shift, is_told: packet.flags & (tcp_flags::SYN | tcp_flags::RST) == 0 }
    }
}

impl Live {
    /// All that measures, in the order in which each is shown an event.
    #[inline(always)]
    fn observers(&mut self) -> impl Observer {
        let Self { size, loss, rates, view, last_data, acks, .. } = self;
        (size, (loss, (rates, (view, (last_data, acks)))))
    }
}

impl Direction {
    /// `data` has been taken: it is shown to all that measures. Returns its distance from the data packet before it. `follows`: its
    /// identification is the number after the newest, in a row of such.
    #[inline(always)]
    pub(crate) fn show_sent(
        &mut self,
        data: Data<'_>,
        follows: bool,
        context: &Context,
        peer: Peer<'_>,
    ) -> Option<u64> {
        let packet = data.packet;
        let (una, accepted_segment_size) = (self.una, self.accepted_segment_size);
        let live = Live::of(&mut self.live);
        let in_order = (data.is_contiguous && data.kind == Kind::Data).then_some(data.start);
        let spacing_ns = live.rates.spacing.since_last(packet.time_ns);
        let numbering = if follows && data.segments == 1 {
            None
        } else {
            Some(live.numbering(in_order, packet, una, accepted_segment_size))
        };
        if packet.options & option_bits::TIMESTAMPS != 0 {
            live.hear(packet);
        }
        if peer.max() > live.peer_max_then {
            live.take_turn(packet, peer);
        }
        if live.view.ends_pause(packet.time_ns) {
            live.resume(packet, peer);
        }
        if data.end == data.highest {
            live.peer_max_then = peer.max();
        }
        let largest_payload = self.largest_payload;
        live.observers().on_sent(&Sent { data, spacing_ns, numbering, largest_payload }, context);
        self.last_sent.0 = packet.time_ns;
        self.last_data_ns = self.last_data_ns.max(packet.time_ns);
        spacing_ns
    }

    /// `packet` acknowledges everything up to `position`: it is shown to all that measures. Returns the window in bytes, if its scale
    /// is known and the packet has one, as all have but SYN and RST.
    #[inline(always)]
    pub(crate) fn show_acked(
        &mut self,
        packet: &Packet,
        position: u64,
        advances: Option<RoundTrip>,
        window: Window,
        context: &Context,
    ) -> Option<u64> {
        let Window { shift: window_shift, is_told: has_window } = window;
        if !has_window && self.live.is_none() {
            return None;
        }
        let bytes = u64::from(packet.window) << window_shift.unwrap_or(0);
        if has_window {
            self.window.add(packet.window, bytes, packet.time_ns);
        }
        let window_bytes = window_shift.map(|_| bytes).filter(|_| has_window);
        let live = Live::of(&mut self.live);
        let acked = Acked {
            packet,
            position,
            advances,
            pace_rtt_ns: live.take_sample(packet, advances, context),
            window: has_window.then(|| Advertised {
                bytes: window_bytes,
                is_closed: packet.window == 0,
                relief: live.relief_bytes(),
            }),
        };
        live.observers().on_acked(&acked, context);
        window_bytes
    }
}

impl Live {
    /// The sender of this data had heard what it echoes.
    #[inline(always)]
    fn hear(&mut self, packet: &Packet) {
        if let Some(loop_ns) = self.view.heard(packet.time_ns, packet.tsecr) {
            self.rates.series.sender_loop(loop_ns);
        }
    }

    /// The data is the first since the other side said something.
    #[inline(never)]
    fn take_turn(&mut self, packet: &Packet, peer: Peer<'_>) {
        if let Some(spoke_ns) = peer.spoke_ns() {
            self.view.takes_its_turn(packet.time_ns, spoke_ns, peer.is_client);
        }
    }

    /// The data ends a pause.
    #[cold]
    #[inline(never)]
    fn resume(&mut self, packet: &Packet, peer: Peer<'_>) {
        let resumption = Resumption::of(packet, self.last_data.has_push(), peer.tsval());
        self.view.resumes(packet.time_ns, resumption);
    }

    /// What the identification of data is compared with that begins at `start` and is in order; none if it is not. What was
    /// acknowledged before it came took its numbers, too: the capture has missed that.
    #[inline(never)]
    fn numbering(&self, start: Option<u64>, packet: &Packet, una: u64, accepted_segment_size: u16) -> Numbering {
        let whole = start.is_some_and(|start| self.last_data.is_followed_by(start))
            && (!self.holes.reach_beyond(una) || self.size.uneven.may_hold_more(self.last_data.length));
        Numbering { whole, most_bytes: u32::from(most_payload(accepted_segment_size, packet)).min(ETHERNET_PAYLOAD) }
    }

    /// After a timeout everything is lost that was not sent again, with or without a report of what arrived.
    #[inline(always)]
    fn relief_bytes(&self) -> u64 {
        let (lost, resent) = self.segments.lost_and_resent();
        (self.acks.scoreboard.total() + lost).saturating_sub(resent)
    }

    /// Takes the round trip into the samples. Returns the smoothed one where the sender's pace is to be looked at.
    #[inline(always)]
    fn take_sample(&mut self, packet: &Packet, advances: Option<RoundTrip>, context: &Context) -> Option<f64> {
        match advances {
            Some(RoundTrip::Sample(newest, segments)) => {
                let rtt_ns = newest.until(packet);
                if segments == 1 && self.round_trips.may_be_delayed(rtt_ns) {
                    self.check_delayed(packet);
                }
                self.round_trips.sample(rtt_ns, segments);
                let is_due = context.beside_sender && self.round_trips.moments.count.is_multiple_of(PACE_EVERY_SAMPLES);
                is_due.then(|| self.round_trips.srtt_ns().unwrap_or(0.0))
            }
            Some(RoundTrip::Rejected(reason, segments)) => {
                self.round_trips.refuse(packet, reason, segments);
                None
            }
            Some(RoundTrip::None) | None => None,
        }
    }
}
