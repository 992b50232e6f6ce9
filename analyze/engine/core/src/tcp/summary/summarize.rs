//! The end of a connection: its state becomes a [`ConnectionSummary`], and its lists are free for another.

use crate::http2::Http2Summary;
use crate::tcp::capture::recent_packets::RecentPackets;
use crate::tcp::connection::connection::Connection;
use crate::tcp::connection::environment::Environment;
use crate::tcp::connection::groups::{Speech, Streams, Terms, Watch};
use crate::tcp::connection::vantage::{Clues, Vantage};
use crate::tcp::connection::{checksums, closing, nearer, speaking, syn_late, watching};
use crate::tcp::direction::direction::{Direction, direction_and_peer};
use crate::tcp::direction::segment_size;
use crate::tcp::events::offer::Scaling;
use crate::tcp::limits::retransmitting::retransmitting_ns;
use crate::tcp::limits::second_stage::{Facts, Reassignment, reassign};
use crate::tcp::limits::setup::SetupTime;
use crate::tcp::requests::exchanges::Reason;
use crate::tcp::requests::summary::RequestSummary;
use crate::tcp::stats::compact::Measured;
use crate::tcp::summary::bounds::bounds_reached;
use crate::tcp::summary::capture_faults::unseen_side;
use crate::tcp::summary::ending::Ending;
use crate::tcp::summary::kept::Kept;
use crate::tcp::summary::summarize_direction::{SummaryContext, details, summarise, summarise_pauses};
use crate::tcp::summary::summary::{ConnectionDetails, ConnectionSummary, Judgement};
use crate::tls::{StreamBytes, StreamDirection, TlsFacts};

/// Ends a connection.
pub fn summary_of(connection: &mut Connection, environment: &Environment) -> Box<ConnectionSummary> {
    let fixed_limit_ns = environment.fixed_spacing_limit_ns;
    connection.terms.handshake.settle();
    syn_late::forget_late_syn(&mut connection.terms, &connection.directions[0]);
    let log = connection.endings.log.take();
    let (vantage, ending) = (vantage(connection), Ending::of(connection, log));
    let path_rtt_ns = nearer::path_rtt_ns(connection);
    let contexts = [0, 1].map(|side| SummaryContext::of(connection, side, vantage.side, path_rtt_ns, environment));
    let facts = connection.streams.tls.as_ref().and_then(|tracker| tracker.facts());
    let stream = facts.is_some().then(|| stream_bytes(connection));
    let is_http2 = connection.speech.talk.as_ref().is_some_and(|talk| talk.plain.http2);
    let Connection { speech, streams, directions, terms, watch, times, .. } = &mut *connection;
    let requests = requests(speech, streams, directions, terms, facts.as_ref());
    let http2 = streams.http2.take().and_then(|reader| reader.summary()).map(Box::new);
    let host = streams.host.take();
    let recent = recent(directions);
    watching::judge_all(watch, directions, terms, times.start_ns, fixed_limit_ns);
    settle_counters(directions);
    let tls_end_ns = tls_end_ns(directions, facts.as_ref());
    let openings = [0, 1].map(|side| watching::opening(connection, side, tls_end_ns));
    let Connection { watch, directions, terms, times, .. } = &mut *connection;
    let judgement = judge(watch, directions, terms, openings, (times.end_ns, times.end_frame), environment);
    let handshake = &connection.terms.handshake;
    // Its place comes first, and nothing of it is moved once it stands: it is large.
    let place = Box::new_uninit();
    let mut summary = Box::write(
        place,
        ConnectionSummary {
            id: connection.identity.id,
            order: connection.identity.order,
            input: connection.identity.input,
            first_frame: connection.identity.first_frame,
            ip_version: connection.identity.ip_version,
            addresses: connection.identity.addresses,
            ports: connection.identity.ports,
            start_ns: connection.times.start_ns,
            end_ns: connection.times.end_ns,
            openings_seen: [handshake.syn.count > 0, handshake.syn_ack.count > 0],
            client_isn: (connection.directions[0].base as u32).wrapping_sub(1),
            server_isn: (connection.directions[1].base as u32).wrapping_sub(1),
            handshake_complete: handshake.complete,
            scaling: Scaling::of(&connection.directions[0].offer, &connection.directions[1].offer),
            answered_nearer: nearer::answered_nearer(connection),
            handshake_loops: [handshake.client_loop_ns, handshake.server_loop_ns]
                .map(|loop_ns| Measured::from(loop_ns.and_then(|loop_ns| u64::try_from(loop_ns).ok()))),
            close: closing::close(connection),
            reset_by: closing::last_word(connection).map(|(side, _)| side),
            teardown: teardown_ns(connection).and_then(|ns| u64::try_from(ns).ok()).into(),
            vantage,
            directions: Default::default(),
            judgement,
            tls: facts.map(Box::new),
            requests,
            details: connection_details(connection, http2, host),
            lookups: connection.streams.dns.take().map(|streams| Box::new(streams.into_lookups())),
            ended_by: 0,
            ended_by_ns: i64::MIN,
            ending,
            kept: kept(connection, recent),
        },
    );
    summarise_both(connection, &mut summary, &contexts, fixed_limit_ns);
    take_messages(&mut summary, is_http2, environment.reassignments);
    if let Some(side) = unseen_side(&summary) {
        summary.directions[side].shown = summary.directions[side].shown.unseen();
    }
    if let Some(stream) = stream {
        take_stream(&mut summary, stream);
    }
    summary
}

