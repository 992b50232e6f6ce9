//! Where a connection's time went.

use crate::output::describe::visitor::Visitor;
use crate::output::key::key;
use crate::tcp::account::account as account_of;
use crate::tcp::account::entry::Entry;
use crate::tcp::summary::summary::ConnectionSummary;

pub(super) fn account(summary: &ConnectionSummary, visitor: &mut impl Visitor) {
    let account = account_of(summary);
    let exact = |ns: u64| i64::try_from(ns).ok();
    visitor.records(key!("account"), Some(account.iter()), |entry: Option<&Entry>, visitor| {
        visitor.word(key!("owner"), entry.map(|entry| entry.owner.name()));
        visitor.word(key!("kind"), entry.map(|entry| entry.kind.name()));
        visitor.exact_seconds(key!("time_s"), entry.and_then(|entry| exact(entry.time_ns)));
        visitor.exact_seconds(key!("saves_s"), entry.and_then(|entry| entry.saves_ns).and_then(exact));
    });
}
