//! What became of connections, and the ICMP errors about them, as JSON: of each connection, and counted for the whole capture.

use crate::analysis::results::Summaries;
use crate::output::describe::visitor::Visitor;
use crate::output::fixed::{push_unsigned, thousandths};
use crate::output::json_writer::Json;
use crate::output::key::key;
use crate::tcp::events::outcome_kind::OutcomeKind;
use crate::tcp::outcome::groups::groups;
use crate::tcp::summary::ending::IcmpErrors;
use crate::tcp::summary::summary::ConnectionSummary;

/// What became of all connections, by kind and by server.
pub(super) fn write_outcomes(json: &mut Json, connections: &Summaries) {
    let found = groups(connections.iter().map(|summary| &**summary));
    json.array(key!("outcomes"), found.iter(), |json, group| {
        let [servers, connections] = group.not_listed;
        json.word(key!("kind"), Some(group.kind.name()));
        json.integer(key!("connections"), Some(group.connections));
        json.array(key!("servers"), group.servers.iter(), |json, server| {
            json.endpoint(key!("server"), server.first, 1);
            json.integer(key!("connections"), Some(server.connections));
            json.list(key!("ids"), server.ids.iter(), |json, &id| push_unsigned(&mut json.out, u64::from(id), b','));
            let outcome = server.first.outcome();
            json.text(key!("sentence"), outcome.as_ref().map(|outcome| outcome.sentence.as_str()));
        });
        json.integer(key!("servers_not_listed"), Some(servers));
        json.integer(key!("connections_not_listed"), Some(connections));
    });
}

/// What became of one connection.
pub(super) fn write_outcome(json: &mut Json, summary: &ConnectionSummary) {
    let outcome = summary.outcome();
    let present = json.object(key!("outcome"), outcome.is_some());
    let Some(outcome) = outcome.filter(|_| present) else { return };
    json.word(key!("kind"), Some(OutcomeKind::name(outcome.kind)));
    json.text(key!("sentence"), Some(&outcome.sentence));
    json.number(key!("confidence"), Some(thousandths(outcome.confidence)));
    json.evidence(&outcome.evidence);
    json.text(key!("remedy"), Some(&outcome.remedy));
    json.end();
}

/// ICMP errors about one connection.
pub(super) fn write_icmp_errors(json: &mut Json, errors: Option<&IcmpErrors>) {
    let list = errors.map_or(&[][..], |errors| &errors.list);
    json.array(key!("icmp_errors"), list.iter(), |json, error| {
        json.instant(key!("time_ns"), error.time_ns);
        json.integer(key!("type"), Some(u64::from(error.kind)));
        json.integer(key!("code"), Some(u64::from(error.code)));
        json.text(key!("from"), Some(&error.from.to_string()));
        json.integer(key!("frame"), Some(u64::from(error.frame)));
        json.integer(key!("mtu"), error.mtu.map(u64::from));
    });
    json.integer(key!("icmp_errors_not_listed", IfSet), errors.map(|errors| errors.not_listed));
}
