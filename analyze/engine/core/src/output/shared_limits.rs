//! Limits that several connections share, as JSON.

use crate::output::describe::visitor::Visitor;
use crate::output::fixed::{push_unsigned, thousandths};
use crate::output::json_writer::Json;
use crate::output::key::key;
use crate::tcp::shared_limits::{MOST_LISTED, SharedLimit};

/// All of them, the highest rate first, and how many are not listed.
pub(super) fn write_shared_limits(json: &mut Json, limits: &[SharedLimit]) {
    let listed = &limits[..limits.len().min(MOST_LISTED)];
    json.array(key!("shared_limits"), listed.iter(), |json, limit| {
        json.list(key!("connections"), limit.connections.iter(), |json, &id| {
            push_unsigned(&mut json.out, u64::from(id), b',');
        });
        json.word(key!("kind"), Some(limit.factor.name()));
        json.number(key!("rate_bps"), Some(limit.rate_bps));
        json.integer(key!("burst_bytes"), limit.burst_bytes.map(|bytes| bytes as u64));
        json.instant(key!("from_ns"), limit.between_ns[0]);
        json.instant(key!("to_ns"), limit.between_ns[1]);
        json.number(key!("confidence"), Some(thousandths(limit.confidence)));
    });
    let not_listed = limits.len() - listed.len();
    json.integer(key!("shared_limits_not_listed", IfSet), Some(not_listed as u64));
}
