//! Who speaks: where the data of a connection changes its direction, [`crate::tcp::requests`] hears what was said. Inside TLS what was
//! said are records; without, or where records cannot be read, it is all data between two such places.
//!
//! Costs a comparison for each packet with data; everything else happens where the direction changes.
//!
//! Rule: docs/methods.md, "Turns of a connection".

use crate::http2::Http2Reader;
use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::groups::{Speech, Streams, Terms};
use crate::tcp::connection::turns::{MOST_LOOKED_AT, hand_over, payload_end, turn_of};
use crate::tcp::connection::{loops, nearer, opened_texts};
use crate::tcp::direction::direction::Direction;
use crate::tcp::requests::exchanges::{MOST_CONTROL_BYTES, Reason};
use crate::tcp::requests::longest::Longest;
use crate::tcp::requests::open::MOST_MESSAGE_BYTES;
use crate::tcp::requests::opening::{Expects, MessageOpening, host_of};
use crate::tcp::requests::said::{Interim, Said};
use crate::tcp::requests::talk::{NOBODY, OpenedTalk, Turn};
use crate::tcp::stats::sequence::unwrap;
use crate::tls::Spoken;

/// A side that sends again after so long, and several round trips, has had a pause.
const SHORTEST_PAUSE_NS: i64 = 200_000_000;

const PAUSE_ROUND_TRIPS: i64 = 4;

/// So long clients wait for 100 Continue (curl: `CURLOPT_EXPECT_100_TIMEOUT_MS`, botocore the same).
const CONTINUE_TIMER_NS: i64 = 1_000_000_000;

/// Round trips to a server differ by so small a part, one in so many, however short they are.
const LOOP_SLACK_DIVISOR: i64 = 5;

/// Where servers speak without TLS: HTTP, DNS, NetBIOS and SMB, NFS, proxies, iSCSI, Redis, memcached (IANA's registry).
const PORTS_IN_THE_CLEAR: [u16; 15] =
    [80, 53, 139, 445, 2049, 3128, 3260, 6379, 8000, 8008, 8080, 8081, 8088, 8888, 11_211];

/// New data of `side`, which did not speak last.
#[cold]
#[inline(never)]
pub(crate) fn speaks(
    speech: &mut Speech,
    streams: &mut Streams,
    directions: &[Direction; 2],
    server_port: u16,
    packet: &Packet,
    bytes: &[u8],
    side: usize,
) {
    let opening = MessageOpening::of(packet.captured_payload(bytes), packet.payload_length);
    if let Some(turn) = speech.turn.as_mut().filter(|turn| usize::from(turn.side) == side) {
        turn.looked_at += 1;
        if turn.looked_at >= MOST_LOOKED_AT {
            speech.speaker = side as u8;
        }
        if matches!(opening, MessageOpening::HttpRequest | MessageOpening::HttpPipelined) {
            speech.talk.get_or_insert_default().plain.begins(MessageOpening::HttpPipelined);
        }
        return;
    }
    let expects_continue = match side {
        0 => opening.expects_continue(packet.captured_payload(bytes), packet.payload_length),
        _ => Expects::No,
    };
    let turn = Turn { expects_continue, ..turn_of(directions, packet, opening, side, speech.turn.as_ref()) };
    let is_first = speech.turn.is_none();
    if opening == MessageOpening::Http2 && side == 0 && is_first && !turn.partial {
        streams.http2 = Some(Box::new(Http2Reader::Clear(Box::default())));
        streams.tls = None;
    }
    if side == 0 && is_first && matches!(opening, MessageOpening::HttpRequest | MessageOpening::HttpPipelined) {
        streams.host = host_of(packet.captured_payload(bytes));
    }
    end_turn(speech, directions);
    // Nothing of the first message was captured: it may begin a TLS handshake, unless the port is one of those in the clear.
    let may_be_tls = || directions[side].opening_seen && !PORTS_IN_THE_CLEAR.contains(&server_port);
    let begins = if is_first && opening == MessageOpening::Cut { may_be_tls() } else { opening.is_special() };
    if begins {
        speech.talk.get_or_insert_default().plain.begins(opening);
    }
    speech.speaker = if opening == MessageOpening::HttpRequest { NOBODY } else { side as u8 };
    speech.turn = Some(turn);
}

