//! What stands before and after the connections of a document: the inputs, and what several connections show together.

use crate::analysis::results::{Analysis, InputSummary};
use crate::output::describe::outcome::outcomes;
use crate::output::describe::requests::server;
use crate::output::describe::tunnels::tunnels;
use crate::output::describe::unanswered::unanswered;
use crate::output::describe::visitor::Visitor;
use crate::output::describe::{flows, names};
use crate::output::fixed::thousandths;
use crate::output::key::key;
use crate::output::link_names::link_type_name;
use crate::read::input_facts::InputFacts;
use crate::tcp::shared_limits::{MOST_LISTED, SharedLimit};
use crate::tcp::summary::not_measured::REASONS;

/// The contract's name.
pub const SCHEMA: &str = "vmtrace.analysis/1";

/// Describes what stands before the connections; `paths` are those of the inputs.
pub fn head(analysis: &Analysis, vmtrace_version: &str, paths: &[String], visitor: &mut impl Visitor) {
    visitor.text(key!("schema"), Some(SCHEMA));
    visitor.text(key!("vmtrace"), Some(vmtrace_version));
    visitor.flag(key!("interrupted"), Some(analysis.interrupted));
    visitor.flag(key!("memory_exhausted", IfSet), Some(analysis.is_exhausted));
    visitor.reasons(key!("reasons"), REASONS.into_iter());
    visitor.records(key!("inputs"), Some(analysis.inputs.iter().enumerate()), |found, visitor| {
        let path = found.map(|(index, _)| paths.get(index).map_or("", String::as_str));
        visitor.text(key!("path"), path);
        input(found.map_or(&InputSummary::default(), |(_, input)| input), visitor);
    });
    outcomes(&analysis.connections, visitor);
    unanswered(&analysis.unanswered, visitor);
}

/// Describes what stands after them; of servers only where all connections are listed.
pub fn tail(analysis: &Analysis, are_all_listed: bool, visitor: &mut impl Visitor) {
    shared_limits(&analysis.shared_limits, visitor);
    let servers = if are_all_listed { analysis.servers().into_list() } else { Vec::new() };
    let any = (!servers.is_empty()).then(|| servers.iter());
    visitor.records(key!("request_servers", IfKnown), any, server);
    if are_all_listed {
        names::lookups(analysis, visitor);
        flows::flows(analysis, visitor);
        tunnels(analysis, visitor);
        flows::neighbours(analysis, visitor);
        flows::protocols(analysis, visitor);
    }
}

fn input(input: &InputSummary, visitor: &mut impl Visitor) {
    let facts = &input.facts;
    visitor.text(key!("format"), Some(facts.format).filter(|format| !format.is_empty()));
    visitor.text(key!("compression"), facts.compression);
    let names: Vec<String> = facts.link_types.iter().map(|&link_type| link_type_name(link_type).to_string()).collect();
    visitor.texts(key!("link_types"), &names);
    visitor.number(key!("time_resolution_s"), Some(facts.time_resolution_s).filter(|seconds| *seconds > 0.0));
    visitor.integer(key!("packets"), Some(facts.packets));
    visitor.integer(key!("tcp_packets"), Some(input.tcp_packets));
    visitor.integer(key!("captured_bytes"), Some(facts.captured_bytes));
    visitor.integer(key!("wire_bytes"), Some(facts.wire_bytes));
    visitor.integer(key!("snap_length_bytes"), facts.snap_length.map(u64::from));
    visitor.known_instant(key!("start_ns"), facts.start_ns);
    visitor.known_instant(key!("end_ns"), facts.end_ns);
    let undecoded = input.undecoded.iter().map(|(reason, count)| (reason.as_str(), *count));
    visitor.counts(key!("undecoded_packets"), undecoded);
    let unread = (!input.unread_tunnels.is_empty()).then(|| input.unread_tunnels.iter());
    visitor.records(key!("unread_tunnels", IfKnown), unread, |unread, visitor| {
        visitor.text(key!("look"), unread.map(|unread| unread.look.name()).as_deref());
        visitor.integer(key!("packets"), unread.map(|unread| unread.packets));
        visitor.integer(key!("bytes"), unread.map(|unread| unread.bytes));
        visitor
            .integers(key!("ports"), unread.into_iter().flat_map(|unread| &unread.ports).map(|&port| u64::from(port)));
    });
    visitor.records(key!("damage"), Some(facts.damage.iter()), |damage, visitor| {
        visitor.integer(key!("offset"), damage.map(|damage| damage.offset));
        visitor.integer(key!("skipped_bytes"), damage.map(|damage| damage.skipped_bytes));
        visitor.text(key!("what"), damage.map(|damage| damage.what.as_str()));
    });
    completeness(input, facts, visitor);
}

