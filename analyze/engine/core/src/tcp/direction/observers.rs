//! The events of one direction, made and shown to all that measures it ([`crate::tcp::events::observer`]): what both the general rules
//! and the fast path end with.

use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::capture::frame_sizes::{ETHERNET_PAYLOAD, most_payload};
use crate::tcp::direction::direction::{Half, Live};
use crate::tcp::direction::placed::Peer;
use crate::tcp::events::acked::{Acked, Advertised, RoundTrip};
use crate::tcp::events::context::Context;
use crate::tcp::events::observer::Observer;
use crate::tcp::events::sent::{Data, Kind, Numbering, Resumption, Sent, Turn};
use crate::tcp::rtt::samples::PACE_EVERY_SAMPLES;

impl Live {
    /// All that measures, in the order in which each is shown an event.
    #[inline(always)]
    fn observers(&mut self) -> impl Observer {
        let Self { size, loss, rates, view, last_data, acks, .. } = self;
        (size, (loss, (rates, (view, (last_data, acks)))))
    }
}

impl Half {
    /// `data` has been taken: it is shown to all that measures. Returns its distance from the data packet before it.
    #[inline(always)]
    pub(crate) fn show_sent(&mut self, data: Data<'_>, context: &Context, peer: Peer<'_>) -> Option<u64> {
        let packet = data.packet;
        let most_bytes = || u32::from(most_payload(self.accepted_segment_size, packet)).min(ETHERNET_PAYLOAD);
        let live = Live::of(&mut self.live);
        let goes_on = live.loss.identifications.goes_on(packet.ip_id, data.segments);
        let sent = Sent {
            data,
            spacing_ns: live.rates.spacing.since_last(packet.time_ns),
            numbering: (!goes_on)
                .then(|| Numbering { whole: live.is_whole(&data, self.una), most_bytes: most_bytes() }),
            loop_ns: if packet.options & option_bits::TIMESTAMPS != 0 {
                live.view.heard(packet.time_ns, packet.tsecr)
            } else {
                None
            },
            turn: if peer.max() > live.peer_max_then {
                peer.spoke_ns().map(|spoke_ns| Turn { spoke_ns, by_server: peer.is_client })
            } else {
                None
            },
            resumption: (live.view.ends_pause(packet.time_ns))
                .then(|| Resumption::of(packet, live.last_data.has_push(), peer.tsval())),
            largest_payload: self.largest_payload,
        };
        if data.end == data.highest {
            live.peer_max_then = peer.max();
        }
        live.observers().on_sent(&sent, context);
        self.last_sent.0 = packet.time_ns;
        self.last_data_ns = self.last_data_ns.max(packet.time_ns);
        sent.spacing_ns
    }

    /// `packet` acknowledges everything up to `position`: it is shown to all that measures. Returns the window in bytes, if its scale
    /// is known.
    #[inline(always)]
    pub(crate) fn show_acked(
        &mut self,
        packet: &Packet,
        position: u64,
        advances: Option<RoundTrip>,
        window_shift: Option<u8>,
        context: &Context,
    ) -> Option<u64> {
        let has_window = packet.flags & (tcp_flags::SYN | tcp_flags::RST) == 0;
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
    /// No data up to the packet is missing. What was acknowledged before it came took its numbers, too: the capture has missed that.
    #[inline]
    fn is_whole(&self, data: &Data<'_>, una: u64) -> bool {
        data.is_contiguous
            && data.kind == Kind::Data
            && self.last_data.is_followed_by(data.start)
            && (!self.holes.reach_beyond(una) || self.size.uneven.may_hold_more(self.last_data.length))
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
