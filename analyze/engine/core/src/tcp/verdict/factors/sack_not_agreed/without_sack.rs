//! Repairs where SACK was not agreed: a sender learns of one loss in each round trip (RFC 6582), however many there were.
//!
//! Rule: docs/verdict.md, "Repairs without SACK".

use crate::tcp::events::factor::Factor;
use crate::tcp::events::offer::Offer;
use crate::tcp::limits::moves;
use crate::tcp::limits::summary::LimitsSummary;

/// Segments that each recovery repaired on average; with fewer SACK would have saved little.
const FEWEST_IN_EACH: u64 = 3;

/// `offers` of client and server; `retransmitted` segments of the direction.
pub(crate) fn take_without_sack(summary: &mut LimitsSummary, offers: [Offer; 2], retransmitted: u64) {
    let is_known = offers.iter().all(|offer| offer.seen && !offer.cut);
    summary.sack_offered = offers.map(|offer| offer.sack_permitted);
    let is_agreed = summary.sack_offered == [true; 2];
    if !is_known || is_agreed || retransmitted < FEWEST_IN_EACH * summary.reductions.count().max(1) {
        return;
    }
    moves::move_all(summary, Factor::LossRecovery, Factor::SackNotAgreed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::limits::runs::FactorRun;
    use crate::tcp::limits::share::Share;

    fn repairs(offers: [Offer; 2], retransmitted: u64) -> [u64; 2] {
        let mut summary = LimitsSummary::default();
        let repairs = Factor::LossRecovery;
        summary.shares[repairs] = Share { time_ns: 100, bytes: 9 };
        summary.runs.push(FactorRun { start_ns: 0, end_ns: 100, factor: repairs, bytes: 9, frames: [1, 2] });
        take_without_sack(&mut summary, offers, retransmitted);
        let runs_ns =
            |factor: Factor| summary.runs.iter().filter(|run| run.factor == factor).map(FactorRun::duration_ns).sum();
        assert_eq!(summary.shares[Factor::SackNotAgreed].time_ns, runs_ns(Factor::SackNotAgreed));
        [repairs, Factor::SackNotAgreed].map(|factor| summary.shares[factor].time_ns)
    }

    #[test]
    fn many_repairs_in_one_recovery_are_for_want_of_sack_where_a_side_did_not_offer_it() {
        let [with, without] =
            [true, false].map(|sack_permitted| Offer { seen: true, sack_permitted, ..Offer::default() });
        assert_eq!(repairs([with, without], 40), [0, 100]);
        assert_eq!(repairs([with, with], 40), [100, 0]);
        assert_eq!(repairs([with, without], 2), [100, 0], "one loss, one round trip");
        assert_eq!(repairs([with, Offer::default()], 40), [100, 0], "its SYN was not seen");
    }
}