fn completeness(input: &InputSummary, facts: &InputFacts, visitor: &mut impl Visitor) {
    let disorder = facts.out_of_time_order;
    visitor.object(key!("out_of_time_order"), true);
    visitor.integer(key!("records"), Some(disorder.records));
    visitor.exact_seconds(key!("largest_step_s"), (disorder.records > 0).then_some(disorder.largest_step_ns));
    visitor.integer(key!("left"), Some(disorder.left));
    visitor.integer(key!("appended", IfSet), Some(disorder.appended));
    visitor.integer(key!("appended_left", IfSet), Some(disorder.appended_left));
    visitor.end();
    visitor.object(key!("capture"), true);
    visitor.integer(key!("dropped_by_kernel"), facts.dropped_by_kernel);
    visitor.integer(key!("dropped_by_interface"), facts.dropped_by_interface);
    visitor.integer(key!("packets_without_time"), Some(facts.packets_without_time));
    visitor.integer(key!("unseen_acked_bytes"), input.unseen_acked_bytes);
    visitor.integer(key!("one_direction_connections", IfSet), Some(input.one_direction_connections));
    visitor.integer(key!("duplicates"), Some(input.duplicates));
    visitor.integer(key!("reordered"), Some(input.reordered));
    visitor.integer(key!("bad_checksums", IfSet), Some(input.bad_checksums));
    visitor.integer(key!("clock_steps"), Some(input.clock_steps));
    visitor.exact_seconds(key!("lag_s", IfKnown), input.lag_ns);
    visitor.flag(key!("lag_removed", IfKnown), input.lag_ns.map(|_| input.lag_removed));
    visitor.exact_seconds(key!("clock_offset_s", IfKnown), facts.clock_offset_ns);
    visitor.flag(key!("copies_may_be_missed", IfSet), Some(facts.copies_may_be_missed));
    visitor.end();
}

/// The highest rate first, and how many are not listed.
fn shared_limits(limits: &[SharedLimit], visitor: &mut impl Visitor) {
    let listed = &limits[..limits.len().min(MOST_LISTED)];
    visitor.records(key!("shared_limits"), Some(listed.iter()), |limit, visitor| {
        let ids = limit.into_iter().flat_map(|limit| &limit.connections);
        visitor.integers(key!("connections"), ids.map(|&id| u64::from(id)));
        visitor.word(key!("kind"), limit.map(|limit| limit.factor.name()));
        visitor.number(key!("rate_bps"), limit.map(|limit| limit.rate_bps));
        visitor.integer(key!("burst_bytes"), limit.and_then(|limit| limit.burst_bytes).map(|bytes| bytes as u64));
        visitor.known_instant(key!("from_ns"), limit.map(|limit| limit.between_ns[0]));
        visitor.known_instant(key!("to_ns"), limit.map(|limit| limit.between_ns[1]));
        visitor.number(key!("confidence"), limit.map(|limit| thousandths(limit.confidence)));
    });
    let not_listed = limits.len() - listed.len();
    visitor.integer(key!("shared_limits_not_listed", IfSet), Some(not_listed as u64));
}