/// Client's data and server's data.
fn summarise_both(
    connection: &mut Connection,
    summary: &mut ConnectionSummary,
    contexts: &[SummaryContext; 2],
    fixed_limit_ns: Option<u64>,
) {
    let offers = connection.directions.each_ref().map(|direction| direction.offer);
    let ecn = connection.terms.agreed.ecn.as_deref();
    let congestion = [0, 1].map(|side| ecn.map(|ecn| (ecn.feedback, ecn.sides[side])));
    for (side, (found, context)) in summary.directions.iter_mut().zip(contexts).enumerate() {
        connection.directions[side].loss.bad_checksums = checksums::unexplained(connection, side);
        let pauses = connection.watch.watchers[side].pauses.as_deref();
        let [direction, peer] = direction_and_peer(&mut connection.directions, side);
        let judgement = summary.judgement.as_deref_mut();
        let limits = judgement.and_then(|judgement| judgement.limits[side].as_deref_mut());
        summarise(direction, offers, context, limits, found);
        if let Some(pauses) = pauses.filter(|pauses| !pauses.totals.is_empty()) {
            summarise_pauses(&pauses.totals, fixed_limit_ns, &mut found.spacing);
        }
        found.details = details(direction, peer, context, pauses, congestion[side]);
    }
}

/// What TLS made of the payload stays with each direction.
fn take_stream(summary: &mut ConnectionSummary, stream: [Option<StreamBytes>; 2]) {
    for (direction, bytes) in summary.directions.iter_mut().zip(stream) {
        direction.extras.stream = bytes.map(Box::new);
    }
}

/// What messages say of the limits: whose pauses they were, and whose window. `is_http2` is known by its preface.
fn take_messages(summary: &mut ConnectionSummary, is_http2: bool, rules: &[Reassignment]) {
    let ConnectionSummary { requests, details, judgement, tls, directions, .. } = summary;
    let Some(judgement) = judgement.as_deref_mut() else { return };
    if let Ok(requests) = requests {
        let of_client = judgement.limits[0].as_deref();
        requests.retransmitting_ns = of_client.map_or(0, |limits| retransmitting_ns(limits, requests));
    }
    let details = details.as_deref();
    let is_http2 = is_http2 || tls.as_deref().is_some_and(|tls| tls.alpn.as_deref() == Some("h2"));
    for (side, limits) in judgement.limits.iter_mut().enumerate() {
        let facts = Facts {
            requests: requests.as_deref().ok().map(|requests| (requests, side)),
            http2: details.and_then(|all| all.http2.as_deref()).and_then(|http2| http2.windows.get(side)),
            is_http2,
            kept_back: directions[side].nagle_waits().map(|waits| (waits, side)),
            ..Facts::default()
        };
        if let Some(limits) = limits {
            reassign(rules, limits, &facts);
            limits.shrink();
        }
    }
}

