//! What became of connections, and the ICMP errors about them: of each connection, and counted for the whole capture.

use crate::analysis::results::Summaries;
use crate::decode::entered::TunnelPath;
use crate::decode::icmp::IcmpError;
use crate::output::describe::endpoint::{address_and_port, endpoint};
use crate::output::describe::evidence::evidence;
use crate::output::describe::visitor::Visitor;
use crate::output::fixed::thousandths;
use crate::output::key::key;
use crate::tcp::outcome::case::Outcome;
use crate::tcp::outcome::groups::{ServerGroup, groups};
use crate::tcp::summary::ending::IcmpErrors;

/// What became of all connections, by kind and by server.
pub(super) fn outcomes(connections: &Summaries, visitor: &mut impl Visitor) {
    let found = groups(connections.iter().map(|summary| &**summary));
    visitor.records(key!("outcomes"), Some(found.iter()), |group, visitor| {
        visitor.word(key!("kind"), group.map(|group| group.kind.name()));
        visitor.integer(key!("connections"), group.map(|group| group.connections));
        let list = group.map_or(&[][..], |group| &group.servers);
        visitor.records(key!("servers"), Some(list.iter()), server);
        visitor.integer(key!("servers_not_listed"), group.map(|group| group.not_listed[0]));
        visitor.integer(key!("connections_not_listed"), group.map(|group| group.not_listed[1]));
    });
}

fn server(server: Option<&ServerGroup<'_>>, visitor: &mut impl Visitor) {
    visitor.text(key!("server"), server.map(|server| endpoint(server.first, 1)).as_deref());
    visitor.integer(key!("connections"), server.map(|server| server.connections));
    visitor.integers(key!("ids"), server.into_iter().flat_map(|server| &server.ids).map(|&id| u64::from(id)));
    let outcome = server.and_then(|server| server.first.outcome());
    visitor.text(key!("sentence"), outcome.as_ref().map(|outcome| outcome.sentence.as_str()));
}

/// What became of one connection.
pub(super) fn outcome(outcome: Option<&Outcome>, visitor: &mut impl Visitor) {
    if !visitor.object(key!("outcome"), outcome.is_some()) {
        return;
    }
    visitor.word(key!("kind"), outcome.map(|outcome| outcome.kind.name()));
    visitor.text(key!("sentence"), outcome.map(|outcome| outcome.sentence.as_str()));
    visitor.number(key!("confidence"), outcome.map(|outcome| thousandths(outcome.confidence)));
    evidence(outcome.map_or(&[], |outcome| &outcome.evidence), visitor);
    visitor.text(key!("remedy"), outcome.map(|outcome| outcome.remedy.as_str()));
    visitor.end();
}

/// The tunnels that a connection or a flow was found in.
pub(super) fn tunnels(path: Option<&TunnelPath>, visitor: &mut impl Visitor) {
    visitor.records(key!("tunnel", IfKnown), path.map(|path| path.list.iter()), |tunnel, visitor| {
        visitor.text(key!("kind"), tunnel.map(|tunnel| tunnel.kind));
        let outer: Vec<String> =
            tunnel.into_iter().flat_map(|tunnel| tunnel.outer).map(|end| end.to_string()).collect();
        visitor.texts(key!("outer"), &outer);
        visitor.integer(key!("id"), tunnel.and_then(|tunnel| tunnel.id).map(u64::from));
    });
}

/// ICMP errors about one connection.
pub(super) fn icmp_errors(errors: Option<&IcmpErrors>, visitor: &mut impl Visitor) {
    let list = errors.map_or(&[][..], |errors| &errors.list);
    visitor.records(key!("icmp_errors"), Some(list.iter()), icmp_error);
    visitor.integer(key!("icmp_errors_not_listed", IfSet), errors.map(|errors| errors.not_listed));
}

/// What stands with a connection and is none of its own: the name that was waited for before it, and ICMP errors that quote other
/// addresses or ports.
pub fn around(lookup: Option<u64>, related: Option<&IcmpErrors>, visitor: &mut impl Visitor) {
    let list = related.map(|errors| errors.list.iter());
    visitor.records(key!("icmp_errors_related", IfKnown), list, |error, visitor| {
        icmp_error(error, visitor);
        let end = |error: &IcmpError, end: usize| address_and_port(error.addresses[end], Some(error.ports[end]));
        let quotes = error.map(|error| format!("{} - {}", end(error, 0), end(error, 1)));
        visitor.text(key!("quotes"), quotes.as_deref());
    });
    visitor.integer(key!("icmp_errors_related_not_listed", IfSet), related.map(|errors| errors.not_listed));
    visitor.integer(key!("lookup"), lookup);
}

fn icmp_error(error: Option<&IcmpError>, visitor: &mut impl Visitor) {
    visitor.known_instant(key!("time_ns"), error.map(|error| error.time_ns));
    visitor.integer(key!("type"), error.map(|error| u64::from(error.kind)));
    visitor.integer(key!("code"), error.map(|error| u64::from(error.code)));
    visitor.text(key!("from"), error.map(|error| error.from.to_string()).as_deref());
    visitor.integer(key!("frame"), error.map(|error| u64::from(error.frame)));
    visitor.integer(key!("mtu"), error.and_then(|error| error.mtu).map(u64::from));
}
