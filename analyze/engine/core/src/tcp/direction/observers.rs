//! The events of one direction, made and shown to all that measures it ([`crate::tcp::events::observer`]): what both the general rules
//! and the fast path end with.

use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::capture::frame_sizes::{ETHERNET_PAYLOAD, most_payload};
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::direction::nagle;
use crate::tcp::direction::placed::Peer;
use crate::tcp::events::acked::{AckProgress, Acked, Advertised, RoundTrip};
use crate::tcp::events::context::Context;
use crate::tcp::events::observer::Observer;
use crate::tcp::events::sent::{Data, Numbering, Resumption, Sent, SentKind};
use crate::tcp::rtt::samples::PACE_EVERY_SAMPLES;

/// The window of an acknowledgement.
#[derive(Clone, Copy)]
pub(crate) struct AckWindow {
    /// By how much it is scaled, if that is known.
    pub shift: Option<u8>,
    /// The packet has one.
    pub is_told: bool,
}

impl AckWindow {
    /// That of `packet`: SYN and RST have none.
    pub fn of(packet: &Packet, shift: Option<u8>) -> Self {
        Self { shift, is_told: packet.flags & (tcp_flags::SYN | tcp_flags::RST) == 0 }
    }
}

/// All that measures, in the order in which each is shown an event.
#[inline(always)]
fn observers(live: &mut Live) -> impl Observer {
    let Live { size, loss, rates, view, last_data, acks, .. } = live;
    (size, (loss, (rates, (view, (last_data, acks)))))
}

/// `data` has been taken: it is shown to all that measures. Returns its distance from the data packet before it. `follows`: its
/// identification is the number after the newest, in a row of such.
#[inline(always)]
pub(crate) fn show_sent(
    direction: &mut Direction,
    data: Data<'_>,
    follows: bool,
    context: &Context,
    peer: Peer<'_>,
) -> Option<u64> {
    let packet = data.packet;
    let (una, accepted_segment_size) = (direction.una, direction.accepted_segment_size);
    let live = Live::of(&mut direction.live);
    let in_order = (data.is_contiguous && data.kind == SentKind::Data).then_some(data.start);
    let spacing_ns = live.rates.spacing.since_last(packet.time_ns);
    let numbering = if follows && data.segments == 1 {
        None
    } else {
        Some(numbering(live, in_order, packet, una, accepted_segment_size))
    };
    if packet.options & option_bits::TIMESTAMPS != 0 {
        hear(live, packet);
    }
    if peer.max() > live.peer_max_then {
        take_turn(live, packet, peer);
    }
    if live.view.ends_pause(packet.time_ns) {
        resume(live, packet, peer);
    }
    if data.end == data.highest {
        live.peer_max_then = peer.max();
    }
    let largest_payload = direction.largest_payload;
    observers(live).on_sent(&Sent { data, spacing_ns, numbering, largest_payload }, context);
    direction.last_sent.0 = packet.time_ns;
    direction.last_data_ns = direction.last_data_ns.max(packet.time_ns);
    spacing_ns
}

/// `packet` acknowledges everything up to `position`: it is shown to all that measures. Returns what it brought.
#[inline(always)]
pub(crate) fn show_acked(
    direction: &mut Direction,
    packet: &Packet,
    position: u64,
    advances: Option<RoundTrip>,
    window: AckWindow,
    context: &Context,
) -> AckProgress {
    let AckWindow { shift: window_shift, is_told: has_window } = window;
    direction.una = direction.una.max(position);
    if !has_window && direction.live.is_none() {
        return AckProgress::default();
    }
    let bytes = u64::from(packet.window) << window_shift.unwrap_or(0);
    if has_window {
        direction.window.add(packet.window, bytes, packet.time_ns);
    }
    let window_bytes = window_shift.map(|_| bytes).filter(|_| has_window);
    let live = Live::of(&mut direction.live);
    if let Some(trip) = advances {
        live.acks.when_first_acknowledged.get_or_insert((direction.max, packet.time_ns));
        if !matches!(trip, RoundTrip::None) {
            direction.last_data_ns = direction.last_data_ns.max(packet.time_ns);
        }
    }
    let acked = Acked {
        packet,
        position,
        advances,
        pace_rtt_ns: take_sample(live, packet, advances, context),
        window: has_window.then(|| Advertised {
            bytes: window_bytes,
            is_closed: packet.window == 0,
            relief: live.relief_bytes(),
        }),
    };
    observers(live).on_acked(&acked, context);
    AckProgress { round_trip: advances.and_then(|trip| trip.sample(packet)), window_bytes }
}

/// The sender of this data had heard what it echoes.
#[inline(always)]
fn hear(live: &mut Live, packet: &Packet) {
    if let Some(loop_ns) = live.view.heard(packet.time_ns, packet.tsecr) {
        live.rates.series.sender_loop(loop_ns);
    }
}

/// The data is the first since the other side said something.
#[inline(never)]
fn take_turn(live: &mut Live, packet: &Packet, peer: Peer<'_>) {
    if let Some(spoke_ns) = peer.spoke_ns() {
        live.view.takes_its_turn(packet.time_ns, spoke_ns, peer.is_client);
    }
}

/// The data ends a pause.
#[cold]
#[inline(never)]
fn resume(live: &mut Live, packet: &Packet, peer: Peer<'_>) {
    let asked_ns = peer.spoke_ns().filter(|_| peer.max() > live.peer_max_then);
    let resumption = Resumption::of(packet, live.last_data.has_push(), peer.tsval(), asked_ns);
    live.view.resumes(packet.time_ns, resumption);
}

/// What the identification of data is compared with that begins at `start` and is in order; none if it is not. What was
/// acknowledged before it came took its numbers, too: the capture has missed that.
#[inline(never)]
fn numbering(live: &Live, start: Option<u64>, packet: &Packet, una: u64, accepted_segment_size: u16) -> Numbering {
    let whole = start.is_some_and(|start| live.last_data.is_followed_by(start))
        && (!live.holes.reach_beyond(una) || live.size.uneven.may_hold_more(live.last_data.length));
    Numbering { whole, most_bytes: u32::from(most_payload(accepted_segment_size, packet)).min(ETHERNET_PAYLOAD) }
}

/// Takes the round trip into the samples. Returns the smoothed one where the sender's pace is to be looked at.
#[inline(always)]
fn take_sample(live: &mut Live, packet: &Packet, advances: Option<RoundTrip>, context: &Context) -> Option<f64> {
    match advances {
        Some(RoundTrip::Sample(newest, segments)) => {
            let rtt_ns = newest.until(packet);
            if segments == 1 && live.round_trips.may_be_delayed(rtt_ns) {
                nagle::check_delayed(live, packet);
            }
            live.round_trips.sample(rtt_ns, segments);
            let is_due = context.beside_sender && live.round_trips.moments.count.is_multiple_of(PACE_EVERY_SAMPLES);
            is_due.then(|| live.round_trips.srtt_ns().unwrap_or(0.0))
        }
        Some(RoundTrip::Rejected(reason, segments)) => {
            live.round_trips.refuse(packet, reason, segments);
            None
        }
        Some(RoundTrip::None) | None => None,
    }
}