/// Brings everything into the counters.
fn settle_counters(directions: &mut [Direction; 2]) {
    for direction in &mut *directions {
        direction.settle_counters();
        if segment_size::takes_fewer(direction) {
            segment_size::settle_fewer(direction);
        }
    }
    settle_copies(directions);
}

/// What TLS made of the payload of both directions.
fn stream_bytes(connection: &Connection) -> [Option<StreamBytes>; 2] {
    let tracker = connection.streams.tls.as_deref();
    [StreamDirection::ClientToServer, StreamDirection::ServerToClient]
        .map(|stream| tracker.map(|tracker| tracker.stream_bytes(stream)))
}

/// Requests and responses with what was waited for before the first; the TLS tracker is of no use afterwards.
fn requests(
    speech: &mut Speech,
    streams: &mut Streams,
    directions: &[Direction; 2],
    terms: &Terms,
    tls: Option<&TlsFacts>,
) -> Result<Box<RequestSummary>, Reason> {
    let found = speaking::finish_requests(speech, streams, directions, terms, tls.is_some());
    streams.tls = None;
    let longest = found?;
    let handshake = &terms.handshake;
    let syn_ns = (handshake.syn.count > 0).then_some(handshake.syn.first_ns);
    let opened_ns = syn_ns.zip(handshake.completed_ns).and_then(|(from_ns, to_ns)| u64::try_from(to_ns - from_ns).ok());
    let tls_s = tls.and_then(|facts| facts.handshake_s).filter(|seconds| *seconds >= 0.0);
    let [client_loop_ns, server_loop_ns] = [0, 1]
        .map(|side| nearer::data_loop_ns(terms, directions, side).and_then(|loop_ns| u64::try_from(loop_ns).ok()));
    let tls_ns = tls_s.map(|seconds| (seconds * 1e9) as u64);
    Ok(Box::new(RequestSummary {
        longest,
        handshake_ns: opened_ns.into(),
        tls_ns: tls_ns.into(),
        server_loop_ns: server_loop_ns.into(),
        client_loop_ns: client_loop_ns.into(),
        retransmitting_ns: 0,
    }))
}

fn connection_details(
    connection: &Connection,
    http2: Option<Box<Http2Summary>>,
    host: Option<Box<str>>,
) -> Option<Box<ConnectionDetails>> {
    let (nearer, bounds) = (nearer::nearer(connection).map(Box::new), bounds_reached(connection));
    let is_plain = nearer.is_none() && bounds.is_empty() && http2.is_none() && host.is_none();
    let rest = ConnectionDetails::default();
    (!is_plain).then(|| Box::new(ConnectionDetails { nearer, bounds, http2, host, ..rest }))
}

/// Where the connection was captured.
fn vantage(connection: &Connection) -> Vantage {
    let Connection { terms: Terms { handshake, loops, .. }, directions, .. } = connection;
    let clues = Clues {
        loops_ns: loops.loops_ns,
        from_handshake: handshake.client_loop_ns.is_some() && handshake.server_loop_ns.is_some(),
        ttl: [directions[0].ttl, directions[1].ttl],
        superpackets: directions.iter().any(|direction| direction.superpackets > 0),
    };
    clues.vantage()
}

/// The last packets of both sides, if there were copies.
fn recent(directions: &mut [Direction; 2]) -> Option<Box<[RecentPackets; 2]>> {
    let packets =
        |direction: &mut Direction| direction.live.as_mut().map(|live| std::mem::take(&mut live.capture.recent));
    let any = directions.iter().any(|direction| direction.loss.capture_duplicates > 0);
    any.then(|| Box::new(directions.each_mut().map(|direction| packets(direction).unwrap_or_default())))
}

