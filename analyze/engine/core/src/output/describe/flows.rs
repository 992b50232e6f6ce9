//! Datagram flows, neighbours and protocols.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::analysis::echoes::{EchoFlow, FlowKey};
use crate::analysis::fallbacks::fallbacks;
use crate::analysis::results::Analysis;
use crate::flows::application::Application;
use crate::flows::arrivals::HeldRate;
use crate::flows::flow::{Flow, FlowLane};
use crate::flows::neighbours::Neighbour;
use crate::flows::packet_limit::{self, PacketLimit};
use crate::flows::protocols::Amount;
use crate::output::describe::endpoint::address_and_port;
use crate::output::describe::outcome::{icmp_errors, tunnels};
use crate::output::describe::quic::quic;
use crate::output::describe::visitor::Visitor;
use crate::output::fixed::thousandths;
use crate::output::key::key;

/// Flows that are listed; of more, those that show something and then the largest.
const MOST_LISTED: usize = 10_000;

/// Neighbours that are listed; of more, those without a reply first.
const MOST_NEIGHBOURS: usize = 1000;

/// Flows, in the order of their first packets, and what is not listed.
pub(super) fn flows(analysis: &Analysis, visitor: &mut impl Visitor) {
    let flows = analysis.datagrams.flows.list();
    let echoes = analysis.echoes.by_flow();
    let fallbacks = fallbacks(analysis);
    let listed = listed(flows);
    let items = listed.iter().filter_map(|&place| Some((place, flows.get(place)?)));
    visitor.records(key!("flows"), Some(items), |found, visitor| flow(found, &echoes, &fallbacks, visitor));
    let mut rest = Amount::default();
    flows.iter().for_each(|flow| rest.add(flow.amount()));
    for flow in listed.iter().filter_map(|&place| flows.get(place)) {
        let Amount { packets, wire_bytes } = flow.amount();
        rest = Amount { packets: rest.packets - packets, wire_bytes: rest.wire_bytes - wire_bytes };
    }
    let not_kept = analysis.datagrams.flows.not_kept();
    rest.add(not_kept);
    visitor.object(key!("flows_not_listed"), true);
    visitor.integer(key!("flows"), Some((flows.len() - listed.len()) as u64));
    visitor.integer(key!("packets"), Some(rest.packets));
    visitor.integer(key!("wire_bytes"), Some(rest.wire_bytes));
    visitor.integer(key!("packets_of_unknown_flows"), Some(not_kept.packets));
    visitor.integer(key!("packets_without_numbers"), Some(analysis.datagrams.flows.not_followed()));
    visitor.end();
}

/// Places of the flows that are listed, in order.
fn listed(flows: &[Flow]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..flows.len()).collect();
    if places.len() > MOST_LISTED {
        let shows = |flow: &Flow| flow.icmp_errors.is_some() || flow.quic.is_some();
        places.sort_by_key(|&place| std::cmp::Reverse((shows(&flows[place]), flows[place].amount().wire_bytes)));
        places.truncate(MOST_LISTED);
        places.sort_unstable();
    }
    places
}

