//! QUIC of a datagram flow: what everybody sees, and what keys show.

use crate::output::describe::visitor::Visitor;
use crate::output::key::{Key, key};
use crate::quic::{Close, Durations, InsideSummary, QuicSummary};

/// The keys of the two ends.
fn sides() -> [Key; 2] {
    [key!("client"), key!("server")]
}

fn side_name(side: usize) -> &'static str {
    if side == 0 { "client" } else { "server" }
}

/// `fallback` is the TCP connection that followed in vain waiting.
pub(super) fn quic(found: Option<&QuicSummary>, fallback: Option<u32>, visitor: &mut impl Visitor) {
    if !visitor.object(key!("quic"), found.is_some()) {
        return;
    }
    visitor.text(key!("version"), found.and_then(|quic| quic.version).map(version).as_deref());
    visitor.text(key!("sni"), found.and_then(|quic| quic.sni.as_deref()));
    visitor.text(key!("alpn"), found.and_then(|quic| quic.alpn.as_deref()));
    visitor.texts(key!("alpn_offered"), found.map_or(&[], |quic| &quic.alpn_offered));
    visitor.object(key!("initials"), true);
    for (side, key) in sides().into_iter().enumerate() {
        visitor.integer(key, found.and_then(|quic| quic.initials.get(side).copied()));
    }
    visitor.exact_seconds(key!("span_s"), found.and_then(|quic| quic.initials_span_ns));
    visitor.end();
    visitor.flag(key!("retry"), found.map(|quic| quic.retry));
    let negotiated: Vec<String> =
        found.into_iter().flat_map(|quic| &quic.version_negotiation).map(|&number| version(number)).collect();
    visitor.texts(key!("version_negotiation"), &negotiated);
    visitor.exact_seconds(key!("handshake_s"), found.and_then(|quic| quic.handshake_ns));
    visitor.integer(key!("handshake_round_trips"), found.and_then(|quic| quic.handshake_round_trips));
    visitor.object(key!("handshake_rtt"), true);
    visitor.exact_seconds(key!("server_s"), found.and_then(|quic| quic.handshake_rtt_ns[0]));
    visitor.exact_seconds(key!("client_s"), found.and_then(|quic| quic.handshake_rtt_ns[1]));
    visitor.end();
    visitor.exact_seconds(key!("amplification_wait_s"), found.and_then(|quic| quic.amplification_wait_ns));
    spin(found, visitor);
    visitor.object(key!("connection_ids"), true);
    visitor.text(key!("first_destination"), found.and_then(|quic| quic.first_destination.as_deref()));
    for (side, key) in sides().into_iter().enumerate() {
        let ids = found.and_then(|quic| quic.connection_ids.get(side));
        visitor.object(key, true);
        visitor.integer(key!("bytes"), ids.and_then(|ids| ids.bytes));
        visitor.integer(key!("used"), ids.map(|ids| ids.used));
        visitor.end();
    }
    visitor.end();
    close(found.and_then(|quic| quic.close.as_ref()), visitor);
    visitor.integer(key!("fallback_connection"), fallback.map(u64::from));
    inside(found.and_then(|quic| quic.inside.as_ref()), visitor);
    visitor.text(key!("unread"), found.and_then(|quic| quic.unread.as_deref()));
    visitor.end();
}

fn version(number: u32) -> String {
    match number {
        1 => "1".into(),
        0x6b33_43cf => "2".into(),
        _ => format!("0x{number:08x}"),
    }
}

fn durations(found: Option<Durations>, visitor: &mut impl Visitor) {
    visitor.integer(key!("samples"), Some(found.map_or(0, |found| found.samples)));
    visitor.exact_seconds(key!("min_s"), found.map(|found| found.min_ns));
    visitor.exact_seconds(key!("median_s"), found.map(|found| found.median_ns));
    visitor.exact_seconds(key!("max_s"), found.map(|found| found.max_ns));
}

fn spin(quic: Option<&QuicSummary>, visitor: &mut impl Visitor) {
    let spin = quic.and_then(|quic| quic.spin_rtt.ok());
    visitor.object(key!("spin_rtt"), true);
    durations(spin.map(|spin| spin.durations), visitor);
    if visitor.object(key!("stretched"), spin.is_some()) {
        visitor.integer(key!("idle"), spin.map(|spin| spin.stretched.idle));
        visitor.integer(key!("client"), spin.map(|spin| spin.stretched.client));
        visitor.integer(key!("server"), spin.map(|spin| spin.stretched.server));
        visitor.end();
    }
    visitor.word(key!("reason"), quic.and_then(|quic| quic.spin_rtt.err()));
    visitor.end();
}