/// What is needed of the connection if packets still come that belong to it.
fn kept(connection: &Connection, recent: Option<Box<[RecentPackets; 2]>>) -> Option<Box<Kept>> {
    let refused = closing::refused_offer(connection);
    let rewritten_by = connection.doubts.rewritten_by;
    let is_any = recent.is_some() || refused.is_some() || rewritten_by.is_some();
    is_any.then(|| Box::new(Kept { recent, refused, rewritten_by }))
}

/// From the first FIN to the acknowledgement of the last one, or to a reset behind it.
fn teardown_ns(connection: &Connection) -> Option<i64> {
    let acknowledged_ns = connection.directions.each_ref().map(|direction| direction.fin_acknowledged_ns);
    let end_ns = match acknowledged_ns {
        [Some(one_ns), Some(other_ns)] => Some(one_ns.max(other_ns)),
        _ => connection.endings.reset.map(|reset| reset.time_ns),
    };
    // A reset before the first FIN ends no teardown.
    connection.endings.first_fin_ns.zip(end_ns).map(|(first, last)| last - first).filter(|ns| *ns >= 0)
}

/// When the TLS handshake was over.
fn tls_end_ns(directions: &[Direction; 2], facts: Option<&TlsFacts>) -> Option<i64> {
    let hello_ns = directions.iter().filter_map(|direction| direction.first_data_ns).min();
    let handshake_s = facts.and_then(|facts| facts.handshake_s);
    hello_ns.zip(handshake_s).map(|(hello, handshake_s)| hello.saturating_add((handshake_s * 1e9) as i64))
}

/// What limited either direction.
fn judge(
    watch: &mut Watch,
    directions: &mut [Direction; 2],
    terms: &Terms,
    mut openings: [Option<SetupTime>; 2],
    end: (i64, u32),
    environment: &Environment,
) -> Option<Box<Judgement>> {
    let mut finish = |side: usize| {
        let opening = openings[side].take()?;
        watching::finish_limits(watch, directions, terms, opening, end, side, environment).map(Box::new)
    };
    let limits = [finish(0), finish(1)];
    limits.iter().any(Option::is_some).then(|| Box::new(Judgement { limits, decision: None }))
}

/// A network that copies packets copies fewer than one in so many.
const PACKETS_TO_A_COPY: u64 = 5;

/// A receiver does not report every copy of data, and copies of acknowledgements leave no trace at all. Where reports prove
/// the network to copy, the rest are taken for its work too. Where data was seen twice and no report says that it arrived
/// twice, the capture made the copies of both directions. Without any of this: a capture point that sees packets twice
/// sees most of them twice; a network that copies does so now and then, so below a fifth of the packets they are the
/// network's. So are those of data that came late, reported or not: kernels put one report in the place of another where
/// they compress acknowledgements (Linux: `tcp_comp_sack_nr`).
fn settle_copies(directions: &mut [Direction; 2]) {
    let proven = |direction: &Direction| {
        direction.loss.capture_duplicates > 0 && direction.loss.network_duplicates >= direction.loss.capture_duplicates
    };
    let few =
        |direction: &Direction| u64::from(direction.loss.capture_duplicates) * PACKETS_TO_A_COPY < direction.packets;
    let late = |direction: &Direction| match direction.live.as_deref() {
        Some(live) if few(direction) => live.capture.late_copies.min(direction.loss.capture_duplicates),
        _ => 0,
    };
    let by_capture = directions.iter().any(|direction| {
        direction.data_packets > 0 && direction.loss.capture_duplicates > late(direction) && !proven(direction)
    });
    for direction in directions {
        let few_without_data = direction.data_packets == 0 && few(direction) && !by_capture;
        let by_network =
            if proven(direction) || few_without_data { direction.loss.capture_duplicates } else { late(direction) };
        if by_network > 0 {
            direction.loss.network_duplicates += by_network;
            direction.loss.capture_duplicates -= by_network;
        }
    }
}
