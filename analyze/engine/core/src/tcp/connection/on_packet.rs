//! A packet of a connection, step by step: what each part of it says, and to whom that is shown.
//!
//! A packet is first compared with what was captured just before (copies are left out), then its data goes to its own
//! direction and its acknowledgement to the other.

use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::acceptable::Judged;
use crate::tcp::connection::acknowledged::Proved;
use crate::tcp::connection::connection::Connection;
use crate::tcp::connection::doubtful::{DoubtfulPackets, has_numbers_of};
use crate::tcp::connection::elsewhere::is_elsewhere;
use crate::tcp::connection::environment::Environment;
use crate::tcp::connection::packet_row::packet_row;
use crate::tcp::connection::padded::may_be_padded;
use crate::tcp::connection::{
    acceptable, acknowledged, checksums, clock_steps, congestion_bits, crossing, duplicates, ending_notes, far_jump,
    loops, open, own_data, padding, rtt_by_echo, speaking, watching,
};
use crate::tcp::direction::direction::Direction;
use crate::tcp::direction::sampling;
use crate::tcp::events::copy::Copied;
use crate::tcp::events::ecn;
use crate::tcp::events::row::RowSeen;

/// Takes a packet of this connection, unless its receiver would not.
#[inline(never)]
pub fn on_packet(
    connection: &mut Connection,
    packet: &Packet,
    bytes: &[u8],
    from_client: bool,
    environment: &mut Environment,
) {
    let side = usize::from(!from_client);
    checksums::look_at_repeat(&mut connection.directions[side], packet, bytes);
    let is_near = |connection: &Connection| {
        let directions = &connection.directions;
        !acceptable::is_far_ahead(directions, packet, side) && !acceptable::is_far_behind(directions, packet, side)
    };
    if connection.doubts.padding.is_some() && is_near(connection) {
        let data = padding::check_padding(&connection.directions, &mut connection.doubts, packet, side);
        if let Some((data, of)) = data {
            own_data::take_data_of_counted(connection, &data, &[], of);
        }
    }
    let Connection { directions, doubts, .. } = &mut *connection;
    let without_padding = || padding::without_padding(&directions[side], doubts, packet, bytes, side);
    let stripped = may_be_padded(packet).then(without_padding).flatten();
    let packet = stripped.as_ref().unwrap_or(packet);
    let opens_or_resets = packet.flags & (tcp_flags::SYN | tcp_flags::RST) != 0;
    if !opens_or_resets && is_elsewhere(connection, packet, side) {
        return acceptable::hold_elsewhere(&mut connection.directions, &mut connection.doubts, packet, side);
    }
    let may_lie_ahead = !opens_or_resets && acceptable::is_far_ahead(&connection.directions, packet, side);
    if may_lie_ahead {
        let Connection { terms, directions, doubts, .. } = &mut *connection;
        let judged = acceptable::judge_ahead(terms, directions, doubts, packet, side);
        if !settle(connection, judged, packet, side, environment) {
            return;
        }
    }
    take_packet(connection, packet, bytes, side, false, environment);
}