fn flow(
    found: Option<(usize, &Flow)>,
    echoes: &HashMap<FlowKey, EchoFlow>,
    fallbacks: &HashMap<usize, u32>,
    visitor: &mut impl Visitor,
) {
    let flow = found.map(|(_, flow)| flow);
    let client = flow.map_or(0, Flow::client);
    let sides = [client, 1 - client];
    let ends = flow.map(|flow| sides.map(|side| flow.address(side)));
    let key_of = |flow: &Flow| ends.filter(|_| flow.is_echo()).map(|[from, to]| (from, to, flow.ports[0]));
    let echo = flow.and_then(key_of).and_then(|key| echoes.get(&key));
    let endpoint = |side: usize| flow.map(|flow| address_and_port(flow.address(side), flow.port(side)));
    visitor.integer(key!("id"), flow.map(|flow| u64::from(flow.number)));
    visitor.integer(key!("input"), flow.map(|flow| u64::from(flow.input)));
    visitor.text(key!("protocol"), flow.map(Flow::protocol_name).as_deref());
    visitor.word(key!("application"), flow.and_then(Flow::application).map(Application::name));
    visitor.text(key!("client"), endpoint(sides[0]).as_deref());
    visitor.text(key!("server"), endpoint(sides[1]).as_deref());
    visitor.known_instant(key!("start_ns"), flow.map(Flow::start_ns));
    visitor.exact_seconds(key!("duration_s"), flow.map(|flow| flow.end_ns().saturating_sub(flow.start_ns())));
    visitor.integer(key!("first_frame"), flow.map(|flow| u64::from(flow.first_frame)));
    visitor.flag(key!("unanswered"), flow.and_then(Flow::is_unanswered));
    let keys = [key!("client_to_server"), key!("server_to_client")];
    for (key, side) in keys.into_iter().zip(sides) {
        visitor.object(key, true);
        lane(flow.and_then(|flow| flow.lanes.get(side)), visitor);
        let of_echoes = echo.filter(|_| side == client).map(|echo| echo.round_trips_ns.clone());
        let of_echoes = of_echoes.map(|list| (list.len() as u64, list));
        let of_requests = flow.and_then(|flow| Some(flow.lanes.get(side)?.exchanges.as_ref()?.round_trips()));
        round_trips(of_echoes.or(of_requests).filter(|(samples, _)| *samples > 0), visitor);
        visitor.end();
    }
    let asked = echo.map(asked_by_echo).or(flow.and_then(asked_in));
    visitor.integer(key!("requests", IfKnown), asked.map(|(requests, _)| requests));
    visitor.integer(key!("unanswered_requests", IfKnown), asked.map(|(requests, answered)| requests - answered));
    let limit = echo.and_then(|echo| packet_limit::find(&echo.requests));
    if visitor.object(key!("rate_limit"), limit.is_some()) {
        packet_limit(limit.as_ref(), visitor);
        visitor.end();
    }
    tunnels(flow.and_then(Flow::tunnels_from_client).as_ref(), visitor);
    icmp_errors(flow.and_then(|flow| flow.icmp_errors.as_deref()), visitor);
    let summary = flow.and_then(|flow| flow.quic.as_deref()).and_then(|quic| quic.summary());
    quic(summary.as_ref(), found.and_then(|(place, _)| fallbacks.get(&place).copied()), visitor);
}

/// Requests, and those with a reply.
fn asked_by_echo(echo: &EchoFlow) -> (u64, u64) {
    (echo.requests.len() as u64, echo.requests.iter().filter(|(_, replied)| *replied).count() as u64)
}

/// The same where responses name their requests; none where there were none.
fn asked_in(flow: &Flow) -> Option<(u64, u64)> {
    let of_sides = flow.lanes.iter().filter_map(|lane| lane.exchanges.as_ref());
    of_sides
        .map(|one| (one.requests, one.responses))
        .reduce(|(asked, answered), (more, of_them)| (asked + more, answered + of_them))
}

fn lane(lane: Option<&FlowLane>, visitor: &mut impl Visitor) {
    let numbers = lane.and_then(|lane| lane.numbers.as_deref());
    let totals = numbers.map(|numbers| numbers.totals());
    visitor.integer(key!("packets"), lane.map(|lane| lane.packets));
    visitor.integer(key!("datagrams"), lane.and_then(FlowLane::datagrams));
    visitor.integer(key!("payload_bytes"), lane.map(|lane| lane.payload_bytes));
    visitor.integer(key!("wire_bytes"), lane.map(|lane| lane.wire_bytes));
    visitor.number(key!("rate_bps"), lane.and_then(FlowLane::rate_bps).map(f64::round));
    visitor.word(key!("sequence"), numbers.map(|numbers| numbers.scheme.name()));
    visitor.integer(key!("numbered"), totals.map(|totals| totals.received));
    visitor.integer(key!("lost"), totals.map(|totals| totals.lost));
    visitor.integer(key!("reordered"), totals.map(|totals| totals.reordered));
    visitor.integer(key!("duplicates"), totals.map(|totals| totals.duplicates));
    visitor.seconds(key!("jitter_s"), totals.and_then(|totals| totals.jitter_ns));
    let queue_ns = totals.and_then(|totals| totals.queue_ns);
    visitor.exact_seconds(key!("queue_s"), queue_ns);
    let held = numbers.and_then(|numbers| numbers.arrivals.held_rate());
    if visitor.object(key!("rate_limit"), held.is_some()) {
        let between_ns = |end: usize| held.map(|held: HeldRate| held.between_ns[end]);
        visitor.number(key!("rate_bps"), held.map(|held| held.rate_bps.round()));
        visitor.exact_seconds(key!("queue_s"), queue_ns);
        visitor.known_instant(key!("from_ns"), between_ns(0));
        visitor.known_instant(key!("to_ns"), between_ns(1));
        visitor.number(key!("confidence"), held.map(|held| thousandths(held.confidence)));
        visitor.end();
    }
}

