//! Who speaks inside TLS whose keys are in a key log: turns as in the clear, by the texts of records instead of by the bytes that cross.
//!
//! What records reveal by their lengths is not asked then: which of them are requests, tickets or interim responses is read.

use crate::http2::Opened;
use crate::packet::Packet;
use crate::tcp::connection::groups::{Speech, Streams};
use crate::tcp::connection::turns::{MOST_LOOKED_AT, hand_over, turn_of};
use crate::tcp::direction::direction::Direction;
use crate::tcp::requests::exchanges::Exchanges;
use crate::tcp::requests::opening::{Expects, MessageOpening};
use crate::tcp::requests::talk::{OpenedTalk, OpenedTurn, Turn};

/// Takes what was opened with a packet of `side`.
#[cold]
pub(super) fn follow(
    directions: &[Direction; 2],
    streams: &mut Streams,
    speech: &mut Speech,
    packet: &Packet,
    side: usize,
) {
    let all = streams.http2.as_mut().map_or_else(Vec::new, |reader| reader.take_opened());
    for one in &all {
        hear(directions, speech, packet, side, one);
    }
}

fn hear(directions: &[Direction; 2], speech: &mut Speech, packet: &Packet, side: usize, one: &Opened) {
    let length = one.text.len() as u32;
    let opening = MessageOpening::of(&one.text, length);
    let known = speech.talk.as_ref().and_then(|talk| talk.opened.as_ref()?.turn);
    let goes_on = known.is_some_and(|said| usize::from(said.turn.side) == one.side);
    let begun = || {
        let before = known.map(|said| said.turn);
        let turn = turn_of(directions, packet, opening, one.side, before.as_ref());
        let expects_continue = match one.side {
            0 => opening.expects_continue(&one.text, length),
            _ => Expects::No,
        };
        // What waited for bytes that were never captured comes with a packet of anybody.
        let informed = turn.informed || one.side != side;
        Turn { start: one.start, informed, expects_continue, ..turn }
    };
    let next = (!goes_on).then(begun);
    let opened = &mut **speech.talk.get_or_insert_default().opened.get_or_insert_default();
    match (next, &mut opened.turn) {
        (None, Some(said)) => {
            said.bytes += u64::from(length);
            said.end = one.end;
            said.turn.looked_at = said.turn.looked_at.saturating_add(1);
            let is_looked_at = said.turn.opening == MessageOpening::HttpRequest && said.turn.looked_at < MOST_LOOKED_AT;
            if is_looked_at && matches!(opening, MessageOpening::HttpRequest | MessageOpening::HttpPipelined) {
                opened.exchanges.begins(MessageOpening::HttpPipelined);
            }
        }
        (next, _) => {
            end_turn(opened);
            if opening.is_special() {
                opened.exchanges.begins(opening);
            }
            opened.turn = next.map(|turn| OpenedTurn { turn, end: one.end, bytes: u64::from(length) });
        }
    }
}

fn end_turn(opened: &mut OpenedTalk) {
    if let Some(OpenedTurn { turn, end, bytes }) = opened.turn.take() {
        hand_over(&mut opened.exchanges, &turn, end, bytes);
    }
}

/// All exchanges, where keys have opened all that was said.
pub(super) fn finish(streams: &Streams, speech: &mut Speech) -> Option<Exchanges> {
    let has_all = !streams.tls_settled && streams.http2.as_ref().is_some_and(|reader| reader.has_opened_all());
    let mut opened = speech.talk.as_mut()?.opened.take().filter(|_| has_all)?;
    end_turn(&mut opened);
    Some(opened.exchanges)
}
