//! SYNs without a reply that were too many for a connection each.

use std::net::IpAddr;

use crate::output::describe::endpoint;
use crate::output::describe::visitor::Visitor;
use crate::output::key::key;
use crate::tcp::flow::unanswered::{SourceKey, Sum, Unanswered};

/// Sources, and servers, that are listed: those of most attempts.
const MOST_LISTED: usize = 100;

/// Sums by source and by server, those of most attempts first.
pub(super) fn unanswered(unanswered: &Unanswered, visitor: &mut impl Visitor) {
    if !visitor.optional_object(key!("unanswered_syns"), !unanswered.is_empty()) {
        return;
    }
    amount(Some(&unanswered.all), visitor);
    let (sources, rest) = unanswered.sources.largest(MOST_LISTED);
    visitor.records(key!("sources"), Some(sources.iter()), |one, visitor| {
        visitor.text(key!("source"), one.map(|(source, _)| address(source)).as_deref());
        amount(one.map(|(_, sum)| sum), visitor);
    });
    visitor.integer(key!("attempts_of_others"), Some(rest.attempts));
    let (servers, rest) = unanswered.servers.largest(MOST_LISTED);
    visitor.records(key!("servers"), Some(servers.iter()), |one, visitor| {
        visitor.text(key!("server"), one.map(|(server, _)| endpoint::address(server)).as_deref());
        amount(one.map(|(_, sum)| sum), visitor);
    });
    visitor.integer(key!("attempts_to_others"), Some(rest.attempts));
    visitor.end();
}

fn amount(sum: Option<&Sum>, visitor: &mut impl Visitor) {
    visitor.integer(key!("attempts"), sum.map(|sum| sum.attempts));
    visitor.integer(key!("syns"), sum.map(|sum| sum.syns));
    visitor.known_instant(key!("first_ns"), sum.map(|sum| sum.between_ns[0]));
    visitor.known_instant(key!("last_ns"), sum.map(|sum| sum.between_ns[1]));
}

fn address((bytes, version): &SourceKey) -> String {
    let [a, b, c, d, ..] = *bytes;
    if *version == 4 { IpAddr::from([a, b, c, d]).to_string() } else { IpAddr::from(*bytes).to_string() }
}