/// How many there were, and those that are kept, shortest first.
fn round_trips(found: Option<(u64, Vec<i64>)>, visitor: &mut impl Visitor) {
    if visitor.object(key!("rtt"), found.is_some()) {
        let list = found.as_ref().map(|(_, list)| &list[..]);
        let quantile = |part: usize| list.and_then(|list| list.get((list.len() - 1) * part / 100).copied());
        visitor.integer(key!("samples"), found.as_ref().map(|(samples, _)| *samples));
        visitor.exact_seconds(key!("min_s"), quantile(0));
        visitor.exact_seconds(key!("median_s"), quantile(50));
        visitor.exact_seconds(key!("p95_s"), quantile(95));
        visitor.exact_seconds(key!("max_s"), quantile(100));
        visitor.end();
    }
}

/// Members of a limit on packets.
pub(super) fn packet_limit(limit: Option<&PacketLimit>, visitor: &mut impl Visitor) {
    visitor.number(key!("rate_per_s"), limit.map(|limit| thousandths(limit.rate_per_s)));
    visitor.number(key!("burst"), limit.map(|limit| limit.burst.round()));
    visitor.known_instant(key!("from_ns"), limit.map(|limit| limit.between_ns[0]));
    visitor.known_instant(key!("to_ns"), limit.map(|limit| limit.between_ns[1]));
    visitor.number(key!("confidence"), limit.map(|limit| thousandths(limit.confidence)));
}

/// Frames and bytes by protocol.
pub(super) fn protocols(analysis: &Analysis, visitor: &mut impl Visitor) {
    visitor.records(key!("protocols"), Some(analysis.datagrams.protocols.iter()), |found, visitor| {
        visitor.text(key!("protocol"), found.map(|(name, _)| &**name));
        visitor.integer(key!("packets"), found.map(|(_, amount)| amount.packets));
        visitor.integer(key!("wire_bytes"), found.map(|(_, amount)| amount.wire_bytes));
    });
}

/// Who asked for whom on the link.
pub(super) fn neighbours(analysis: &Analysis, visitor: &mut impl Visitor) {
    let neighbours = &analysis.datagrams.neighbours;
    let mut list: Vec<&Neighbour> = neighbours.list().iter().collect();
    if list.len() > MOST_NEIGHBOURS {
        list.sort_by_key(|one| (one.replies > 0, std::cmp::Reverse(one.requests)));
    }
    let not_listed = list.len().saturating_sub(MOST_NEIGHBOURS);
    list.truncate(MOST_NEIGHBOURS);
    list.sort_by_key(|one| one.asked_ns[0]);
    let text = |address: Option<IpAddr>| address.map(|address| address.to_string());
    visitor.records(key!("neighbours"), Some(list.into_iter()), |one, visitor| {
        visitor.text(key!("address"), text(one.map(|one| one.address)).as_deref());
        visitor.text(key!("asked_by"), text(one.map(|one| one.asked_by)).as_deref());
        visitor.integer(key!("requests"), one.map(|one| one.requests));
        visitor.integer(key!("replies"), one.map(|one| one.replies));
        visitor.integer(key!("unanswered"), one.map(|one| one.unanswered));
        visitor.known_instant(key!("first_ns"), one.map(|one| one.asked_ns[0]));
        visitor.known_instant(key!("last_ns"), one.map(|one| one.asked_ns[1]));
        visitor.integer(key!("first_frame"), one.map(|one| u64::from(one.first_frame)));
    });
    visitor.integer(key!("neighbours_not_listed", IfSet), Some(not_listed as u64));
    visitor.integer(key!("neighbour_requests_not_kept", IfSet), Some(neighbours.not_kept()));
    visitor.integer(key!("icmp_errors_of_no_flow", IfSet), Some(analysis.datagrams.errors_of_none));
}