/// The turn in progress is over.
fn end_turn(speech: &mut Speech, directions: &[Direction; 2]) {
    let Some(turn) = speech.turn.take() else { return };
    let direction = &directions[usize::from(turn.side)];
    let last = direction.live.as_deref().and_then(|live| live.rates.spacing.last());
    let bytes = payload_end(direction).saturating_sub(turn.position);
    let end = last.map_or(turn.start, |last| last.max(turn.start));
    hand_over(&mut speech.talk.get_or_insert_default().plain, &turn, end, bytes);
}

/// New data of a side after a pause, in which the other side has said nothing.
#[cold]
pub(crate) fn note_resumption(
    speech: &mut Speech,
    streams: &mut Streams,
    directions: &[Direction; 2],
    terms: &Terms,
    packet: &Packet,
    side: usize,
) {
    let direction = &directions[side];
    let pause_ns = packet.time_ns.saturating_sub(direction.last_sent.0);
    let several_ns = loops::shortest_rtt_ns(&terms.loops).unwrap_or(0).saturating_mul(PAUSE_ROUND_TRIPS);
    let is_own = speech.turn.is_some_and(|turn| usize::from(turn.side) == side);
    let is_new = packet.sequence == direction.max as u32 && direction.all_acknowledged();
    if is_own && is_new && pause_ns >= SHORTEST_PAUSE_NS.max(several_ns) {
        note_wait_for_continue(speech, pause_ns);
        if side == 0 {
            restart(speech, streams, directions, terms, packet);
        }
        if let Some(talk) = &mut speech.talk {
            talk.plain.resumes();
            talk.sealed.resumes();
            talk.opened.iter_mut().for_each(|opened| opened.exchanges.resumes());
        }
    }
}

fn note_wait_for_continue(speech: &mut Speech, pause_ns: i64) {
    let is_timer = (pause_ns - CONTINUE_TIMER_NS).abs() <= CONTINUE_TIMER_NS / 20;
    let waited = |turn: &mut Turn| match std::mem::replace(&mut turn.expects_continue, Expects::No) {
        Expects::Continue => true,
        Expects::Unknown => is_timer,
        Expects::No => false,
    };
    let pause_ns = u64::try_from(pause_ns).unwrap_or(0);
    if speech.turn.as_mut().is_some_and(waited) {
        speech.talk.get_or_insert_default().plain.waited_for_continue(pause_ns);
    }
    let opened = speech.talk.as_mut().and_then(|talk| talk.opened.as_mut());
    if let Some(OpenedTalk { exchanges, turn: Some(said) }) = opened.map(|opened| &mut **opened)
        && waited(&mut said.turn)
    {
        exchanges.waited_for_continue(pause_ns);
    }
}

/// The client's next data begins a request; what it said before had no response.
fn restart(speech: &mut Speech, streams: &mut Streams, directions: &[Direction; 2], terms: &Terms, packet: &Packet) {
    let end = payload_end(&directions[0]);
    let is_message = |turn: &Turn, bytes| turn.opening != MessageOpening::HttpRequest && bytes <= MOST_MESSAGE_BYTES;
    let is_own = |turn: &Turn| is_message(turn, end.saturating_sub(turn.position));
    if let Some(turn) = speech.turn.as_mut().filter(|turn| is_own(turn)) {
        (turn.start, turn.position) = ((packet.time_ns, packet.frame), end);
    }
    if let Some(opened) = speech.talk.as_mut().and_then(|talk| talk.opened.as_mut()) {
        let _ = opened.turn.take_if(|said| said.turn.side == 0 && is_message(&said.turn, said.bytes));
    }
    if streams.tls.as_deref().is_some_and(|tracker| tracker.is_settled()) {
        take_sealed(speech, streams, nearer::data_loop_ns(terms, directions, 1), false, |_| true);
        speech.talk.iter_mut().for_each(|talk| talk.sealed.restarts());
    }
}