/// Takes a packet whose numbers lie not above every window. `is_believed`: nor below, or what follows shows that they are right.
pub(crate) fn take_packet(
    connection: &mut Connection,
    packet: &Packet,
    bytes: &[u8],
    side: usize,
    is_believed: bool,
    environment: &mut Environment,
) {
    if packet.flags & (tcp_flags::SYN | tcp_flags::RST) != 0 {
        return open::opening_or_reset(connection, packet, bytes, side, environment);
    }
    let was_begun = connection.directions[side].begun;
    let newer = begin_side(&mut connection.directions[side], packet, connection.times.start_ns, environment);
    if connection.detailed {
        environment.rows.shift_acknowledgements(connection.identity.id, side, newer);
    }
    let Connection { terms, directions, doubts, .. } = &mut *connection;
    // What was held because it lies far behind is remembered, and no copy of itself.
    let was_held = is_believed && acceptable::is_far_behind(directions, packet, side);
    let mut copied = || duplicates::copied(doubts, directions, terms, packet, bytes, side);
    let copied = if was_held { Copied::Nothing } else { copied() };
    let packet = match &copied {
        Copied::Nothing => packet,
        Copied::Head(rest) => rest,
        Copied::All => return,
    };
    let may_lie_behind = !is_believed && acceptable::is_far_behind(directions, packet, side);
    if may_lie_behind {
        let judged = acceptable::judge_behind(terms, directions, doubts, packet, side);
        if !settle(connection, judged, packet, side, environment) {
            // Where a side begins is what it says first that is believed.
            connection.directions[side].begun = was_begun;
            return;
        }
    }
    let Connection { terms, directions, endings, .. } = &mut *connection;
    if let Some(reset) = &endings.reset
        && reset.is_refuted_by(packet, side, directions, loops::loop_ns(&terms.loops, 1 - usize::from(reset.side)))
    {
        endings.go_on();
    }
    let before_ns = connection.times.end_ns;
    ending_notes::ends_later(connection, packet, side, environment);
    let Connection { terms, directions, .. } = &mut *connection;
    if terms.loops.echo_loops.is_some() {
        rtt_by_echo::seek_loops(terms, directions, packet, side);
    }
    if packet.flags & (ecn::BITS | tcp_flags::IN_FRAGMENTS) != 0 {
        congestion_bits::take_congestion_bits(terms, directions, packet, side);
    }
    let limit_ns = environment.fixed_spacing_limit_ns;
    let mut gap = watching::watch(connection, packet, bytes, side, before_ns, limit_ns);
    let Connection { terms, directions, speech, streams, doubts, watch, endings, .. } = &mut *connection;
    if gap.is_some() {
        speaking::note_resumption(speech, streams, directions, terms, packet, side);
    }
    let last = directions[side].live().rates.spacing.last();
    if packet.payload_length > 0 {
        sampling::keep_arrivals(&mut directions[side], packet);
    }
    clock_steps::take_stamp(&mut directions[side], doubts, packet, side, environment);
    if !terms.handshake.complete {
        match side {
            0 => open::complete_handshake(terms, directions, watch, packet, environment),
            _ => crossing::complete_split(terms, directions, packet, environment),
        }
    }
    ending_notes::note_oldest(&directions[side], endings, packet, side);
    let arrived = own_data::take_own(connection, packet, bytes, side);
    ending_notes::note_sent_again(&connection.directions[side], &mut connection.endings, packet, side, &arrived);
    if let (Some(evidence), Some(last), Some(_)) = (gap.as_mut(), last, arrived.spacing_ns) {
        watching::end_gap(connection, evidence, packet, side, last, &arrived, limit_ns);
    }
    let answer = acknowledged::take_answer(connection, packet, bytes, side, Proved::Nothing, environment.round_rules);
    if connection.detailed {
        let seen = RowSeen { arrived, window_bytes: answer.window_bytes, round_trip: answer.round_trip };
        environment.rows.push(&packet_row(connection, packet, side, &seen));
    }
}

/// What the first packet of a side begins. Returns by how much acknowledgements of it are moved.
#[inline(always)]
fn begin_side(direction: &mut Direction, packet: &Packet, start_ns: i64, environment: &mut Environment) -> u64 {
    let acknowledged_first = direction.begun;
    if !acknowledged_first {
        direction.begin(packet.sequence);
    }
    if direction.live.is_none() {
        direction.live = environment.live();
    }
    if direction.packets > 0 || direction.opening_seen {
        return 0;
    }
    open::begin_in_mid_stream(direction, packet, start_ns, acknowledged_first)
}

/// Whether a packet that may lie outside every window is believed; what was held before and is believed now is taken first.
#[cold]
fn settle(
    connection: &mut Connection,
    judged: Judged,
    packet: &Packet,
    side: usize,
    environment: &mut Environment,
) -> bool {
    match judged {
        Judged::Refused => false,
        Judged::Inside => true,
        Judged::Believed(held) => {
            take_held(connection, side, *held, environment);
            far_jump::pass_over(&mut connection.directions, packet, side);
            true
        }
    }
}

/// What was held is believed now: of the side, and of the other one.
pub(crate) fn take_held(
    connection: &mut Connection,
    side: usize,
    held: [Option<DoubtfulPackets>; 2],
    environment: &mut Environment,
) {
    for (side, held) in [(1 - side, held[1]), (side, held[0])] {
        let Some(DoubtfulPackets { first, last, .. }) = held else { continue };
        let only_one = has_numbers_of(&first, &last);
        for packet in [first, last].iter().skip(usize::from(only_one)) {
            let unacceptable = &mut connection.directions[side].loss.unacceptable;
            *unacceptable = unacceptable.saturating_sub(1);
            far_jump::pass_over(&mut connection.directions, packet, side);
            take_packet(connection, packet, &[], side, true, environment);
        }
    }
}
