//! A limit that a connection shares with others, in its verdict.

use crate::tcp::events::factor::Factor;
use crate::tcp::events::sharing::Sharing;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule;
use crate::tcp::verdict::factors::rule::Tally;
use crate::tcp::verdict::words::rate;

/// The shared limit that is behind this factor.
pub(crate) fn sharing<'a>(case: &Case<'a>, factor: Factor) -> Option<&'a Sharing> {
    case.limits.sharing.as_deref().filter(|sharing| sharing.factor == factor)
}

/// The first half of the sentence; none where nothing is shared.
pub(crate) fn because(case: &Case, factor: Factor) -> Option<String> {
    let sharing = sharing(case, factor)?;
    let limit = rule(factor).shared?.in_words;
    let [all, own] = [rate(sharing.rate_bps), Tally::of(case, factor).rate()];
    let others = sharing.connections.saturating_sub(1);
    let noun = if others == 1 { "connection" } else { "connections" };
    Some(format!("It shared {limit} {all} with {others} other {noun}, and got {own} of payload"))
}