/// The TLS tracker has taken bytes of `packet`: a turn inside TLS may be over.
pub(crate) fn follow_sealed(
    speech: &mut Speech,
    streams: &mut Streams,
    directions: &[Direction; 2],
    terms: &Terms,
    packet: &Packet,
    side: usize,
) {
    let Some(tracker) = &mut streams.tls else { return };
    if tracker.has_turned() {
        let has_all = side == 1 || has_received_all(&directions[1 - side], packet);
        let loop_ns = nearer::data_loop_ns(terms, directions, 1);
        take_sealed(speech, streams, loop_ns, false, |is_last| !is_last || has_all);
    }
}

/// Takes what was said inside TLS, to a server so far away. `informed`: whether the sender of the last, or of one before, had received what came before.
#[cold]
fn take_sealed(
    speech: &mut Speech,
    streams: &mut Streams,
    loop_ns: Option<i64>,
    finish: bool,
    informed: impl Fn(bool) -> bool,
) {
    let spoken = streams.tls.as_mut().map_or_else(Vec::new, |tracker| tracker.take_spoken(finish));
    let latest = spoken.len().saturating_sub(1);
    let shortest_ns = loop_ns.map_or(0, |loop_ns| loop_ns - loop_ns / LOOP_SLACK_DIVISOR);
    for (index, (lane, Spoken { start, end, bytes, records })) in spoken.into_iter().enumerate() {
        let sealed = &mut speech.talk.get_or_insert_default().sealed;
        // No response comes sooner than a round trip after its request began.
        let too_soon = lane == 1 && sealed.waits_since_ns().is_some_and(|since_ns| start.0 - since_ns < shortest_ns);
        let goes_on = lane == 1 && sealed.doubtful_since_ns().is_some_and(|since_ns| start.0 - since_ns < shortest_ns);
        let informed = (lane == 1 || informed(index == latest)) && !goes_on;
        if !too_soon {
            let interim = if records.is_continue { Interim::Yes } else { Interim::No };
            sealed.said(&Said { side: lane as u8, start, end, bytes, records, informed, interim }, false);
        }
    }
}

/// The client has received all that `peer` sent, but for what may be no more than an empty frame or a window update.
fn has_received_all(peer: &Direction, packet: &Packet) -> bool {
    let acknowledged = unwrap(peer.una, packet.acknowledgement) + MOST_CONTROL_BYTES;
    packet.has(tcp_flags::ACK) && acknowledged >= payload_end(peer)
}

/// All exchanges, or why none are reported. `is_tls`: TLS was recognised.
pub(crate) fn finish_requests(
    speech: &mut Speech,
    streams: &mut Streams,
    directions: &[Direction; 2],
    terms: &Terms,
    is_tls: bool,
) -> Result<Longest, Reason> {
    end_turn(speech, directions);
    let opened = opened_texts::finish(streams, speech).filter(|_| is_tls);
    if is_tls && streams.tls.is_some() {
        take_sealed(speech, streams, nearer::data_loop_ns(terms, directions, 1), true, |_| true);
    }
    let tracker = streams.tls.as_deref().filter(|_| is_tls);
    let hides_handshake = tracker.is_some_and(|tracker| tracker.hides_handshake());
    let misses_bytes = tracker.is_some_and(|tracker| tracker.misses_bytes());
    match speech.talk.take() {
        _ if misses_bytes => Err(Reason::MissingPackets),
        _ if hides_handshake => Err(Reason::SnapLength),
        Some(talk) if is_tls => opened.unwrap_or(talk.sealed).finish(),
        Some(talk) => talk.plain.finish(),
        None => Err(Reason::NoExchange),
    }
}