fn close(close: Option<&Close>, visitor: &mut impl Visitor) {
    if !visitor.object(key!("close"), close.is_some()) {
        return;
    }
    visitor.word(key!("by"), close.map(|close| side_name(close.side)));
    visitor.word(key!("kind"), close.map(|close| close.kind.name()));
    visitor.integer(key!("code"), close.and_then(|close| close.code));
    visitor.text(key!("error"), close.and_then(Close::error).as_deref());
    visitor.text(key!("reason"), close.map(|close| close.reason.as_str()));
    visitor.known_instant(key!("time_ns"), close.map(|close| close.time_ns));
    visitor.end();
}

/// What only keys show; null without them.
fn inside(inside: Option<&InsideSummary>, visitor: &mut impl Visitor) {
    of_sides(key!("packets"), inside, visitor, |inside, side, visitor| {
        let packets = inside.map(|inside| inside.packets[side]);
        visitor.integer(key!("sent"), packets.map(|packets| packets.sent));
        visitor.integer(key!("seen"), packets.map(|packets| packets.seen));
        visitor.integer(key!("missed_by_capture"), packets.map(|packets| packets.missed_by_capture));
    });
    of_sides(key!("lost"), inside, visitor, |inside, side, visitor| {
        let packets = inside.map(|inside| inside.packets[side]);
        visitor.integer(key!("before_capture_point"), packets.map(|packets| packets.lost_before));
        visitor.integer(key!("before_capture_point_one_rtt"), packets.map(|packets| packets.lost_before_one_rtt));
        visitor.integer(key!("behind_capture_point"), packets.map(|packets| packets.lost_behind));
    });
    of_sides(key!("acknowledged_rtt"), inside, visitor, |inside, side, visitor| {
        let rtt = inside.and_then(|inside| inside.acknowledged_rtt[side]);
        durations(rtt.map(|rtt| rtt.latest), visitor);
        visitor.exact_seconds(key!("smoothed_s"), rtt.map(|rtt| rtt.smoothed_ns));
        visitor.exact_seconds(key!("variation_s"), rtt.map(|rtt| rtt.variation_ns));
        let delay = rtt.and_then(|rtt| rtt.ack_delay);
        visitor.exact_seconds(key!("ack_delay_s"), delay.map(|delay| delay.median_ns));
    });
    of_sides(key!("flow_control"), inside, visitor, |inside, side, visitor| {
        let control = inside.map(|inside| inside.flow_control[side]);
        let window_bytes = control.and_then(|control| control.window_bytes);
        visitor.exact_seconds(key!("limited_s"), control.map(|control| control.limited_ns));
        visitor.integer(key!("times"), control.map(|control| control.times));
        visitor.integer(key!("window_bytes"), window_bytes);
        let of = control.filter(|_| window_bytes.is_some());
        visitor.word(key!("window_of"), of.map(|control| if control.of_stream { "stream" } else { "connection" }));
    });
    let streams = inside.map(|inside| inside.streams.iter());
    visitor.records(key!("streams"), streams, |stream, visitor| {
        visitor.integer(key!("id"), stream.map(|stream| stream.id));
        visitor.integer(key!("client_bytes"), stream.map(|stream| stream.bytes[0]));
        visitor.integer(key!("server_bytes"), stream.map(|stream| stream.bytes[1]));
        visitor.known_instant(key!("start_ns"), stream.map(|stream| stream.between_ns[0]));
        let duration_ns = stream.map(|stream| stream.between_ns[1].saturating_sub(stream.between_ns[0]));
        visitor.exact_seconds(key!("duration_s"), duration_ns);
        visitor.flag(key!("finished"), stream.map(|stream| stream.finished));
        visitor.integer(key!("reset_code"), stream.and_then(|stream| stream.reset_code));
    });
    visitor.integer(key!("streams_count"), inside.map(|inside| inside.streams_count));
    visitor.integer(key!("key_updates"), inside.map(|inside| inside.key_updates));
}

fn of_sides<V: Visitor>(
    key: Key,
    inside: Option<&InsideSummary>,
    visitor: &mut V,
    mut describe: impl FnMut(Option<&InsideSummary>, usize, &mut V),
) {
    if visitor.object(key, inside.is_some()) {
        for (side, key) in sides().into_iter().enumerate() {
            visitor.object(key, true);
            describe(inside, side, visitor);
            visitor.end();
        }
        visitor.end();
    }
}
